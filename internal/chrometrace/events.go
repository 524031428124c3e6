package chrometrace

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
)

// Run implements sim.Sink: n steps of one batch are one slice.
func (t *Trace) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	t.Recorder.Run(in, start, g, n, tokens)
	end := start.Add(g.Span(n))
	if !t.shows(start, end) {
		return
	}
	b := in.Shape()
	name := "prefill"
	switch {
	case b.Prefills > 0 && tokens > 0:
		name = "mixed"
	case b.Prefills == 0 && n > 1:
		name = fmt.Sprintf("decode ×%d", n)
	case b.Prefills == 0:
		name = "decode"
	}
	e := t.out.begin("X", name, "step", start, t.process(in), track(in))
	e.duration(end.Sub(start))
	e.count("steps", int64(n))
	e.count("decodes", int64(tokens))
	e.count("prompts", int64(b.Prefills))
	e.count("prompt_tokens", b.PrefillTokens)
	e.count("context", b.DecodeCtx)
	for p, part := range g.Part {
		e.milliseconds(sim.Part(p).String()+"_ms", sim.Duration(n)*part.A+part.B*sim.Duration(n*(n-1)/2))
	}
	e.end()
}

// causes names what holds tokens up.
var causes = [...]string{sim.Preempted: "preempted", sim.Swapped: "swapped out", sim.Paused: "waits for prompts",
	sim.Transferred: "KV transfer", sim.Restarted: "restarted"}

// Gap implements sim.Sink: who was held up is a slice of its own, from its latest token to the next.
func (t *Trace) Gap(in *sim.Instance, r *sim.Request, at sim.Time, c sim.Cause) {
	t.Recorder.Gap(in, r, at, c)
	if t.shows(r.Last, at) {
		t.span(fmt.Sprintf("request %d %s", r.ID, causes[c]), "stall", r, t.process(in), r.Last, at)
	}
}

// Transferred implements sim.TransferObserver: a KV transfer is a slice, and an arrow from one replica to the other.
func (t *Trace) Transferred(from, to *sim.Instance, r *sim.Request) {
	t.Recorder.Transferred(from, to, r)
	start := max(r.PendingTransfer, r.Allocated)
	if !t.shows(start, r.Transferred) {
		return
	}
	t.span(fmt.Sprintf("KV of request %d", r.ID), "transfer", r, t.process(to), start, r.Transferred)
	t.out.begin("s", "KV transfer", "transfer", start, t.process(from), track(from)).id(r.ID).end()
	t.out.begin("f", "KV transfer", "transfer", r.Transferred, t.process(to), track(to)).id(r.ID).text("bp", "e").end()
}

// span writes an asynchronous slice of r.
func (t *Trace) span(name, category string, r *sim.Request, process int, start, end sim.Time) {
	e := t.out.begin("b", name, category, start, process, 0).id(r.ID)
	e.count("prompt", int64(r.Prompt))
	e.count("emitted", int64(r.Emitted))
	e.end()
	t.out.begin("e", name, category, end, process, 0).id(r.ID).end()
}

// Done implements sim.Sink: who does not complete is an instant of the run.
func (t *Trace) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	t.Recorder.Done(r, at, o)
	if o != sim.Completed && o != sim.Unfinished && t.shows(at, at) {
		t.out.begin("i", fmt.Sprintf("request %d %v", r.ID, o), "outcome", at, 1, 0).text("s", "g").end()
	}
}

// routing is the router of a pool, which shows which request it sends where.
type routing struct {
	t      *Trace
	routed sim.Router
}

// Route implements sim.Router.
func (x *routing) Route(now sim.Time, r *sim.Request, pool *sim.Pool) *sim.Instance {
	in := x.routed.Route(now, r, pool)
	if t := x.t; t.shows(now, now) {
		e := t.out.begin("i", fmt.Sprintf("request %d", r.ID), "arrival", now, t.process(in), track(in)).text("s", "t")
		e.count("prompt", int64(r.Prompt))
		e.end()
	}
	return in
}

// observations are when a trace sees the queues of a run: a thousand times in its window. Another observer keeps its
// own instants.
type observations struct {
	t     *Trace
	other func(*sim.Cluster, sim.Time) sim.Time
	own   sim.Time // when to look next
	their sim.Time
}

const observationsMax = 1000

func (l *observations) observe(c *sim.Cluster, now sim.Time) sim.Time {
	if now >= l.own {
		l.t.counters(c, now)
		l.own = max(l.t.window.From, now.Add(max(1, l.t.window.To.Sub(l.t.window.From)/observationsMax)))
		if now >= l.t.window.To {
			l.own = sim.Forever
		}
	}
	if l.other == nil {
		return l.own
	}
	if now >= l.their {
		l.their = l.other(c, now)
	}
	return min(l.own, l.their)
}

// counters writes what runs, waits and is held in each pool, and which replicas have come or gone since the look
// before.
func (t *Trace) counters(c *sim.Cluster, now sim.Time) {
	for i := range c.Pools() {
		if !t.shows(now, now) {
			return
		}
		o := c.PoolState(i, now)
		if is := (counted{o.Running, o.Waiting, o.Transferring, o.KVUsed}); is != t.counted[i] {
			t.counted[i] = is
			t.counter(i, now, &is)
		}
		for j := range c.Pool(i).Replicas() {
			in := c.Pool(i).Replica(j)
			if is := life(in); is != t.lives[in.ID] {
				t.lives[in.ID] = is
				t.out.begin("i", is, "replica", now, i+1, track(in)).text("s", "t").end()
			}
		}
	}
}

// counted is what the counters of a pool show.
type counted struct{ running, waiting, moving, used int64 }

// counter writes the counters of the i-th pool.
func (t *Trace) counter(i int, now sim.Time, is *counted) {
	e := t.out.begin("C", "requests", "state", now, i+1, 0)
	e.count("running", is.running)
	e.count("waiting", is.waiting)
	e.count("moving", is.moving)
	e.end()
	e = t.out.begin("C", "KV blocks", "state", now, i+1, 0)
	e.count("used", is.used)
	e.end()
}

// life says what a replica is about.
func life(in *sim.Instance) string {
	switch {
	case in.Live():
		return "up"
	case in.Starting():
		return "starting"
	case in.Draining():
		return "draining"
	}
	return "down"
}

func replica(p *sim.Pool, i int) string { return fmt.Sprintf("%s/%d", p.Name, i) }
