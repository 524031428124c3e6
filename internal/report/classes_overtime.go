package report

import (
	"encoding/csv"
	"io"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// partsMax is how many parts of a run a table has a row for.
const partsMax = 8

// classesOverTime prints what became of the SLO of each class in parts of the run, and when it was broken.
func classesOverTime(t *text.Page, all []metrics.ClassResult) {
	judged := Judged(all)
	if len(judged) == 0 || len(judged[0].OverTime.Windows) < 2 {
		return
	}
	head := []string{"SLO met from"}
	for _, c := range judged {
		head = append(head, c.Name)
	}
	rows, windows := [][]string{head}, judged[0].OverTime.Windows
	every := (len(windows) + partsMax - 1) / partsMax
	for i := 0; i < len(windows); i += every {
		end := min(i+every, len(windows))
		row := []string{text.Clock(windows[i].FromS) + " to " + text.Clock(windows[end-1].ToS)}
		for _, c := range judged {
			row = append(row, metWithin(c.OverTime.Windows[i:end]))
		}
		rows = append(rows, row)
	}
	t.Table(rows)
	for _, c := range judged {
		if sentence := OverTimeSentence(c.OverTime); sentence != "" {
			t.Line(c.Name + ": " + sentence)
		}
	}
	t.Blank()
}

// Judged are the classes whose SLO was judged by window of time.
func Judged(all []metrics.ClassResult) (judged []*metrics.ClassResult) {
	for i := range all {
		if o := all[i].OverTime; o != nil && o.SLO {
			judged = append(judged, &all[i])
		}
	}
	return judged
}

// metWithin is the share of good ones among the requests that ended in some windows or, where an SLO has percentiles
// only, in how many of the windows it was met.
func metWithin(windows []metrics.WindowResult) string {
	good, all := 0.0, int64(0)
	met, judged := int64(0), int64(0)
	for i := range windows {
		w := &windows[i]
		if w.Attainment != nil {
			n := w.Completed + w.Unserved
			good += math.Round(*w.Attainment * float64(n))
			all += n
		}
		if w.Met != nil {
			judged++
			if *w.Met {
				met++
			}
		}
	}
	switch {
	case all > 0:
		return text.Percent(good / float64(all))
	case judged == 0:
		return "–"
	case met == judged:
		return "met"
	}
	return text.Count(met) + " of " + text.Counted(judged, "window")
}

// classTimelineHead is the columns of timeline_classes.csv.
var classTimelineHead = append([]string{"class"}, timelineHead[:attainmentColumns]...)

// attainmentColumns is how many columns of a timeline are of requests, and not of replicas.
const attainmentColumns = 24

// WriteClassTimeline writes a line per window and class.
func WriteClassTimeline(w io.Writer, all []metrics.ClassResult) error {
	c := csv.NewWriter(w)
	if err := c.Write(classTimelineHead); err != nil {
		return err
	}
	for i := range all {
		o := all[i].OverTime
		if o == nil {
			continue
		}
		for k := range o.Windows {
			if err := c.Write(append([]string{all[i].Name}, windowCells(&o.Windows[k])...)); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

// windowCells are the cells of a window that are of its requests.
func windowCells(x *metrics.WindowResult) []string {
	chunks := x.ITL
	if x.ITLChunk != nil {
		chunks = *x.ITLChunk
	}
	line := []string{number(x.FromS), number(x.ToS), count(x.Arrived), count(x.Completed), count(x.Unserved),
		count(x.Waiting)}
	for _, q := range []metrics.WindowLatency{x.TTFT, x.ITL, chunks} {
		line = append(line, percentiles(&q)...)
	}
	return append(line, share(x.Attainment), truth(x.Met), strings.Join(x.Missed, "; "))
}

// classRow is the share of the requests of each class within their limits, by window; false: no class has any.
func classRow(all []metrics.ClassResult, unitS float64) (row, bool) {
	var lines []rowLine
	for _, c := range Judged(all) {
		like := rowLine{name: c.Name, shade: alertShade(len(lines)), tint: plot.White}
		if len(lines) == 0 {
			like.name = "requests of a class within its limits, by window: " + c.Name
		}
		found := steps(c.OverTime, unitS, like, func(x *metrics.WindowResult) (float64, bool) {
			if x.Attainment == nil {
				return 0, false
			}
			return *x.Attainment, true
		})
		if len(found[0].points) > 0 {
			lines = append(lines, found...)
		}
	}
	if len(lines) == 0 {
		return row{}, false
	}
	return shareRow(lines...), true
}
