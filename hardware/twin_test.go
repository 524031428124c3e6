package hardware_test

import (
	"math"
	"math/rand/v2"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// batch is a step spelled out: the context of each decode, the new token included, and each chunk of prompt.
type batch struct {
	decodes []int
	chunks  []chunk
	ends    int // chunks that complete their prompt, and so yield a token
}

// chunk is so many tokens after those computed.
type chunk struct{ computed, tokens int }

func (b batch) rows() int {
	n := len(b.decodes)
	for _, c := range b.chunks {
		n += c.tokens
	}
	return n
}

// after returns the batch i steps later, of a batch that only decodes.
func (b batch) after(i int) batch {
	later := batch{decodes: make([]int, len(b.decodes))}
	for j, context := range b.decodes {
		later.decodes[j] = context + i
	}
	return later
}

// randomBatch draws decodes, chunks or both, within a context limit.
func randomBatch(r *rand.Rand, contextMax int) batch {
	var b batch
	logUniform := func(most int) int { return int(math.Exp(r.Float64() * math.Log(float64(most)))) }
	kind := r.IntN(3)
	if kind < 2 {
		for range logUniform(40) {
			b.decodes = append(b.decodes, logUniform(contextMax))
		}
	}
	if kind > 0 {
		for range 1 + r.IntN(3) {
			c := chunk{tokens: logUniform(min(contextMax, 8192))}
			c.computed = r.IntN(contextMax - c.tokens + 1)
			b.chunks = append(b.chunks, c)
		}
		b.ends = r.IntN(len(b.chunks) + 1)
	}
	return b
}

// seen returns how many of context tokens the newest attends to under w.
func seen(w sim.Window, context int) int {
	switch {
	case w.Tokens == 0:
		return context
	case w.Chunked:
		return (context-1)%int(w.Tokens) + 1
	}
	return min(context, int(w.Tokens))
}

// shape sums b up as an instance would.
func (b batch) shape(d *hardware.Deployment) sim.Shape {
	s := sim.Shape{Decodes: len(b.decodes), DecodeTokens: int64(len(b.decodes)), Prefills: len(b.chunks),
		Outputs: len(b.decodes) + b.ends}
	for _, context := range b.decodes {
		s.DecodeCtx += int64(context)
		for i, w := range d.Windows() {
			s.Capped[i].Ctx += int64(seen(w, context))
			if w.Chunked || context < int(w.Tokens) {
				s.Capped[i].Growing++
			}
		}
	}
	for _, c := range b.chunks {
		t, after := int64(c.tokens), int64(c.computed)
		s.PrefillTokens += t
		s.PrefillPairs += t*after + t*(t+1)/2
		s.PrefillCtx += after + t
		s.PrefillLongest = max(s.PrefillLongest, after+t)
		for i, w := range d.Windows() {
			s.Capped[i].PrefillPairs += int64(pairs(w, c))
			s.Capped[i].PrefillCtx += int64(distinct(w, c))
		}
	}
	return s
}

// part is what a step's part moves, and how long it takes one GPU at the peaks of its data sheet.
type part struct {
	bytes, memoryS, computeS float64
	quantizedS               float64 // of computeS, where the rows are quantised as the weights are
	againS                   float64 // least that decodes take to read keys and values anew for every query head
	tileS                    float64 // that one multiprocessor multiplies for the longest tile of a chunk
	latent                   bool    // attends to latents
	padding                  float64 // by how much longer its kernel multiplies; 0: none
	kind                     string  // weights, experts, decode or cache, for the efficiency that it has
}

// mine is what the busiest GPU has of a batch: sequences are dealt out one by one, to microbatches of ranks.
type mine struct {
	rows, tokens, outputs, sequences float64
	context, prompt                  float64 // shares of what decodes and chunks see
	decodes                          int     // of the rank
}

func busiest(d *hardware.Deployment, b batch) mine {
	ranks, stages := d.Parallel.Ranks(), d.Parallel.Pipeline
	shares, perRank, perBatch := make([]int, ranks*stages), make([]int, ranks), make([]int, stages)
	for i := range b.decodes {
		shares[i%len(shares)]++
		perRank[i%ranks]++
		perBatch[i%stages]++
	}
	m := mine{decodes: perRank[0], rows: float64(shares[0]), tokens: float64(perBatch[0]), outputs: float64(shares[0]),
		sequences: float64(shares[0])}
	m.context = 1 / float64(max(1, min(len(b.decodes), ranks*stages)))
	carriers, carried := make([]int, ranks*stages), make([]int, stages)
	if ranks == 1 {
		carriers, carried = carriers[:1], carried[:1]
	}
	for i := range b.chunks {
		carriers[i%len(carriers)]++
		carried[i/ranks%len(carried)]++
	}
	in := func(counts []int) float64 { return float64(max(1, len(counts)-countZeros(counts))) }
	m.prompt = 1 / in(carriers)
	prompt := 0
	for _, c := range b.chunks {
		prompt += c.tokens
	}
	m.tokens += float64(prompt) / in(carried)
	m.rows += float64(prompt) * m.prompt
	m.outputs += float64(b.ends) * m.prompt
	m.sequences += float64(len(b.chunks)) * m.prompt
	return m
}

func countZeros(counts []int) (n int) {
	for _, c := range counts {
		if c == 0 {
			n++
		}
	}
	return n
}

// twin computes the parts of a step from the model's shape and the data sheet alone, sequence by sequence and layer by
// layer, in floats.
func twin(d *hardware.Deployment, b batch) []part { return twinOf(d, b, busiest(d, b)) }

// twinOf is twin with the rows of the linear layers perhaps padded.
func twinOf(d *hardware.Deployment, b batch, m mine) []part {
	parts := []part{
		linear(d, m.rows, 1, llm.Attention, llm.AttentionReplicated, llm.Indexer, llm.Compressor, llm.Recurrent),
		linear(d, m.rows, 1, llm.DenseFFN, llm.SharedExperts, llm.ExpertProjections, llm.Router, llm.Norms),
		linear(d, m.outputs, 1, llm.Head),
	}
	if e := float64(d.Model.Experts()); e > 0 {
		k := float64(d.Model.TopK())
		touched, _, _ := hardware.Touched(d, m.tokens)
		if d.Routing.Skew == 0 && d.Routing.Redundant == 0 && d.Efficiency.ExpertSkew == 0 {
			touched = 1 - math.Pow(1-k/e, m.tokens)
		}
		p := linear(d, m.tokens, touched, llm.RoutedExperts)
		p.computeS *= k / (e + float64(d.Routing.Redundant))
		p.quantizedS *= k / (e + float64(d.Routing.Redundant))
		p.kind = "experts"
		parts = append(parts, p)
	}
	state := part{kind: "cache"}
	for _, r := range d.Model.Layers {
		if r.Mixer.Attention.Heads > 0 {
			for _, p := range attention(d, r.Mixer.Attention, float64(r.Count), b) {
				share := m.prompt
				if p.kind == "decode" {
					share = m.context
				}
				if p.latent && d.Efficiency.LatentCompute > 0 && d.KVDtype == "fp8" && d.GPU.Architecture == "blackwell" &&
					!d.AttentionFP8 && p.kind == "decode" {
					p.computeS *= d.GPU.FLOPS.BF16.Value / d.GPU.FLOPS.FP8.Value
				}
				if p.kind == "cache" {
					p.computeS *= attentionPeak(d) / promptPeak(d, r.Mixer.Attention)
				}
				p.bytes, p.computeS, p.againS = p.bytes*share, p.computeS*share, p.againS*share
				parts = append(parts, p)
			}
		}
		if x := r.Mixer.Recurrence; x.ValueHeads > 0 {
			channels := float64(2*x.KeyHeads*x.KeyDim + x.ValueHeads*x.ValueDim)
			bytes := float64(x.ValueHeads*x.ValueDim*x.KeyDim*x.StateBytes) + float64(x.Kernel-1)*channels*2
			state.bytes += float64(r.Count) * 2 * bytes / float64(d.Parallel.Tensor) * m.sequences
		}
	}
	parts = append(parts, state)
	for i := range parts {
		parts[i].memoryS = parts[i].bytes / d.GPU.BandwidthBps.Value
	}
	return parts
}

// linear reads a share of classes of weights and multiplies rows by all of them.
func linear(d *hardware.Deployment, rows, share float64, classes ...llm.WeightClass) part {
	p := part{kind: "weights"}
	params := d.Model.Params()
	for _, c := range classes {
		n := float64(params[c])
		switch c {
		case llm.AttentionReplicated, llm.Indexer, llm.Compressor, llm.Router, llm.ExpertProjections, llm.Norms:
		case llm.RoutedExperts:
			gpus, e := float64(d.Parallel.Tensor*d.Parallel.Ranks()), float64(d.Model.Experts())
			n /= gpus
			if d.Parallel.Expert {
				n *= gpus / e * math.Ceil((e+float64(d.Routing.Redundant))/gpus)
			}
		default:
			n /= float64(d.Parallel.Tensor)
		}
		format := d.Model.Precision.Weights[c]
		p.bytes += n * format.Bits / 8 * share
		if c != llm.Norms {
			peak, dtype := d.GPU.ComputeFLOPS(format.Dtype)
			switch {
			case format.Sparse && dtype == "fp4":
				peak *= d.GPU.SparseRatioFP4.Value
			case format.Sparse:
				peak *= d.GPU.SparseRatio.Value
			}
			p.computeS += rows * 2 * n / peak
			if dtype == "fp8" || dtype == "int8" || format.Dtype == "nvfp4" && dtype == "fp4" {
				p.quantizedS += rows * 2 * n / peak
			}
		}
	}
	return p
}

// latents marks parts that attend to latents.
func latents(d *hardware.Deployment, a llm.SelfAttention, parts []part) []part {
	for i := range parts {
		parts[i].latent = a.Latent.Rank > 0
		if heads := a.Heads / d.Parallel.Tensor; d.Parallel.Engine == "vllm" && (a.Latent.Direct || a.Index.TopK > 0) &&
			parts[i].latent {
			parts[i].padding = float64((heads+63)/64*64) / float64(heads)
		}
	}
	return parts
}

func hasLatents(d *hardware.Deployment) bool {
	for _, r := range d.Model.Layers {
		if r.Mixer.Attention.Latent.Rank > 0 {
			return true
		}
	}
	return false
}

// promptPeak is attentionPeak of prompts: of latents that are expanded, SGLang and TensorRT-LLM on Blackwell multiply a
// cache in fp8 as such.
func promptPeak(d *hardware.Deployment, a llm.SelfAttention) float64 {
	if a.Latent.Rank > 0 && !a.Latent.Direct && a.Index.TopK == 0 && d.Efficiency.LatentCompute > 0 &&
		d.KVDtype == "fp8" && d.GPU.Architecture == "blackwell" && d.Parallel.Engine != "vllm" {
		return d.GPU.FLOPS.FP8.Value
	}
	return attentionPeak(d)
}

// attentionPeak is that of the format that attention multiplies in.
func attentionPeak(d *hardware.Deployment) float64 {
	if d.AttentionFP8 {
		return d.GPU.FLOPS.FP8.Value
	}
	return d.GPU.FLOPS.BF16.Value
}

// visit adds up what each decode and what each chunk reads and multiplies: engines run the two in kernels of their own.
func visit(d *hardware.Deployment, w sim.Window, layers float64, k costs, b batch) []part {
	decodes, chunks := part{kind: "decode"}, part{kind: "cache"}
	for _, context := range b.decodes {
		decodes.bytes += layers * float64(seen(w, context)) * (k.bytes + k.scores)
		decodes.againS += layers * float64(seen(w, context)) * k.perHead / 4.5e12
		decodes.computeS += layers * float64(seen(w, context)) * k.decode / attentionPeak(d)
	}
	for _, c := range b.chunks {
		chunks.bytes += layers * (float64(distinct(w, c))*k.bytes + pairs(w, c)*k.scores)
		chunks.computeS += layers * pairs(w, c) * k.pair / attentionPeak(d)
	}
	return []part{decodes, chunks}
}

// distinct returns how many tokens of context some query of a chunk attends to. Sparse attention counts as the window
// of its top-k.
func distinct(w sim.Window, c chunk) int {
	switch {
	case w.Tokens == 0:
		return c.computed + c.tokens
	case w.Chunked:
		return c.computed%int(w.Tokens) + c.tokens
	}
	return min(c.computed, int(w.Tokens)-1) + c.tokens
}

// pairs returns how many pairs of query and key a chunk multiplies.
func pairs(w sim.Window, c chunk) float64 {
	if t := float64(c.tokens); w.Tokens == 0 {
		return t*float64(c.computed) + t*(t+1)/2
	}
	sum := 0
	for i := range c.tokens {
		sum += seen(w, c.computed+i+1)
	}
	return float64(sum)
}

// whole sums the parts.
func whole(parts []part) (memoryS, computeS float64) {
	for _, p := range parts {
		memoryS += p.memoryS
		computeS += p.computeS
	}
	return memoryS, computeS
}

// price returns the segment of b.
func price(r *hardware.Roofline, b batch) sim.Segment {
	d := r.Deployment()
	var g sim.Segment
	r.Price([]sim.Shape{b.shape(&d)}, &g)
	return g
}
