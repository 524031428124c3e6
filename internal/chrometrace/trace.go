package chrometrace

import (
	"fmt"
	"io"

	"github.com/decodesim/decodesim/sim"
)

// EventsMax is how many events a trace has at most: what viewers still take.
const EventsMax = 200_000

// Recorder is what a trace stands in front of.
type Recorder interface {
	sim.Sink
	sim.Tracer
	sim.TransferObserver
}

// Window is a stretch of a run.
type Window struct{ From, To sim.Time }

// overlaps reports whether something from start to end is to be seen.
func (w Window) overlaps(start, end sim.Time) bool { return start < w.To && end >= w.From }

// Trace is a sink that writes what is reported to it within a window, and passes everything on to the recorder of the
// run.
type Trace struct {
	Recorder
	window  Window
	out     writer
	cluster *sim.Cluster
	lives   []string  // of each instance, as of the latest look
	counted []counted // of each pool
	full    bool      // there were more events than a trace has
	until   sim.Time  // the last that there is
}

var (
	_ sim.Sink             = (*Trace)(nil)
	_ sim.Tracer           = (*Trace)(nil)
	_ sim.TransferObserver = (*Trace)(nil)
)

// New returns a trace of a window that is written to w.
func New(r Recorder, window Window, w io.Writer) *Trace {
	return &Trace{Recorder: r, window: window, out: newWriter(w)}
}

// Watch makes t the sink of a run, and has it see who is routed where and how long queues are.
func (t *Trace) Watch(c *sim.Config) {
	c.Sink = t
	for _, p := range c.Pools {
		p.Router = &routing{t, p.Router}
	}
	c.Observe = (&observations{t: t, other: c.Observe}).observe
}

// Begin names the tracks of the run c, before it begins.
func (t *Trace) Begin(c *sim.Cluster) {
	t.cluster = c
	for i := range c.Pools() {
		p := c.Pool(i)
		t.out.name("process_name", i+1, 0, "pool "+p.Name)
		t.counted = append(t.counted, counted{running: -1}) // so the first look differs
		for j := range p.Replicas() {
			t.out.name("thread_name", i+1, track(p.Replica(j)), replica(p, j))
			t.lives = append(t.lives, life(p.Replica(j)))
			for k := range p.Replica(j).Ranks() {
				if rank := p.Replica(j).Rank(k); rank != p.Replica(j) {
					t.out.name("thread_name", i+1, track(rank), fmt.Sprintf("%s rank %d", replica(p, j), k))
				}
			}
		}
	}
}

// End completes the trace; it returns how many events there are, and whether there would have been more.
func (t *Trace) End(about map[string]string) (n int, full bool, err error) {
	return t.out.events, t.full, t.out.end(about)
}

// Until returns when the last event ends.
func (t *Trace) Until() sim.Time { return t.until }

// shows reports whether something from start to end is to be written.
func (t *Trace) shows(start, end sim.Time) bool {
	if !t.window.overlaps(start, end) {
		return false
	}
	if t.out.events >= EventsMax {
		t.full = true
		return false
	}
	t.until = max(t.until, end)
	return true
}

// process returns the number of the pool of in.
func (t *Trace) process(in *sim.Instance) int {
	for i := range t.cluster.Pools() {
		if t.cluster.Pool(i) == in.Pool() {
			return i + 1
		}
	}
	return 0
}

func track(in *sim.Instance) int { return int(in.ID) + 1 }
