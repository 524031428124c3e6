package pages

import (
	"math"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/sim/metrics"
)

// OverTime is a section of the run over time, in plots with one cursor; false: there is too little of it.
func OverTime(samples []metrics.Sample, o *metrics.OverTime, classes []metrics.ClassResult) (page.Section, bool) {
	if !timed(samples) {
		return page.Section{}, false
	}
	s := report.Merge(samples, report.IntervalsMax)
	plots := []page.Plot{
		low("Arrivals per second", "", page.Count,
			rate("arrivals/s", s, func(m *metrics.Sample) int64 { return m.Arrived })),
		low("Output tokens per second", "", page.Count,
			rate("tokens/s", s, func(m *metrics.Sample) int64 { return m.Tokens })),
		low("Requests", "", page.Count,
			level("running", s, func(m *metrics.Sample) float64 { return float64(m.Running) }),
			level("waiting", s, func(m *metrics.Sample) float64 { return float64(m.Waiting) })),
		low("KV cache in use", "", page.Share, caches(s)...),
	}
	if comeAndGo(s) {
		plots = append(plots, low("Replicas", "", page.Count, replicas(s)...))
	}
	section := page.Section{Title: "Over time", Lead: "One cursor for all; drag to zoom, double-click to see all again. " +
		"Rates are means of an interval, levels its highest."}
	if o != nil {
		plots = append(append(plots, windows(o)...), classWindows(classes)...)
		if sentence := report.OverTimeSentence(o); sentence != "" {
			section.Lead = sentence + ". " + section.Lead
		}
		for i := range plots {
			for _, b := range o.Broken {
				plots[i].Bands = append(plots[i].Bands, page.Band{From: b.FromS, To: b.ToS})
			}
		}
		if len(o.Broken) > 0 {
			section.Lead += " The ground is tinted where the SLO was broken."
		}
	}
	section.Blocks = []page.Block{{Plots: plots}}
	return section, true
}

// timed reports whether samples are enough of a run to be drawn over time.
func timed(samples []metrics.Sample) bool {
	return len(samples) >= 2 && samples[len(samples)-1].At > samples[0].At
}

// low is a plot over time.
func low(title, note string, kind page.Kind, curves ...page.Curve) page.Plot {
	curves[0].Tint = true
	p := page.Plot{Title: title, Note: note, Low: true, Sync: "time", Curves: curves,
		X: page.Axis{Name: "time", Kind: page.Clock}, Y: page.Axis{Kind: kind}}
	if kind == page.Share {
		p.Y.Max = page.At(1)
	}
	return p
}

// rate is a count that grows, as what it grows by per second.
func rate(name string, s []metrics.Sample, count func(*metrics.Sample) int64) page.Curve {
	c := page.Curve{Name: name, Step: true}
	for i := 1; i < len(s); i++ {
		if spanS := s[i].At.Sub(s[i-1].At).Seconds(); spanS > 0 {
			c.X, c.Y = append(c.X, s[i-1].At.Seconds()), append(c.Y, float64(count(&s[i])-count(&s[i-1]))/spanS)
		}
	}
	return ended(c, s)
}

// level is the level of each interval.
func level(name string, s []metrics.Sample, of func(*metrics.Sample) float64) page.Curve {
	c := page.Curve{Name: name, Step: true}
	for i := 1; i < len(s); i++ {
		if s[i].At > s[i-1].At {
			c.X, c.Y = append(c.X, s[i-1].At.Seconds()), append(c.Y, of(&s[i]))
		}
	}
	return ended(c, s)
}

// ended lasts the last value of a curve to the end.
func ended(c page.Curve, s []metrics.Sample) page.Curve {
	if n := len(c.Y); n > 0 {
		c.X, c.Y = append(c.X, s[len(s)-1].At.Seconds()), append(c.Y, c.Y[n-1])
	}
	return c
}

// caches are the shares of the KV caches of all pools that are in use.
func caches(s []metrics.Sample) (curves []page.Curve) {
	for i := range s[0].Pools {
		curves = append(curves, level(s[0].Pools[i].Name, s, func(m *metrics.Sample) float64 {
			return float64(m.Pools[i].KVUsed) / float64(max(1, m.Pools[i].KVTotal))
		}))
	}
	if len(curves) == 0 {
		curves = append(curves, level("in use", s, func(m *metrics.Sample) float64 {
			return float64(m.KVUsed) / float64(max(1, m.KVTotal))
		}))
	}
	return curves
}

// replicas are those of all pools that take requests.
func replicas(s []metrics.Sample) (curves []page.Curve) {
	for i := range s[0].Pools {
		curves = append(curves, level(s[0].Pools[i].Name, s, func(m *metrics.Sample) float64 {
			return float64(m.Pools[i].Live)
		}))
	}
	return curves
}

// comeAndGo reports whether replicas of some pool do.
func comeAndGo(s []metrics.Sample) bool {
	for i := range s {
		for k := range s[i].Pools {
			if s[i].Pools[k].Live != s[0].Pools[k].Live {
				return true
			}
		}
	}
	return false
}

// windows are latencies by window of time.
func windows(o *metrics.OverTime) []page.Plot {
	if len(o.Windows) < 2 {
		return nil
	}
	of := func(name string, latency windowLatency) page.Plot {
		p := low(name+" by window", "", page.Seconds,
			window("p50", o, func(w *metrics.WindowResult) (float64, bool) { return latency(w).P50, latency(w).N > 0 }),
			p99ByWindow("p99", o, latency))
		p.Curves[0].Tint = false
		return p
	}
	return []page.Plot{of("TTFT", ttftOf), of("ITL", itlOf)}
}

// classWindows are the SLO attainment and the TTFT of each class by window, where there are several.
func classWindows(all []metrics.ClassResult) []page.Plot {
	var within, ttft []page.Curve
	for i := range all {
		c := &all[i]
		if c.OverTime == nil || len(all) < 2 || len(c.OverTime.Windows) < 2 {
			return nil
		}
		ttft = append(ttft, p99ByWindow(c.Name, c.OverTime, ttftOf))
		curve := window(c.Name, c.OverTime, func(w *metrics.WindowResult) (float64, bool) {
			if w.Attainment == nil {
				return 0, false
			}
			return *w.Attainment, true
		})
		if len(curve.Y) > 0 {
			within = append(within, curve)
		}
	}
	plots := []page.Plot{}
	if len(within) > 0 {
		plots = append(plots, over("Requests within the limits of their class, by window", page.Share, within))
	}
	if len(ttft) > 0 {
		plots = append(plots, over("TTFT p99 of classes by window", page.Seconds, ttft))
	}
	return plots
}

// windowLatency is one of the latencies of a window.
type windowLatency func(*metrics.WindowResult) *metrics.WindowLatency

func ttftOf(w *metrics.WindowResult) *metrics.WindowLatency { return &w.TTFT }

func itlOf(w *metrics.WindowResult) *metrics.WindowLatency {
	if w.ITLChunk != nil {
		return w.ITLChunk
	}
	return &w.ITL
}

// p99ByWindow is the p99 of a latency by window, where it has any.
func p99ByWindow(name string, o *metrics.OverTime, latency windowLatency) page.Curve {
	return window(name, o, func(w *metrics.WindowResult) (float64, bool) { return latency(w).P99, latency(w).N > 0 })
}

// window is a value by window, and nothing where it has none: a class that sleeps has no latency.
func window(name string, o *metrics.OverTime, value func(*metrics.WindowResult) (float64, bool)) page.Curve {
	c := page.Curve{Name: name, Step: true}
	end := func(atS float64) {
		if n := len(c.Y); n > 0 && !math.IsNaN(c.Y[n-1]) {
			c.X, c.Y = append(c.X, atS), append(c.Y, c.Y[n-1])
		}
	}
	for i := range o.Windows {
		w := &o.Windows[i]
		if y, ok := value(w); ok {
			c.X, c.Y = append(c.X, w.FromS), append(c.Y, y)
		} else if len(c.Y) > 0 {
			end(w.FromS)
			c.X, c.Y = append(c.X, w.FromS), append(c.Y, math.NaN())
		}
	}
	end(o.Windows[len(o.Windows)-1].ToS)
	return c
}
