package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/memory"
	"github.com/decodesim/decodesim/internal/steady"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// Options say what to keep of a run beside its summary, and who follows it. The summary is the same whatever they say.
type Options struct {
	Version   string         // of the program, as the summary has it
	Rows      int            // requests of which a row is kept, of a run that has no more; negative: of any; 0: none
	Timeline  bool           // samples of queues, batches and caches are kept
	Sample    bool           // the traced requests are followed token by token
	Observers []Observer     // of every event; nil: nobody
	Progress  func(Progress) // called a few times a second, by one goroutine at a time; nil: nobody
	Cores     int            // that one run may use, where its replicas have nothing to do with each other; 0: 1
}

// Observer follows a run event by event.
type Observer interface {
	// Observe puts the observer in front of the sink of c, or of whatever else of it the observer needs to see.
	Observe(c *sim.Config)
	// Begin shows the cluster before its first event.
	Begin(c *sim.Cluster)
}

// Progress is how far a run is.
type Progress struct {
	Ended      int64   // requests
	Done       float64 // requests, of which those under way count half
	Share      float64 // of the requests expected, counted in the same way; 0: it is not known how many are
	SimulatedS float64

	Built, Replicas int // of a pool that is being built, in which nothing else is done; 0: nothing is
}

// Result is a run that has ended.
type Result struct {
	Summary  *metrics.Summary
	Recorder *metrics.Full
	Rows     []Row            // by ID; nil: none were asked for, or there were more requests
	Timeline []metrics.Sample // nil: not asked for
	Sample   *views.Sample    // nil: not asked for
	Tasks    []sessions.Task  // of agents, as they ended; nil: there are none, or no rows
}

// Failure is an error of a run under way; every other error is one of its input.
type Failure struct{ Err error }

// Error implements error.
func (f Failure) Error() string { return f.Err.Error() }

// Unwrap returns the error behind f.
func (f Failure) Unwrap() error { return f.Err }

// Simulate runs b to its end, which can be done once, unless there is too little memory for it. It stops between two
// events when ctx is cancelled, and returns the error of ctx.
func Simulate(ctx context.Context, b *build.Built, o Options) (*Result, error) {
	if err := fits(b, o); err != nil {
		return nil, err
	}
	x := prepare(b, o)
	// Nobody sees in which order requests end.
	x.config.Unordered = x.rows == nil && x.Sample == nil && len(o.Observers) == 0
	x.config.Cores, x.config.Each = o.Cores, Each
	c, err := Drive(ctx, x.config, x.begin)
	if err != nil {
		return nil, err
	}
	return x.finish(c)
}

// prepared is a run before its first event: its configuration, and what is kept of it.
type prepared struct {
	*Result
	built   *build.Built
	options Options
	config  sim.Config
	rows    *rows
	line    *metrics.Timeline
}

// prepare puts what records a run of b in front of it.
func prepare(b *build.Built, o Options) *prepared {
	x := &prepared{Result: &Result{Recorder: &metrics.Full{}}, built: b, options: o, config: b.Config}
	x.record(&x.config, b, o)
	x.rows = newRows(&x.config, b, o.Rows)
	if o.Timeline {
		x.line = metrics.NewTimeline(b.SpanS)
		x.config.Observe = x.line.Observe
	}
	for _, observer := range o.Observers {
		observer.Observe(&x.config)
	}
	f := newFollower(x.rows, o.Progress, b.Requests)
	x.Recorder.Rows = f.done()
	f.follow(&x.config)
	return x
}

// begin shows the cluster to what follows the run.
func (x *prepared) begin(c *sim.Cluster) {
	for _, observer := range x.options.Observers {
		observer.Begin(c)
	}
	x.Recorder.Watch(c)
}

// finish returns the results of the run, which has ended.
func (x *prepared) finish(c *sim.Cluster) (*Result, error) {
	b, r := x.built, x.Result
	if err := broken(b, c); err != nil {
		return nil, err
	}
	if n, ok := b.TasksBegun(); ok {
		r.Recorder.TasksBegun(n)
	}
	r.Summary = r.Recorder.Summary(b.Describe(x.options.Version, c.Totals().Arrived))
	if b.Scenario.Output.Intervals {
		r.Summary.Steady = steady.Of(&r.Recorder.Recorder, steadyOf(b))
	}
	r.Summary.Expected = expected.Of(b.Scenario)
	ofPeak(r.Summary, b)
	if r.Sample != nil {
		r.Summary.Stream = r.Sample.Streamed()
	}
	r.Rows = x.rows.sorted()
	if x.line != nil {
		r.Timeline = x.line.Samples(c)
	}
	return r, nil
}

// record makes the recorder of r the sink of config, or a sample in front of it where single requests are looked at.
func (r *Result) record(config *sim.Config, b *build.Built, o Options) {
	m := r.Recorder
	m.Warmup, m.SLO, m.Rules = b.Warmup, b.SLO, b.Rules
	m.Ingress, m.Egress, m.Thinks = b.Config.Ingress, b.Config.Egress, b.Thinks()
	if stream := b.Wire().Stream(); !stream.Whole() {
		m.Stream, m.SampleEvery, config.TraceEvery = metrics.NewChunks(stream.Interval), b.Config.TraceEvery, 1
		m.Stream.Warmup = b.Warmup
	}
	m.SeparateClasses(b.Classes())
	if b.Scenario.Output.OverTime {
		m.Windows = metrics.NewWindows(b.Windows())
		m.WindowClasses(b.ClassWindows())
	}
	if b.Scenario.Output.Attribution {
		m.Attribution = new(metrics.Attribution)
	}
	if b.Scenario.Output.Intervals && notStationary(b.Scenario) == "" {
		m.Series = metrics.NewSeries()
	}
	if m.Stream != nil {
		m.Stream.Series, m.Stream.Windows = m.Series, m.Windows
	}
	r.followTasks(b, o)
	config.Sink = m
	if stream := b.Wire().Stream(); o.Sample || !stream.Plain() {
		r.Sample = views.NewSample(m, b.Config.TraceEvery, b.Wire())
		config.Sink = r.Sample
	}
}

// followTasks has the recorder hear of tasks of agents. As many are kept as requests are asked for, if not more end.
func (r *Result) followTasks(b *build.Built, o Options) {
	all := o.Rows != 0
	b.FollowTasks(r.Recorder, func(t *sessions.Task) {
		if all && (o.Rows < 0 || len(r.Tasks) < o.Rows) {
			r.Tasks = append(r.Tasks, *t)
		} else {
			r.Tasks, all = nil, false
		}
	})
}

// SortedTasks returns the tasks in the order in which they began.
func (r *Result) SortedTasks() []sessions.Task {
	byNumber := func(a, b sessions.Task) int { return cmp.Compare(a.Number, b.Number) }
	return slices.SortedFunc(slices.Values(r.Tasks), byNumber)
}

// broken is why a run that has ended is no result; nil: it is one.
func broken(b *build.Built, c *sim.Cluster) error {
	if err := b.SourceErr(); err != nil {
		return Failure{err}
	}
	if c.Overran() {
		all := c.Totals()
		why := "send fewer or shorter ones, or add replicas"
		if all.Restarted > all.Arrived {
			why = fmt.Sprintf("replicas fail before they are done with a request, and %d times one began again; let replicas "+
				"fail less often, requests or their transfers take less time, or set in_flight to fail", all.Restarted)
		}
		return Failure{fmt.Errorf("%d of %d requests are still under way after %.0f days, the end of the simulated clock; %s",
			all.Arrived-all.Ended, all.Arrived, sim.HorizonS/86400, why)}
	}
	return nil
}

// Drive runs a configuration with a sink of the caller's to its end, and returns the cluster as it is then. Each begin
// is called before the first event. When ctx is cancelled the run stops between two events and Drive returns the error
// of ctx; a run that the caller's own Cancelled stops is no error, and its cluster is halted. One whose requests leave
// hardly any memory is stopped in the same way, and fails: how many wait at once is not known before.
func Drive(ctx context.Context, config sim.Config, begin ...func(*sim.Cluster)) (*sim.Cluster, error) {
	return drive(ctx, memory.Watch, config, begin...)
}

func drive(ctx context.Context, watch func(scarce func()) (stop func()), config sim.Config,
	begin ...func(*sim.Cluster)) (*sim.Cluster, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var cancelled, scarce atomic.Bool
	release := context.AfterFunc(ctx, func() { cancelled.Store(true) })
	defer release()
	defer watch(func() {
		scarce.Store(true)
		cancelled.Store(true)
	})()
	if stop := config.Cancelled; stop != nil {
		config.Cancelled = func() bool { return stop() || cancelled.Load() }
	} else {
		config.Cancelled = cancelled.Load
	}
	if building := config.Building; building != nil {
		config.Building = func(built, of int) bool { return building(built, of) || cancelled.Load() }
	}
	c, err := sim.New(config)
	if err != nil {
		return nil, err
	}
	for _, f := range begin {
		f(c)
	}
	c.Run()
	if all := c.Totals(); scarce.Load() && ctx.Err() == nil {
		return nil, Failure{fmt.Errorf("the memory that there is does not suffice: %d of %d requests that have arrived are "+
			"still under way; send fewer or shorter ones, or add replicas", all.Arrived-all.Ended, all.Arrived)}
	}
	return c, ctx.Err()
}
