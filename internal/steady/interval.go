package steady

import (
	"math"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// fewest is how many observations an interval must rest on.
const fewest = 30

// window is the slots of a series after the warm-up and before the last arrival.
type window struct {
	series *metrics.Series
	slots  []metrics.Slot
	from   int // of the series
}

// intervals returns those of a latency around what was measured of it; nil: there is too little.
//
// Observations per slot vary, so a mean is a ratio, S/N, and its interval that of the residuals Sᵢ − m·Nᵢ. A quantile
// is that of the share p of observations below it: its interval goes from the quantile at p − h to that at p + h, with
// h half of the interval of that share. Neither needs to know how values are distributed.
func (w *window) intervals(of metrics.Of, measured *metrics.Hist) *metrics.Intervals {
	z, n := w.residuals(func(v *metrics.Slot) (float64, float64) {
		return v.Sum[of].Sum.Float() * 1e-12, float64(v.Sum[of].N)
	})
	half := stats.HalfWidth(z) / n
	if n < fewest || measured.N() < fewest || math.IsNaN(half) {
		return nil
	}
	mean := measured.MeanS()
	return &metrics.Intervals{
		Mean: metrics.Range{Low: max(0, mean-half), High: mean + half},
		P50:  w.quantile(of, measured, .5), P90: w.quantile(of, measured, .9), P95: w.quantile(of, measured, .95),
		P99: w.quantile(of, measured, .99),
	}
}

// quantile returns the interval of the quantile at p.
func (w *window) quantile(of metrics.Of, measured *metrics.Hist, p float64) metrics.Range {
	at := sim.Seconds(measured.QuantileS(p))
	groups := len(w.slots) / metrics.GroupSlots
	z, below, all := make([]float64, groups), 0.0, 0.0
	for i := range groups {
		n := 0.0
		for k := range metrics.GroupSlots {
			n += float64(w.slots[i*metrics.GroupSlots+k].Sum[of].N)
		}
		z[i] = w.series.Below(of, w.from/metrics.GroupSlots+i, at)
		below, all = below+z[i], all+n
	}
	for i := range groups {
		n := 0.0
		for k := range metrics.GroupSlots {
			n += float64(w.slots[i*metrics.GroupSlots+k].Sum[of].N)
		}
		z[i] -= float64(below / all * n)
	}
	half := stats.HalfWidth(z) / all
	r := metrics.Range{Low: 0, High: math.Inf(1)}
	if p-half > 0 {
		r.Low = measured.QuantileS(p - half)
	}
	if p+half < 1 {
		r.High = measured.QuantileS(p + half)
	}
	return r
}

// residuals returns, by slot, what a sum is above its share of the whole by a count, and the whole count.
func (w *window) residuals(of func(*metrics.Slot) (sum, n float64)) (z []float64, all float64) {
	z = make([]float64, len(w.slots))
	total := 0.0
	for i := range w.slots {
		sum, n := of(&w.slots[i])
		total, all = total+sum, all+n
	}
	if all == 0 {
		return z, 0
	}
	for i := range w.slots {
		sum, n := of(&w.slots[i])
		z[i] = sum - float64(total/all*n)
	}
	return z, all
}

// attainment returns the interval of the share of requests that met the SLO, around what was measured of it.
func (w *window) attainment(measured float64) *metrics.Range {
	z, n := w.residuals(func(v *metrics.Slot) (float64, float64) { return float64(v.Good), float64(v.Judged) })
	half := stats.HalfWidth(z) / n
	if n < fewest || math.IsNaN(half) {
		return nil
	}
	return &metrics.Range{Low: max(0, measured-half), High: min(1, measured+half)}
}

// widest returns half of the widest interval of a mean, p50, p95 or p99 as a share of it, and whose it is; nil: one has
// no upper end, or nothing was measured.
func widest(s *metrics.Steady, m *metrics.Recorder) (share *float64, of string) {
	most := 0.0
	type latency struct {
		name     string
		i        *metrics.Intervals
		measured metrics.Quantiles
	}
	all := []latency{{"TTFT", s.TTFT, m.TTFT.Quantiles()}, {"ITL", s.ITL, m.ITL.Quantiles()},
		{"TPOT", s.TPOT, m.TPOT.Quantiles()}, {"E2E", s.E2E, m.E2E.Quantiles()}}
	if m.Tasks != nil {
		all = append(all, latency{"task", s.Task, m.Tasks.Time.Quantiles()})
	}
	for _, l := range all {
		if l.i == nil {
			continue
		}
		for _, q := range []struct {
			name  string
			r     metrics.Range
			value float64
		}{{"mean", l.i.Mean, l.measured.Mean}, {"p50", l.i.P50, l.measured.P50}, {"p95", l.i.P95, l.measured.P95},
			{"p99", l.i.P99, l.measured.P99}} {
			if half := (q.r.High - q.r.Low) / 2; q.value > 0 && half/q.value > most {
				most, of = half/q.value, l.name+" "+q.name
			}
		}
	}
	if of == "" || math.IsInf(most, 0) {
		return nil, of
	}
	return &most, of
}
