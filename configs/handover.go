package configs

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// checkHandover refuses links that carry nothing, and engines that cannot run a part of a request.
func (p *Pool) checkHandover(c *checker, path string, e *catalog.EngineSpec) {
	if p.Role != roleServe && !e.Divides(p.Reserve) {
		c.fail(path+".engine", "%q takes the cache of a request for all of its output, or its batch as one, and a pool of role %s has only a part; "+
			"accepted: %s", p.Engine, p.Role, strict.Quoted(catalog.Dividing()))
	}
	for _, key := range handoverKeys() {
		if at := path + "." + key; p.lacks(key) && c.origins.given(at) {
			c.fail(at, "has no effect on a pool of role %s, which hands no cache over; accepted: null, or role %s", p.Role, rolePrefill)
		}
	}
	if !p.handsOver() {
		return
	}
	if p.Role == rolePrefill {
		c.oneOf(path+".kv_transfer", p.KVTransfer, []string{transferPull, transferPush})
		c.oneOf(path+".first_token", p.FirstToken, []string{firstAtPrefill, firstAtDecode})
	}
	if p.KVLink != "" && c.origins.given(path+".kv_link_bps") {
		c.fail(path+".kv_link_bps", "%g stands beside kv_link %s; expected only one of them", p.KVLinkBps, p.KVLink)
	}
	if c.origins.given(path + ".kv_link_bps") {
		c.above(path+".kv_link_bps", p.KVLinkBps, 0, 1e15)
	} else {
		c.oneOf(path+".kv_link", p.KVLink, hardware.Links())
	}
	c.within(path+".kv_link_latency_s", p.KVLinkLatencyS, 0, 3600)
	c.above(path+".kv_link_efficiency", p.KVLinkEfficiency, 0, 1)
}

// link returns what handing over from one pool to another takes.
func (b *Built) link(i, j int) (sim.Link, error) {
	s, from, to, source, destination := b.Scenario, &b.Scenario.Pools[i], &b.Scenario.Pools[j], b.Replicas[i], b.Replicas[j]
	h := hardware.Transfer{From: &source.Deployment, To: &destination.Deployment, LatencyS: from.KVLinkLatencyS}
	var err error
	if h.FromBps, err = s.linkBps(from, &source.Deployment.GPU); err != nil {
		return sim.Link{}, err
	}
	if h.ToBps, err = s.linkBps(from, &destination.Deployment.GPU); err != nil {
		return sim.Link{}, err
	}
	if err := s.joined(from, to); err != nil {
		return sim.Link{}, err
	}
	if err := h.Validate(); err != nil {
		return sim.Link{}, s.origins.errorf(s.path(from, s.linkKey(from)), "%s", strict.Message(err))
	}
	if from.Role == roleEncode {
		return h.EmbeddingsLink(), nil
	}
	return h.KVLink(), nil
}

// linkKey returns the key that says how fast the link of a pool is.
func (s *Scenario) linkKey(p *Pool) string {
	if p.KVLink == "" {
		return "kv_link_bps"
	}
	return "kv_link"
}

// linkBps returns what transfers from p achieve over the link of one GPU, at either end.
func (s *Scenario) linkBps(p *Pool, gpu *hardware.GPU) (float64, error) {
	bps := p.KVLinkBps
	if p.KVLink != "" {
		var err error
		if bps, err = gpu.LinkBps(p.KVLink); err != nil {
			return 0, s.origins.errorf(s.path(p, "kv_link"), "%s: %s; expected another, or kv_link_bps", p.KVLink, strict.Message(err))
		}
	}
	return float64(bps * p.KVLinkEfficiency), nil
}

// joined refuses scale-up links between GPUs that they do not join: those of different kinds, or of different domains.
func (s *Scenario) joined(from, to *Pool) error {
	if from.KVLink != "nvlink" {
		return nil
	}
	path, another := s.path(from, "kv_link"), "nic or nic-400g"
	if from.GPU != to.GPU {
		return s.origins.errorf(path, "nvlink joins GPUs of one kind, and pool %q has %s, pool %q %s; expected another, such as %s",
			from.Name, from.GPU, to.Name, to.GPU, another)
	}
	gpu, err := catalog.GPU(from.GPU)
	if err != nil {
		return s.origins.errorf(s.path(from, "gpu"), "%s", strict.Message(err))
	}
	total := 0
	for i := range s.Pools {
		if p := &s.Pools[i]; p.Role == from.Role || p.Role == to.Role {
			total += p.GPUs() * p.most()
		}
	}
	if domain := max(1, int(gpu.Domain.Value)); total > domain {
		return s.origins.errorf(path, "nvlink joins %d GPUs of %s, and the pools that hand over have %d; expected another, such as %s",
			domain, from.GPU, total, another)
	}
	return nil
}

// withheld reports whether some prefill pool leaves the first token to its decode pools.
func (s *Scenario) withheld() bool {
	for _, i := range s.poolsOf(rolePrefill) {
		if s.Pools[i].FirstToken == firstAtDecode {
			return true
		}
	}
	return false
}

// received says how a pool goes on with what is handed over to it. vLLM computes the last token of a prompt again, from
// which the next one follows: num_computed_tokens is one less than the prompt (vllm/v1/core/sched/scheduler.py).
func (s *Scenario) received(p *Pool, pool *sim.Pool) error {
	if p.Role != roleDecode {
		return nil
	}
	engine, err := catalog.Engine(p.Engine)
	if err != nil {
		return s.origins.errorf(s.path(p, "engine"), "%s", strict.Message(err))
	}
	pool.MaxNumSeqs = p.Seats()
	pool.RecomputeLastToken = engine.Scheduler == catalog.SchedulerContinuous && s.withheld()
	return nil
}

// noteHandover warns of what the pool's hand-overs are taken for.
func (s *Scenario) noteHandover(p *Pool) (notes []string) {
	if p.Role != roleServe && p.DataParallel > 1 {
		notes = append(notes, "data_parallel: the hand-overs of all ranks share the links of one, which a single one takes")
	}
	if gpu, err := catalog.GPU(p.GPU); err == nil {
		for _, f := range gpu.Fields() {
			if f.Unverified && f.Path == hardware.LinkFigure(p.KVLink) {
				notes = append(notes, fmt.Sprintf("kv_link: %s of gpu %s stands in no document that was read", f.Path, p.GPU))
			}
		}
	}
	switch {
	case p.Role == rolePrefill && s.Speculation.On():
		notes = append(notes, "the drafter runs on pools that decode alone: that it reads the prompts too, to fill its own cache, is not priced")
	case p.Role == roleEncode:
		notes = append(notes, "an encoder reads as many tokens as the prompt has, and hands over an embedding for each")
	}
	return notes
}

// noteLimits says which pool limits the length of a sequence, where they differ.
func (b *Built) noteLimits() (notes []string) {
	least := b.tightest()
	for i, r := range b.Replicas {
		if r.MaxModelLen != b.Replicas[least].MaxModelLen {
			return append(notes, fmt.Sprintf("pools differ in max_model_len: a request that passes pool %s has %d tokens at most, prompt and output together; "+
				"pool %s alone would take %d", b.Scenario.Pools[least].Name, b.Replicas[least].MaxModelLen, b.Scenario.Pools[i].Name, r.MaxModelLen))
		}
	}
	return nil
}
