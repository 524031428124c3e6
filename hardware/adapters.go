package hardware

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// LoRA is what a replica has for LoRA adapters, each of which adds a product of two matrices of few rows, B·A, to
// linear layers of the model (Hu et al., arXiv 2106.09685). The zero value is none: the replica serves the model
// alone.
//
// vLLM allocates Slots of RankMax rows for every linear layer, whatever its adapters have (0.33.0,
// vllm/lora/layers/base_linear.py:99, column_parallel_linear.py:207, create_lora_weights), and its kernels read
// RankMax rows of each adapter that a step has (vllm/lora/ops/triton_ops/lora_shrink_op.py:301).
type LoRA struct {
	Slots   int      // adapters on a GPU at once
	RankMax int      // rows of a slot
	Modules []string // that have slots: some of llm.AdapterModules
	Used    bool     // requests have adapters: a step is explained with them

	HostLinkBps float64 // bytes/s of a GPU from host memory
	StorageBps  float64 // bytes/s into host memory; 0: it has every adapter from the beginning
}

// adapterBytes is the bytes of an element: adapters are in 16 bits beside weights of any format.
const adapterBytes = 2

// adapterShape is what one rank of an adapter is on one GPU of a replica.
type adapterShape struct {
	slot   float64 // parameters that a slot has for it
	copied float64 // of them, those that an adapter brings: of the projections of layers
	read   float64 // of the slot, those that a step reads
	row    float64 // multiplied by a row of a step
	output float64 // multiplied by a row of the LM head
	whole  float64 // that an adapter has in all, of the projections of layers
}

// adapterShape adds up the projections. With t GPUs that share a layer, each has all of A and its share of B where it
// has columns, and its share of A and all of B where it has rows: vLLM divides no more unless it is asked to
// (fully_sharded_loras). The embedding and the LM head have slots on each GPU for all of their rows; an adapter is
// taken to bring nothing for them, and of the embedding a step reads a row for each token, which is not counted.
func (d *Deployment) adapterShape() (s adapterShape) {
	projections, err := d.Model.Adaptable(d.LoRA.Modules)
	if err != nil {
		panic(err) // Validate refuses it
	}
	t := int64(d.Parallel.Tensor)
	for _, p := range projections {
		in, out, n := float64(p.In), float64(p.Out), float64(p.Count)
		switch {
		case p.Columns:
			out /= float64(min(t, p.Parts))
		case p.Rows:
			in /= float64(t)
		}
		own := float64(n * (in + out))
		s.slot += own
		switch p.Name {
		case llm.ModuleEmbed:
		case llm.ModuleHead:
			s.read += own
			s.output += own
		default:
			s.whole += float64(n * float64(p.In+p.Out))
			s.copied += own
			s.read += own
			s.row += own
		}
	}
	return s
}

// SlotBytes returns what the slots of all adapters take of the memory of each GPU.
func (d *Deployment) SlotBytes() float64 {
	if d.LoRA.Slots == 0 {
		return 0
	}
	return float64(d.LoRA.Slots*d.LoRA.RankMax*adapterBytes) * d.adapterShape().slot
}

// AdapterBytes returns what an adapter of so many rows has: on one GPU, and in all, as host memory and storage keep
// it.
func (d *Deployment) AdapterBytes(rank int) (gpu, whole float64) {
	s := d.adapterShape()
	return float64(rank*adapterBytes) * s.copied, float64(rank*adapterBytes) * s.whole
}

// CopyTimes returns how long an adapter of so many rows takes from host memory to the GPUs, each over a link of its
// own, and from storage to host memory before that: 0, if it is there.
func (d *Deployment) CopyTimes(rank int) (host, storage sim.Duration) {
	gpu, whole := d.AdapterBytes(rank)
	host = sim.SecondsUp(gpu / d.LoRA.HostLinkBps)
	if d.LoRA.StorageBps > 0 {
		storage = sim.SecondsUp(whole / d.LoRA.StorageBps)
	}
	return host, storage
}

// loraVocabMax is the largest vocabulary for whose LM head vLLM has slots (0.33.0,
// vllm/lora/layers/logits_processor.py:91).
const loraVocabMax = 258_048

// validateLoRA reports what cannot serve adapters.
func (d *Deployment) validateLoRA() error {
	if d.LoRA.Slots == 0 {
		return nil
	}
	switch {
	case d.LoRA.Slots < 0 || d.LoRA.RankMax < 1 || len(d.LoRA.Modules) == 0:
		return fmt.Errorf("hardware: %d slots of %d rows for adapters of %q; expected at least 1 of 1, and modules",
			d.LoRA.Slots, d.LoRA.RankMax, d.LoRA.Modules)
	case d.Parallel.Pipeline > 1:
		return fmt.Errorf("hardware: enable_lora true is not modelled with %d pipeline stages; accepted: 1, with more "+
			"tensor_parallel, data_parallel or replicas", d.Parallel.Pipeline)
	}
	if slices.Contains(d.LoRA.Modules, llm.ModuleHead) && d.Model.Vocab > loraVocabMax {
		return fmt.Errorf("hardware: enable_lora true: %s has a vocabulary of %d tokens, and vLLM takes up to %d; accepted: "+
			"lora_target_modules without %s", d.Model.Name, d.Model.Vocab, loraVocabMax, llm.ModuleHead)
	}
	projections, err := d.Model.Adaptable(d.LoRA.Modules)
	switch {
	case err != nil:
		return fmt.Errorf("hardware: enable_lora true: %w", err)
	case len(projections) == 0:
		return fmt.Errorf("hardware: enable_lora true: %s has none of the modules %q", d.Model.Name, d.LoRA.Modules)
	}
	return nil
}

// adapting is what adapters add to a step, by picoseconds: at the efficiencies of the dense products of the model, and
// at the peaks of the data sheet. No kernel's launching is among it: no measurement of that was found.
type adapting struct {
	readPS, readPeakPS     float64 // of each adapter that the step has
	rowPS, rowPeakPS       float64 // of each row that has one
	outputPS, outputPeakPS float64 // of each row of the LM head that has one
}

func newAdapting(d *Deployment) (a adapting) {
	if d.LoRA.Slots == 0 {
		return a
	}
	s, rank := d.adapterShape(), float64(d.LoRA.RankMax)
	peak, err := d.GPU.rate(llm.Format{Dtype: "bf16"})
	if err != nil {
		panic(err) // the model's own activations need it
	}
	read, flops := float64(rank*adapterBytes)*s.read/d.GPU.BandwidthBps.Value, 2*rank/peak
	a.readPeakPS, a.rowPeakPS, a.outputPeakPS = float64(read*psPerS), float64(flops*s.row)*psPerS,
		float64(flops*s.output)*psPerS
	e := &d.Efficiency
	a.readPS, a.rowPS, a.outputPS = a.readPeakPS/e.Bandwidth, a.rowPeakPS/e.Compute, a.outputPeakPS/e.Compute
	return a
}

// adapt adds what the adapters of a step take to what does not grow: their matrices are read once and multiplied by
// the rows of their own sequences, in products of their own, beside those of the model,
//
//	smax(n·W / (e_b·BW), 2·(r·p·M + r·q·O) / (e_c·F16))
//
// for n adapters with W bytes each, M rows and O rows of the LM head, r rows of a slot, and p and q the elements of a
// row of it: what the kernels of vLLM and of Punica (Chen et al., arXiv 2310.18547, §4) do at least.
func (r *Roofline) adapt(at *base, b *sim.Shape) {
	a := &r.adapting
	n, rows, outputs := float64(b.Adapters), float64(b.AdapterTokens), float64(b.AdapterOutputs)
	memory := float64(n * a.readPS)
	span := r.both(memory, float64(rows*a.rowPS)+float64(outputs*a.outputPS))
	price, read := sim.Duration(span)+1, sim.Duration(memory)
	at.price += price
	at.weights += read
	at.compute += price - read
	at.boundMemory += sim.Duration(n * a.readPeakPS)
	at.boundFLOPs += sim.Duration(float64(rows*a.rowPeakPS) + float64(outputs*a.outputPeakPS))
}

// wear gives the sequences of a decode step as many adapters as they may have. They are those of one GPU: data-parallel
// ranks share the sequences, and each has slots of its own.
func (d *Deployment) wear(b *sim.Shape) {
	if d.LoRA.Used {
		ranks := d.Parallel.Ranks()
		b.Adapters = min((b.Decodes+ranks-1)/ranks, d.LoRA.Slots)
		b.AdapterOutputs = (b.Outputs + ranks - 1) / ranks
		b.AdapterTokens = int64(b.AdapterOutputs)
	}
}

// explain takes what adapters add to a step apart.
func (a *adapting) explain(d *Deployment, b *sim.Shape) PartCost {
	s, rank := d.adapterShape(), float64(d.LoRA.RankMax)
	n, rows, outputs := float64(b.Adapters), float64(b.AdapterTokens), float64(b.AdapterOutputs)
	return PartCost{
		Name: "adapters", Kind: sim.Weights, Bytes: float64(n*rank) * adapterBytes * s.read,
		FLOPs:        2 * rank * (float64(rows*s.row) + float64(outputs*s.output)),
		MemoryS:      n * a.readPS / psPerS,
		ComputeS:     (float64(rows*a.rowPS) + float64(outputs*a.outputPS)) / psPerS,
		ComputePeakS: (float64(rows*a.rowPeakPS) + float64(outputs*a.outputPeakPS)) / psPerS,
	}
}

// precede lengthens a step by copies of adapters, which the worker waits for before it launches the step (0.33.0,
// vllm/v1/worker/gpu_model_runner.py:2237, "Hot-Swap lora model"). They are of this step alone, so it is the only one
// of g, and communication, as those of KV blocks are.
func precede(span sim.Duration, g *sim.Segment) {
	g.First += span
	g.Part[sim.Communication].A += span
	g.Steps = 1
}
