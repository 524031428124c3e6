package hardware

import (
	"math"

	"github.com/decodesim/decodesim/hardware/llm"
)

// active returns the expected share of an MoE layer's experts that rows tokens touch when each picks k of E at random:
// 1 − (1 − k/E)^rows.
func (d *Deployment) active(rows float64) float64 {
	e, k := d.Model.Experts(), d.Model.TopK()
	if e == 0 || k == e {
		return 1
	}
	return -math.Expm1(rows * math.Log1p(-float64(k)/float64(e)))
}

// padding returns by what the arithmetic of expert products is longer than that of full tiles: at least 1.
//
// An expert multiplies the rows that are routed to it in tiles. M tokens that pick k of E touch a share A(M) of the
// experts, each with r rows on average:
//
//	padding(r) = 1 + R / (r + R)    other kernels                              r = k·M / (E·A(M))
//	padding(r) = 1 + T·e_c·e_cm / r  kernels that expand weights of less than 16 bits, to multiply in 16 bits
//
// The first have tiles of 64 or 128 rows; a last tile that is not full takes as long as a full one, so that where
// kernels choose the tile by the rows half of the work is padding at worst, and at R rows half of that loss is left.
// The others expand every weight of an expert that is touched, however few its rows are and whatever share of the
// peak its products achieve, which takes as long as T rows at the peak. Both fall no faster than 1/r, so more rows
// never take less time. R is moe_rows and T moe_tile_rows; 0: few rows lose nothing.
//
// The forms, R and T are chosen, not fitted. Of tables of kernels (NVIDIA aiconfigurator, commit 095f58a5,
// systems/*/moe: 72 kernels and formats on six GPUs, each with its own launch, shares of bandwidth and of peak, and
// bytes of copies), those of bf16 weights and of quantised activations gain nothing from a T, and most lose by one of
// 64 at their share of the peak; those of mxfp4 weights that are expanded to 16 bits are nearest to 8 to 16 at theirs
// on H100, B200 and B300 under vLLM and SGLang, which are 12 to 50 at the peak, and those of Marlin to none. On what
// is left out of the fit of docs/accuracy.md, T = 60 takes TPOT of vLLM from 6.0 to 5.3 % in the median on
// deployments and from 10.7 to 8.4 on GPUs, and E2E of open loops on GPUs from 17.2 to 12.4. Of T at the share that
// is achieved, 12 does as well, 8 half as well, and 16 and 32 lose on models left out. With such rows for bf16
// weights too, open loops of deployments left out get worse, from 3.0 to 3.5 %, and for quantised activations
// SGLang's TPOT, from 6.0 to 6.9 %.
func (t *tiling) padding(tokens, active float64) float64 {
	if tokens == 0 || t.full {
		return 1
	}
	perExpert := tokens * t.each / (t.experts * active)
	switch {
	case t.expanded > 0:
		return 1 + t.expanded/perExpert
	case t.rows == 0:
		return 1
	}
	return 1 + t.rows/(perExpert+t.rows)
}

// tiling is what padding depends on beside the tokens of a step. None of it changes from step to step, and finding it
// out would take longer than pricing one.
type tiling struct {
	full           bool    // no tile has padding: tables have it already
	each, experts  float64 // to how many experts a token is routed, and of how many
	expanded, rows float64 // T·e_c·e_cm, of kernels that expand weights, and R; 0: nothing is lost
}

func (d *Deployment) tiling() tiling {
	e := &d.Efficiency
	t := tiling{full: d.grouped(), each: float64(d.Model.TopK()),
		experts: float64(d.Model.Experts() + d.Routing.Redundant), rows: e.MoERows}
	if d.expandsExperts() {
		t.expanded = e.MoETileRows * e.Compute * e.MoECompute
	}
	return t
}

// expandsExperts reports whether kernels expand the weights of experts to the 16 bits that they multiply in.
func (d *Deployment) expandsExperts() bool {
	dtype := d.Model.ComputeDtype(llm.RoutedExperts)
	return dtype != "bf16" && !d.GPU.quantizesActivations(dtype)
}

// expertShare returns the part of the routed experts that the fullest GPU holds: an even slice of all, or whole ones,
// redundant ones among them.
func (d *Deployment) expertShare() float64 {
	n, e := float64(d.Parallel.expertGPUs()), float64(d.Model.Experts())
	if d.Parallel.Expert && e > 0 {
		return math.Ceil((e+float64(d.Routing.Redundant))/n) / e
	}
	return 1 / n
}

// grouped reports whether tables say what experts achieve, and not a fit to servers that mix prompts with decodes
// inside a host. Three deployments differ from those:
//
//   - Whole experts lie on more GPUs than a host has: engines sort what an all-to-all brings by expert, for grouped
//     products.
//   - Prompts are all that is run, so that batches are large and nothing waits for them. What the fit takes for slow
//     experts is also what decodes cost the prompts beside them: with it the slowest prefill workers are a third as
//     fast as measured ones.
//   - Decodes are all that is run, and data-parallel ranks share whole experts, to which an all-to-all sorts rows too.
//
// The latter two hold for activations in fp8 or fp4. Servers whose ranks run both keep the fit: of the published ones,
// tables make those too fast. A fit cannot tell what experts achieve that a table prices.
func (d *Deployment) grouped() bool {
	p := &d.Parallel
	switch {
	case d.Efficiency.ideal():
		return false
	case p.Expert && d.beyondHost(p.expertGPUs()):
		return true
	case !d.GPU.quantizesActivations(d.Model.ComputeDtype(llm.RoutedExperts)):
		return false
	}
	return d.Phase == PromptsOnly || d.Phase == DecodesOnly && p.Expert && p.Ranks() > 1
}

// groupedProducts is what grouped products achieve of the peak of their format, how many bytes they move of each
// element of a copy, and whether a GPU moves every copy of a token or the copies for its own experts.
type groupedProducts struct {
	share, copyBytes float64
	all              bool
}

// grouping returns those of the model's experts, by the kernel that engines run. Where an all-to-all brings rows,
// sorted by expert:
//
//	fp8   0.62 and 17: 1,099 to 1,297 of 1,979 TFLOP/s of an H800 (DeepGEMM, README, first release: 8 groups of 4,096
//	      rows, DeepSeek-V3's shapes); bytes of DeepGEMM in TensorRT-LLM 1.3.0rc20 on B300 and GB200, with 0.54 to 0.79
//	      of the peak
//	fp4   0.77 and 36: CUTLASS in TensorRT-LLM 1.3.0rc20 on B300 and GB200 (0.69 and 37, 0.85 and 36), of 128 and more
//	      rows to an expert
//
// Where an all-gather does, every GPU has all rows and picks those of its experts:
//
//	fp8   0.21 and 12 of all copies on Blackwell: trtllm-gen, which vLLM 0.24 and SGLang 0.5.14 take there, on B200,
//	      B300, GB200 and GB300 (0.18 to 0.22 and 9 to 12; 488 shapes of 128 and more rows to an expert within 9 %)
//	      0.43 and 37 on Hopper, of whole experts: CUTLASS in TensorRT-LLM 1.3.0rc20 on H100 and H200 (0.40 and 33, 0.46
//	      and 42; 298 shapes within 7 %)
//	      0.36 and 12 of all copies there, of slices: Triton in SGLang 0.5.14 on H200 (0.38 and 12; within 7 %)
//	fp4   0.34 and 9 of slices and within one rank: trtllm-gen on B200, B300 and GB200 (0.30 to 0.38 and 6 to 9; within
//	      16 %); whole experts of several ranks are CUTLASS's as above
//
// TensorRT-LLM's fp8 on Blackwell is DeepGEMM in those tables, also where rows are not sorted. It is not taken: with it
// for decodes alone, TPOT of 43 runs on separate pools would go from 9.3 and 29.4 % off to 11.2 and 20.7, but TTFT from
// 13.3 and 93.0 to 25.0 and 134, because prompts queue behind decodes that end sooner; with it for prompts too, TTFT on
// B200 would be about half of what was measured.
//
// Shares and bytes are fitted to NVIDIA aiconfigurator, commit 095f58a5, systems/*/moe, experts sliced or whole over 1
// to 8 GPUs. Other formats and GPUs take what fp8 does where rows come sorted.
func (d *Deployment) grouping() groupedProducts {
	_, unit := d.GPU.ComputeFLOPS(d.Model.ComputeDtype(llm.RoutedExperts))
	p := &d.Parallel
	sorted := d.beyondHost(p.expertGPUs()) || p.AllToAll != AutoAllToAll && p.AllToAll != AllGather
	switch whole := p.Expert && p.Ranks() > 1; {
	case unit == "fp4" && (sorted || whole):
		return groupedProducts{0.77, 36, false}
	case unit == "fp4":
		return groupedProducts{0.34, 9, false}
	case sorted || unit != "fp8":
	case d.GPU.Architecture == "blackwell":
		return groupedProducts{0.21, 12, true}
	case d.GPU.Architecture == "hopper" && p.Expert:
		return groupedProducts{0.43, 37, false}
	case d.GPU.Architecture == "hopper":
		return groupedProducts{0.36, 12, true}
	}
	return groupedProducts{0.62, 17, false}
}

// copies returns the time in which a GPU moves the activations of a token's copies, one for each of its k experts:
//
//	L_moe · k · s · h · c_m / (e_b·BW)
//
// where s is the part of the copies that the GPU computes: all where experts are sliced, and where they are whole its
// share of them. Slices shorten the products of a copy and not its activations, so that experts sliced over 8 GPUs
// achieve a third of what whole ones do: with this term the tables of kernels (NVIDIA aiconfigurator, commit 095f58a5,
// systems/*/moe) are within 8.3 % in the median and 24 % nine times in ten (58 kernels on six GPUs, 10,849 shapes),
// without it within 14.2 and 42 %, with tiles of its own for each kernel; with it most kernels need no tiles.
func (d *Deployment) copies() float64 {
	share := 1.0
	if d.Parallel.Expert {
		share = d.expertShare() * float64(d.Model.Experts()) / float64(d.Model.Experts()+d.Routing.Redundant)
	}
	each := d.Efficiency.MoECopyBytes
	if d.grouped() {
		g := d.grouping()
		each = g.copyBytes
		if g.all {
			share = 1
		}
	}
	bytes := float64(d.Model.MoELayers()*d.Model.TopK()*d.Model.ExpertHidden()) * share * each
	return bytes / (d.Efficiency.Bandwidth * d.GPU.BandwidthBps.Value) * psPerS * d.stretch()
}

// expertProducts returns the time of the expert products of a step on the busiest GPU: reading those of its experts
// that the tokens of all ranks touch, that overlapped with the arithmetic, padded to tiles, and of it moving
// activations.
func (r *Roofline) expertProducts(l *load) (weights, products, moved float64) {
	active := r.touched(l.tokens)
	read, rows := r.busiest(l.tokens, active)
	weights, moved = float64(r.experts.memoryPS*read), float64(rows*l.tokens*r.experts.copyPS)
	products = r.both(weights, float64(rows*l.tokens*r.experts.rowPS)*r.tiling.padding(l.tokens, active))
	return weights, products + moved, moved
}

// reads returns the time of reading all weights that so many tokens over all ranks touch, were they touched evenly.
func (r *Roofline) reads(tokens float64) float64 {
	return r.readPS + float64(r.experts.memoryPS*r.touched(tokens))
}
