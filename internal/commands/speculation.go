package commands

import (
	"encoding/json"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
)

// drafts returns how many tokens are drafted for a sequence in a step; 0: the pool drafts none.
func (w *writer) drafts() int {
	v := &w.s.Speculation
	if !v.On() || !w.p.Decodes() {
		return 0
	}
	if v.DisableAboveBatch > 0 {
		w.cannot("disable_above_batch %d: drafts stay on at every batch", v.DisableAboveBatch)
	}
	if len(v.Adaptive) > 0 {
		w.cannot("adaptive: the most drafts are taken at every batch")
	}
	w.cannot("how drafts are accepted is a result of the server, and an assumption of the scenario")
	return v.DraftsMax()
}

// drafter names what drafts; empty: the checkpoint itself does, or nothing has to be named.
func (w *writer) drafter() string {
	v := &w.s.Speculation
	switch method := hardware.DraftMethod(v.Method); {
	case v.DraftModel != "":
		m, err := catalog.Checkpoint(v.DraftModel)
		if err != nil {
			return v.DraftModel
		}
		return w.checkpointOf(v.DraftModel, &m)
	case method == hardware.DraftEAGLE || method == hardware.DraftMedusa:
		w.cannot("DRAFT_HEAD: put the repository or the path of your %s head in its place", method)
		return "DRAFT_HEAD"
	}
	return ""
}

// vllmSpeculation is the object of --speculative-config (vllm/config/speculative.py); empty: nothing drafts.
func (w *writer) vllmSpeculation() string {
	tokens := w.drafts()
	if tokens == 0 {
		return ""
	}
	method := w.s.Speculation.Method
	switch hardware.DraftMethod(method) {
	case hardware.DraftModel:
		method = "draft_model"
	case hardware.DraftEAGLE:
		method = "eagle3"
	case hardware.DraftMedusa:
		w.cannot("speculation medusa: vLLM has no such method any more")
		return ""
	}
	config, _ := json.Marshal(struct {
		Method string `json:"method"`
		Model  string `json:"model,omitempty"`
		Tokens int    `json:"num_speculative_tokens"`
	}{method, w.drafter(), tokens})
	return string(config)
}

// sglangSpeculation writes the flags of a chain of drafts. What SGLang calls the draft tokens are the rows that it
// verifies: one more than are drafted (sglang/srt/arg_groups/speculative_hook.py).
func (w *writer) sglangSpeculation() {
	tokens := w.drafts()
	if tokens == 0 {
		return
	}
	algorithm, known := map[hardware.DraftMethod]string{hardware.DraftModel: "STANDALONE", hardware.DraftEAGLE: "EAGLE3",
		hardware.DraftMTP: "NEXTN", hardware.DraftNGram: "NGRAM"}[hardware.DraftMethod(w.s.Speculation.Method)]
	if !known {
		w.cannot("speculation %s: SGLang has no such method", w.s.Speculation.Method)
		return
	}
	w.say("--speculative-algorithm", algorithm)
	w.text("--speculative-draft-model-path", w.drafter())
	if algorithm != "NGRAM" {
		w.say("--speculative-num-steps", decimal(tokens), "--speculative-eagle-topk", "1")
	}
	w.say("--speculative-num-draft-tokens", decimal(tokens+1))
}

// tensorRTSpeculation writes the speculative_config of the settings; as of TensorRT-LLM 1.0, unverified.
func (w *writer) tensorRTSpeculation() {
	tokens := w.drafts()
	if tokens == 0 {
		return
	}
	method := hardware.DraftMethod(w.s.Speculation.Method)
	decoding := map[hardware.DraftMethod]string{hardware.DraftModel: "DraftTarget", hardware.DraftEAGLE: "Eagle",
		hardware.DraftMedusa: "Medusa", hardware.DraftMTP: "MTP", hardware.DraftNGram: "NGram"}[method]
	w.set("speculative_config:")
	w.set("  decoding_type: %s", decoding)
	if method == hardware.DraftMTP {
		w.set("  num_nextn_predict_layers: %d", tokens)
		return
	}
	w.set("  max_draft_len: %d", tokens)
	if drafter := w.drafter(); drafter != "" {
		w.set("  speculative_model_dir: %s", drafter)
	}
}
