package configs

import (
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// Replica is one replica of a scenario: the model on its GPUs, what its memory holds and what its steps cost. It is all
// that does not depend on the load.
type Replica struct {
	Deployment  hardware.Deployment
	Memory      hardware.Memory
	Model       *hardware.Roofline
	KVBlocks    int64 // that sequences can use
	CacheBlocks int64 // those and the ones that the engine keeps back
	MaxModelLen int32
	PromptMax   int32 // tokens of a prompt that the engine takes; 0: as many as a sequence has

	MaxNumBatchedTokens int // of a rank

	SwapBlocks, OffloadBlocks int64 // of host memory, for swapped sequences and for cached prefixes

	notes []string // warnings
}

// tableMax bounds the batch sizes whose price is tabulated; larger batches are priced when they occur.
const tableMax = 4096

// Replica builds a replica of the first pool of s.
func (s *Scenario) Replica() (*Replica, error) { return s.ReplicaOf(0) }

// ReplicaOf builds a replica of the i-th pool of s, or says which value of s no replica can have.
func (s *Scenario) ReplicaOf(i int) (*Replica, error) {
	p := &s.Pools[i]
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return nil, s.origins.errorf(s.path(p, "engine"), "%s", strict.Message(err))
	}
	d, err := s.deployment(p)
	if err != nil {
		return nil, err
	}
	efficiency, doubt, err := s.efficiency(p)
	if err != nil {
		return nil, err
	}
	d.Efficiency = efficiency
	r := &Replica{Deployment: d, MaxNumBatchedTokens: p.stepTokens(&engine, &d.Model)}
	if r.Memory, err = d.MemoryOf(p.MemoryShare(&engine), p.tokensMax(r.MaxNumBatchedTokens), p.MaxNumSeqs, p.BlockSize); err != nil {
		return nil, s.origins.errorf(s.path(p, ""), "%s%s", strict.Message(err), p.shorterSteps(&engine, err))
	}
	if err := s.cache(r, p, &engine); err != nil {
		return nil, err
	}
	if err := s.hostMemory(r, p, &engine); err != nil {
		return nil, err
	}
	r.limitPrompts(p, &engine)
	r.noteEngine(p, &engine)
	r.price(p)
	r.noteHardware(p)
	r.notes = append(r.notes, s.noteDrafts(p)...)
	r.notes = append(r.notes, s.noteHandover(p)...)
	if doubt != "" {
		r.notes = append(r.notes, doubt)
	}
	return r, nil
}

// price makes the model of a replica's steps from its deployment.
func (r *Replica) price(p *Pool) {
	r.Model = hardware.NewRoofline(r.Deployment, min(p.Seats(), tableMax))
}

// deployment puts the model on the pool's GPUs. What they achieve is another question, see efficiency.
func (s *Scenario) deployment(p *Pool) (d hardware.Deployment, err error) {
	if d.Model, err = s.modelOf(p); err != nil {
		return d, err
	}
	if d.GPU, err = catalog.GPU(p.GPU); err != nil {
		return d, s.origins.errorf(s.path(p, "gpu"), "%s", strict.Message(err))
	}
	if d.KVDtype = s.KVCache; d.KVDtype == "" {
		d.KVDtype = d.Model.Precision.KVCache
	}
	if d.KVDtype == "" {
		d.KVDtype = "bf16"
	}
	d.Parallel = hardware.Parallel{Tensor: p.TensorParallel, Pipeline: p.PipelineParallel, Data: p.DataParallel, Expert: p.ExpertParallel}
	d.Materialized = p.Attention == "materialized"
	d.Decoding = s.decoding()
	if p.Decodes() {
		if d.Speculation, err = s.speculation(d.Model); err != nil {
			return d, err
		}
	}
	if d.Launch, err = s.launch(p); err != nil {
		return d, err
	}
	return d, s.undeployable(p, d.Validate())
}

// launch says how the engine drives its GPUs. Capture sizes may be given in any order.
func (s *Scenario) launch(p *Pool) (hardware.Launch, error) {
	l := hardware.Launch{Eager: p.EnforceEager, Async: p.AsyncScheduling}
	if len(p.CUDAGraphCaptureSizes) > 0 {
		l.Graphs = slices.Compact(slices.Sorted(slices.Values(p.CUDAGraphCaptureSizes)))
		return l, nil
	}
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return l, s.origins.errorf(s.path(p, "engine"), "%s", strict.Message(err))
	}
	rows := p.MaxNumSeqs
	if p.Decodes() {
		rows *= 1 + s.Speculation.DraftsMax()
	}
	l.Graphs = engine.CUDAGraphs.Sizes(p.GPU, rows)
	return l, nil
}

// undeployable points hardware's refusal at the key it is about.
func (s *Scenario) undeployable(p *Pool, err error) error {
	if err == nil {
		return nil
	}
	message := strict.Message(err)
	for _, key := range []string{"tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel"} {
		if rest, ok := strings.CutPrefix(message, key+" "); ok {
			return s.origins.errorf(s.path(p, key), "%s", rest)
		}
	}
	for _, key := range []string{"kv_cache", "weight_sparsity"} {
		if rest, ok := strings.CutPrefix(message, key+" "); ok {
			return s.origins.errorf(key, "%s", rest)
		}
	}
	return s.origins.errorf(s.path(p, ""), "%s", message)
}

// modelOf returns the model that the pool runs: the scenario's, or an encoder as it stands in its checkpoint.
func (s *Scenario) modelOf(p *Pool) (llm.Model, error) {
	if p.Model == "" {
		return s.model()
	}
	m, err := catalog.Checkpoint(p.Model)
	if err != nil {
		return m, s.origins.errorf(s.path(p, "model"), "%s", strict.Message(err))
	}
	return m, nil
}

// model returns the model, in the weights that the scenario asks for.
func (s *Scenario) model() (llm.Model, error) {
	m, err := catalog.Checkpoint(s.Model)
	if err != nil {
		return m, s.origins.errorf("model", "%s", strict.Message(err))
	}
	if s.Weights != "" {
		if m, err = m.WithWeights(s.Weights); err != nil {
			return m, s.origins.errorf("weights", "%s", strict.Message(err))
		}
	}
	if s.Sparsity != "" {
		if m, err = m.WithSparsity(s.Sparsity); err != nil {
			return m, s.origins.errorf("weight_sparsity", "%s", strict.Message(err))
		}
	}
	return m, nil
}
