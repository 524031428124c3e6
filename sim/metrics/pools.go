package metrics

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// PoolDescription is what a summary says of a pool in addition to its measurements.
type PoolDescription struct {
	Role       string
	GPU        string
	GPUs       int     // of a replica
	USDPerHour float64 // of a replica on demand; 0: unknown
	Replicas   int     // when the run begins
	Reserved   Purchase
	Spot       Purchase
	Power      Power // of a replica
}

// transfers describes the KV transfers of a run.
type transfers struct {
	wait Hist    // from the end of the prefill until there is room
	time Hist    // from then on
	n    []int64 // to each pool
}

// Transferred implements sim.TransferObserver: it records a KV transfer to a pool, and how long it took.
func (f *Full) Transferred(_, to *sim.Instance, r *sim.Request) {
	c := f.load.cluster
	if f.transfers.n == nil {
		f.transfers.n = make([]int64, c.Pools())
	}
	for i := range f.transfers.n {
		if c.Pool(i) == to.Pool() {
			f.transfers.n[i]++
		}
	}
	if r.Transferred >= f.Warmup {
		f.transfers.wait.One(max(0, r.Allocated.Sub(r.PendingTransfer)))
		f.transfers.time.One(r.Transferred.Sub(max(r.Allocated, r.PendingTransfer)))
	}
}

// results returns the KV transfers of a run, or nil if there were none.
func (t *transfers) results(of sim.Totals) *Transfers {
	if of.Transfers == 0 {
		return nil
	}
	return &Transfers{N: of.Transfers, Tokens: of.TransferredTokens, Wait: t.wait.Quantiles(), Time: t.time.Quantiles()}
}

// pools returns the load of each pool over the whole run, warm-up included.
func (f *Full) pools(d Description) []PoolResult {
	var results []PoolResult
	for i := range f.load.cluster.Pools() {
		results = append(results, f.pool(d.pool(i), i))
	}
	return results
}

// pool returns the description of the i-th pool; without one, the GPU that the description has for all.
func (d *Description) pool(i int) PoolDescription {
	if i < len(d.Pools) {
		return d.Pools[i]
	}
	return PoolDescription{GPU: d.GPU}
}

// pool returns the load of the i-th pool. If the number of its replicas changes, they are busy for a share of the time
// that they are up.
func (f *Full) pool(d PoolDescription, i int) PoolResult {
	c := f.load.cluster
	pool, p := c.Pool(i), c.PoolTotals(i)
	spanS := max(0, c.Now().Sub(min(f.load.start, c.Now())).Seconds())
	r := PoolResult{
		Name: pool.Name, Role: d.Role, GPU: d.GPU, GPUs: d.GPUs * p.Instances, Replicas: p.Instances,
		Utilization: ratio(p.BusyS, spanS*float64(p.Instances)), BatchMean: ratio(float64(p.DecodeSum), float64(p.Steps)),
		KVPeakFraction: ratio(float64(p.KVPeak), float64(p.KVBlocks)),
		KVBlocks:       p.KVBlocks * int64(max(1, pool.Ranks)), Preemptions: p.Preemptions,
		FinishedRows: ratio(float64(p.FinishedRowSum), float64(p.FinishedRowSum+p.DecodeSum)), Swaps: p.Swaps,
	}
	if f.changed(i) {
		r.ReplicasMean = ratio(p.UpS, c.Now().Seconds())
		r.GPUsMean = float64(d.GPUs) * r.ReplicasMean
		r.Utilization = ratio(p.BusyS, p.UpS)
	}
	if f.transfers.n != nil {
		r.Received = f.transfers.n[i]
	}
	if p.Drafted > 0 {
		length := 1 + ratio(float64(p.Accepted), float64(p.DecodeSum))
		r.Speculation = &Speculation{Drafted: p.Drafted, Accepted: p.Accepted, AcceptLength: length}
	}
	if pool.PrefixCaching {
		hits := ratio(float64(p.Cached), float64(p.Prompted))
		r.PrefixHitRate = &hits
		r.HostHitRate = ratio(float64(p.Loaded), float64(p.Prompted))
	}
	r.countTiers(pool, &p)
	r.countAdapters(pool, &p)
	if k := &p.Ranks; k.Steps > 0 {
		steps, n := float64(k.Steps), float64(pool.Ranks)
		r.Ranks = &Ranks{N: pool.Ranks, BusiestTokens: ratio(n*float64(k.TokenMax), float64(k.TokenSum)),
			EmptyShare: ratio(float64(k.Empty), n*steps), BatchMax: ratio(float64(k.DecodeMax), steps)}
	}
	return r
}

// countTiers counts where cached prompt tokens were, if there are tiers below host memory.
func (r *PoolResult) countTiers(pool *sim.Pool, p *sim.PoolTotals) {
	if len(p.Tiers) == 0 {
		return
	}
	all, below := float64(p.Prompted), int64(0)
	for i := range p.Tiers {
		below += p.Tiers[i].Cached
	}
	r.KVTiers = []TierHits{{Tier: "gpu", HitRate: ratio(float64(p.Cached-p.CachedBelow), all)},
		{Tier: "host", HitRate: ratio(float64(p.CachedBelow-below), all)}}
	for i := range p.Tiers {
		r.KVTiers = append(r.KVTiers, TierHits{Tier: pool.Tiers[i].Name, HitRate: ratio(float64(p.Tiers[i].Cached), all),
			FetchedTokens: p.Tiers[i].Fetched, WrittenTokens: p.Tiers[i].Written})
	}
	r.RecomputedShare = ratio(float64(p.Recomputed), all)
}

// countAdapters counts what became of LoRA adapters, if requests have any.
func (r *PoolResult) countAdapters(pool *sim.Pool, p *sim.PoolTotals) {
	if pool.Adapters.Slots == 0 {
		return
	}
	a := &p.Adapters
	r.Adapters = &Adapters{N: len(pool.Adapters.Copies), Slots: pool.Adapters.Slots, Requests: a.Requests,
		HitRate: ratio(float64(a.Resident), float64(a.Requests)), Copies: a.Copies, Reads: a.Reads,
		CopyShare:   ratio(a.CopyingS, p.BusyS),
		WaitedShare: ratio(float64(a.Waited), float64(a.Requests)), WaitMeanS: ratio(a.WaitedS, float64(a.Requests))}
}

// changed reports whether the number of replicas of the i-th pool changed.
func (f *Full) changed(i int) bool {
	c := f.load.cluster
	p, all := c.PoolTotals(i), c.Pool(i).Size
	fixed := float64(float64(all) * c.Now().Seconds())
	return p.Instances != all || math.Abs(p.UpS-fixed) > 1e-9*fixed
}

// fleet returns the number of GPUs and their rent; if a pool changed, their mean over the run.
func (f *Full) fleet(d *Description) (gpus, usdPerHour float64) {
	c, changed := f.load.cluster, false
	nowS := c.Now().Seconds()
	for i := range d.Pools {
		changed = changed || f.changed(i)
		up := ratio(c.PoolTotals(i).UpS, nowS)
		gpus += float64(float64(d.Pools[i].GPUs) * up)
		usdPerHour += d.Pools[i].USDPerHourAt(up)
	}
	if !changed || d.USDPerHour == 0 {
		usdPerHour = d.USDPerHour
	}
	if !changed {
		gpus = float64(d.GPUs)
	}
	return gpus, usdPerHour
}
