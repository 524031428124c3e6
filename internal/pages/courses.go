package pages

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Course is a run over time, one of several that served the same requests.
type Course struct {
	Name     string
	Samples  []metrics.Sample
	OverTime *metrics.OverTime // nil: not recorded by window
}

// intervalsTotal bounds the intervals of all courses of a plot together, so that the page of many stays small: courses
// over each other are read for how they differ.
const intervalsTotal = 480

// intervalsOf is how many intervals each of so many courses has at most.
func intervalsOf(courses int) int { return min(report.IntervalsMax, intervalsTotal/max(1, courses)) }

// Courses is a section of runs over time, over each other in plots with one cursor; false: there is too little of each.
// The lead says of which runs they are.
func Courses(lead string, all []Course) (page.Section, bool) {
	var drawn, short []Course
	for _, c := range all {
		if !timed(c.Samples) {
			short = append(short, c)
			continue
		}
		c.Samples = report.Merge(c.Samples, intervalsOf(len(all)))
		drawn = append(drawn, c)
	}
	if len(drawn) == 0 {
		return page.Section{}, false
	}
	section := page.Section{Title: "Over time", Lead: lead + " One cursor for all; drag to zoom, double-click to see " +
		"all again. Rates are means of an interval, levels and latencies its highest."}
	var said []string
	for _, c := range drawn {
		if c.OverTime == nil {
			continue
		}
		if sentence := report.OverTimeSentence(c.OverTime); sentence != "" {
			said = append(said, c.Name+": "+sentence)
		}
	}
	for _, c := range short {
		said = append(said, fmt.Sprintf("%s: too short to have a course", c.Name))
	}
	if len(said) > 0 {
		section.Blocks = append(section.Blocks, page.Block{List: said})
	}
	section.Blocks = append(section.Blocks, page.Block{Plots: coursePlots(drawn)})
	return section, true
}

// coursePlots are the plots of a run, each with a curve of every course.
func coursePlots(all []Course) []page.Plot {
	each := func(title string, kind page.Kind, curve func(*Course) page.Curve) page.Plot {
		var curves []page.Curve
		for i := range all {
			curves = append(curves, curve(&all[i]))
		}
		return over(title, kind, curves)
	}
	arrived := func(m *metrics.Sample) int64 { return m.Arrived }
	tokens := func(m *metrics.Sample) int64 { return m.Tokens }
	running := func(m *metrics.Sample) float64 { return float64(m.Running) }
	waiting := func(m *metrics.Sample) float64 { return float64(m.Waiting) }
	plots := []page.Plot{
		each("Arrivals per second", page.Count, func(c *Course) page.Curve { return rate(c.Name, c.Samples, arrived) }),
		each("Output tokens per second", page.Count, func(c *Course) page.Curve { return rate(c.Name, c.Samples, tokens) }),
		each("Requests running", page.Count, func(c *Course) page.Curve { return level(c.Name, c.Samples, running) }),
		each("Requests waiting", page.Count, func(c *Course) page.Curve { return level(c.Name, c.Samples, waiting) }),
	}
	var used, live []page.Curve
	change := false
	for i := range all {
		used = append(used, named(all[i].Name, caches(all[i].Samples))...)
		live = append(live, named(all[i].Name, replicas(all[i].Samples))...)
		change = change || comeAndGo(all[i].Samples)
	}
	plots = append(plots, over("KV cache in use", page.Share, used))
	if change {
		plots = append(plots, over("Replicas", page.Count, live))
	}
	return append(plots, courseWindows(all)...)
}

// named are the curves of the pools of a course under its name, and under that of the pool where there are several.
func named(course string, curves []page.Curve) []page.Curve {
	for i := range curves {
		if len(curves) > 1 {
			curves[i].Name = course + ": " + curves[i].Name
		} else {
			curves[i].Name = course
		}
	}
	return curves
}

// courseWindows are late latencies by window of time, of the courses that have several windows.
func courseWindows(all []Course) []page.Plot {
	var ttft, itl []page.Curve
	for i := range all {
		o := all[i].OverTime
		if o == nil || len(o.Windows) < 2 {
			continue
		}
		ttft = append(ttft, highestOf(p99ByWindow(all[i].Name, o, ttftOf), intervalsOf(len(all))))
		itl = append(itl, highestOf(p99ByWindow(all[i].Name, o, itlOf), intervalsOf(len(all))))
	}
	if len(ttft) == 0 {
		return nil
	}
	return []page.Plot{over("TTFT p99 by window", page.Seconds, ttft), over("ITL p99 by window", page.Seconds, itl)}
}

// highestOf is a curve of windows in at most so many steps: the highest value of as many windows in a row as it takes.
func highestOf(c page.Curve, most int) page.Curve {
	n := len(c.Y) - 1 // the last point is where the last window ends
	every := (n + most - 1) / most
	if every <= 1 {
		return c
	}
	out := page.Curve{Name: c.Name, Step: true}
	for i := 0; i < n; i += every {
		out.X, out.Y = append(out.X, c.X[i]), append(out.Y, slices.Max(c.Y[i:min(i+every, n)]))
	}
	out.X, out.Y = append(out.X, c.X[n]), append(out.Y, out.Y[len(out.Y)-1])
	return out
}

// over is a plot over time of several courses, none of which hides another.
func over(title string, kind page.Kind, curves []page.Curve) page.Plot {
	p := low(title, "", kind, curves...)
	p.Curves[0].Tint = false
	return p
}
