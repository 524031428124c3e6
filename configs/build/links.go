package build

import (
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// link returns what a transfer from one pool to another takes.
func (b *Built) link(i, j int) (sim.Link, error) {
	s, from, to := b.Scenario, &b.Scenario.Pools[i], &b.Scenario.Pools[j]
	source, destination := b.Replicas[i], b.Replicas[j]
	h := hardware.Transfer{From: &source.Deployment, To: &destination.Deployment, LatencyS: from.KVLinkLatencyS,
		ScaleUp: hardware.LinkFigure(from.KVLink) == "scale_up_bps"}
	var err error
	h.FromBps, err = linkBps(s, from, &source.Deployment.GPU)
	if err != nil {
		return sim.Link{}, err
	}
	h.ToBps, err = linkBps(s, from, &destination.Deployment.GPU)
	if err != nil {
		return sim.Link{}, err
	}
	if err := checkJoined(s, from, to); err != nil {
		return sim.Link{}, err
	}
	if err := h.Validate(); err != nil {
		return sim.Link{}, s.Errorf(s.PoolPath(from, linkKey(s, from)), "%s", strict.Message(err))
	}
	if from.Role == configs.RoleEncode {
		return h.EmbeddingsLink(), nil
	}
	return h.KVLink(), nil
}

// linkKey returns the key that says how fast the link of a pool is.
func linkKey(s *configs.Scenario, p *configs.Pool) string {
	if p.KVLink == "" {
		return "kv_link_bps"
	}
	return "kv_link"
}

// linkBps returns what transfers from p achieve over the link of one GPU, at either end.
func linkBps(s *configs.Scenario, p *configs.Pool, gpu *hardware.GPU) (float64, error) {
	bps := p.KVLinkBps
	if p.KVLink != "" {
		var err error
		bps, err = gpu.LinkBps(p.KVLink)
		if err != nil {
			return 0, s.Errorf(s.PoolPath(p, "kv_link"), "%s: %s; expected another, or kv_link_bps", p.KVLink,
				strict.Message(err))
		}
	}
	return float64(bps * p.KVLinkEfficiency), nil
}

// checkJoined refuses scale-up links between GPUs that they do not join: those of different kinds, or of different
// domains.
func checkJoined(s *configs.Scenario, from, to *configs.Pool) error {
	if from.KVLink != "nvlink" {
		return nil
	}
	path, another := s.PoolPath(from, "kv_link"), "nic or nic-400g"
	if !from.GPU.Same(&to.GPU) {
		return s.Errorf(path, "nvlink joins GPUs of one kind, and pool %q has %s, pool %q %s; expected another, such as %s",
			from.Name, from.GPU, to.Name, to.GPU.Beside(&from.GPU), another)
	}
	gpu, _, err := from.GPU.Hardware()
	if err != nil {
		return s.Errorf(s.PoolPath(from, "gpu"), "%s", strict.Message(err))
	}
	total := 0
	for i := range s.Pools {
		if p := &s.Pools[i]; p.Role == from.Role || p.Role == to.Role {
			total += p.GPUs() * p.ReplicasLimit()
		}
	}
	if domain := max(1, int(gpu.Domain.Value)); total > domain {
		return s.Errorf(
			path, "nvlink joins %d GPUs of %s, and the pools that transfer have %d; expected another, such as %s",
			domain, from.GPU, total, another)
	}
	return nil
}

// setReceived says how a pool goes on with what is transferred to it. vLLM computes the last token of a prompt again,
// from which the next one follows: num_computed_tokens is one less than the prompt (vllm/v1/core/sched/scheduler.py).
// Other engines send the first token with the cache: SGLang in a buffer beside it (python/sglang/srt/disaggregation/
// decode.py of 0.5.6.post2, DecodeTransferQueue._commit_transfer_to_req), and TensorRT-LLM as first_gen_tokens
// (ai-dynamo 0.8.0, dynamo/trtllm/utils/disagg_utils.py), so that every step of their decode workers is a graph.
func setReceived(s *configs.Scenario, p *configs.Pool, r *Replica, pool *sim.PoolSpec) error {
	if p.Role != configs.RoleDecode {
		return nil
	}
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return s.Errorf(s.PoolPath(p, "engine"), "%s", strict.Message(err))
	}
	pool.MaxNumSeqs = p.MaxNumSeqs
	pool.RecomputeLastToken = engine.RulesOf(p.Version).ConnectorLoads && s.FirstTokenAtDecode()
	special := &engine.Special
	if special.ReservedDecodeTokens == 0 {
		return nil
	}
	pool.Reserved = sim.Reserved{Tokens: int32(special.ReservedDecodeTokens), Most: engine.NewTokens.ClipMax}
	if p.MaxNumSeqs <= special.ExtraDecodeSlotsUpTo {
		pool.Reserved.Slots = special.ExtraDecodeSlots * p.MaxNumSeqs
	}
	if r.Deployment.Swap.LinkBps > 0 && !pool.PrefixCaching && pool.Speculation == nil {
		pool.Reserved.Restores, pool.SwapBlocks = true, anyBlocks
		if single := pool.Ranks <= 1 && len(pool.Stages) <= 1; single && pool.AsyncScheduling && localBelow(s) == 0 {
			pool.BatchQueue = engine.RulesOf(p.Version).BatchQueue // as compared with SGLang's overlap scheduler
		}
	}
	return nil
}

// anyBlocks is more host memory than sequences fill: SGLang asks for as much as it needs.
const anyBlocks = 1 << 40

// noteTransfers says what is assumed of the transfers of the pool.
func noteTransfers(s *configs.Scenario, p *configs.Pool) (notes []string) {
	if gpu, _, err := p.GPU.Hardware(); err == nil {
		for _, f := range gpu.Fields() {
			if f.Unverified && f.Path == hardware.LinkFigure(p.KVLink) {
				notes = append(notes, fmt.Sprintf("kv_link: %s of gpu %s stands in no document that was read", f.Path, p.GPU))
			}
		}
	}
	notes = append(notes, noteMakers(s, p)...)
	switch {
	case p.Role == configs.RolePrefill && s.Speculation.On():
		notes = append(
			notes, "the drafter runs on pools that decode alone: that it reads the prompts too, to fill its own cache, is not "+
				"priced")
	case p.Role == configs.RoleEncode:
		notes = append(notes, "an encoder reads as many tokens as the prompt has, and transfers an embedding for each")
	}
	return notes
}

// noteMakers warns of KV caches that go from GPUs of one maker to those of another, for whose libraries a connector of
// the engine has to have a common path and layout.
func noteMakers(s *configs.Scenario, p *configs.Pool) (notes []string) {
	own, _, err := p.GPU.Hardware()
	if p.Role != configs.RoleDecode || err != nil {
		return nil
	}
	for i := range s.Pools {
		from := &s.Pools[i]
		gpu, _, err := from.GPU.Hardware()
		if from.Role == configs.RolePrefill && err == nil && gpu.Vendor != own.Vendor {
			notes = append(notes, fmt.Sprintf("KV caches come from pool %s on GPUs of %s, and these are of %s: that the engine "+
				"can transfer them so is assumed, and nobody measured it", from.Name, gpu.Vendor, own.Vendor))
		}
	}
	return notes
}

// noteLimits says which pool limits the length of a sequence, where they differ.
func (b *Built) noteLimits() (notes []string) {
	least := b.tightest()
	for i, r := range b.Replicas {
		if r.MaxModelLen != b.Replicas[least].MaxModelLen {
			return append(
				notes, fmt.Sprintf(
					"pools differ in max_model_len: a request that passes pool %s has %d tokens at most, prompt and output together; "+
						"pool %s alone would take %d", b.Scenario.Pools[least].Name, b.Replicas[least].MaxModelLen,
					b.Scenario.Pools[i].Name, r.MaxModelLen))
		}
	}
	return nil
}
