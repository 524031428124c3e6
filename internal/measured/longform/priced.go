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
)

// stepTokens are the prompt tokens of a rank in a prefill step that does not state its batch: what engines' budgets
// are.
const stepTokens = 8192

// step asks for the price of a single step of each rank: so many sequences decode, halfway through their outputs, or
// prompts are read. A batch counts the sequences of an attention rank.
func (r *row) step(run *measured.Run, v *measured.Value, d *replica, l *load) (skip string) {
	ranks := max(1, d.DataParallel)
	s := &measured.Step{Separate: r.onePhase(d)}
	tokens := 0.0 // that the step yields, or reads
	if r.kind == decodeStep {
		s.Decodes = l.batch * ranks
		s.DecodeContext = int(math.Round(l.prompt + float64(l.output/2)))
		tokens = float64(s.Decodes)
		if d.yield > 0 { // of which a step yields so many of each sequence
			s.Drafts, tokens = d.drafts, tokens*d.yield
			// SGLang's default with drafts is 48 sequences of all ranks, and so are its graphs: who ran more raised it.
			d.Argument("max_num_seqs", l.batch)
		}
	} else {
		s.ChunkTokens = int(math.Round(l.prompt))
		s.Prefills = l.batch
		if l.batch == 0 {
			s.Prefills = max(1, int(math.Round(stepTokens/l.prompt)))
		}
		s.Prefills *= ranks
		tokens = float64(s.Prefills) * l.prompt
	}
	if d.offloaded {
		d.GPU, r.took.offloaded = fmt.Sprintf("{from: %s, memory_bytes: %d}", d.GPU, int64(roomBytes)), true
	}
	d.ClosedLoop(1, 1)
	d.Lengths(1, 1, 1)
	run.Scenario, run.Priced = d.Text(), &measured.Priced{Step: s}
	return r.stepUnit(v, d, tokens)
}

// roomBytes hold any model: a GPU that is given them has room for what it fetched from its host. Fetching is no part of
// the price of a step, for it passes while the GPU reads its prompts.
const roomBytes = 16e12

// onePhase reports whether the steps of a row are all that its server runs. Ranks of which one phase alone was
// measured, as tokens/s, had the other elsewhere; and a list of prompts of which a token each is asked decodes nothing.
func (r *row) onePhase(d *replica) bool {
	if r.kind == prefill && r.Text("arrivals") != "" {
		return r.metric.name == "input_tokens_per_s"
	}
	return d.DataParallel > 1 && d.ExpertParallel && strings.HasSuffix(r.metric.name, "put_tokens_per_s")
}

// stepUnit sets the unit of a value that a step is priced for.
func (r *row) stepUnit(v *measured.Value, d *replica, tokens float64) (skip string) {
	rate := "output_tokens_per_s"
	latency := measured.TPOT
	if r.kind == prefill {
		rate, latency = "input_tokens_per_s", measured.TTFT
	}
	switch {
	case r.metric.name == rate:
		share, skip := r.share(d)
		v.Unit.Factor, v.Unit.Inverse = float64(d.replicas)*tokens*share/r.metric.unit, true
		return skip
	case r.metric.name == "tokens_per_s_user" && r.kind == decodeStep:
		v.Unit.Factor, v.Unit.Inverse = cmp.Or(d.yield, 1)/r.metric.unit, true
	case r.metric.of == latency && r.kind == decodeStep:
		v.Unit.Factor = 1 / (cmp.Or(d.yield, 1) * r.metric.unit)
	case r.metric.name == "step_time", r.metric.of == latency:
		v.Unit.Factor = 1 / r.metric.unit
	default:
		return r.metric.name + " is not a metric of a single " + strings.ReplaceAll(r.kind, "_", " ")
	}
	return r.latencyPer()
}

// operation asks for the price of a collective or of a kernel.
func (r *row) operation(run *measured.Run, v *measured.Value) (skip string) {
	gpu, skip := r.gpu()
	if skip != "" {
		return skip
	}
	run.Labels.GPU, run.Labels.Engine, run.Labels.Model = gpu, r.Text("engine"), r.Text("model")
	k := &measured.Kernel{GPU: gpu, GPUs: max(1, r.optionalCount("gpus"))}
	k.Engine, _ = engineOf(r.Text("engine"))
	run.Priced, r.took.operations = &measured.Priced{Kernel: k}, true
	switch name := r.metric.name; {
	case strings.HasPrefix(name, "allreduce_"):
		return r.allReduce(k, v)
	case strings.HasPrefix(name, "alltoall_"):
		return r.allToAll(k, v)
	case strings.HasPrefix(name, "hbm_"):
		k.Op, k.Bytes = measured.Memory, 1
		v.Unit.Factor, v.Unit.Inverse = 1/r.metric.unit, true
		return ""
	case strings.HasPrefix(name, "gemm_"):
		return r.product(k, v)
	}
	return r.metric.name + " is not a metric of a " + r.kind
}

// olderS is what NCCL before 2.20 takes longer in its kernels that add up in the switch: 25.6 µs for the least message
// over 8 H100, where 2.29 takes 15.4 (Azure benchmarking guide, NCCL 2.18.5; NVIDIA aiconfigurator 095f58a5, nccl).
const olderS = 10e-6

// older reads a release before 2.20.
var older = regexp.MustCompile(`^2\.1?\d(\.|$)`)

// gpusPerHost share its adapters.
const gpusPerHost = 8

// adapters are those of a host of 8 GPUs, as in "EFA 4x100G".
var adapters = regexp.MustCompile(`\b(\d+)x(\d+)G\b`)

// allReduce reads a message. Bus bandwidth is bytes/time · 2(n−1)/n (nccl-tests), so that switches which reduce by
// themselves exceed the link.
func (r *row) allReduce(k *measured.Kernel, v *measured.Value) string {
	k.Op, k.Bytes = measured.AllReduce, float64(r.optionalCount("concurrency_or_batch"))
	switch {
	case k.Bytes == 0:
		return "the bytes of the message are not stated, as concurrency_or_batch"
	case k.GPUs < 2:
		return "gpus is not stated, or one"
	}
	if strings.HasPrefix(r.Text("engine"), "nccl") {
		k.NCCL = true
		g, err := catalog.GPU(k.GPU)
		if err == nil && g.Architecture == "hopper" && older.MatchString(r.Text("version")) {
			k.LaunchS, r.took.older = olderS, true
		}
	}
	if m := adapters.FindStringSubmatch(r.Text("notes")); m != nil {
		k.NetworkBps = float64(number(m[1])*number(m[2])) * 1e9 / 8 / gpusPerHost
	}
	if r.metric.name == "allreduce_time" {
		v.Unit.Factor = 1 / r.metric.unit
		return ""
	}
	n := float64(k.GPUs)
	v.Unit.Factor, v.Unit.Inverse = k.Bytes*2*(n-1)/n/r.metric.unit, true
	return ""
}

// shapeOf reads "hidden 7168, top-8, 256 experts", and of what groups a token's experts are: "4 of 8 groups".
var shapeOf = regexp.MustCompile(`hidden (\d+), top-(\d+), (\d+) experts(?:, (\d+) of (\d+) groups)?`)

// layer reads the layer of an all-to-all, which may be that of a model of the catalog.
func (r *row) layer(k *measured.Kernel) (skip string) {
	k.Width = 1
	if m := shapeOf.FindStringSubmatch(r.Text("model")); m != nil {
		k.Hidden, k.TopK, k.Experts = number(m[1]), number(m[2]), number(m[3])
		if m[4] != "" {
			k.TopGroups, k.Groups = number(m[4]), number(m[5])
			if k.TopGroups < 1 || k.TopGroups > k.Groups || k.Experts%k.Groups != 0 {
				return fmt.Sprintf("model: %d of %d groups of %d experts", k.TopGroups, k.Groups, k.Experts)
			}
		}
		return ""
	}
	name, skip := r.model()
	m, err := catalog.Model(name)
	if skip != "" || err != nil || m.Experts() == 0 {
		return "model: expected the layer as \"hidden 7168, top-8, 256 experts\", with \", 4 of 8 groups\" behind it where " +
			"routing is limited to them, or a model of experts"
	}
	k.Hidden, k.TopK, k.Experts = m.ExpertHidden(), m.TopK(), m.Experts()
	k.Groups, k.TopGroups = m.ExpertGroups()
	return ""
}

// allToAll reads a dispatch or a combine of so many tokens of each GPU. Bandwidths of one count bytes as each library
// likes, local ones among them or not, so times alone are compared.
func (r *row) allToAll(k *measured.Kernel, v *measured.Value) string {
	k.Op, k.Rows = measured.Dispatch, r.optionalCount("concurrency_or_batch")
	if r.metric.name == "alltoall_combine_time" {
		k.Op = measured.Combine
	}
	engine := r.Text("engine")
	for _, way := range hardware.AllToAlls() { // "deepep-v1 low-latency"
		if strings.HasSuffix(engine, " "+way) {
			k.Way = way
		}
	}
	if strings.HasSuffix(engine, "NVLinkOneSided") { // "tensorrt-llm NVLinkOneSided"
		k.Way = string(hardware.OneSided)
	}
	if n := r.optionalCount("ep"); n > 0 {
		k.GPUs = n
	}
	r.took.kernels = r.took.kernels || k.Way == ""
	switch skip := r.layer(k); {
	case skip != "":
		return skip
	case k.Rows == 0:
		return "the tokens of each GPU are not stated, as concurrency_or_batch"
	case k.GPUs < 2:
		return "gpus is not stated, or one"
	}
	k.Dtype = "fp8"
	if sent := certain(r.Text("weights")); slices.Contains(llm.Dtypes(), sent) { // mxfp8 has the bytes of fp8
		k.Dtype = sent
	}
	k.Balanced = strings.Contains(r.Text("notes"), "perfectly balanced router")
	v.Unit.Factor = 1 / r.metric.unit
	return ""
}

var dimensions = regexp.MustCompile(`m=(\d+) n=(\d+) k=(\d+)`)

// product reads a matrix product, whose dimensions are among the notes.
func (r *row) product(k *measured.Kernel, v *measured.Value) string {
	notes := r.Text("notes")
	m := dimensions.FindStringSubmatch(notes)
	switch {
	case m == nil:
		return "the dimensions of the product are not stated, as m=… n=… k=… among the notes"
	case strings.HasPrefix(notes, "grouped"):
		return "grouped products are not priced by themselves"
	}
	k.Op = measured.Product
	k.Rows, k.Width, k.Hidden = number(m[1]), number(m[2]), number(m[3])
	k.Dtype, _, _ = strings.Cut(certain(r.Text("weights")), " ")
	if k.Dtype == "fp16" || k.Dtype == "" {
		k.Dtype = "bf16"
	}
	if !slices.Contains(llm.Dtypes(), k.Dtype) {
		return fmt.Sprintf("products in %s are not modelled", k.Dtype)
	}
	if r.metric.name == "gemm_time" {
		v.Unit.Factor = 1 / r.metric.unit
		return ""
	}
	flops := 2 * float64(k.Rows) * float64(k.Width) * float64(k.Hidden)
	v.Unit.Factor, v.Unit.Inverse = flops/r.metric.unit, true
	return ""
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
