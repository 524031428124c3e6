package steady

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Run is what is known of a run beside what was recorded.
type Run struct {
	NotStationary string // why it has no steady state; empty: it may have one
	Sessions      Sessions
}

// Sessions is what is known of sessions that arrive; zero: there are none, or their rate is a result.
type Sessions struct {
	LongRunPerS float64 // requests/s that they come to in the long run
	Turns       float64 // of a session, in the mean
	BeginS      float64 // seconds in which they begin; what comes later is of the last ones
}

// least is the fewest slots that tell of a steady state: a warm-up and as much after it.
const least = 64

// Of says how far a run tells of a steady state. One that may have one has a recorder with a series.
func Of(m *metrics.Recorder, r Run) *metrics.Steady {
	if r.NotStationary != "" || m.Series == nil {
		return &metrics.Steady{NotStationary: r.NotStationary}
	}
	slots := m.Series.Arrivals()
	if r.Sessions.BeginS > 0 {
		slots = slots[:min(len(slots), int(r.Sessions.BeginS/m.Series.WidthS()))]
	}
	if why := unfilled(slots, m.Series.WidthS(), r.Sessions); why != "" {
		return &metrics.Steady{DependsOnLength: why, LongRunPerS: r.Sessions.LongRunPerS}
	}
	if len(slots) < least {
		return &metrics.Steady{NotStationary: "nearly all requests arrive at once"}
	}
	width := m.Series.WidthS()
	n := warmup(slots)
	s := &metrics.Steady{
		Method: method, WarmupS: width * float64(n), MeasuredFromS: m.Warmup.Seconds(),
		LastArrivalS: width * float64(len(slots)), Confidence: stats.Confidence, LongRunPerS: r.Sessions.LongRunPerS,
	}
	for i := range slots[:n] {
		s.WarmupRequests += slots[i].Arrived
	}
	if from := int(m.Warmup.Seconds()/width) + 1; m.Warmup > 0 && from > n {
		n = min(len(slots), from+from%metrics.GroupSlots)
	}
	w := &window{m.Series, slots[n:], n}
	arrived := int64(0)
	for i := range w.slots {
		arrived += w.slots[i].Arrived
	}
	if arrived < fewest {
		return &metrics.Steady{NotStationary: "too few requests are measured"}
	}
	s.OfferedPerS = float64(arrived) / (width * float64(len(w.slots)))
	s.Halves = w.halves()
	s.DependsOnLength = drifting(DriftOf(slots))
	if s.DependsOnLength != "" {
		return s // what grows has no mean to be sure of
	}
	s.DependsOnLength = differing(s.Halves)
	s.TTFT = w.intervals(metrics.OfTTFT, &m.TTFT)
	if chunks := m.ChunkGaps(); chunks == &m.ITL {
		s.ITL = w.intervals(metrics.OfITL, chunks)
	} else {
		s.ITLChunk = w.intervals(metrics.OfITL, chunks)
	}
	s.TPOT, s.E2E = w.intervals(metrics.OfTPOT, &m.TPOT), w.intervals(metrics.OfE2E, &m.E2E)
	if m.Tasks != nil {
		s.Task = w.intervals(metrics.OfTask, &m.Tasks.Time)
	}
	if judged := m.Recorded + m.Unserved; judged > 0 && m.SLO != (metrics.Limits{}) {
		s.Attainment = w.attainment(float64(m.Attained) / float64(judged))
	}
	s.Precision, s.PrecisionOf = widest(s, m)
	return s
}

// filled is the share of their long-run rate that sessions must offer to be in a steady state.
const filled = 0.9

// unfilled says that sessions last too long for a run: while they begin, fewer are under way than in the long run. It
// observes the later half of that time, and allows for chance: two standard deviations of what sessions send that begin
// as a Poisson process and whose turns vary as much as an exponential law's. Empty: they have come to what they will
// ever be, or there are none.
func unfilled(slots []metrics.Slot, widthS float64, of Sessions) string {
	if of.LongRunPerS == 0 {
		return ""
	}
	d := DriftOf(slots)
	expected := of.LongRunPerS * widthS * float64(len(slots)-len(slots)/2)
	if chance := 2 * math.Sqrt(2*of.Turns*expected); float64(d.Arrived) >= float64(filled*expected)-chance {
		return ""
	}
	return fmt.Sprintf("it ends before its sessions are all there, or cannot keep up with them: after half of the %s in "+
		"which they begin they send %s requests/s, of %s in the long run", text.Duration(of.BeginS),
		text.Significant(float64(d.Arrived)/expected*of.LongRunPerS), text.Significant(of.LongRunPerS))
}

// drifting says that the requests under way grow; empty: they do not.
func drifting(d Drift) string {
	if !d.Drifts() {
		return ""
	}
	return fmt.Sprintf("the requests under way grow by %s over the second half of the arrivals, %s of these",
		text.Count(d.Growth), text.WholePercent(float64(d.Growth)/float64(d.Arrived)))
}

// differing says in what the halves of a run differ; empty: they agree.
func differing(halves []metrics.Half) string {
	for i, h := range halves {
		if !h.Significant {
			continue
		}
		first, second := text.Duration(h.First), text.Duration(h.Second)
		if i == 0 { // a count
			first, second = text.Significant(h.First), text.Significant(h.Second)
		}
		return fmt.Sprintf("its second half differs from the first: %s %s → %s", h.Name, first, second)
	}
	return ""
}
