package live

import (
	"fmt"
	"io"
	"slices"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads/requests"
)

// Options say how a fleet serves.
type Options struct {
	Version string    // of the program, as the summary has it
	Rows    int       // as run.Options has it
	Trace   io.Writer // of what is served; nil: none is written
}

// Fleet is a simulated deployment that serves requests as they come. It has one owner, which alone calls its methods,
// with instants that do not go back.
type Fleet struct {
	run      *run.Live
	built    *build.Built
	sampler  *requests.Sampler
	inbox    inbox
	prompts  *prompts
	open     map[int32]*openRequest
	delays   delays
	dirty    []*Answer
	released []releasedTokens // since Loop looked
	pending  []pending        // commands that have not done all that they do
	counters []Counters
	record   *recording // nil: nothing is recorded
	interval int32
	started  bool
	sent     int32
}

// openRequest is a request that has not ended.
type openRequest struct {
	answer   *Answer
	samples  *Samples // nil: nobody counts them
	pin      int
	instance int32 // that it was routed to latest; -1: none yet
}

// New returns the fleet of b, which build.NewLive has made.
func New(b *build.Built, o Options) (*Fleet, error) {
	s := b.Scenario
	if s.Stream.RTTJitterMS > 0 {
		return nil, s.Errorf("stream.rtt_jitter_ms", "%g is of a simulated network, and clients of a live endpoint are on a "+
			"real one; accepted: 0", s.Stream.RTTJitterMS)
	}
	sampler, err := b.Answers()
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		built: b, sampler: sampler, prompts: newPrompts(b.Config.Contents), open: map[int32]*openRequest{},
		interval: max(1, b.Wire().Stream().Interval),
	}
	f.delays.egress = b.Config.Egress
	if o.Trace != nil {
		f.record = newRecording(o.Trace, b.Config.Contents, b.Config.Pools[0].Adapters.Slots > 0)
	}
	b.Scenario.Workload.WarmupS, b.Warmup = 0, 0
	f.run, err = run.Begin(b, run.Options{Version: o.Version, Rows: o.Rows, Timeline: true}, f.adapt)
	if err != nil {
		return nil, err
	}
	for i := range f.run.Cluster.Pools() {
		for range f.run.Cluster.Pool(i).Replicas() {
			f.counters = append(f.counters, newCounters(f.run.Cluster.Pool(0).MaxModelLen, s.Speculation.DraftsMax()))
		}
	}
	return f, nil
}

// adapt has the run take its requests from the inbox, and report each token.
func (f *Fleet) adapt(c *sim.Config) {
	c.Source, c.TraceEvery, c.MaxRun = &f.inbox, 1, 1
	c.Sink = newSink(f, c.Sink)
	c.Admission = newAdmitting(f, c.Admission)
	for i, p := range c.Pools {
		p.Router = &pinning{f, i, p.Router}
	}
}

// Now returns the instant of what has happened latest.
func (f *Fleet) Now() sim.Time { return f.run.Cluster.Now() }

// next returns the earliest instant, from at on, at which something may still be done.
func (f *Fleet) next(at sim.Time) sim.Time {
	if !f.started {
		return max(at, 0)
	}
	return max(at, f.Now()+1)
}

// describe has the load be what came, and not what the scenario expected.
func (f *Fleet) describe(s *metrics.Summary) {
	b, n := f.built, float64(s.Requests.Arrived)
	b.Requests, b.RatePerS, b.SpanS = n, s.Load.OfferedPerS, s.DurationS
	if n > 0 {
		b.PromptMean, b.OutputMean = float64(s.Tokens.Prompt)/n, float64(s.Tokens.Output)/n
	}
}

// RequestsMax is how many requests a fleet serves.
const RequestsMax = 1<<31 - 2

// Admit has requests arrive together, at an instant or as soon after it as is possible. The first ones arrive at 0.
func (f *Fleet) Admit(at sim.Time, asks []Ask) {
	at = max(f.next(at), f.inbox.last())
	if !f.started {
		at = 0
	}
	f.started = true
	for i := range asks {
		f.admit(at, &asks[i])
	}
}

func (f *Fleet) admit(at sim.Time, a *Ask) {
	if f.sent == RequestsMax {
		a.Answer.outcome.Store(int32(sim.Rejected))
		a.Answer.wake()
		return
	}
	r := sim.Request{ID: f.sent}
	f.sent++
	f.sampler.Draw(&r)
	r.Arrival, r.Prompt, r.MaxOutput = at, a.Prompt.Tokens, a.Limit
	r.Session, r.Content, r.OutputContent = a.Session, f.prompts.node(&a.Prompt, a.Adapter), 0
	r.Adapter = a.Adapter
	if a.Exact {
		r.Output = a.Limit
	}
	r.Output = min(a.Limit, max(r.Output, a.Least, 1))
	a.Answer.id, a.Answer.output = r.ID, r.Output
	f.open[r.ID] = &openRequest{answer: a.Answer, samples: a.Samples, pin: a.Replica, instance: -1}
	f.inbox.add(r)
	if f.record != nil {
		f.record.arrive(&r)
	}
}

// Advance handles everything up to an instant, and returns when something is due next; sim.Forever: nothing is known.
func (f *Fleet) Advance(to sim.Time) (next sim.Time) {
	if !f.started {
		return sim.Forever
	}
	for len(f.pending) > 0 && f.pending[0].at <= to {
		f.act()
	}
	next = f.run.Cluster.Advance(to)
	if len(f.pending) > 0 {
		next = min(next, f.pending[0].at)
	}
	f.delays.release(f, to)
	f.report()
	return min(next, f.delays.next())
}

// report has clients look at what has been released, the latest request first. What is due at one instant is written
// one after the other, and clients read it so: in this order a first token does not wait for those of all others, and
// from token to token a stream moves back by no more than came in between.
func (f *Fleet) report() {
	slices.SortFunc(f.dirty, func(a, b *Answer) int { return int(b.id) - int(a.id) })
	for _, a := range f.dirty {
		a.wake()
	}
	clear(f.dirty)
	f.dirty = f.dirty[:0]
}

// Cancel has the client of a request cancel it, at an instant or as soon after it as is possible. What has ended cannot
// be cancelled.
func (f *Fleet) Cancel(at sim.Time, a *Answer) {
	if _, under := f.open[a.id]; !under {
		return
	}
	at = max(f.next(at), f.inbox.last())
	if f.inbox.cancel(a.id, at+1) {
		at++
	} else if !f.run.Cluster.Cancel(a.id, at) {
		return
	}
	if f.record != nil {
		f.record.cancel(a.id, at)
	}
}

// openAnswers returns what is under way, in order of arrival.
func (f *Fleet) openAnswers() (all []*Answer) {
	for _, o := range f.open {
		all = append(all, o.answer)
	}
	slices.SortFunc(all, func(a, b *Answer) int { return int(a.id) - int(b.id) })
	return all
}

// releasedTokens are tokens that clients may have since they were due.
type releasedTokens struct {
	due    sim.Time
	tokens int32
}

// Summary returns the results so far.
func (f *Fleet) Summary() *metrics.Summary { return f.run.Summary() }

// Finish ends the service: what is under way is run to its end, and the results are those of a run. The scenario is
// then one that replays the trace.
func (f *Fleet) Finish(trace string) (*run.Result, error) {
	for len(f.pending) > 0 && len(f.open) > 0 && f.pending[0].at < sim.ClockEnd {
		f.act()
	}
	r, err := f.run.Finish()
	if err != nil {
		return nil, err
	}
	f.delays.release(f, sim.Forever)
	if f.record != nil {
		if err := f.record.finish(); err != nil {
			return nil, fmt.Errorf("the trace of what was served: %w", err)
		}
	}
	f.describe(r.Summary)
	f.built.Scenario.Workload.SetReplay(trace)
	f.built.Scenario.Decoding.N = 1
	return r, nil
}
