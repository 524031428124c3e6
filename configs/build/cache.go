package build

import (
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
)

// sizeCache sizes the KV cache and the longest sequence. vLLM keeps one block back, the null block that stands for
// tokens outside a window (vllm/v1/core/block_pool.py), which other engines lack; where max_model_len is not given, it
// takes the model's context and lowers it to what the cache holds of one sequence (vllm/v1/core/kv_cache_utils.py).
// Each data-parallel rank has a cache of its own: a sequence fits into one of them, while the replica counts the blocks
// of all.
func sizeCache(s *configs.Scenario, r *Replica, p *configs.Pool, e *catalog.EngineSpec) error {
	ranks := int64(r.Deployment.Parallel.Ranks())
	blocks := r.Memory.Blocks / ranks
	if p.NumGPUBlocks > 0 {
		if p.NumGPUBlocks > blocks {
			r.notes = append(r.notes, fmt.Sprintf("num_gpu_blocks is %d, but memory holds %d", p.NumGPUBlocks, blocks))
		}
		blocks = p.NumGPUBlocks
	}
	r.CacheBlocks, r.KVBlocks = blocks*ranks, (blocks-e.BlocksReserved)*ranks
	batches := e.WindowBatches(p.Version, p.AsyncScheduling, p.PipelineParallel)
	if batches > 0 && p.Role != configs.RoleDecode { // which gets caches that come with no more than a window
		lags := batches > 1 && e.RulesOf(p.Version).WindowsLag
		r.Memory.PassWindows(&r.Deployment, batches*r.MaxNumBatchedTokens, p.BlockSize, lags)
	}
	fits := min(r.Memory.LongestIn(blocks-e.BlocksReserved, int64(p.BlockSize)), 1<<30)
	if fits < 2 {
		path, remedy := s.PoolPath(p, ""), "more memory or GPUs per replica"
		if p.NumGPUBlocks > 0 {
			path, remedy = s.PoolPath(p, "num_gpu_blocks"), "more blocks"
		}
		null, fixed := "", ""
		if e.BlocksReserved > 0 {
			null = ", with one that the engine keeps back"
		}
		if r.Memory.SequenceBlocks > 0 {
			fixed = fmt.Sprintf(" and %d that every sequence takes", r.Memory.SequenceBlocks)
		}
		return s.Errorf(path, "the KV cache has %d blocks of %d tokens%s%s; expected room for a sequence of 2 tokens: %s",
			blocks, p.BlockSize, null, fixed, remedy)
	}
	return setLongest(s, r, p, fits)
}

// setLongest sets the longest sequence, of which the cache holds fits tokens.
func setLongest(s *configs.Scenario, r *Replica, p *configs.Pool, fits int64) error {
	context, name, path := int64(r.Deployment.Model.ContextMax), r.Deployment.Model.Name, s.PoolPath(p, "max_model_len")
	if context == 0 {
		context = fits
	}
	asked := int64(p.MaxModelLen)
	switch {
	case asked == 0:
		asked = min(context, fits)
	case asked > context:
		return s.Errorf(path, "%d is longer than the context of %s, %d tokens; accepted: 2 to %d", asked, name, context,
			min(context, fits))
	case asked > fits:
		return s.Errorf(path, "%d is more than the KV cache holds of one sequence, %d tokens in %d blocks; accepted: 2 to %d",
			asked, fits, r.KVBlocks, fits)
	case asked < 2:
		return s.Errorf(path, "%d leaves no room for a prompt and an output; accepted: 2 to %d", asked, min(context, fits))
	}
	r.MaxModelLen = int32(asked)
	if asked == fits && fits < context {
		r.notes = append(r.notes,
			fmt.Sprintf("max_model_len is %d tokens, all that the KV cache holds of one sequence; %s has a context of %d",
				asked, name, context))
	}
	return nil
}
