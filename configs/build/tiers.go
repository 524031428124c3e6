package build

import (
	"math"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/sim"
)

// tiers gives a pool its stores below host memory. A block is stored as it is on the GPUs of a rank, so that of a
// latent which every GPU holds whole there are as many copies. Drives are divided evenly among data-parallel ranks;
// GPUs fetch over links of their own, each its part of a block.
func (r *Replica) tiers(s *configs.Scenario, p *configs.Pool, pool *sim.PoolSpec) error {
	if p.KVTiers == nil {
		return nil
	}
	const gib = 1 << 30
	ranks := float64(p.DataParallel)
	gpus := float64(p.GPUs()) / ranks
	block := r.Memory.BlockBytes * gpus // of a rank
	if pool.OffloadBlocks == 0 {
		return s.Errorf(s.PoolPath(p, "kv_tiers"), "lies below host memory that holds no block of %d tokens, which takes "+
			"%.3g GiB; expected more host memory", p.BlockSize, block/gib)
	}
	pool.WriteBack = p.KVTiers.WritePolicy == configs.WriteBack
	pool.FetchOrRecompute = p.KVTiers.LoadPolicy == configs.FetchOrRecompute
	if t := p.KVTiers.NVMe; t != nil {
		pool.Tiers = append(pool.Tiers, sim.Tier{Name: "nvme", Blocks: int64(t.SizeGiB * gib / (block * ranks)),
			Link: tierLink(t.LatencyS, block, p.BlockSize, t.ReadBps/ranks), Share: sim.FullPort})
		if t.WriteBps > 0 {
			tier := &pool.Tiers[len(pool.Tiers)-1]
			tier.Write, tier.WriteShare = tierLink(t.LatencyS, block, p.BlockSize, t.WriteBps/ranks), sim.FullPort
		}
	}
	if t := p.KVTiers.Cluster; t != nil {
		bps, err := r.Deployment.GPU.LinkBps(t.Link)
		if err != nil {
			return s.Errorf(s.PoolPath(p, "kv_tiers.cluster.link"), "%s: %s; expected another", t.Link, strict.Message(err))
		}
		link := bps * t.LinkEfficiency * gpus
		fetch := min(t.ReadBps, link)
		pool.Tiers = append(pool.Tiers, sim.Tier{Name: "cluster", Shared: true, Blocks: int64(t.SizeGiB * gib / block),
			Link: tierLink(t.LatencyS, block, p.BlockSize, fetch), Share: portShare(fetch, t.ReadBps),
			ReceivingShare: portShare(fetch, link)})
		if t.WriteBps > 0 {
			tier, write := &pool.Tiers[len(pool.Tiers)-1], min(t.WriteBps, link)
			tier.Write = tierLink(t.LatencyS, block, p.BlockSize, write)
			tier.WriteShare, tier.SendingShare = portShare(write, t.WriteBps), portShare(write, link)
		}
	}
	for i := range pool.Tiers {
		t := &pool.Tiers[i]
		if key := s.PoolPath(p, "kv_tiers."+t.Name); t.Blocks == 0 {
			return s.Errorf(key, "holds no block of %d tokens, which takes %.3g GiB; expected more size_gib", p.BlockSize,
				block/gib)
		} else if token := max(t.Link.Token, t.Write.Token); token > sim.Second {
			return s.Errorf(key, "takes %v for a token; expected a second at most", token)
		}
	}
	return nil
}

// tierLink returns what it takes to fetch blocks of so many bytes and tokens.
func tierLink(latencyS, block float64, tokens int, bps float64) sim.Link {
	return sim.Link{Latency: sim.SecondsUp(latencyS), Token: sim.SecondsUp(min(2, block/float64(tokens)/bps))}
}

// portShare returns which share of a port a fetch takes that is alone, at most all of it.
func portShare(fetchBps, portBps float64) uint64 {
	return max(1, uint64(math.Round(float64(fetchBps/portBps*sim.FullPort))))
}

// loadAside has what comes from host memory do so beside steps, if that is asked for and modelled.
func (r *Replica) loadAside(s *configs.Scenario, p *configs.Pool, pool *sim.PoolSpec) error {
	if p.KVLoad != catalog.LoadAsync || pool.OffloadBlocks == 0 {
		return nil
	}
	if len(pool.Stages) > 1 || pool.Speculation != nil || pool.Passing.Blocks > 0 || p.EnableLoRA || pool.MaxNumSeqs > 0 {
		r.notes = append(r.notes, p.Own("kv_load")+" async is not modelled with pipeline stages, speculation, sliding "+
			"windows, LoRA or decode pools: what comes from host memory is copied before the step that needs it, as with sync")
		return nil
	}
	swap := &r.Deployment.Swap
	link := tierLink(0, swap.BlockBytes, p.BlockSize, swap.LinkBps)
	if link.Token > sim.Second {
		return s.Errorf(s.PoolPath(p, "host_link_bps"), "takes %v for a token; expected a second at most", link.Token)
	}
	pool.ConnectorLoads, pool.LoadLink = true, link
	return nil
}
