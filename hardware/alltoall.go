package hardware

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/hardware/llm"
)

// AllToAll is how tokens reach the experts on other GPUs, and what those yield comes back.
type AllToAll string

// The ways: what engines take by the number of GPUs; kernels that send each copy of a token by itself at once; kernels
// that send a token once to each GPU and once to each domain, from where it is passed on; kernels that write a token
// once into the memory of each GPU of a domain of several hosts; and an all-gather with a reduce-scatter, which bring
// every token everywhere.
const (
	AutoAllToAll AllToAll = ""
	LowLatency   AllToAll = "low-latency"
	Normal       AllToAll = "normal"
	OneSided     AllToAll = "one-sided"
	AllGather    AllToAll = "all-gather"
)

// AllToAlls returns the ways that can be asked for by name.
func AllToAlls() []string {
	return append(sendingKernels(), string(AllGather))
}

// sendingKernels are the ways that send tokens to experts, in the order of their tables.
func sendingKernels() []string { return []string{string(LowLatency), string(Normal), string(OneSided)} }

// BatchOverlap is what a GPU computes while tokens are under way to experts and back.
type BatchOverlap string

// Nothing; the shared experts while they are dispatched and the down projection while they are combined; or the layers
// of the other half of the batch.
const (
	NoOverlap   BatchOverlap = ""
	SingleBatch BatchOverlap = "single-batch"
	TwoBatch    BatchOverlap = "two-batch"
)

// BatchOverlaps returns what can be asked for by name.
func BatchOverlaps() []string { return []string{string(SingleBatch), string(TwoBatch)} }

// validateExchange reports a way to experts that there is not.
func (d *Deployment) validateExchange() error {
	p := &d.Parallel
	_, exchanges := d.collectives()
	switch {
	case !known(string(p.AllToAll), AllToAlls()):
		return fmt.Errorf("hardware: all_to_all %q; accepted: %s", p.AllToAll, strings.Join(AllToAlls(), ", "))
	case !known(string(p.Overlap), BatchOverlaps()):
		return fmt.Errorf("hardware: batch_overlap %q; accepted: %s", p.Overlap, strings.Join(BatchOverlaps(), ", "))
	case p.AllToAll != AutoAllToAll && p.AllToAll != AllGather && !(p.Expert && exchanges != 0):
		return fmt.Errorf("hardware: all_to_all %q sends tokens to whole experts of other data-parallel ranks; "+
			"accepted: null, or expert_parallel true with data_parallel above 1", p.AllToAll)
	case p.AllToAll == OneSided && p.expertGPUs() > d.domain():
		return fmt.Errorf("hardware: all_to_all %q writes into the memory of GPUs of one scale-up domain, which has %d of "+
			"the %d; accepted: low-latency, normal or all-gather", p.AllToAll, d.domain(), p.expertGPUs())
	case p.Overlap != NoOverlap && exchanges == 0:
		return fmt.Errorf("hardware: batch_overlap %q hides what data-parallel ranks send each other's experts; "+
			"accepted: null, or data_parallel above 1", p.Overlap)
	}
	return nil
}

func known(name string, names []string) bool {
	if name == "" {
		return true
	}
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// exchange returns the ways of one dispatch and one combine, in steps of decodes alone and in those with prompts: the
// buffers of the low-latency kernels are too small for prompts, and between domains the normal ones fit into no CUDA
// graph, for the host waits for what they count (SGLang 0.5, deepep_mode auto; DeepEP, README). In a domain of several
// hosts the one-sided kernels are one more way. Where tables say what experts achieve they say what the exchange
// takes, also within a host: what is fitted there is of servers that run both phases.
//
// What a GPU sends of r rows, of b bytes each, over the links of its domain and over the network:
//
//	low-latency   r · k · b · (g_l − 1)/g_l in one domain;  r · k · b · (D − 1)/D over the network of D domains
//	normal        r · u(g) · b · (g − 1)/g in one domain;  r · u(D) · b · (D − 1)/D over the network
//	one-sided     r · u(g) · b · (g − 1)/g in one domain
//	all-gather    (g − 1)/g of the tokens of all ranks
//
// where u(n) is how many of n places a token's k experts are expected in, see reached. To dispatch, activations have
// the format that experts compute in, with scales; to combine, 16 bits. Each is a kernel with a floor and shares of
// both links of its own; the slower link decides.
func (d *Deployment) exchange() (decode, mixed []exchange) {
	e, g := &d.Efficiency, d.Parallel.expertGPUs()
	if !d.tabled(g) && d.Parallel.AllToAll == AutoAllToAll && !d.grouped() {
		peak := float64(psPerS * d.expertRowBytes() * d.exchanged() / d.link(g))
		half := linearPS{fixed: e.latencyPS(float64(g)), token: peak / e.Link, peakToken: peak, name: fitted}
		x := exchange{dispatch: half, combine: half}
		return []exchange{x}, []exchange{x}
	}
	switch way := d.allToAll(); way {
	case AllGather:
		return d.gathered(), d.gathered()
	case LowLatency, Normal, OneSided:
		return []exchange{d.sent(way)}, []exchange{d.sent(way)}
	}
	inside := g <= d.domain()
	decode, mixed = []exchange{d.sent(LowLatency)}, []exchange{d.sent(Normal)}
	if inside {
		decode = append(decode, d.sent(Normal))
	}
	if inside && d.domain() > nodeGPUs {
		decode, mixed = append(decode, d.sent(OneSided)), append(mixed, d.sent(OneSided))
	}
	return decode, mixed
}

// allToAll returns the way that engines take: where GPUs hold whole experts and are more than k + 1, or in several
// domains, an all-to-all; otherwise an all-gather, which then moves less (TensorRT-LLM,
// tensorrt_llm/_torch/modules/fused_moe, moe_ep_size > top_k; from memory: unverified).
func (d *Deployment) allToAll() AllToAll {
	p := &d.Parallel
	if p.AllToAll != AutoAllToAll {
		return p.AllToAll
	}
	if g := p.expertGPUs(); !p.Expert || g <= d.Model.TopK()+1 && g <= d.domain() {
		return AllGather
	}
	return AutoAllToAll
}

// sent prices dispatch and combine by kernels that send tokens. The GPUs of a rank share its rows.
func (d *Deployment) sent(way AllToAll) exchange {
	kernel := slices.Index(sendingKernels(), string(way))
	s, k := d.span(d.Parallel.expertGPUs()), float64(d.Model.TopK())
	near, far := k/s.domains, k
	if way != LowLatency {
		near, far = d.reached(s.local), d.reached(s.domains)
	}
	near *= (s.local - 1) / s.local
	far *= (s.domains - 1) / s.domains
	var both [2]linearPS
	for i, x := range []*sending{&s.table.dispatch[kernel], &s.table.combine[kernel]} {
		bytes := d.expertRowBytes() / float64(d.Parallel.Tensor)
		if i == 0 {
			bytes = d.dispatchBytes() / float64(d.Parallel.Tensor)
		}
		t := linearPS{fixed: float64(psPerS * x.floorS), least: float64(psPerS * x.leastS), name: string(way)}
		if s.local > 1 {
			t.peakRow = psPerS * bytes * near / s.link
			t.row = t.peakRow / x.share
		}
		if s.domains > 1 {
			peak := psPerS * bytes * far / s.network
			t.fixed, t.row = float64(psPerS*x.far.latency(s.domains)), max(t.row, peak/x.far.share)
			t.peakRow = max(t.peakRow, peak)
		}
		both[i] = d.Efficiency.measured(t)
	}
	x := exchange{dispatch: both[0], combine: both[1]}
	if way == Normal {
		x.cores = normalCores
	}
	return x
}

// normalCores is the share of a GPU's cores that the normal kernels take: 20 of 132 (DeepEP, README, whose measurements
// of H100 are with as many; DeepSeek-V3, arXiv 2412.19437, §3.2.2).
const normalCores = 20.0 / 132

// gathered prices an all-gather and a reduce-scatter of the tokens of all ranks.
func (d *Deployment) gathered() []exchange {
	var out []exchange
	for _, t := range d.gathers(d.Parallel.expertGPUs(), linearPS{peakToken: d.expertRowBytes()}) {
		out = append(out, exchange{dispatch: t, combine: t})
	}
	return out
}

// reached returns how many of n places hold some of the k experts that a token chose, expected of choices at random:
//
//	n · (1 − (1 − 1/n)^k)               of all experts
//	n · T/G · (1 − (1 − G/(T·n))^k)     of experts in T of G groups, where a place holds a group or a part of one
//	n · (1 − C(G − s, T') / C(G, T'))   the same, where it holds s = G/n groups; T' = T · (1 − (1 − 1/T)^k) of the T
//	                                    groups have some of the experts
func (d *Deployment) reached(n float64) float64 {
	k := float64(d.Model.TopK())
	groups, top := d.Model.ExpertGroups()
	g, t := float64(groups), float64(top)
	switch {
	case groups == top:
		return -n * math.Expm1(k*math.Log1p(-1/n))
	case n >= g:
		return -n * t / g * math.Expm1(k*math.Log1p(-g/(t*n)))
	}
	s, used := g/n, float64(-t*math.Expm1(k*math.Log1p(-1/t)))
	if g-s-used+1 <= 0 {
		return n
	}
	return -n * math.Expm1(logFactorial(g-s)-logFactorial(g-s-used)-logFactorial(g)+logFactorial(g-used))
}

// Reached returns on how many of n equal places, GPUs or hosts, a token has some of its experts, expected of choices at
// random.
func (d *Deployment) Reached(n int) float64 { return d.reached(float64(n)) }

// logFactorial is the logarithm of x!, for x that is no whole number too.
func logFactorial(x float64) float64 {
	y, _ := math.Lgamma(x + 1)
	return y
}

// dispatchBytes is what a token takes on its way to an expert: the format that the expert computes in, with the scales
// of blocks of 128 (fp8, int8) or 16 (fp4) elements, or 16 bits.
func (d *Deployment) dispatchBytes() float64 {
	h := float64(d.Model.ExpertHidden())
	dtype := d.Model.ComputeDtype(llm.RoutedExperts)
	if !d.GPU.quantizesActivations(dtype) {
		return float64(2 * h)
	}
	if _, unit := d.GPU.ComputeFLOPS(dtype); unit == "fp4" {
		return h * (4.0/8 + 1.0/16)
	}
	return h * (1 + 4.0/128)
}

// hiding is the times of a step that an overlap changes, in picoseconds: reading weights, that with the arithmetic,
// what layers take beside, and dispatch with combine as far as nothing hides it.
type hiding struct{ weights, products, fixed, exchange *float64 }

// hide lets dispatch and combine pass while the GPU computes.
//
//	single-batch   as much of them as the shared experts take, and a third of the routed ones: the down projection
//	two-batch      the two halves of a batch take turns, so that with x = 2·(dispatch + combine) and
//	               c = 2·(products + layers), each for half the rows, the longer of x and c + s·x counts, where s is the
//	               share of the GPU's cores that sending takes; every half reads the weights. Attention is not counted
//	               as hiding anything, and a step for which one batch is quicker runs as one: engines have a threshold
func (r *Roofline) hide(l *load, h *hiding) {
	if r.d.Parallel.Overlap == SingleBatch {
		_, routed, _ := r.expertProducts(l)
		*h.exchange = max(0, *h.exchange-routed/3-float64(r.sharedPart*(*h.products-routed)))
		return
	}
	half := *l
	half.rows, half.tokens, half.outputs = l.rows/2, l.tokens/2, l.outputs/2
	weights, products, _ := r.linear(&half)
	x := r.comm.exchange(&half)
	exchange := 2 * x.ps(&half)
	layers := r.layersPS
	if l.prompts {
		layers += r.promptPS
	}
	rest := max(float64(x.cores*exchange), exchange-2*(products+layers))
	if 2*products+layers+rest < *h.products+*h.exchange {
		*h.weights, *h.products = 2*weights, 2*products
		*h.fixed, *h.exchange = *h.fixed+layers, rest
	}
}

// sharedShare returns the part of the arithmetic of layers that every token passes which is of shared experts.
func (d *Deployment) sharedShare() float64 {
	params := d.Model.Params()
	all := 0.0
	for _, c := range []llm.WeightClass{llm.Attention, llm.AttentionReplicated, llm.Indexer, llm.Compressor,
		llm.Recurrent, llm.DenseFFN, llm.SharedExperts, llm.Router, llm.ExpertProjections, llm.Head} {
		all += float64(float64(params[c]) * d.share(c))
	}
	return float64(params[llm.SharedExperts]) * d.share(llm.SharedExperts) / all
}

// exchanged returns the part of all tokens that a GPU receives from the others to compute, and they from it, where
// nothing is known of collectives but links: (G−1)/G by an all-gather and a reduce-scatter. Where GPUs hold whole
// experts, an all-to-all brings a GPU only the tokens that chose some of its own, k copies of each token spread over G
// GPUs: k/G. That a token goes only once to a GPU with two of its experts is left out.
func (d *Deployment) exchanged() float64 {
	g := float64(d.Parallel.expertGPUs())
	if k := float64(d.Model.TopK()); d.Parallel.Expert && k < g-1 {
		return k / g
	}
	return (g - 1) / g
}
