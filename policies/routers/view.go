package routers

import "github.com/decodesim/decodesim/sim"

// Measure is what a router takes for the load of an instance.
type Measure uint8

// The measures of load.
const (
	Requests     Measure = iota // queued, running or on their way to it
	PromptTokens                // Σ tokens of their prompts
	KVBlocks                    // of its cache that are in use
)

// of returns the load of in at now.
func (m Measure) of(in *sim.Instance, now sim.Time) int64 {
	switch m {
	case PromptTokens:
		return in.PromptTokens()
	case KVBlocks:
		return in.BlocksUsedAt(now)
	}
	return int64(in.Load())
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

// view is what a router knows of the loads in a pool. With Staleness it is a snapshot, taken anew for the first request
// that comes when it is as old, as metrics are scraped; with 0 it is how things are. What the router itself has sent since
// the snapshot is counted: it passed its own hands, and a router that forgot it would send everybody of one period to one
// instance. What has ended since is not. Who takes requests is always known, and the snapshot is taken anew when that
// changes.
type view struct {
	staleness sim.Duration
	taken     sim.Time
	ids       []int32
	loads     []int64
}

// read returns the loads in pool, in order of its instances, as known at now. They are good until the next call.
func (v *view) read(m Measure, now sim.Time, pool *sim.Pool) []int64 {
	if v.staleness > 0 && now < v.taken.Add(v.staleness) && v.same(pool) {
		return v.loads
	}
	v.taken, v.ids, v.loads = now, v.ids[:0], v.loads[:0]
	for i := range pool.Len() {
		in := pool.Instance(i)
		v.loads = append(v.loads, m.of(in, now))
		if v.staleness > 0 {
			v.ids = append(v.ids, in.ID)
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

// send counts r as sent to the i-th instance of pool, which it returns.
func (v *view) send(m Measure, r *sim.Request, pool *sim.Pool, i int) *sim.Instance {
	in := pool.Instance(i)
	if v.staleness > 0 {
		v.loads[i] += m.adds(in, r)
	}
	return in
}

// least returns the index of the least load, the first of equals.
func least(loads []int64) int {
	best := 0
	for i, n := range loads {
		if n < loads[best] {
			best = i
		}
	}
	return best
}
