package routers

import (
	"sort"

	"github.com/decodesim/decodesim/sim"
)

// Measure is what a router takes for the load of an instance.
type Measure uint8

// The measures of load.
const (
	Requests     Measure = iota // waiting, running or transferring to it
	PromptTokens                // Σ prompt tokens of these requests
	KVBlocks                    // allocated blocks of its KV cache
)

// all appends to loads those of the instances of pool at now, in their order.
func (m Measure) all(loads []int64, pool *sim.Pool, now sim.Time) []int64 {
	switch n := pool.Len(); m {
	case PromptTokens:
		for i := range n {
			loads = append(loads, pool.Instance(i).PromptTokens())
		}
	case KVBlocks:
		for i := range n {
			loads = append(loads, pool.Instance(i).BlocksUsedAt(now))
		}
	default:
		for _, load := range pool.Outstanding() {
			loads = append(loads, int64(load))
		}
	}
	return loads
}

// adds returns by how much r raises the load of in.
func (m Measure) adds(in *sim.Instance, r *sim.Request) int64 {
	switch m {
	case PromptTokens:
		return int64(r.Prompt)
	case KVBlocks:
		return in.Cache().Blocks(r.Prompt)
	}
	return 1
}

// view is what a router knows of the loads in a pool. Without staleness it is their current state. With staleness it is
// a snapshot, renewed for the first request that comes once the snapshot is that old, as if metrics were scraped.
//
// Requests that the router has sent since the snapshot count: it routed them itself, and a router that forgot them
// would send all requests of one period to one instance. Requests that have ended since do not count. Which instances
// take requests is always known: when that changes, the snapshot is renewed.
type view struct {
	staleness sim.Duration
	taken     sim.Time // when the snapshot was taken
	ids       []int32  // of the instances in it
	loads     []int64
}

// read returns the loads of the instances of pool, in their order, as known at now. They are valid until the next call.
func (v *view) read(m Measure, now sim.Time, pool *sim.Pool) []int64 {
	if v.staleness > 0 && now < v.taken.Add(v.staleness) && v.same(pool) {
		return v.loads
	}
	v.taken, v.ids, v.loads = now, v.ids[:0], m.all(v.loads[:0], pool, now)
	if v.staleness > 0 {
		for i := range pool.Len() {
			v.ids = append(v.ids, pool.Instance(i).ID)
		}
	}
	return v.loads
}

// same reports whether the instances of pool are those of the snapshot.
func (v *view) same(pool *sim.Pool) bool {
	if pool.Len() != len(v.ids) {
		return false
	}
	for i, id := range v.ids {
		if pool.Instance(i).ID != id {
			return false
		}
	}
	return true
}

// send counts r as sent to the i-th instance of pool, and returns that instance.
func (v *view) send(m Measure, r *sim.Request, pool *sim.Pool, i int) *sim.Instance {
	in := pool.Instance(i)
	if v.staleness > 0 {
		v.loads[i] += m.adds(in, r)
	}
	return in
}

// byID returns the instance of pool with an ID, whether it takes requests or not: the IDs of a pool are consecutive.
func byID(pool *sim.Pool, id int32) *sim.Instance { return pool.Replica(int(id - pool.Replica(0).ID)) }

// indexOf returns the index of in among the instances of pool that take requests, which are in order of ID.
func indexOf(pool *sim.Pool, in *sim.Instance) int {
	return sort.Search(pool.Len(), func(i int) bool { return pool.Instance(i).ID >= in.ID })
}

// cachedPrompt returns how many of r's prompt tokens are in the prefix cache of in.
func cachedPrompt(in *sim.Instance, r *sim.Request) int32 { return min(r.Prompt, in.CachedTokens(r)) }
