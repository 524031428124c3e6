package build

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// stepTokens returns the tokens of a step on a rank: those of the pool, or the length of the longest sequence where
// the engine runs prompts whole and nobody says, but not fewer than it takes for chunks. That length is asked for or
// the model's: what the cache holds of one sequence depends on the memory that a step takes.
func stepTokens(p *configs.Pool, e *catalog.EngineSpec, d *hardware.Deployment) int {
	if p.MaxNumBatchedTokens != 0 {
		return p.MaxNumBatchedTokens
	}
	longest := p.MaxModelLen
	if longest == 0 {
		longest = d.Model.ContextMax
	}
	tokens := max(e.WholePrompts, p.Limit(e, &d.GPU).MaxNumBatchedTokens, longest, p.MaxNumSeqs)
	if e.TokensOfSequences {
		return min(tokens, p.MaxNumSeqs*longest)
	}
	return tokens
}

// tokensMax returns the rows of the largest step, which takes the most memory: prompts that are not divided have a
// limit of their own in SGLang.
func tokensMax(p *configs.Pool, tokens int) int {
	if tokens > 0 {
		return tokens
	}
	return p.MaxPrefillTokens
}

// shorterSteps names the arguments of an engine that shorten its steps, behind an error that asks for shorter ones.
func shorterSteps(p *configs.Pool, e *catalog.EngineSpec, err error) string {
	var tooLarge *hardware.MemoryError
	if !errors.As(err, &tooLarge) || !tooLarge.Step {
		return ""
	}
	switch tokens := e.Own("max_num_batched_tokens"); {
	case p.MaxNumBatchedTokens == 0:
		return fmt.Sprintf(": lower %s, or %s, which follows it", e.Own("max_model_len"), tokens)
	case p.MaxNumBatchedTokens < 0:
		return ": lower " + e.Own("max_prefill_tokens")
	default:
		return ": lower " + tokens
	}
}

// sizeHostMemory sizes the host memory that sequences are swapped to and cached prefixes are kept in, and says what a
// copy costs.
func sizeHostMemory(s *configs.Scenario, r *Replica, p *configs.Pool, e *catalog.EngineSpec) error {
	const gib = 1 << 30
	reason, block, parallel := s.PoolPath(p, "kv_offloading_size"), r.Memory.BlockBytes, r.Deployment.Parallel
	if p.PreemptionMode == catalog.PreemptSwap {
		reason = s.PoolPath(p, "preemption_mode")
		r.SwapBlocks = int64(math.Floor(p.SwapSpace*gib/block)) * int64(parallel.Ranks())
	}
	if e.OffloadingPerGPU {
		r.OffloadBlocks = int64(math.Floor(p.KVOffloadingSize*gib/block)) * int64(parallel.Ranks())
	} else {
		r.OffloadBlocks = int64(math.Floor(p.KVOffloadingSize * gib / (block * float64(parallel.Tensor*parallel.Pipeline))))
	}
	if p.Role == configs.RoleDecode && e.Special.ReservedDecodeTokens > 0 && r.OffloadBlocks == 0 {
		sizeRetraction(r, p, block)
		return nil
	}
	if r.SwapBlocks == 0 && r.OffloadBlocks == 0 {
		return nil
	}
	bps, err := hostLinkBps(p, &r.Deployment.GPU)
	if err != nil {
		return s.Errorf(reason, "goes over the link to host memory: %s; expected host_link_bps", strict.Message(err))
	}
	r.Deployment.Swap = hardware.Swap{BlockBytes: block, LinkBps: bps}
	if r.SwapBlocks == 0 && p.KVLoad == catalog.LoadLayerwise {
		r.Deployment.Swap.Layers = r.Deployment.Model.LayerCount() / parallel.Pipeline
	}
	return nil
}

// sizeRetraction says what a copy of a sequence costs that is retracted, if the link to host memory is known.
func sizeRetraction(r *Replica, p *configs.Pool, block float64) {
	if bps, err := hostLinkBps(p, &r.Deployment.GPU); err == nil {
		r.Deployment.Swap = hardware.Swap{BlockBytes: block, LinkBps: bps}
	}
}

// hostLinkShare is what copies between a GPU and pinned host memory achieve of the bandwidth of PCIe: 51.7 to 55.0 of
// 64 GB/s with the layers of 1,024 to 32,768 tokens of Llama 3.1 8B, and 53.8 and 54.8 to the GPU and to the host with
// 1 GiB (tools/kernels/fetch.py on an H100 SXM, five times each; docs/kv-tiers.md).
const hostLinkShare = 0.85

// hostLinkBps is what a GPU copies from host memory or to it.
func hostLinkBps(p *configs.Pool, gpu *hardware.GPU) (float64, error) {
	if p.HostLinkBps > 0 {
		return p.HostLinkBps, nil
	}
	sheet, err := gpu.Need("pcie_bps")
	return hostLinkShare * sheet, err
}

// offloadBlocks returns the blocks of host memory for cached prefixes, of which a pool without any has no use.
func (r *Replica) offloadBlocks(p *configs.Pool, caching bool) int64 {
	if r.OffloadBlocks > 0 && !caching {
		r.notes = append(r.notes,
			fmt.Sprintf("%s has no effect: nothing of %s is found again", p.Own("kv_offloading_size"), r.Deployment.Model.Name))
		return 0
	}
	return r.OffloadBlocks
}

// limitPrompts sets the longest prompt that fits a step beside what a draft model takes of it, where prompts run whole:
// a longer one would wait forever. A batch of padded rows takes any prompt that is alone in it.
func (r *Replica) limitPrompts(s *configs.Scenario, p *configs.Pool, e *catalog.EngineSpec) {
	tokens := int32(r.MaxNumBatchedTokens) - draftTokens(s, p, e, 1)
	if p.EnableChunkedPrefill || e.Scheduler == catalog.SchedulerStatic || tokens >= r.MaxModelLen-1 {
		return
	}
	r.PromptMax = tokens
}

// draftTokens returns how many tokens a draft model takes of a step with so many requests.
func draftTokens(s *configs.Scenario, p *configs.Pool, e *catalog.EngineSpec, requests int) int32 {
	switch rules := e.RulesOf(p.Version); {
	case !slices.Contains(rules.DraftSlots, s.Speculation.Method):
		return 0
	case rules.DraftSlotsReserved:
		return int32(p.MaxNumSeqs)
	}
	return int32(requests)
}

// rejectedFor says which requests the engine rejects, in its own words: prompts that no step takes, and sequences that
// are too long.
func rejectedFor(s *configs.Scenario, p *configs.Pool, r *Replica) string {
	longer := fmt.Sprintf("longer than %s, %d tokens", p.Own("max_model_len"), r.MaxModelLen)
	if r.PromptMax == 0 {
		return longer
	}
	why := p.Engine + " runs prompts whole"
	if engine, err := catalog.Engine(p.Engine); err == nil && engine.Has("enable_chunked_prefill") {
		why = p.Own("enable_chunked_prefill") + " is false"
	}
	step := p.Own("max_num_batched_tokens")
	if int(r.PromptMax) < r.MaxNumBatchedTokens {
		step += " less what a draft model takes of them"
	}
	return fmt.Sprintf("%s, or with a prompt longer than %s, %d tokens: %s", longer, step, r.PromptMax, why)
}

// noteEngine warns of memory that the engine does not have.
func (r *Replica) noteEngine(p *configs.Pool, e *catalog.EngineSpec) {
	if m := &r.Memory; m.Usable > m.Total {
		r.notes = append(r.notes,
			fmt.Sprintf(
				"the largest step and the process take %.1f GB, but %s leaves %.1f GB of each GPU: the engine would run "+
					"out of memory", (m.Activations+m.Context)/1e9, e.Own("gpu_memory_utilization"), (m.Total-m.Weights-m.KV)/1e9))
	}
}
