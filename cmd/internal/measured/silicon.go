package measured

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
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
		"server arguments are those of the launch script of a row, as far as it states them, and else the defaults of vLLM")
	return f.eachID(s.table, func(r *record) Run { return siliconRun(r, args) })
}

func siliconRun(r *record, args map[string]engineArgs) Run {
	run := Run{ID: r.text("id"), Labels: siliconLabels(r)}
	row := Row{ID: run.ID, Request: -1}
	row.Values = r.stats(row.Values, Mean, TTFT, TPOT)
	ownScheduler(row.Values, run.Labels.Engine)
	if strings.Contains(r.text("flags"), "ttft_low_trust") {
		skipTTFT(row.Values, "TTFT is not to be trusted (flag ttft_low_trust)")
	}
	run.Rows = []Row{row}
	p := setup{}
	unknown := deployed(&run.Labels, &p, r.text("model"), r.text("system"), r.text("precision"))
	if run.Skip = cmp.Or(siliconSkip(r), unknown, siliconLayout(r, &run.Labels, &p)); run.Skip != "" {
		return run
	}
	clients, prompt, output := r.count("concurrency", 1), r.count("isl", 1), r.count("osl", 1)
	if run.Skip = tooLong(p.model, prompt+output); run.Skip != "" {
		return run
	}
	p.kvCache = quantizedCache(&p, run.Labels.Source)
	script := args[r.text("engine_args_id")]
	script.apply(&p, clients, prompt)
	if p.engine == "vllm" && synchronous(run.Labels.Version) && !script.AsyncScheduling {
		p.arg("async_scheduling", false)
	}
	if run.Labels.Source == "nvidia_gap" && p.engine == "vllm" {
		p.arg("max_num_batched_tokens", gapBudget)
	}
	requests := 10 * clients
	if r.text("num_prompts") != "" {
		requests = r.count("num_prompts", 1)
	}
	p.closed(clients, requests)
	p.lengths(prompt, output, r.lengthShare("length_dist"))
	run.Scenario = p.text()
	return run
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
	case mode == "disagg":
		return "prefill and decode in separate pools, which is not modelled"
	case mode == "":
		return "unknown whether prefill and decode share a pool"
	case mode != "agg":
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
func synchronous(version string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor)
	return n == 2 && major == 0 && minor < 14
}

// quantizedCache returns the cache type that goes with weights which a publisher quantised anew: InferenceX ran NVIDIA's
// copies of such checkpoints, which ask for fp8.
func quantizedCache(p *setup, source string) string {
	if source == "inferencex" && (p.weights == "nvfp4" || p.weights == "fp8") {
		return "fp8"
	}
	return ""
}

// expertParallel reports whether whole experts lie on GPUs.
func expertParallel(r *record) bool {
	ep, ok := r.optional("ep")
	return ok && ep > 1
}

// engineArgs are the arguments of a launch script, as it writes them; empty: it does not. $CONC is the number of clients
// there and $ISL the nominal prompt.
type engineArgs struct {
	MaxNumBatchedTokens string `json:"max_num_batched_tokens"`
	MaxNumSeqs          string `json:"max_num_seqs"`
	GPUMemory           string `json:"gpu_mem"`
	KVCache             string `json:"kv_cache_dtype"`
	AsyncScheduling     bool   `json:"async_scheduling"`
}

// readEngineArgs reads the launch scripts that the rows refer to; without the file, every argument is the engine's default.
func readEngineArgs(s *source) (map[string]engineArgs, error) {
	data, path, err := s.companion("A_engine_args.json", "engine_args.json")
	if err != nil || data == nil {
		return nil, err
	}
	var scripts []struct {
		ID    string     `json:"engine_args_id"`
		Flags engineArgs `json:"flags"`
	}
	if err := json.Unmarshal(data, &scripts); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	args := map[string]engineArgs{}
	for _, a := range scripts {
		args[a.ID] = a.Flags
	}
	return args, nil
}

// apply adds what the script says of the pool, as far as it is a number: other variables of a script are not known.
func (a engineArgs) apply(p *setup, clients, prompt int) {
	fill := strings.NewReplacer(`"$((ISL * 2 ))"`, fmt.Sprint(2*prompt), "$CONC", fmt.Sprint(clients))
	if p.engine == "vllm" {
		for _, arg := range []struct{ key, value string }{
			{"max_num_batched_tokens", a.MaxNumBatchedTokens}, {"max_num_seqs", a.MaxNumSeqs}, {"gpu_memory_utilization", a.GPUMemory},
		} {
			value := fill.Replace(arg.value)
			if _, err := strconv.ParseFloat(value, 64); err == nil {
				p.arg(arg.key, value)
			}
		}
	}
	if strings.HasPrefix(a.KVCache, "fp8") {
		p.kvCache = "fp8"
	}
}
