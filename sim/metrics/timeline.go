package metrics

import "github.com/decodesim/decodesim/sim"

// Sample is the state of the whole system at one instant. Counts are cumulative.
type Sample struct {
	At      sim.Time
	Arrived int64
	Ended   int64
	Running int64 // admitted requests
	Waiting int64
	KVUsed  int64 // blocks
	KVTotal int64
	Tokens  int64 // emitted so far
	Pools   []PoolSample
}

// PoolSample is the state of one pool at that instant.
type PoolSample struct {
	Name     string
	Live     int // replicas that take requests
	Starting int
	Draining int
	Running  int64
	Waiting  int64
	Moving   int64 // on their way to it
	KVUsed   int64
	KVTotal  int64
}

// Timeline samples a run at even spacing. Where the samples grow too many, it drops every other and doubles the
// spacing: a run of any length leaves between half of samplesMax and samplesMax.
type Timeline struct {
	samples []Sample
	every   sim.Duration
}

const samplesMax = 2048

// NewTimeline returns a timeline for a run of about spanS seconds; 0: unknown.
func NewTimeline(spanS float64) *Timeline {
	every := sim.Millisecond
	if spanS > 0 && spanS < sim.HorizonS {
		every = max(every, sim.Seconds(spanS/samplesMax))
	}
	return &Timeline{every: every}
}

// Observe is a sim.Config.Observe.
func (t *Timeline) Observe(c *sim.Cluster, now sim.Time) (next sim.Time) {
	if len(t.samples) == samplesMax {
		for i := range samplesMax / 2 {
			t.samples[i] = t.samples[2*i]
		}
		t.samples = t.samples[:samplesMax/2]
		t.every *= 2
	}
	t.samples = append(t.samples, sample(c, c.State(now), now))
	return now.Add(t.every)
}

// Samples returns the samples of the run c, which has ended, with its end.
func (t *Timeline) Samples(c *sim.Cluster) []Sample {
	o := c.State(c.Now())
	o.Totals = c.Totals() // which has counted the steps up to a horizon already
	samples := t.samples
	if n := len(samples); n > 0 && samples[n-1].At == c.Now() {
		samples = samples[:n-1]
	}
	return append(samples, sample(c, o, c.Now()))
}

func sample(c *sim.Cluster, o sim.Observation, at sim.Time) Sample {
	s := Sample{
		At: at, Arrived: o.Arrived, Ended: o.Ended, Running: o.Running, Waiting: o.Waiting,
		KVUsed: o.KVUsed, KVTotal: o.KVTotal, Tokens: o.OutputTokens, Pools: make([]PoolSample, c.Pools()),
	}
	if len(s.Pools) == 1 { // it is all there is, but for its replicas
		s.Pools[0] = poolSample(c.Pool(0).Name, o)
		return s
	}
	for i := range s.Pools {
		s.Pools[i] = poolSample(c.Pool(i).Name, c.PoolState(i, at))
	}
	return s
}

func poolSample(name string, o sim.Observation) PoolSample {
	return PoolSample{
		Name: name, Live: o.Live, Starting: o.Starting, Draining: o.Draining, Running: o.Running, Waiting: o.Waiting,
		Moving: o.Transferring, KVUsed: o.KVUsed, KVTotal: o.KVTotal,
	}
}
