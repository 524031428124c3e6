package groundtruth

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// silicon is a table of closed-loop sweeps over many deployments, one measured point a row. Both its numbers are means
// over requests. InferenceX rows sent ten requests per client, all clients at once, with lengths uniform in 80 to 100 %
// of the nominal ones; rows of source nvidia_gap have fixed lengths and say neither how many requests were sent nor how
// they started: the same is assumed.
var silicon = datafile.Schema{
	Name: "closed-loop sweeps",
	About: "closed-loop sweeps (CSV with id, model, system, backend, mode, isl, osl, concurrency, ttft_mean_ms, " +
		"tpot_mean_ms)",
	Columns: []string{
		"id", "model", "system", "backend", "mode", "isl", "osl", "concurrency", "ttft_mean_ms", "tpot_mean_ms",
		"precision", "spec_method",
	},
	Read: readSilicon,
}

func readSilicon(s *datafile.Source, f *measured.File) error {
	args, err := readEngineArgs(s)
	if err != nil {
		return err
	}
	f.Notes = append(f.Notes,
		"means over requests; where a row does not say, 10 requests per client, all clients starting at once, of fixed "+
			"lengths, without speculation",
		"server arguments are those of the launch script of a row, as far as it states them, and else the defaults of the "+
			"engine",
		"max_num_tokens of TensorRT-LLM, where it is not known, is enough for one prompt beside a token of "+
			"every other client")
	others := siblings{args: args, most: mostClients(s.Table), caches: scriptedCaches(s.Table, args)}
	return datafile.EachID(f, s.Table, func(r *datafile.Record) measured.Run { return siliconRun(r, &others) })
}

// siblings is what other rows of a table, and the launch scripts of all of them, say of a row.
type siblings struct {
	args   map[string]engineArgs
	most   map[string]int    // clients, by sweep
	caches map[string]string // types of the KV cache, see scriptedCaches
}

func siliconRun(r *datafile.Record, others *siblings) measured.Run {
	run := measured.Run{ID: r.Text("id"), Labels: siliconLabels(r)}
	row := measured.Row{ID: run.ID, Request: -1}
	row.Values = stats(r, row.Values, measured.Mean, measured.TTFT, measured.TPOT)
	if strings.Contains(r.Text("flags"), "ttft_low_trust") {
		skipTTFT(row.Values, "TTFT is not to be trusted (flag ttft_low_trust)")
	}
	run.Rows = []measured.Row{row}
	p := setup.Scenario{}
	unknown := deployed(&run.Labels, &p, r.Text("model"), r.Text("system"), r.Text("precision"))
	layout := siliconLayout
	if run.Labels.Mode == "disagg" {
		layout = siliconPools
	}
	run.Skip = cmp.Or(siliconSkip(r), unknown, layout(r, &run.Labels, &p))
	if run.Skip != "" {
		return run
	}
	clients, prompt, output := r.Count("concurrency", 1), r.Count("isl", 1), r.Count("osl", 1)
	run.Skip = tooLong(p.Model, prompt+output)
	if run.Skip != "" {
		return run
	}
	p.KVCache = quantizedCache(&p, run.Labels.Version, r.Text("gemm_quant"))
	requests := 10 * clients
	if r.Text("num_prompts") != "" {
		requests = r.Count("num_prompts", 1)
	}
	p.ClosedLoop(clients, requests)
	if share := lengthShare(r, "length_dist"); oneByOne(&run.Labels) {
		p.Uneven(prompt, output)
	} else {
		p.Lengths(prompt, output, share)
	}
	if len(p.Pools) == 0 {
		siliconArguments(r, &run.Labels, &p, others.args)
	} else {
		if run.Labels.Source == "inferencex" {
			p.KVCache = cmp.Or(p.KVCache, others.caches[cacheKey(r)])
		}
		transferKV(&p, r, prompt, others.most[r.Text("group_id")])
	}
	p.Version = run.Labels.Version
	run.Scenario = p.Text()
	return run
}

// siliconArguments adds the arguments of the server of a row. Requests of source nvidia_gap are taken to say nothing of
// how tokens are chosen, as those of NVIDIA's tools do (from memory: unverified); the client of the others asks for the
// likeliest.
func siliconArguments(r *datafile.Record, l *measured.Labels, p *setup.Scenario, args map[string]engineArgs) {
	script := args[r.Text("engine_args_id")]
	script.apply(p, r.Count("concurrency", 1), r.Count("isl", 1))
	switch {
	case p.Engine != "tensorrt-llm":
	case p.DataParallel > 1 && l.Source == "inferencex":
		p.Argument("batch_wait_timeout_iters", rankWait(p.Model))
	case waitsForOthers(r, p):
		script.number(p, "batch_wait_timeout_iters", script.BatchWaitIters, 1)
	}
	if p.Engine == "vllm" && setup.PlansBetween("vllm", l.Version) && !script.AsyncScheduling {
		p.Argument("async_scheduling", false)
	}
	if l.Source == "nvidia_gap" {
		gapArguments(p)
		if p.Engine == "vllm" {
			p.Sampling = samplingOf(r.Text("model"), l.Version)
		}
	}
}

// rankWait returns for how many steps the prompts of attention ranks wait until each rank has one, which the scripts of
// InferenceX have TensorRT-LLM do (attention_dp_config, enable_balance): timeout_iters, 60 in that of DeepSeek-R1 and
// by default 50 (from memory: unverified). The TTFT of the rows agrees: where prompts are rare, of 1024 tokens with
// outputs of 8192, it is 26 to 31 steps longer than without, the mean of a wait of up to 60.
func rankWait(model string) int {
	if model == "deepseek-r1" {
		return 60
	}
	return 50
}

// gapArguments adds what servers of source nvidia_gap ran with, which they do not state. The mean TPOT and TTFT of
// Qwen3-32B under vLLM on H100 fit gapBudget at every load and contradict the 8192 of a default server.
func gapArguments(p *setup.Scenario) {
	if p.Engine == "vllm" {
		p.Argument("max_num_batched_tokens", gapBudget)
	}
}

// oneByOne reports whether the prompts of a row come one by one, though it says that lengths are fixed and clients
// start together, which makes waves: those of the SGLang in Dynamo's runtime 0.8, all of Llama-3.1-8B, as their TTFT
// has it (unverified). In waves it would be several times as long, and of outputs of 100 tokens it is so even with
// lengths as uneven as InferenceX's. The TTFT of the other rows of source nvidia_gap, of other releases, is that of
// waves. Outputs between half and one and a half times as long, in place of at least 0.8 times, took TTFT under SGLang
// from 56 to 48 % nine times in ten, and with deployments left out from 59 to 54; TPOT went from 5.7 and 20.7 to 5.8
// and 20.6 %, on GPUs left out from 28 to 27 nine times in ten, and of models from 30 to 28 (a trial on SGLang alone).
func oneByOne(l *measured.Labels) bool {
	return l.Source == "nvidia_gap" && l.Engine == "sglang" && l.Version == dynamoSGLang
}

// waitsForOthers reports whether prompts waited for others on a server whose script can have them do so. It says for
// how many steps, but not for which loads: the TTFT of Llama-3.1-70B is that of servers that wait where 1024 tokens are
// read and written on fewer than eight GPUs, and of ones that do not everywhere else.
func waitsForOthers(r *datafile.Record, p *setup.Scenario) bool {
	return p.Model == "llama-3.1-70b" && r.Count("isl", 1) == 1024 && r.Count("osl", 1) == 1024 &&
		p.TensorParallel < 8 && p.DataParallel == 1
}

func siliconLabels(r *datafile.Record) measured.Labels {
	l := measured.Labels{
		Source: r.Text("source"), Engine: names.EngineOf(r.Text("backend")), Version: siliconVersion(r),
		Mode:    strings.ToLower(r.Text("mode")),
		Quality: r.Text("quality"), Parallel: r.Text("layout"), Load: r.Text("isl") + "/" + r.Text("osl"),
		Class: r.Text("arch"),
	}
	if c, ok := r.Optional("concurrency"); ok {
		l.Concurrency = int(c)
	}
	return l
}

// siliconVersion returns the version of the engine of a row. Images of Dynamo say their own in its place: rows of
// source nvidia_gap on 0.8 say that it holds TensorRT-LLM 1.2; that 0.7 does, and 0.5 holds 1.1, is from memory
// (unverified). What InferenceX does not name, of November and December 2025, is taken for what it named in October:
// TensorRT-LLM 1.1 and vLLM 0.10. So is gpt-oss-dev, an image of when that model came out.
func siliconVersion(r *datafile.Record) string {
	version, image := r.Text("backend_version"), r.Text("image")
	_, runtime, dynamo := strings.Cut(image, "/tensorrtllm-runtime:")
	switch {
	case dynamo && strings.HasPrefix(version, "0."):
		if strings.HasPrefix(runtime, "0.5.") {
			return "1.1"
		}
		return "1.2"
	case version == "" && r.Text("measured_date") < "2026" || version == "gpt-oss-dev":
		return map[string]string{"tensorrt-llm": "1.1", "vllm": "0.10"}[names.EngineOf(r.Text("backend"))]
	}
	return version
}

// siliconSkip says why a row is not simulated, whatever it was run on.
func siliconSkip(r *datafile.Record) string {
	switch mode := strings.ToLower(r.Text("mode")); {
	case mode == "":
		return "unknown whether prefill and decode share a pool"
	case mode != "agg" && mode != "disagg":
		return "mode " + mode + ", which is not modelled"
	case r.Text("concurrency") == "":
		return cmp.Or(speculative(r.Text("spec_method")), "the number of clients is not stated")
	}
	return cmp.Or(speculative(r.Text("spec_method")), engineUnknown(names.EngineOf(r.Text("backend"))))
}

// siliconLayout fills in how the model was split, or says what is unknown of it: tp counts all GPUs, attn_tp those of
// an attention rank and attn_dp the ranks, of which there are several where dp_attention is set.
func siliconLayout(r *datafile.Record, l *measured.Labels, p *setup.Scenario) (unknown string) {
	if r.Text("attn_tp") == "" || r.Text("layout_confidence") == "unknown" {
		return "the parallel layout is not known"
	}
	p.TensorParallel, p.DataParallel, p.ExpertParallel = r.Count("attn_tp", 1), 1, expertParallel(r)
	if r.Text("attn_dp") != "" {
		p.DataParallel = r.Count("attn_dp", 1)
	}
	if attentionDP, _ := r.Flag("dp_attention"); attentionDP && p.DataParallel == 1 && r.Text("tp") != "1" ||
		r.Text("tp") != "" &&
			r.Count("tp", 1) != p.TensorParallel*p.DataParallel {
		return contradiction
	}
	l.Parallel = names.LayoutOf(p.TensorParallel, p.DataParallel, p.ExpertParallel)
	return ""
}

// gapBudget is the token budget of a step that the vLLM rows of source nvidia_gap ran with.
const gapBudget = 2048

// dynamoSGLang is the SGLang in Dynamo's runtime 0.8, as rows that name the image say.
const dynamoSGLang = "0.5.6.post2"

// before reports whether a version of vLLM is older than 0.minor.
func before(version string, minor int) bool {
	var major, own int
	n, _ := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &own)
	return n == 2 && major == 0 && own < minor
}

// quantizedCache returns the cache type that goes with weights which NVIDIA quantised anew: those checkpoints ask for
// fp8, and engines do as they ask, but for vLLM before 0.12 on Hopper (unverified: at 64 clients two H100 queue as with
// 16 bits). They are all nvfp4, and fp8 where all of a matrix has one scale; fp8 with one for each block is the
// publishers', as is that of SGLang's rows.
func quantizedCache(p *setup.Scenario, version, scales string) string {
	anew := p.Weights == "nvfp4" || p.Weights == "fp8" && scales == "fp8" && p.Engine != "sglang"
	if anew && !(p.Engine == "vllm" && before(version, 12) && strings.HasPrefix(p.GPU, "h")) {
		return "fp8"
	}
	return ""
}

// expertParallel reports whether whole experts lie on GPUs.
func expertParallel(r *datafile.Record) bool {
	ep, ok := r.Optional("ep")
	return ok && ep > 1
}
