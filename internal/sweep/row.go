package sweep

import (
	"context"
	"encoding/json"
	"math"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/headroom"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/steady"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Row is one run: its place in the sweep and its numbers, or why it has none.
type Row struct {
	Run    int       // point × seeds + which seed
	Error  string    // empty: it ran
	Given  int       // to so many workers, none of which came to its end; 0: it is no dead letter
	Values []float64 // by column; NaN: there is none
}

// writtenRow is a row as journals have it.
type writtenRow struct {
	Run    int            `json:"run"`
	Error  string         `json:"error,omitempty"`
	Given  int            `json:"given,omitempty"`
	Values []stats.Number `json:"values,omitempty"`
}

// MarshalJSON writes NaN as null. Every other number reads back as it was.
func (r Row) MarshalJSON() ([]byte, error) {
	w := writtenRow{Run: r.Run, Error: r.Error, Given: r.Given}
	for _, x := range r.Values {
		w.Values = append(w.Values, stats.Number(x))
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Row) UnmarshalJSON(text []byte) error {
	var w struct {
		Run    int        `json:"run"`
		Error  string     `json:"error"`
		Given  int        `json:"given"`
		Values []*float64 `json:"values"`
	}
	if err := json.Unmarshal(text, &w); err != nil {
		return err
	}
	*r = Row{Run: w.Run, Error: w.Error, Given: w.Given}
	for _, x := range w.Values {
		if x == nil {
			r.Values = append(r.Values, math.NaN())
			continue
		}
		r.Values = append(r.Values, *x)
	}
	return nil
}

// row makes a run of the sweep. An error is one of ctx: whatever else a run ends with is in its row.
func (s *Sweep) row(ctx context.Context, k int, progress func(run.Progress)) (Row, error) {
	o, err := s.simulate(ctx, k/len(s.Seeds), s.Seeds[k%len(s.Seeds)], progress)
	if ended := ctx.Err(); ended != nil {
		return Row{}, ended
	}
	if err != nil {
		return Row{Run: k, Error: s.named(err).Error()}, nil
	}
	r := Row{Run: k}
	for _, c := range columns() {
		r.Values = append(r.Values, c.of(o))
	}
	return r, nil
}

// simulate runs a point under a seed.
func (s *Sweep) simulate(ctx context.Context, point int, seed uint64,
	progress func(run.Progress)) (*Outcome, error) {
	sc, err := s.load(point, seed)
	if err != nil {
		return nil, err
	}
	sc.Output.Attribution, sc.Output.OverTime = false, false // no column is of them
	b, err := build.NewUntil(ctx, sc)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return Measure(ctx, b, s.Version, progress)
}

// Measure runs b, and judges whether it saturates and whether it meets its SLO. progress may be nil.
func Measure(ctx context.Context, b *build.Built, version string, progress func(run.Progress)) (*Outcome, error) {
	b.Scenario.Output.Intervals = true // for its series of arrivals
	b.Config.TraceEvery = 0            // no column is of single tokens, and half of the time would go to them
	ran, err := run.Simulate(ctx, b, run.Options{Version: version, Progress: progress})
	if err != nil {
		return nil, err
	}
	o := &Outcome{Summary: ran.Summary, Judged: headroom.Judged(b.Scenario)}
	o.Met = o.Judged && len(headroom.Broken(b, ran.Summary)) == 0
	if b.Scenario.Workload.ClosedLoop != nil {
		return o, nil // as many requests are under way as there are clients
	}
	o.Filling = filling(b, ran.Summary)
	o.drift = driftOf(ran.Recorder, b)
	if o.drift == nil {
		o.Saturated = ran.Recorder.Growing()
		return o, nil
	}
	o.Saturated = o.drift.Drifts()
	return o, nil
}

// sessionsLong is how many times as long as a session the time must be in which sessions begin: the requests under way
// are compared over its later half, and by then most sessions are to be there that will ever be.
const sessionsLong = 4

// filling reports whether the sessions or tasks of a run take too long for it to say what becomes of its load. They
// send less than in the long run while they are not all there, and few have few requests under way, so that a short run
// looks sustained at any rate.
func filling(b *build.Built, s *metrics.Summary) bool {
	w := &b.Scenario.Workload
	if !w.Waits() || w.Arrivals == nil || s.Latency.E2E.N == 0 {
		return false
	}
	return b.SpanS < sessionsLong*(b.PauseS()+float64(b.TurnsMean()*s.Latency.E2E.Mean))
}

// driftOf returns what the requests under way grew by; nil: the shape of the load decides that.
func driftOf(m *metrics.Full, b *build.Built) *steady.Drift {
	if m.Series == nil {
		return nil
	}
	slots := m.Series.Arrivals()
	if b.Scenario.Workload.Waits() && b.SpanS > 0 { // what comes later is of the last sessions or tasks
		slots = slots[:min(len(slots), int(b.SpanS/m.Series.WidthS()))]
	}
	d := steady.DriftOf(slots)
	return &d
}
