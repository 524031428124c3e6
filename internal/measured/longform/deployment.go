package longform

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// replica is what a row says of its deployment: so many equal replicas.
type replica struct {
	setup.Scenario
	pipeline, replicas int
	simulated          int // of the replicas, which stand for all
	drafts             int
	ranIn              string  // the type of the weights, as the row spells it or MLPerf's rules have it; see row.ranIn
	offloaded          bool    // weights are in the memory of the host
	yield              float64 // tokens that a step yields per sequence; 0: no speculation
	pools              bool    // prefill and decode on separate ones
}

func (d *replica) perReplica() int { return d.TensorParallel * d.pipeline * max(1, d.DataParallel) }

// label fills in what a row says of itself, whether it is modelled or not.
func (r *row) label(l *measured.Labels) {
	l.Model = cmp.Or(l.Model, r.Text("model"))
	l.GPU = cmp.Or(l.GPU, r.Text("gpu"))
	l.Engine = cmp.Or(l.Engine, r.Text("engine"))
	l.Precision = cmp.Or(l.Precision, certain(r.Text("weights")))
}

// certain drops the question mark of what was inferred from a default.
func certain(text string) string { return strings.TrimSuffix(text, "?") }

// deployment reads a row's, or says why it is not modelled.
func (r *row) deployment(l *measured.Labels) (d replica, skip string) {
	d.Model, skip = r.model()
	if skip != "" {
		return d, skip
	}
	d.GPU, skip = r.gpu()
	if skip != "" {
		return d, skip
	}
	l.Model, l.GPU, l.Class = d.Model, d.GPU, names.ClassOf(d.Model)
	l.Engine, skip = engineOf(r.Text("engine"))
	if r.Text("engine") == inHouse {
		l.Engine, skip, r.took.inHouse = "sglang", "", true
	}
	if skip != "" {
		return d, skip
	}
	d.Engine = l.Engine
	if d.Engine == "vllm" && beforeV1.MatchString(l.Version) {
		d.Scheduling = "vllm-v0"
	}
	if d.Scheduling == "" && setup.PlansBetween(d.Engine, l.Version) {
		d.Argument("async_scheduling", false)
		r.took.between = true
	}
	if decodesPerHead(d.Engine, l.Version, d.Model) {
		d.Arguments, r.took.perHead = append(d.Arguments, "attention: flash-per-head"), true
	}
	for _, part := range []func(*replica) string{r.precision, r.layout, r.speculation} {
		if skip := part(&d); skip != "" {
			return d, skip
		}
	}
	l.Precision = catalog.PrecisionOf(d.Model, d.ranIn)
	l.Parallel = names.LayoutOf(d.TensorParallel, d.DataParallel, d.ExpertParallel)
	if d.pipeline > 1 {
		l.Parallel += fmt.Sprintf("-pp%d", d.pipeline)
	}
	return d, ""
}

// beforeV1 is a release of vLLM whose engine was V0: that of V1 is the default since 0.8.
var beforeV1 = regexp.MustCompile(`^(?:vLLM )?v?0\.[1-7]\b`)

// model returns a name of the catalog, or the path of a config.json.
func (r *row) model() (name, skip string) {
	switch written := r.Text("model"); {
	case written == "" || written == "?":
		return "", "the model is not stated"
	case strings.HasSuffix(written, ".json"):
		return written, ""
	default:
		return names.PublishedName(written)
	}
}

// gpu returns a name of the catalog.
func (r *row) gpu() (name, skip string) {
	if r.Text("gpu") == "" {
		return "", "the GPU is not stated"
	}
	return names.PublishedGPU(r.Text("gpu"))
}

// weights returns what they are stored in, as the row or the name of its repository says; empty: neither does.
func (r *row) weights() string {
	return cmp.Or(certain(r.Text("weights")), catalog.PrecisionInName(r.Text("model")))
}

// inHouse is DeepSeek's engine, whose kernels for experts and for sending tokens to them SGLang has too. It always runs
// two batches that take turns, prompts and decodes alike (DeepSeek-V3, arXiv 2412.19437, §3.4, and its profile-data;
// from memory: unverified).
const inHouse = "deepseek in-house"

// hostedAPI stands in place of an engine where a service was measured from outside.
const hostedAPI = "hosted API"

// engineOf returns the label of an engine, which may have an addition in parentheses, a version or what runs around it:
// "vllm (ROCm)", "sglang+dynamo".
func engineOf(written string) (label, skip string) {
	name, _, _ := strings.Cut(written, "(")
	for _, part := range strings.Split(strings.TrimSpace(name), "+") {
		part = strings.TrimSuffix(strings.TrimSuffix(names.EngineOf(strings.TrimSpace(part)), "-v1"), "-tpu")
		if slices.Contains(names.EnginesModelled, part) {
			return part, ""
		}
	}
	switch written {
	case "":
		return "", "the engine is not stated"
	case hostedAPI:
		return "", "a hosted API, whose chips, batch and drafts are not stated"
	}
	skip = "engine " + written + " is not modelled"
	m := withVersion.FindStringSubmatch(names.EngineOf(written))
	if m != nil && slices.Contains(names.EnginesModelled, m[1]) {
		return "", fmt.Sprintf("%s; did you mean %q, and %q as its version?", skip, m[1], m[2])
	}
	return "", names.DidYouMean(skip, name, names.EnginesModelled)
}

// withVersion is an engine in one word with its release: "vllm 0.11", "vllm==0.11", "sglang:v0.5".
var withVersion = regexp.MustCompile(`^([a-z-]+?)[ =:@]+v?(\d[\w.]*)$`)

// precision reads weights and cache. What is not stated is the checkpoint's own.
func (r *row) precision(d *replica) string {
	weights, skip := r.ranIn(d, r.weights())
	if skip != "" {
		return skip
	}
	d.ranIn = weights
	if weights == "uint4" || weights == "awq-int4" {
		weights = "int4"
	}
	d.Weights = catalog.WeightsOf(d.Model, weights)
	if strings.HasSuffix(d.Model, ".json") {
		d.Weights = weights
	}
	if d.Weights != "" && !slices.Contains(llm.Dtypes(), d.Weights) {
		return "weights in " + r.Text("weights") + " are not modelled"
	}
	switch cache := certain(r.Text("kv_cache")); {
	case cache == "" && r.mlperf() && d.Engine == "tensorrt-llm":
		d.KVCache = "fp8"
	case cache == "", cache == "auto":
	case cache == "fp16", cache == "bfloat16", cache == "float16":
		d.KVCache = "bf16"
	case slices.Contains(hardware.KVDtypes(), cache):
		d.KVCache = cache
	default:
		return "a cache in " + cache + " is not modelled"
	}
	return ""
}

// layout reads the GPUs of a replica. A blank is unknown, unless there is one GPU in all; gpus may count several
// replicas, as the systems of MLPerf do, of which 72 GPUs may be nine servers and not one.
func (r *row) layout(d *replica) string {
	all := r.optionalCount("gpus")
	// The cores of an accelerator, as in "64 cores", are no GPUs.
	if text := r.Text("tp"); text != "" && !wholeNumber(text) {
		return fmt.Sprintf("tp %q is no number of GPUs", text)
	}
	tensor, data, experts := r.ranks(d)
	d.pipeline, d.replicas = max(1, r.optionalCount("pp")), 1
	if m := eachTensor.FindStringSubmatch(r.Text("notes")); m != nil && tensor == 0 {
		tensor = number(m[1])
	}
	if tensor == 0 && strings.Contains(r.Text("notes"), "disaggregated") {
		return separatePools
	}
	if n := 1; tensor == 0 {
		if all != 1 {
			n = r.fewest(d, all)
		}
		switch {
		case n == 0:
			return "tp is not stated"
		case n > 1 && d.Model == "deepseek-r1":
			tensor, data, experts = 1, n, n
		default:
			tensor = n
		}
	}
	d.TensorParallel = tensor
	if names.Models()[d.Model].Experts() > 0 {
		d.DataParallel = data
	} else {
		d.replicas = data // ranks of a dense model have nothing in common
	}
	if experts > 1 {
		d.ExpertParallel = true
		if n := tensor * max(1, d.DataParallel); experts != n {
			return fmt.Sprintf("experts over %d of %d GPUs of a stage, where they go over all or are split", experts, n)
		}
	}
	if all > 0 {
		if all%d.perReplica() != 0 {
			return fmt.Sprintf("%d GPUs are no multiple of the %d of a replica", all, d.perReplica())
		}
		d.replicas = all / d.perReplica()
	}
	d.pools = strings.Contains(r.Text("deployment"), "|pd") || strings.Contains(r.Text("per"), "pool") ||
		strings.Contains(r.Text("per"), "prefill")
	if d.pipeline > 1 {
		d.Arguments = append(d.Arguments, fmt.Sprintf("pipeline_parallel: %d", d.pipeline))
	}
	if d.Engine == "sglang" && d.DataParallel > wideRanks {
		d.Arguments = append(d.Arguments, "mem_fraction_static: 0.85")
	}
	if d.Engine == "sglang" && d.ExpertParallel && d.DataParallel > 1 && r.Text("kind") == "prefill" {
		d.Arguments = append(d.Arguments, "all_to_all: normal") // DeepEP's kernels for prompts, as its makers ran it
	}
	if d.KVCache == "fp8" && strings.Contains(r.Text("notes"), "FP8 MLA") {
		d.Arguments = append(d.Arguments, "attention: flash-fp8")
	}
	d.offloaded = offloaded.MatchString(r.Text("notes"))
	overlap, said := overlapOf(r.Text("notes"))
	if !said && r.Text("engine") == inHouse {
		overlap = string(hardware.TwoBatch)
	}
	if overlap != "" && d.DataParallel > 1 {
		d.Arguments = append(d.Arguments, "batch_overlap: "+overlap)
	}
	d.simulated = d.replicas
	return ""
}

// wideRanks is up to how many data-parallel ranks SGLang's own mem_fraction_static is assumed: it reserves graphs of as
// many sequences as all ranks have, which from 16 ranks leaves no room for large models, so that runs which
// are published had it given.
const wideRanks = 8

// ranks returns the GPUs of a rank, the ranks, and the GPUs that experts go over; 0: it is not stated.
func (r *row) ranks(d *replica) (tensor, data, experts int) {
	tensor, data, experts = r.optionalCount("tp"), max(1, r.optionalCount("dp")), r.optionalCount("ep")
	if data > 1 || experts > 1 || names.Models()[d.Model].Experts() == 0 || !attentionDP.MatchString(r.Text("notes")) {
		return tensor, data, experts
	}
	r.took.attention = true
	return 1, tensor, tensor
}

// attentionDP are the words for ranks that may have attention apart and share the experts, where the page prints "TP".
// They are taken to: the page says of its other models of experts that they did, and its next release names the ranks
// of the same GPUs (DEP2 with PP2, DEP8).
var attentionDP = regexp.MustCompile(`(?i)\bMoE: attention DP may be on\b`)

// eachTensor is a layout among the notes: "(TP1 x n)", of replicas that fill the system.
var eachTensor = regexp.MustCompile(`\(TP(\d+) x n\)`)

// offloaded are the words for weights that the memory of the host holds, as "expert weights half offloaded".
var offloaded = regexp.MustCompile(`(?i)\bweights?\b[^;.]*\boffload`)

// overlaps are the words for what hides an all-to-all, as "with TBO" or "no MTP, no TBO".
var overlaps = regexp.MustCompile(`(?i)\b(no |without )?(TBO|two-batch overlap|SBO|single-batch overlap)\b`)

// overlapOf returns what notes say hides sending tokens to experts, empty: nothing; false: they do not say.
func overlapOf(notes string) (overlap string, said bool) {
	m := overlaps.FindStringSubmatch(notes)
	switch {
	case m == nil:
		return "", false
	case m[1] != "":
		return "", true
	case strings.ContainsAny(m[2][:1], "Tt"):
		return string(hardware.TwoBatch), true
	}
	return string(hardware.SingleBatch), true
}

func wholeNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// optionalCount returns a whole number above 0; 0: it is not stated, or as "?".
func (r *row) optionalCount(column string) int {
	text := r.Text(column)
	if text == "" || text == "?" {
		return 0
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || x < 1 || x > 1e12 {
		r.Fail(column, "a whole number from 1 to 1e12, or nothing")
		return 0
	}
	return int(x)
}

// accepting is a speculation whose tokens per step are stated: "mtp3 (accept 2.18)", "eagle3 2, accept 1.8-1.9".
var accepting = regexp.MustCompile(`^(mtp|eagle|draft|ngram|medusa)[a-z0-9-]*?([1-9]?) *[(,;] *accept(?:ance|ed)? *` +
	`([0-9.]+)(?:-([0-9.]+))?\)?$`)

// speculation reads how tokens are drafted. What a step yields has to be stated, for it depends on the text. Of a range
// the middle counts.
func (r *row) speculation(d *replica) string {
	text := strings.ToLower(r.Text("spec"))
	switch text {
	case "", "none":
		return ""
	case "unknown":
		return "unknown whether it speculates"
	}
	m := accepting.FindStringSubmatch(text)
	if m == nil || m[2] == "" {
		return "speculative decoding (" + text + ") without its drafts and tokens per step, as in \"mtp3 (accept 2.2)\""
	}
	low, err := strconv.ParseFloat(m[3], 64)
	high, errHigh := strconv.ParseFloat(cmp.Or(m[4], m[3]), 64)
	n, _ := strconv.Atoi(m[2])
	yield := (low + high) / 2
	if err != nil || errHigh != nil || yield < 1 || yield > float64(n+1) {
		r.Fail("spec", fmt.Sprintf("tokens per step from 1 to %d, one more than the drafts", n+1))
		return ""
	}
	d.drafts, d.yield = n, yield
	d.Speculation = fmt.Sprintf("{method: %s, num_speculative_tokens: %d, acceptance: {process: iid, rate: %s}}", m[1], n,
		setup.Number(math.Round(1e6*acceptance(yield, n))/1e6))
	return ""
}

// acceptance returns the rate r at which n drafts yield so many tokens a step: Σ r^i for i from 0 to n.
func acceptance(tokens float64, n int) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		rate, sum, power := (low+high)/2, 0.0, 1.0
		for range n + 1 {
			sum += power
			power *= rate
		}
		if sum < tokens {
			low = rate
		} else {
			high = rate
		}
	}
	return low
}
