package measured

import (
	"cmp"
	"fmt"
	"strings"
)

// silicon is a table of closed-loop sweeps over many deployments, one measured point a row. Both its numbers are means
// over requests. InferenceX rows sent ten requests per client, all clients at once, with lengths uniform in 80 to 100 %
// of the nominal ones; rows of source nvidia_gap have fixed lengths and say neither how many requests were sent nor how
// they started: the same is assumed.
var silicon = schema{
	name:  "closed-loop sweeps",
	about: "closed-loop sweeps (CSV with id, model, system, backend, mode, isl, osl, concurrency, ttft_mean_ms, tpot_mean_ms)",
	columns: []string{
		"id", "model", "system", "backend", "mode", "isl", "osl", "concurrency", "ttft_mean_ms", "tpot_mean_ms",
		"precision", "spec_method",
	},
	read: readSilicon,
}

func readSilicon(s *source, f *File) error {
	args, err := readEngineArgs(s)
	if err != nil {
		return err
	}
	f.Notes = append(f.Notes,
		"means over requests; where a row does not say, 10 requests per client, all clients starting at once, of fixed lengths, without speculation",
		"server arguments are those of the launch script of a row, as far as it states them, and else the defaults of the engine",
		"max_num_tokens of TensorRT-LLM, where it is not known, is enough for one prompt beside a token of every other client")
	return f.eachID(s.table, func(r *record) Run { return siliconRun(r, args) })
}

func siliconRun(r *record, args map[string]engineArgs) Run {
	run := Run{ID: r.text("id"), Labels: siliconLabels(r)}
	row := Row{ID: run.ID, Request: -1}
	row.Values = r.stats(row.Values, Mean, TTFT, TPOT)
	if strings.Contains(r.text("flags"), "ttft_low_trust") {
		skipTTFT(row.Values, "TTFT is not to be trusted (flag ttft_low_trust)")
	}
	run.Rows = []Row{row}
	p := setup{}
	unknown := deployed(&run.Labels, &p, r.text("model"), r.text("system"), r.text("precision"))
	layout := siliconLayout
	if run.Labels.Mode == "disagg" {
		layout = siliconPools
	}
	if run.Skip = cmp.Or(siliconSkip(r), unknown, layout(r, &run.Labels, &p)); run.Skip != "" {
		return run
	}
	clients, prompt, output := r.count("concurrency", 1), r.count("isl", 1), r.count("osl", 1)
	if run.Skip = tooLong(p.model, prompt+output); run.Skip != "" {
		return run
	}
	p.kvCache = quantizedCache(&p, run.Labels.Version, r.text("gemm_quant"))
	requests := 10 * clients
	if r.text("num_prompts") != "" {
		requests = r.count("num_prompts", 1)
	}
	p.closed(clients, requests)
	p.lengths(prompt, output, r.lengthShare("length_dist"))
	if len(p.apart) == 0 {
		siliconArguments(r, &run.Labels, &p, args)
	} else {
		p.handsOver(r, prompt)
	}
	run.Scenario = p.text()
	return run
}

// siliconArguments adds the arguments of the server of a row.
func siliconArguments(r *record, l *Labels, p *setup, args map[string]engineArgs) {
	script := args[r.text("engine_args_id")]
	script.apply(p, r.count("concurrency", 1), r.count("isl", 1))
	if p.engine == "vllm" && synchronous(l.Version) && !script.AsyncScheduling {
		p.arg("async_scheduling", false)
	}
	if l.Source == "nvidia_gap" && p.engine == "vllm" {
		p.arg("max_num_batched_tokens", gapBudget)
	}
}

func siliconLabels(r *record) Labels {
	l := Labels{
		Source: r.text("source"), Engine: engineOf(r.text("backend")), Version: r.text("backend_version"), Mode: strings.ToLower(r.text("mode")),
		Quality: r.text("quality"), Parallel: r.text("layout"), Load: r.text("isl") + "/" + r.text("osl"), Class: r.text("arch"),
	}
	if c, ok := r.optional("concurrency"); ok {
		l.Concurrency = int(c)
	}
	return l
}

// engineOf returns the engine that a backend is.
func engineOf(backend string) string {
	switch b := strings.ToLower(backend); b {
	case "trtllm", "trt", "trt-llm", "tensorrt_llm":
		return "tensorrt-llm"
	default:
		return b
	}
}

// siliconSkip says why a row is not simulated, whatever it was run on.
func siliconSkip(r *record) string {
	switch mode := strings.ToLower(r.text("mode")); {
	case mode == "":
		return "unknown whether prefill and decode share a pool"
	case mode != "agg" && mode != "disagg":
		return "mode " + mode + ", which is not modelled"
	case r.text("concurrency") == "":
		return cmp.Or(speculative(r.text("spec_method")), "the number of clients is not stated")
	}
	return cmp.Or(speculative(r.text("spec_method")), engineUnknown(engineOf(r.text("backend"))))
}

// siliconLayout fills in how the model was split, or says what is unknown of it: tp counts all GPUs, attn_tp those of an
// attention rank and attn_dp the ranks, of which there are several where dp_attention is set.
func siliconLayout(r *record, l *Labels, p *setup) (unknown string) {
	if r.text("attn_tp") == "" || r.text("layout_confidence") == "unknown" {
		return "the parallel layout is not known"
	}
	p.tensor, p.data, p.expert = r.count("attn_tp", 1), 1, expertParallel(r)
	if r.text("attn_dp") != "" {
		p.data = r.count("attn_dp", 1)
	}
	if apart, _ := r.flag("dp_attention"); apart && p.data == 1 && r.text("tp") != "1" || r.text("tp") != "" && r.count("tp", 1) != p.tensor*p.data {
		return contradiction
	}
	l.Parallel = layoutOf(p.tensor, p.data, p.expert)
	return ""
}

// gapBudget is the token budget of a step that the vLLM rows of source nvidia_gap ran with. They do not state it; the
// mean TPOT and TTFT of Qwen3-32B on H100 fit 2048 at every load and contradict the 8192 of a default server.
const gapBudget = 2048

// synchronous reports whether a version of vLLM plans a step only when the one before has ended, unless it is told not to:
// those before 0.14 (unverified; the TTFT of the rows agrees).
func synchronous(version string) bool { return before(version, 14) }

// before reports whether a version of vLLM is older than 0.minor.
func before(version string, minor int) bool {
	var major, own int
	n, _ := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &own)
	return n == 2 && major == 0 && own < minor
}

// quantizedCache returns the cache type that goes with weights which NVIDIA quantised anew: those checkpoints ask for fp8, and
// engines do as they ask, but for vLLM before 0.12 on Hopper (unverified: at 64 clients two H100 queue as with 16 bits). They
// are all nvfp4, and fp8 where all of a matrix has one scale; fp8 with one for each block is the publishers', as is that of
// SGLang's rows.
func quantizedCache(p *setup, version, scales string) string {
	anew := p.weights == "nvfp4" || p.weights == "fp8" && scales == "fp8" && p.engine != "sglang"
	if anew && !(p.engine == "vllm" && before(version, 12) && strings.HasPrefix(p.gpu, "h")) {
		return "fp8"
	}
	return ""
}

// expertParallel reports whether whole experts lie on GPUs.
func expertParallel(r *record) bool {
	ep, ok := r.optional("ep")
	return ok && ep > 1
}
