package live

import "github.com/decodesim/decodesim/sim"

// State is what an observer sees of a fleet.
type State struct {
	At       sim.Time
	Arrived  int64
	Ended    int64
	Tokens   int64 // emitted
	Replicas []ReplicaState
}

// ReplicaState is what an observer sees of a replica.
type ReplicaState struct {
	Pool      string
	Replica   int // of the pool, from 0
	Life      string
	Running   int
	Waiting   int
	KVUsed    int64 // blocks
	KVTotal   int64
	BlockSize int32 // tokens
	Preempted int64
	Drafts    int64 // of a sequence and step
	Drafted   int64 // tokens
	Counters
}

// State returns the state of the fleet now.
func (f *Fleet) State(now sim.Time) State {
	c := f.run.Cluster
	now = max(now, c.Now())
	t := c.Totals()
	s := State{At: now, Arrived: t.Arrived, Ended: t.Ended}
	for i := range c.Pools() {
		p := c.Pool(i)
		for j := range p.Replicas() {
			in := p.Replica(j)
			x := ReplicaState{Pool: p.Name, Replica: j, Life: lifeOf(in), BlockSize: p.BlockSize,
				Counters: f.counters[in.ID].clone()}
			s.Tokens += x.Generated
			x.Preempted = in.Preemptions()
			x.Drafts, x.Drafted = in.Drafting()
			if x.Life != "down" {
				x.Running, x.Waiting = in.Running(), in.Queued()+in.Incoming()
				x.KVUsed, x.KVTotal = in.BlocksUsedAt(now), p.KVBlocks*int64(max(1, p.Ranks))
			}
			if j == 0 {
				x.Waiting += p.AtGate() // of the pool, while it has no replica
			}
			s.Replicas = append(s.Replicas, x)
		}
	}
	return s
}

func lifeOf(in *sim.Instance) string {
	switch {
	case in.Live():
		return "live"
	case in.Draining():
		return "draining"
	case in.Starting():
		return "starting"
	}
	return "down"
}
