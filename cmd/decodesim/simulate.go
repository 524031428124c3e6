package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// result is a run that has ended.
type result struct {
	summary  *metrics.Summary
	recorder *metrics.Full
	samples  []metrics.Sample // nil without a timeline
	requests *requestLog      // nil without one
	sample   *views.Sample    // nil without views
	viewed   *report.Viewed   // nil without views
}

// simulate runs b once. With a requestLog or a timeline it also keeps what the files of --out show; the results are the
// same with and without.
func simulate(ctx context.Context, b *configs.Built, errOut io.Writer, log *requestLog, timeline bool) (r *result, err error) {
	return simulateFollowed(ctx, b, errOut, log, following{timeline: timeline})
}

// following is who else looks at a run.
type following struct {
	timeline bool
	sampled  bool       // requests are followed for views
	trace    *traceFile // nil: none
}

// simulateFollowed is simulate with others who look on; the results are the same then too.
func simulateFollowed(ctx context.Context, b *configs.Built, errOut io.Writer, log *requestLog, also following) (r *result, err error) {
	recorder := &metrics.Full{}
	recorder.Warmup, recorder.SLO, recorder.Ingress, recorder.Egress = b.Warmup, b.SLO, b.Config.Ingress, b.Config.Egress
	recorder.Split(b.Classes())
	if b.Scenario.Output.Attribution {
		recorder.Attribution = new(metrics.Attribution)
	}
	config := b.Config
	config.Sink = recorder
	var sample *views.Sample
	if stream := b.Wire().Stream(); also.sampled || !stream.Plain() {
		sample = newSample(b, recorder)
		config.Sink = sample
	}
	w := &watch{ctx: ctx, log: log, expected: b.Requests, progress: progressTo(errOut)}
	recorder.Rows = w.done
	var line *metrics.Timeline
	if also.timeline {
		line = metrics.NewTimeline(b.SpanS)
		config.Observe = line.Observe
	}
	if log != nil {
		log.watch(&config)
	}
	if also.trace != nil {
		also.trace.watch(&config)
	}
	config.Unordered = log == nil && sample == nil && also.trace == nil // nobody looks at requests in the order of their ends
	c, err := sim.New(config)
	if err != nil {
		return nil, err
	}
	if also.trace != nil {
		also.trace.trace.Begin(c)
	}
	recorder.Watch(c)
	if err := w.run(c); err != nil {
		return nil, err
	}
	if err := b.SourceErr(); err != nil {
		return nil, failure{err}
	}
	if c.Overran() {
		return nil, failure{fmt.Errorf("%d of %d requests are still under way after %.0f days, the end of the simulated clock; "+
			"send fewer or shorter ones, or add replicas", c.Totals().Arrived-c.Totals().Ended, c.Totals().Arrived, sim.HorizonS/86400)}
	}
	r = &result{recorder: recorder, requests: log, sample: sample, summary: recorder.Summary(b.Describe(programVersion(), c.Totals().Arrived))}
	if sample != nil {
		r.summary.Stream = sample.Streamed()
	}
	if line != nil {
		r.samples = line.Samples(c)
	}
	return r, nil
}

// watch is told of every request that ends: it keeps the log, prints progress and stops a run whose user gave up.
type watch struct {
	ctx      context.Context
	log      *requestLog
	expected float64
	progress io.Writer // nil: none
	ended    int64
	printed  time.Time
}

// lookEvery is how many requests pass between looks at the clock and at Ctrl-C.
const lookEvery = 1 << 12

func (w *watch) done(r *sim.Request, at sim.Time, o sim.Outcome) {
	if w.log != nil {
		w.log.add(r, at, o)
	}
	if w.ended++; w.ended%lookEvery == 0 {
		w.look(at)
	}
}

func (w *watch) look(at sim.Time) {
	if w.ctx.Err() != nil {
		panic(errInterrupted) // the one way out of a run; run recovers it
	}
	if w.progress == nil || time.Since(w.printed) < 200*time.Millisecond {
		return
	}
	w.printed = time.Now()
	share := ""
	if w.expected > 0 {
		share = fmt.Sprintf(" (%.0f %%)", 100*min(1, float64(w.ended)/w.expected))
	}
	fmt.Fprintf(w.progress, "\r\x1b[K%d requests%s, %.0f s simulated", w.ended, share, at.Seconds())
}

// run runs c to its end or to Ctrl-C.
func (w *watch) run(c *sim.Cluster) (err error) {
	w.printed = time.Now()
	defer func() {
		if w.progress != nil {
			fmt.Fprint(w.progress, "\r\x1b[K")
		}
		if x := recover(); x == errInterrupted {
			err = errInterrupted
		} else if x != nil {
			panic(x)
		}
	}()
	c.Run()
	if w.ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// progressTo returns w if it is a terminal; else nil.
func progressTo(w io.Writer) io.Writer {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return w
	}
	return nil
}
