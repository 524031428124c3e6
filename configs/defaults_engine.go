package configs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// engineDefaults is what the engine of a pool takes where nobody says it, as far as that depends on the pool: on its
// GPU, its ranks, its role and what else is asked of it.
type engineDefaults struct {
	s      *Scenario
	p      *Pool
	engine catalog.EngineSpec
	gpu    hardware.GPU
	limit  catalog.EngineLimit
}

func (s *Scenario) engineDefaults(p *Pool) (d engineDefaults, err error) {
	d.s, d.p = s, p
	d.gpu, _, err = p.GPU.Hardware()
	if err != nil {
		return d, err
	}
	d.engine, err = catalog.Engine(p.Engine)
	if err != nil {
		return d, err
	}
	d.limit = p.Limit(&d.engine, &d.gpu)
	if d.gpu.Kind == hardware.LPU { // whose SRAM holds the activations of short steps alone
		d.limit.MaxNumSeqs = min(d.limit.MaxNumSeqs, lpuSeqs)
		d.limit.MaxNumBatchedTokens = min(d.limit.MaxNumBatchedTokens, lpuTokens)
	}
	return d, nil
}

// fillEngines writes what the engine of each pool takes where no layer says it.
func (s *Scenario) fillEngines() error {
	for i := range s.Pools {
		p, path := &s.Pools[i], fmt.Sprintf("pools[%d].", i)
		if p.GPU.From == "" && p.GPU.Own() {
			return s.origins.errorf(path+"gpu.from", "missing beside figures of your own; expected what they change, such as "+
				"{from: h100-sxm, bandwidth_bps: 5e12}, or a path")
		}
		if p.GPU.From == "" {
			return s.origins.errorf(path+"gpu", "missing; expected one of %s, or a path", strict.Quoted(catalog.GPUNames()))
		}
		if _, _, err := p.GPU.Hardware(); err != nil {
			return s.origins.errorf(path+"gpu", "%s", strict.Message(err))
		}
		d, err := s.engineDefaults(p)
		if err != nil {
			return err
		}
		d.fill(func(key string) bool { return s.origins.given(path + key) })
		if key := path + "gpu_memory_utilization"; p.GPUMemoryUtilization <= 0 && !s.origins.given(key) {
			return s.origins.errorf(key, "missing: what %s reserves by itself, for graphs of %d data-parallel ranks among the "+
				"rest, is more than the memory of %s; expected a share, such as 0.85", p.Engine, p.DataParallel, p.GPU)
		}
		s.spread(i, &d.gpu, &d.engine)
	}
	return nil
}

// fill writes the defaults that are not given. A default of max_num_seqs is never above the tokens of a step, which
// most engines would refuse, and goes after them.
func (d *engineDefaults) fill(given func(key string) bool) {
	if !given("max_num_seqs") {
		d.p.MaxNumSeqs = min(d.p.MaxNumSeqs, d.limit.MaxNumSeqs)
	}
	if !given("max_num_batched_tokens") {
		d.p.MaxNumBatchedTokens, _ = d.tokens()
	}
	if !given("max_num_seqs") {
		d.p.MaxNumSeqs, _ = d.sequences()
	}
	if !given("gpu_memory_utilization") {
		d.p.GPUMemoryUtilization, _ = d.memoryShare()
	}
	if !given("async_scheduling") {
		d.p.AsyncScheduling, _ = d.asynchronous()
	}
	if !given("enable_prefix_caching") {
		d.p.EnablePrefixCaching, _ = d.caches()
	}
	if d.p.EnableLoRA {
		d.p.fillLoRA(given)
	}
}

// Limit returns the batch limits that an engine takes of p by itself, on a GPU.
func (p *Pool) Limit(e *catalog.EngineSpec, gpu *hardware.GPU) catalog.EngineLimit {
	l := e.Limit(p.Version, gpu.Name, gpu.MemoryBytes.Value)
	if p.shortSteps(e) {
		l.MaxNumBatchedTokens = e.Special.LowLatencyTokens
	}
	return l.In(p.PerformanceMode)
}

// shortSteps reports whether experts of p are behind low-latency kernels, for which the engine has limits of its own.
func (p *Pool) shortSteps(e *catalog.EngineSpec) bool {
	return e.Special.LowLatencyTokens > 0 && p.ExpertParallel && p.DataParallel > 1 &&
		p.AllToAll == string(hardware.LowLatency)
}

// tokens returns max_num_batched_tokens; 0: that follows the longest sequence, which is known with the model.
func (d *engineDefaults) tokens() (n int, why string) {
	n, why = d.limit.MaxNumBatchedTokens, d.limit.On()
	switch ranks := d.p.DataParallel; {
	case followsLength(&d.engine, d.p):
		return 0, "for whole prompts"
	case d.engine.Scheduler == catalog.SchedulerSGLang && ranks > 1:
		return max(n/ranks, d.p.BlockSize), fmt.Sprintf("%s: %d shared by %d ranks", why, n, ranks)
	case d.engine.Scheduler == catalog.SchedulerSGLang: // of prompts alone
		return n, why
	case d.p.shortSteps(&d.engine):
		why = "for experts behind low-latency kernels"
	}
	if sequences := d.p.MaxNumSeqs; sequences > n {
		return sequences, "for a token of each sequence"
	}
	if most := d.p.MaxNumSeqs * d.longest(); d.engine.TokensOfSequences && most > 0 && most < n {
		return most, "for max_num_seqs sequences"
	}
	return n, why
}

// longest returns the tokens of the longest sequence: those asked for, or the model's. 0: a model that cannot be read
// is refused later.
func (d *engineDefaults) longest() int {
	if d.p.MaxModelLen > 0 {
		return d.p.MaxModelLen
	}
	if m := d.model(); m != nil {
		return m.ContextMax
	}
	return 0
}

// sequences returns max_num_seqs.
func (d *engineDefaults) sequences() (n int, why string) {
	n, why = d.limit.MaxNumSeqs, d.limit.On()
	switch tokens := d.p.MaxNumBatchedTokens; {
	case d.engine.Special.SpeculatingSequences > 0 && d.s.Speculation.On() && d.p.Decodes():
		return max(1, d.engine.Special.SpeculatingSequences/d.p.DataParallel), "with speculation, of all ranks together"
	case d.engine.Scheduler == catalog.SchedulerSGLang || tokens == 0 && followsLength(&d.engine, d.p) || tokens >= n:
		return n, why
	default:
		return max(1, tokens), "not above the tokens of a step"
	}
}

// memoryShare returns gpu_memory_utilization: a share, or what SGLang's reserve leaves.
func (d *engineDefaults) memoryShare() (share float64, why string) {
	if d.engine.Reserve == (catalog.StaticReserve{}) {
		return d.limit.GPUMemoryUtilization, ""
	}
	p := d.p
	q := catalog.Static{MemoryBytes: d.gpu.MemoryBytes.Value, Chunk: p.MaxNumBatchedTokens * p.DataParallel,
		GPUs: p.GPUs(), Ranks: p.DataParallel, Prompts: d.gpu.Vendor == "NVIDIA" && p.PipelineParallel == 1 && p.Prefills()}
	if p.Decodes() {
		q.Largest = d.largestGraph()
	}
	if p.Prefills() && p.MaxNumBatchedTokens < 0 {
		q.Chunk, q.Prompts = p.MaxPrefillTokens, false
	}
	if !p.Prefills() {
		q.Chunk = d.decodes(q.Largest) * (1 + d.s.Speculation.DraftsMax())
	}
	if p.EnforceEager {
		q.Largest, q.Prompts = 0, false
	}
	q.Latent = q.Prompts && d.latent()
	return d.engine.Reserve.Share(&q), "of what the engine reserves"
}

// largestGraph returns the sequences of the largest graph of decodes that SGLang reserves memory for: of the graphs
// that the pool names or, if it names none, no more than the sequences that it lets run.
func (d *engineDefaults) largestGraph() int {
	if sizes := d.p.CUDAGraphCaptureSizes; len(sizes) > 0 {
		return slices.Max(sizes)
	}
	largest := d.limit.LargestGraph(d.p.TensorParallel * d.p.DataParallel)
	return min(largest, d.decodes(largest))
}

// decodes returns the sequences that SGLang expects in a step of a pool that only decodes: of the largest graph, unless
// something says how many run.
func (d *engineDefaults) decodes(largest int) int {
	if n, _ := d.sequences(); n == d.p.MaxNumSeqs {
		return largest
	}
	return d.p.SequencesMax()
}

// asynchronous returns async_scheduling.
func (d *engineDefaults) asynchronous() (on bool, why string) {
	method := d.s.Speculation.Method
	if d.p.Decodes() && d.engine.Special.IsSynchronous(d.p.Version, method) {
		return false, "with speculation by " + method
	}
	return d.engine.Arguments.AsyncScheduling, ""
}

// caches returns enable_prefix_caching.
func (d *engineDefaults) caches() (on bool, why string) {
	if d.engine.Special.DecodesUncached && d.p.Role == RoleDecode {
		return false, "in pools of role decode"
	}
	return d.engine.Arguments.EnablePrefixCaching, ""
}

// latent reports whether the attention of the pool's model is latent.
func (d *engineDefaults) latent() bool {
	m := d.model()
	return m != nil && slices.ContainsFunc(m.Attention(), func(g llm.AttentionGroup) bool { return g.Latent > 0 })
}

// model returns the model of the pool; nil: it cannot be read, and is refused later.
func (d *engineDefaults) model() *llm.Model {
	ref := d.s.Model
	if d.p.Model != "" {
		ref = ModelRef{Config: d.p.Model}
	}
	r, err := ref.Read()
	if err != nil {
		return nil
	}
	return &r.Model
}

// followsLength reports whether the tokens of a step are by default the length of the longest sequence.
func followsLength(e *catalog.EngineSpec, p *Pool) bool {
	return e.WholePrompts > 0 && !p.EnableChunkedPrefill
}

// why says that the value of an argument is the engine's default, and on what that depends; empty: it is not.
func (d *engineDefaults) why(key string) string {
	f, _ := strict.FieldNamed(strict.FieldsOf(reflect.TypeFor[catalog.EngineArguments]()), key)
	value := reflect.ValueOf(d.p.EngineArguments).FieldByIndex(f.Index)
	usual, why := reflect.ValueOf(d.engine.Arguments).FieldByIndex(f.Index), ""
	switch key {
	case "max_num_batched_tokens":
		n, on := d.tokens()
		usual, why = reflect.ValueOf(n), on
	case "max_num_seqs":
		n, on := d.sequences()
		usual, why = reflect.ValueOf(n), on
	case "gpu_memory_utilization":
		share, on := d.memoryShare()
		usual, why = reflect.ValueOf(share), on
	case "enable_prefix_caching":
		cached, on := d.caches()
		usual, why = reflect.ValueOf(cached), on
	case "async_scheduling":
		async, on := d.asynchronous()
		usual, why = reflect.ValueOf(async), on
	}
	if f.Optional && value.IsZero() || !reflect.DeepEqual(value.Interface(), usual.Interface()) {
		return ""
	}
	return strings.TrimSpace("default " + why)
}

// LargestGraph returns the sequences of the largest CUDA graph that the engine of p captures by itself; 0: its graphs
// are not limited by that.
func (s *Scenario) LargestGraph(p *Pool) (int, error) {
	d, err := s.engineDefaults(p)
	if err != nil {
		return 0, s.Errorf(s.PoolPath(p, "gpu"), "%s", strict.Message(err))
	}
	return d.limit.LargestGraph(p.TensorParallel * p.DataParallel), nil
}

// Defaults of machines whose chips hold a few hundred megabytes: what a stage of eight has room for.
const (
	lpuSeqs   = 64
	lpuTokens = 512
)

// spreadContext is the tokens of cache that a model is spread with room for: one sequence of 8,192.
const spreadContext = 8192

// spread writes in over how many chips a model is spread whose machine has SRAM alone, where nobody says: the fewest
// that hold it. A model that cannot be read, or that no number of chips holds, is left for the error of who builds it.
func (s *Scenario) spread(i int, gpu *hardware.GPU, engine *catalog.EngineSpec) {
	p, path := &s.Pools[i], fmt.Sprintf("pools[%d].", i)
	for _, key := range []string{"tensor_parallel", "pipeline_parallel", "data_parallel"} {
		if s.origins.given(path+key) || !gpu.Kind.SRAM() || p.GPUs() != 1 {
			return
		}
	}
	r, err := s.Model.Read()
	m := r.Model
	if err == nil && s.Weights != "" {
		m, err = m.WithWeights(s.Weights)
	}
	if err != nil {
		return
	}
	d := hardware.Deployment{GPU: *gpu, Model: m, KVDtype: s.KVCache}
	if d.KVDtype == "" {
		d.KVDtype = "bf16"
	}
	tokens := max(1, p.MaxNumBatchedTokens)
	if split, ok := d.Spread(p.MemoryShare(engine), tokens, p.MaxNumSeqs, p.BlockSize, spreadContext); ok {
		p.TensorParallel, p.PipelineParallel = split.Tensor, split.Pipeline
	}
}
