package build

import (
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// deploymentOf puts the model on the pool's GPUs. What they achieve is another question, see efficiency.
func deploymentOf(s *configs.Scenario, p *configs.Pool) (d hardware.Deployment, err error) {
	d.Model, err = modelOfPool(s, p)
	if err != nil {
		return d, err
	}
	d.GPU, _, err = p.GPU.Hardware()
	if err != nil {
		return d, s.Errorf(s.PoolPath(p, "gpu"), "%s", strict.Message(err))
	}
	d.KVDtype = s.KVCache
	if d.KVDtype == "" {
		d.KVDtype = d.Model.Precision.KVCache
	}
	if d.KVDtype == "" {
		d.KVDtype = "bf16"
	}
	d.HybridKV = p.HybridKV
	d.Parallel = hardware.Parallel{Tensor: p.TensorParallel, Pipeline: p.PipelineParallel, Data: p.DataParallel,
		Expert: p.ExpertParallel, AllToAll: hardware.AllToAll(p.AllToAll), NCCL: p.DisableCustomAllReduce,
		Overlap: hardware.BatchOverlap(p.BatchOverlap)}
	if engine, err := catalog.Engine(p.Engine); err == nil {
		d.Parallel.Engine = engine.Efficiency
	}
	d.Routing = hardware.Routing{Skew: p.ExpertSkew, Balanced: p.EnableEPLB, Redundant: p.NumRedundantExperts}
	switch p.Role {
	case configs.RolePrefill:
		d.Phase = hardware.PromptsOnly
	case configs.RoleDecode:
		d.Phase = hardware.DecodesOnly
	}
	d.Materialized = p.Attention == "materialized"
	d.AttentionFP8 = p.Attention == "flash-fp8"
	d.PerHead = p.Attention == "flash-per-head"
	d.Decoding = decodingOf(s)
	if p.Decodes() {
		d.Speculation, err = drafterOf(s, d.Model)
		if err != nil {
			return d, err
		}
	}
	d.Launch, err = launchOf(s, p, &d.GPU)
	if err != nil {
		return d, err
	}
	d.LoRA, err = loraOf(s, p, &d.GPU)
	if err != nil {
		return d, err
	}
	return d, undeployable(s, p, d.Validate())
}

// launchOf says how the engine drives its GPUs. Capture sizes may be given in any order.
func launchOf(s *configs.Scenario, p *configs.Pool, gpu *hardware.GPU) (hardware.Launch, error) {
	l := hardware.Launch{Eager: p.EnforceEager, Async: p.AsyncScheduling}
	if gpu.Kind != "" {
		return l, unlaunched(s, p, gpu)
	}
	if len(p.CUDAGraphCaptureSizes) > 0 {
		l.Graphs = slices.Compact(slices.Sorted(slices.Values(p.CUDAGraphCaptureSizes)))
		return l, nil
	}
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return l, s.Errorf(s.PoolPath(p, "engine"), "%s", strict.Message(err))
	}
	q := catalog.Decoding{GPU: gpu.Name, Sequences: p.MaxNumSeqs, Rows: 1, Tokens: max(0, p.MaxNumBatchedTokens),
		Interactive: p.PerformanceMode == catalog.ModeInteractivity}
	if p.Decodes() {
		q.Rows += s.Speculation.DraftsMax()
	}
	q.Largest, err = s.LargestGraph(p)
	if err != nil {
		return l, err
	}
	l.Graphs = engine.Graphs(p.Version, &q)
	return l, nil
}

// unlaunched refuses arguments about CUDA graphs where there are none.
func unlaunched(s *configs.Scenario, p *configs.Pool, gpu *hardware.GPU) error {
	for _, x := range []struct {
		key   string
		given bool
	}{{"enforce_eager", p.EnforceEager}, {"cudagraph_capture_sizes", len(p.CUDAGraphCaptureSizes) > 0}} {
		if x.given {
			return s.Errorf(s.PoolPath(p, x.key), "gpu %s is of kind %s, on which no CUDA graph is launched; expected none",
				gpu.Name, gpu.Kind)
		}
	}
	return nil
}

// undeployable points hardware's refusal at the key it is about.
func undeployable(s *configs.Scenario, p *configs.Pool, err error) error {
	if err == nil {
		return nil
	}
	message := strict.Message(err)
	for _, key := range []string{"tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel",
		"expert_skew", "enable_eplb", "num_redundant_experts", "all_to_all", "batch_overlap", "enable_lora"} {
		if rest, ok := strings.CutPrefix(message, key+" "); ok {
			return s.Errorf(s.PoolPath(p, key), "%s", rest)
		}
	}
	for _, key := range []string{"kv_cache", "weight_sparsity"} {
		if rest, ok := strings.CutPrefix(message, key+" "); ok {
			return s.Errorf(key, "%s", rest)
		}
	}
	return s.Errorf(s.PoolPath(p, ""), "%s", message)
}

// modelOfPool returns the model that the pool runs: the scenario's, or an encoder as it stands in its checkpoint.
func modelOfPool(s *configs.Scenario, p *configs.Pool) (llm.Model, error) {
	if p.Model == "" {
		return ModelOf(s)
	}
	m, err := catalog.Checkpoint(p.Model)
	if err != nil {
		return m, s.Errorf(s.PoolPath(p, "model"), "%s", strict.Message(err))
	}
	return m, nil
}

// ModelOf returns the model of s, in the weights that the scenario asks for.
func ModelOf(s *configs.Scenario) (llm.Model, error) {
	r, err := s.Model.Read()
	m := r.Model
	if err != nil {
		return m, s.Errorf("model", "%s", strict.Message(err))
	}
	if s.Weights != "" {
		m, err = m.WithWeights(s.Weights)
		if err != nil {
			return m, s.Errorf("weights", "%s", strict.Message(err))
		}
	}
	if s.Sparsity != "" {
		m, err = m.WithSparsity(s.Sparsity)
		if err != nil {
			return m, s.Errorf("weight_sparsity", "%s", strict.Message(err))
		}
	}
	return m, nil
}
