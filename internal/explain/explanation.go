package explain

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Explanation is a decode step taken apart, in SI units. Bytes, FLOPs and parts are those of one GPU of a
// tensor-parallel group and data-parallel rank, through all its stages.
type Explanation struct {
	Scenario  string `json:"scenario,omitempty"`
	Model     string `json:"model"`
	GPU       string `json:"gpu"`
	GPUs      int    `json:"gpus"`
	Tensor    int    `json:"tensor_parallel"`
	Pipeline  int    `json:"pipeline_parallel"`
	Data      int    `json:"data_parallel"`
	Weights   string `json:"weights"`                   // dtype of most of them
	Sparsity  string `json:"weight_sparsity,omitempty"` // of the linear layers
	KVCache   string `json:"kv_cache"`
	Engine    string `json:"engine"`
	Batch     int    `json:"batch"`
	Context   int    `json:"context"`
	RankBatch int    `json:"rank_batch"` // sequences of the busiest data-parallel rank
	// that its linear layers multiply at once: of a microbatch, padding included
	Rows          int     `json:"rows"`
	RowsPadding   int     `json:"rows_padding"` // of them, up to the next CUDA graph
	Eager         bool    `json:"eager"`        // launched kernel by kernel
	Experts       int     `json:"experts,omitempty"`
	ExpertsRead   float64 `json:"experts_read,omitempty"`    // of each layer, expected
	ExpertsUneven float64 `json:"experts_busiest,omitempty"` // what the busiest GPU reads of them, as a multiple of the mean
	Parts         []partX `json:"parts"`

	Sent *hardware.Sent `json:"all_to_all,omitempty"` // absent where no kernel sends tokens to experts

	BytesTotal    float64 `json:"bytes"`
	FLOPsTotal    float64 `json:"flops"`
	BoundS        float64 `json:"bound_s"`
	MemoryS       float64 `json:"memory_s"`  // all bytes at peak bandwidth
	ComputeS      float64 `json:"compute_s"` // all FLOPs at peak
	StepS         float64 `json:"step_s"`
	Fraction      float64 `json:"fraction_of_bound"` // bound / step
	Limit         string  `json:"limit"`             // of the bound: memory or compute
	Share         shareX  `json:"time_share"`
	KernelShare   float64 `json:"kernel_time_share"` // of the compute in it: that of parts whose limit is kernels
	TokensPerS    float64 `json:"tokens_per_s"`
	Parameters    sizesX  `json:"parameters"`
	WeightsBytes  float64 `json:"weights_bytes"`            // of the checkpoint
	KVBytes       float64 `json:"kv_bytes_per_token"`       // of the cache of one sequence at this context, each head once
	KVBytesStored float64 `json:"kv_bytes_held_per_token"`  // while no window is full, with copies on ranks
	StateBytes    float64 `json:"state_bytes_per_sequence"` // beside that cache, whatever its length
	Memory        memoryX `json:"memory"`
	TokenizeS     float64 `json:"tokenize_s,omitempty"` // each prompt token, before it reaches the queue
	Fits          bool    `json:"fits"`                 // batch and context, into the cache
	Curve         []Curve `json:"curve"`

	// Where another resource takes over, or null: never within what fits.
	SwitchBatch *int `json:"switch_batch"` // compute binds the step from this batch on, at this context
	// the cache outweighs the weights from this context on, at this batch
	SwitchContext *int `json:"switch_context"`

	// The least that the attention of a prompt's chunk takes which ends at this context, and from how many tokens it takes
	// more; 0: there is no least.
	ChunkFloorS       float64 `json:"chunk_floor_s,omitempty"`
	ChunkFloorTokens  int     `json:"chunk_floor_tokens,omitempty"`
	LinearSwitchBatch *int    `json:"linear_switch_batch"` // compute binds the linear layers alone from this batch on

	Loads       *loadsX       `json:"kv_load,omitempty"` // absent where host memory keeps no prefixes
	Speculation *SpeculationX `json:"speculation,omitempty"`
	Warnings    []string      `json:"warnings"`

	Expected []metrics.ExpectedError `json:"expected_error,omitempty"` // absent where its engine was never measured

	computeFrom, cacheFrom, linearFrom int // the same, fit or not; 0: never

	memoryShare string // what the share of the memory is one of, in the words of the engine
}

// sizesX are the parameters of the decoder, and those that a token uses: without an embedding that is only looked up
// where there are experts.
type sizesX struct {
	Total  int64 `json:"total"`
	Active int64 `json:"active"`
}

// partX is one part of the step: times are at what the engine achieves.
type partX struct {
	Name     string  `json:"name"`
	Bytes    float64 `json:"bytes"`
	FLOPs    float64 `json:"flops"`
	MemoryS  float64 `json:"memory_s"`
	ComputeS float64 `json:"compute_s"`
	TimeS    float64 `json:"time_s"`
	Share    float64 `json:"share"` // of the step
	// what its time makes of the data sheet's peaks; 0 where it has no bytes or FLOPs
	BandwidthOfPeak float64 `json:"bandwidth_of_peak"`
	FLOPSOfPeak     float64 `json:"flops_of_peak"`

	// of collectives: by which algorithm, what their time makes of the peak of the link, and what of them passes while the
	// GPU computes, beside time_s
	Algorithm  string  `json:"algorithm,omitempty"`
	LinkOfPeak float64 `json:"link_of_peak,omitempty"`
	HiddenS    float64 `json:"hidden_s,omitempty"`

	Limit string `json:"limit"` // memory, compute, or kernels: arithmetic far below the peak; empty: neither

	rows int // that it multiplies
}

// part is one of a step that takes so long.
func part(p *hardware.PartCost, stepS float64) partX {
	x := partX{Name: p.Name, Bytes: p.Bytes, FLOPs: p.FLOPs, MemoryS: p.MemoryS, ComputeS: p.ComputeS, TimeS: p.TimeS,
		Share: p.TimeS / stepS, Algorithm: p.Algorithm, HiddenS: p.HiddenS}
	if p.TimeS > 0 {
		x.BandwidthOfPeak, x.FLOPSOfPeak = p.MemoryPeakS/p.TimeS, p.ComputePeakS/p.TimeS
	}
	if p.LinkPeakS > 0 {
		x.LinkOfPeak = p.LinkPeakS / (p.TimeS + p.HiddenS)
	}
	return x
}

// expertsPart is the part of the step that multiplies the tokens of all ranks.
const expertsPart = "experts"

// The limits of a part: reading, arithmetic, or arithmetic that kernels keep far below the peak.
const (
	memoryLimit  = "memory"
	computeLimit = "compute"
	kernelLimit  = "kernels"
)

// limit says what a part waits for.
func (p *partX) limit() string {
	switch {
	case p.Bytes == 0:
		return ""
	case !p.computes():
		return memoryLimit
	case p.FLOPSOfPeak < hardware.LittlePeak:
		return kernelLimit
	}
	return computeLimit
}

// computes reports whether the arithmetic takes longer than the reading.
func (p *partX) computes() bool { return p.ComputeS > p.MemoryS }

// ofPeak is what the part makes of the peak of what limits it.
func (p *partX) ofPeak() float64 {
	if p.computes() {
		return p.FLOPSOfPeak
	}
	return p.BandwidthOfPeak
}

// shareX is what the step's time goes to: compute is what exceeds the reading that it overlaps.
type shareX struct {
	Weights       float64 `json:"weights"`
	KV            float64 `json:"kv"`
	Compute       float64 `json:"compute"`
	Communication float64 `json:"communication"`
	Overhead      float64 `json:"overhead"`
}

func shareOf(g *sim.Segment) shareX {
	share := func(p sim.Part) float64 { return float64(g.Part[p].A) / float64(g.First) }
	return shareX{share(sim.Weights), share(sim.KV), share(sim.Compute), share(sim.Communication), share(sim.Overhead)}
}

// memoryX is the budget of one GPU.
type memoryX struct {
	Total       float64 `json:"total_bytes"`
	Usable      float64 `json:"usable_bytes"`
	Weights     float64 `json:"weights_bytes"`
	Activations float64 `json:"activation_bytes"`
	Context     float64 `json:"context_bytes"` // of the process: CUDA context and buffers
	KV          float64 `json:"kv_bytes"`
	Block       float64 `json:"block_bytes"`
	BlockSize   int     `json:"block_size"`
	Blocks      int64   `json:"blocks"`        // of all ranks, with those that the engine keeps back
	Sequences   int     `json:"sequences"`     // of this context at once
	MaxModelLen int     `json:"max_model_len"` // tokens of one sequence

	Adapters float64 `json:"adapter_bytes,omitempty"` // slots of LoRA adapters; absent: none
}

// Curve is the step of another batch at the same context; memory and compute are at peak, so the longer is the bound.
type Curve struct {
	Batch            int     `json:"batch"`
	StepS            float64 `json:"step_s"`
	BoundS           float64 `json:"bound_s"`
	MemoryS          float64 `json:"memory_s"`
	ComputeS         float64 `json:"compute_s"`
	TokensPerS       float64 `json:"tokens_per_s"`
	TokensPerSPerGPU float64 `json:"tokens_per_s_per_gpu"`
	Limit            string  `json:"limit"`
	Fits             bool    `json:"fits"`

	bytes, flops float64
}

// Explain takes the step apart.
func (s *Step) Explain() (*Explanation, error) {
	d, pool := &s.Deployment, s.Pool
	x := &Explanation{
		Scenario: s.name, Model: d.Model.Name, GPU: d.GPU.Name, GPUs: d.Parallel.GPUs(), Tensor: d.Parallel.Tensor,
		Pipeline: d.Parallel.Pipeline, Weights: describe.WeightsOf(&d.Model), KVCache: d.KVDtype, Engine: pool.Engine,
		Data: d.Parallel.Ranks(), Sparsity: s.scenario.Sparsity, Batch: s.batch, Context: s.Context,
		Experts: d.Model.Experts(), ExpertsRead: s.Model.ExpertsRead(s.batch),
		WeightsBytes: d.Model.WeightBytes(), Fits: s.fitting(s.Context) >= s.batch,
	}
	if read, _ := s.Model.BusiestExperts(s.batch); d.Model.Experts() > 0 && read > 1 {
		x.ExpertsUneven = read
	}
	share := s.Model.Share(s.batch)
	x.RankBatch, x.Eager, x.Sent = share.Sequences, share.Eager, s.Model.Sent(s.batch, s.Context)
	x.Rows, x.RowsPadding = share.Rows, share.Padding
	x.Parameters = sizesX{d.Model.ParamsTotal(), d.Model.Active()}
	_, x.KVBytesStored = d.KVBytesPerToken()
	if pool.Enters() {
		x.TokenizeS = d.Efficiency.TokenizeS
	}
	cache, state := d.SequenceBytes(s.Context)
	x.KVBytes, x.StateBytes = cache/float64(s.Context), state
	at := s.point(s.batch)
	x.BytesTotal, x.MemoryS = at.bytes, at.MemoryS
	x.FLOPsTotal, x.ComputeS = at.flops, at.ComputeS
	x.BoundS, x.StepS = at.BoundS, at.StepS
	x.Limit, x.TokensPerS = at.Limit, at.TokensPerS
	x.Fraction = x.BoundS / x.StepS
	g := s.Price(s.batch)
	x.Share = shareOf(&g)
	for _, p := range s.Model.Parts(s.batch, s.Context) {
		own := part(&p, x.StepS)
		own.rows = x.Rows
		if p.Name == expertsPart {
			own.rows = share.Tokens
		}
		own.Limit = own.limit()
		if own.Limit == kernelLimit {
			x.KernelShare += (own.TimeS - own.MemoryS) / x.StepS
		}
		x.Parts = append(x.Parts, own)
	}
	m := &s.Memory
	x.Memory = memoryX{
		m.Total, m.Usable, m.Weights, m.Activations, m.Context, m.KV, m.BlockBytes, pool.BlockSize, s.CacheBlocks,
		s.fitting(s.Context), int(s.MaxModelLen), m.Adapters,
	}
	x.memoryShare = describe.MemoryShareOf(pool)
	x.Curve = s.curve()
	x.computeFrom, x.cacheFrom, x.linearFrom = s.computeFrom(), s.cacheFrom(), s.LinearFrom()
	x.SwitchBatch = within(x.computeFrom, s.sequencesMax())
	x.SwitchContext = within(x.cacheFrom, s.roomiest())
	x.ChunkFloorS, x.ChunkFloorTokens = s.Model.ChunkFloor(s.Context)
	x.LinearSwitchBatch = within(x.linearFrom, s.sequencesMax())
	x.Loads = s.explainLoads()
	x.Warnings = append(s.warnings(), x.slowParts()...)
	x.Expected = expected.OfPool(s.scenario, s.Pool)
	var err error
	x.Speculation, err = s.ExplainSpeculation()
	return x, err
}

// warnings says what a reader should know beside the numbers.
func (s *Step) warnings() []string {
	notes := build.Warnings(s.scenario, s.Replica)
	pool := s.Pool
	switch fits := s.fitting(s.Context); {
	case s.batch > fits:
		notes = append(
			notes, fmt.Sprintf("%d sequences of %d tokens do not fit: the cache holds %d; no engine runs this step", s.batch,
				s.Context, fits))
	case s.batch > pool.SequencesMax():
		notes = append(notes, fmt.Sprintf("%d sequences are more than max_num_seqs, %d: the engine does not run this step",
			s.batch, pool.SequencesMax()))
	}
	if s.Context > int(s.MaxModelLen) {
		notes = append(notes, fmt.Sprintf("%d tokens of context are more than max_model_len, %d", s.Context, s.MaxModelLen))
	}
	return append([]string{}, notes...)
}

// slowParts warns of arithmetic of many rows that a constant keeps far below the peak.
func (x *Explanation) slowParts() (notes []string) {
	for i := range x.Parts {
		p := &x.Parts[i]
		if p.Limit == kernelLimit && p.rows > hardware.ManyRows {
			notes = append(notes, expected.SlowPart(p.Name, p.FLOPSOfPeak, p.rows))
		}
	}
	return notes
}

// within returns n if it is between 1 and most.
func within(n, most int) *int {
	if n == 0 || n > most {
		return nil
	}
	return &n
}

// curveMax is how far the curve goes at least, so that its end shows what no memory would hold.
const curveMax = 1024

// curve prices the powers of two, the step's own batch and the largest that the engine runs.
func (s *Step) curve() []Curve {
	sequencesMax := s.sequencesMax()
	batches := []int{s.batch}
	for n := 1; n <= s.longest(max(curveMax, s.batch, sequencesMax)); n *= 2 {
		batches = append(batches, n)
	}
	if sequencesMax > 0 {
		batches = append(batches, sequencesMax)
	}
	slices.Sort(batches)
	var points []Curve
	for _, n := range slices.Compact(batches) {
		points = append(points, s.point(n))
	}
	return points
}

// point prices a batch.
func (s *Step) point(n int) Curve {
	g := s.Price(n)
	c := Curve{Batch: n, StepS: g.First.Seconds(), BoundS: g.Bound.A.Seconds(), Limit: "memory",
		Fits: n <= s.sequencesMax()}
	if g.ComputeBound {
		c.Limit = "compute"
	}
	for _, p := range s.Model.Parts(n, s.Context) {
		c.bytes += p.Bytes
		c.flops += p.FLOPs
		c.MemoryS += p.MemoryPeakS
		c.ComputeS += p.ComputePeakS
	}
	c.TokensPerS = float64(n) / c.StepS
	c.TokensPerSPerGPU = c.TokensPerS / float64(s.Deployment.Parallel.GPUs())
	return c
}
