package hardware

import (
	"fmt"
	"math"
	"sort"

	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// Memory is the budget of one GPU of a replica, in bytes, and the KV cache that it leaves.
type Memory struct {
	Total       float64 // of the GPU
	Usable      float64 // what the engine takes of it: what follows, up to KV, sums to it
	Weights     float64
	Adapters    float64 // slots of LoRA adapters
	Activations float64 // at the largest step
	Context     float64 // CUDA context, communication buffers
	KV          float64 // what is left: Blocks fit in it
	BlockBytes  float64 // of one block, on this GPU
	TokenBytes  float64 // cache of one token, on this GPU
	FixedBytes  float64 // of one sequence, whatever its length: recurrent state, short windows

	// Blocks is the number of KV blocks of a replica, over its data-parallel ranks. vLLM reserves one of each rank, the
	// null block.
	Blocks         int64
	SequenceBlocks int32 // blocks for FixedBytes

	// Windowed is the blocks that groups of sliding windows take with each block of tokens, up to the length of a window.
	// Where an engine frees what a window has passed, that is Passing's to say, see PassWindows.
	// Like vLLM, which pads all groups to the size of the smallest (v1/core/kv_cache_planning.py), it counts whole blocks.
	Windowed sim.Windowed

	// Passing is the groups of all sliding windows, if the engine frees what a window has passed: see PassWindows.
	Passing sim.Passing
}

// PassWindows has the groups of sliding windows free what their windows have passed, where up to so many tokens of a
// sequence are computed at once, in blocks of blockSize tokens. Short windows are no longer charged whole.
func (m *Memory) PassWindows(d *Deployment, tokensMax, blockSize int, lags bool) {
	token, window, short := d.slidingCache()
	if token == 0 {
		return
	}
	m.Passing = sim.Passing{Blocks: int32(math.Ceil(token / m.TokenBytes)), Window: int32(window),
		TokensMax: int32(tokensMax), Lags: lags}
	m.Windowed = sim.Windowed{Blocks: m.Passing.Blocks, BlocksMax: int32(ceilDiv(window, blockSize) + 1)}
	m.FixedBytes = max(0, m.FixedBytes-short)
	m.SequenceBlocks = int32(math.Ceil(m.FixedBytes / m.BlockBytes))
}

// passing returns how many blocks more than those of Windowed a sequence of n blocks of tokens has at most, while its
// prompt is computed in chunks and windows have not passed what is before them.
func (m *Memory) passing(n, blockSize int64) int64 {
	p := &m.Passing
	if p.Blocks == 0 {
		return 0
	}
	blocks := func(tokens int64) int64 { return (tokens+blockSize-1)/blockSize + 1 }
	return int64(p.Blocks) * max(0, min(n, blocks(int64(p.Window-1+p.TokensMax)))-blocks(int64(p.Window)))
}

// BlocksOf returns the blocks of a sequence of so many tokens, in blocks of blockSize.
func (m *Memory) BlocksOf(tokens, blockSize int64) int64 {
	n := (tokens + blockSize - 1) / blockSize
	return n + int64(m.SequenceBlocks) + int64(m.Windowed.Blocks)*min(n, int64(m.Windowed.BlocksMax))
}

// TokensIn returns the longest sequence in so many blocks of blockSize tokens, once its prompt has been computed.
func (m *Memory) TokensIn(blocks, blockSize int64) int64 {
	blocks = max(0, blocks-int64(m.SequenceBlocks))
	w := &m.Windowed
	n := max(blocks/(1+int64(w.Blocks)), blocks-int64(w.Blocks)*int64(w.BlocksMax))
	return n * blockSize
}

// LongestIn returns the longest sequence whose prompt can be computed in so many blocks of blockSize tokens.
func (m *Memory) LongestIn(blocks, blockSize int64) int64 {
	fits := func(n int64) bool { return m.BlocksOf(n*blockSize, blockSize)+m.passing(n, blockSize) <= blocks }
	return int64(sort.Search(int(blocks), func(n int) bool { return !fits(int64(n + 1)) })) * blockSize
}

// MemoryShare is how much memory of a GPU an engine may take: a share, and of what.
type MemoryShare struct {
	Of    ShareOf
	Share float64 // in (0, 1]
}

// ShareOf says what a MemoryShare is a share of.
type ShareOf string

// The three meanings that engines give the argument.
const (
	// OfTotal: weights, activations, context and cache take the share of the GPU's memory, as gpu_memory_utilization of
	// vLLM (vllm/config/cache.py).
	OfTotal ShareOf = "total"
	// OfStatic: weights and cache take the share; activations and context must do with the rest, as mem_fraction_static of
	// SGLang.
	OfStatic ShareOf = "static"
	// OfFree: the cache takes the share of what weights, activations and context leave, as free_gpu_memory_fraction of
	// TensorRT-LLM.
	OfFree ShareOf = "free"
)

// cudaContextBytes is what a process takes beside weights, activations and cache. It is the mean over six logged
// num_gpu_blocks of vLLM 0.15–0.19 on H100 and RTX 4090, tensor parallel 1 to 4, after subtracting the other terms of
// this file; they range from 0.7e9 to 1.7e9.
const cudaContextBytes = 1.3e9

// Memory is MemoryOf for a share of the whole memory.
func (d *Deployment) Memory(utilization float64, tokens, sequences, blockSize int) (Memory, error) {
	return d.MemoryOf(MemoryShare{OfTotal, utilization}, tokens, sequences, blockSize)
}

// MemoryOf computes the budget for steps of up to tokens rows on a rank, sequences of which yield a token, in blocks of
// blockSize tokens.
func (d *Deployment) MemoryOf(share MemoryShare, tokens, sequences, blockSize int) (Memory, error) {
	m := d.budget(share, tokens, sequences, blockSize)
	if m.KV < m.BlockBytes {
		shorter := d.roomy(share, sequences, sequences, blockSize)
		t, narrower := d.fittingTensor(share, tokens, sequences, blockSize), ""
		if t != 0 && d.beyond(t) != "" {
			narrower = d.fittingWeights(share, tokens, sequences, blockSize)
		}
		return m, d.tooLarge(m, share, tokens, shorter, t, narrower)
	}
	m.SequenceBlocks = int32(math.Ceil(m.FixedBytes / m.BlockBytes))
	if token, window := d.windowedCache(); token != 0 {
		m.Windowed = sim.Windowed{Blocks: int32(math.Ceil(token / m.TokenBytes)),
			BlocksMax: int32(ceilDiv(window, blockSize) + 1)}
	}
	m.Blocks = int64(m.KV/m.BlockBytes) * int64(d.Parallel.Ranks())
	return m, nil
}

// budget divides the memory, and leaves in KV what remains, less than nothing if the rest does not fit.
func (d *Deployment) budget(share MemoryShare, tokens, sequences, blockSize int) Memory {
	m := Memory{Total: d.GPU.MemoryBytes.Value, Context: d.GPU.contextBytes()}
	m.Weights, m.Adapters = d.weightBytesPerGPU()+d.DrafterBytes(), d.SlotBytes()
	m.Activations = d.activationBytes(tokens, sequences*d.rowsPerSequence())
	m.TokenBytes, m.FixedBytes = d.cacheBytes()
	token, fixed := d.drafterCacheBytes()
	m.TokenBytes, m.FixedBytes = m.TokenBytes+token, m.FixedBytes+fixed
	m.BlockBytes = m.TokenBytes * float64(blockSize)
	switch share.Of {
	case OfTotal:
		m.Usable = float64(m.Total * share.Share)
		m.KV = m.Usable - m.Weights - m.Adapters - m.Activations - m.Context
		return m
	case OfStatic:
		m.KV = float64(m.Total*share.Share) - m.Weights - m.Adapters
	case OfFree:
		m.KV = share.Share * (m.Total - m.Weights - m.Adapters - m.Activations - m.Context)
	default:
		panic(fmt.Sprintf("hardware: a share of %q; valid values: %q, %q, %q", share.Of, OfTotal, OfStatic, OfFree))
	}
	m.Usable = m.Weights + m.Adapters + m.Activations + m.Context + m.KV
	return m
}

// totalFor returns the memory of the least GPU that holds m's weights and one block of cache.
func (s MemoryShare) totalFor(m *Memory) float64 {
	switch s.Of {
	case OfStatic:
		return (m.Weights + m.Adapters + m.BlockBytes) / s.Share
	case OfFree:
		return m.Weights + m.Adapters + m.Activations + m.Context + m.BlockBytes/s.Share
	}
	return (m.Weights + m.Adapters + m.Activations + m.Context + m.BlockBytes) / s.Share
}

// weightBytesPerGPU returns the weights of the fullest GPU: its share of the largest pipeline stage, and the embedding
// rows, which are split like the head. Chips with SRAM alone spread these over all stages too.
func (d *Deployment) weightBytesPerGPU() float64 {
	stage, sum := d.stageShare(), 0.0
	for c, n := range d.Model.Params() {
		part := stage
		if (llm.WeightClass(c) == llm.Embedding || llm.WeightClass(c) == llm.Head) && !d.GPU.Kind.SRAM() {
			part = 1
		}
		sum += float64(float64(n) * d.Model.WeightBits(llm.WeightClass(c)) / 8 * d.share(llm.WeightClass(c)) * part)
	}
	return sum
}

// activationBytes estimates the largest step's activations at 2 bytes: input and s residual streams, the two halves and
// the product of the widest feed-forward network, and the outputs of a token's k experts before they are added up,
//
//	tokens · ((1 + s)·H + 3·I/t + k·H) · 2 B + sequences · V/t · 4 B
//
// with I the intermediate width that a token meets (routed and shared experts together) and the logits in fp32. Where
// data-parallel ranks gather their tokens, each has those of the others and what experts yield for them before it is
// scattered, 2·H·2 B more for every token of another rank.
func (d *Deployment) activationBytes(tokens, sequences int) float64 {
	t, widest, streams := float64(d.Parallel.Tensor), 0, max(1, d.Model.Residual.Streams)
	for _, r := range d.Model.Layers {
		widest = max(widest, r.FFN.Width+r.FFN.TopK*r.FFN.ExpertWidth+r.FFN.SharedWidth)
	}
	rows := 2 * float64(float64(tokens)*(float64((1+streams+d.Model.TopK())*d.Model.Hidden)+3*float64(widest)/t))
	if d.allToAll() == AllGather {
		rows += float64(float64(tokens*(d.Parallel.Ranks()-1)) * 2 * d.expertRowBytes())
	}
	return rows + float64(float64(sequences)*float64(d.Model.Vocab)/t*4)
}

// MemoryError says that the model does not fit on its GPUs.
type MemoryError struct {
	Model     string
	GPU       string
	Parallel  Parallel
	Step      bool    // it would with steps of fewer tokens, whose activations take less
	MissBytes float64 // of each GPU
	Hint      string  // what would do
	message   string
}

func (e *MemoryError) Error() string { return e.message }

// tooLarge says how much memory is missing and what would do: steps of fewer tokens, if shorter, and the
// tensor-parallel size t, if not 0; narrower says which weights would do as well.
func (d *Deployment) tooLarge(m Memory, share MemoryShare, tokens int, shorter bool, t int,
	narrower string) *MemoryError {
	steps := fmt.Sprintf("steps of far fewer than %d tokens", tokens)
	hint := fmt.Sprintf("lower weights precision, a GPU of at least %.0f GB, or more GPUs per replica would do",
		share.totalFor(&m)/1e9)
	switch {
	case t != 0 && shorter:
		hint = fmt.Sprintf("tensor_parallel %d would do%s, or %s", t, d.beyond(t), steps)
	case t != 0:
		hint = fmt.Sprintf("tensor_parallel %d would do%s%s", t, d.beyond(t), narrower)
	case shorter:
		hint = steps + " would do"
	case d.GPU.Kind.SRAM() && d.Parallel.GPUs() == 1:
		hint = fmt.Sprintf("no stages of layers, each over up to %d chips, hold it either; lower weights precision would do",
			spreadMax)
	}
	need, gives := m.Weights+m.Adapters+m.Activations+m.Context+m.BlockBytes, m.Usable
	slots := ""
	if m.Adapters != 0 {
		slots = fmt.Sprintf(", adapter slots %.1f", m.Adapters/1e9)
	}
	parts := fmt.Sprintf("weights %.1f%s, activations %.1f, context %.1f", m.Weights/1e9, slots, m.Activations/1e9,
		m.Context/1e9)
	switch share.Of {
	case OfStatic:
		need, gives = m.Weights+m.Adapters+m.BlockBytes, m.Total*share.Share
		parts = fmt.Sprintf("weights %.1f%s", m.Weights/1e9, slots)
	case OfFree:
		gives = m.Total
	}
	return &MemoryError{
		Model: d.Model.Name, GPU: d.GPU.Name, Parallel: d.Parallel, Step: shorter, MissBytes: need - gives, Hint: hint,
		message: fmt.Sprintf("hardware: %s does not fit on %d × %s: each GPU needs %.1f GB (%s) "+
			"and gives %.1f GB of its %.1f; it misses by %.1f GB; %s", d.Model.Name, d.Parallel.GPUs(), d.GPU.Name,
			need/1e9, parts, gives/1e9, m.Total/1e9, (need-gives)/1e9, hint),
	}
}

// fittingTensor returns the least tensor-parallel size, a power-of-two multiple of the present one, that holds the
// model and leaves 2 % of what is usable to the cache; 0: none up to 64.
func (d *Deployment) fittingTensor(share MemoryShare, tokens, sequences, blockSize int) int {
	for t := 2 * d.Parallel.Tensor; t <= 64; t *= 2 {
		wider := *d
		wider.Parallel.Tensor = t
		if wider.Validate() == nil && wider.roomy(share, tokens, sequences, blockSize) {
			return t
		}
	}
	return 0
}

// fittingWeights says which narrower weights the GPUs of a domain hold, and how many of them; empty: none that were
// tried.
func (d *Deployment) fittingWeights(share MemoryShare, tokens, sequences, blockSize int) string {
	for _, dtype := range []string{"fp8", "int4"} {
		narrower := *d
		model, err := d.Model.WithWeights(dtype)
		narrower.Model = model
		if err != nil || narrower.weightBytesPerGPU() >= d.weightBytesPerGPU() {
			continue
		}
		if narrower.roomy(share, tokens, sequences, blockSize) {
			return "; so would weights " + dtype
		}
		t := narrower.fittingTensor(share, tokens, sequences, blockSize)
		if t != 0 && d.beyond(t) == "" {
			return fmt.Sprintf("; so would weights %s with tensor_parallel %d", dtype, t)
		}
	}
	return ""
}

// roomy reports whether 2 % of what is usable are left to the cache.
func (d *Deployment) roomy(share MemoryShare, tokens, sequences, blockSize int) bool {
	m := d.budget(share, tokens, sequences, blockSize)
	return m.KV-m.BlockBytes > 0.02*m.Usable
}

// beyond says where n GPUs that share every layer leave the link that joins those of a domain or host: every layer then
// waits for the network, or for PCIe.
func (d *Deployment) beyond(n int) string {
	domain, up := max(1, int(d.GPU.Domain.Value)), d.GPU.ScaleUpBps.Value != 0
	switch path := d.linkField(n); {
	case up && path == "nic_bps":
		return fmt.Sprintf(", over the network beyond a domain of %d", domain)
	case up && path == "pcie_bps":
		return fmt.Sprintf(", over PCIe beyond a domain of %d", domain)
	case path == "nic_bps":
		return fmt.Sprintf(", over the network beyond a host of %d", nodeGPUs)
	}
	return ""
}
