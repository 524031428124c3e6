package traffic

import (
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
)

// Text is the block with what it was fitted to and how well it stands for that, in comments: a file to keep.
func (f *Fit) Text() string {
	p := text.NewPage(false)
	p.Line(fmt.Sprintf("Fitted to %s: %s, %s requests/s.", f.Trace.Source, text.Counted(f.Trace.Requests, "request"),
		number(f.Trace.RatePerS)))
	p.Blank()
	p.Table(f.likeness())
	p.Blank()
	v := f.Verdict
	p.Line(fmt.Sprintf("Simulated on %s with %s, the fit under %d seeds:", v.Scenario,
		text.Counted(v.Replicas, "replica"), v.Seeds))
	p.Blank()
	p.Table(v.table())
	p.Blank()
	for _, note := range f.notes() {
		p.Line(note)
	}
	var out strings.Builder
	for line := range strings.Lines(p.String()) {
		out.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return out.String() + f.Workload
}

// likeness sets the statistics of the trace beside those of requests of the fit.
func (f *Fit) likeness() [][]string { return likeness("trace", "fit", f.Trace, f.Fitted) }

// likeness sets the statistics of two streams side by side. A stream without lengths has none that are known.
func likeness(is, like string, a, b *Summary) [][]string {
	rows := [][]string{{"", is, like}}
	add := func(name string, of func(*Summary) string) {
		rows = append(rows, []string{name, of(a), of(b)})
	}
	add("requests/s", func(s *Summary) string { return number(s.RatePerS) })
	add("CV of gaps", func(s *Summary) string { return number(s.GapCV) })
	for i, w := range windowsS() {
		add(fmt.Sprintf("dispersion, %d s", w), func(s *Summary) string {
			if i >= len(s.Dispersion) {
				return text.Dash
			}
			return number(s.Dispersion[i].Index)
		})
	}
	add("busiest second", func(s *Summary) string { return requestsOf(s.PeakIn1S) })
	for _, of := range []struct {
		name string
		of   func(*Summary) *Lengths
	}{
		{"prompt", func(s *Summary) *Lengths { return &s.Prompt }},
		{"output", func(s *Summary) *Lengths { return &s.Output }},
	} {
		tokens := func(n int32) string {
			if n == 0 {
				return text.Dash
			}
			return text.Count(n)
		}
		add(of.name+" mean", func(s *Summary) string {
			if of.of(s).Mean == 0 {
				return text.Dash
			}
			return text.Significant(of.of(s).Mean)
		})
		add(of.name+" p50", func(s *Summary) string { return tokens(of.of(s).P50) })
		add(of.name+" p99", func(s *Summary) string { return tokens(of.of(s).P99) })
	}
	add("log correlation", func(s *Summary) string { return signed(s.Correlation) })
	add("shared, %", func(s *Summary) string { return text.Significant(100 * float64(s.SharedShare)) })
	return rows
}

func signed(n stats.Number) string {
	if math.IsNaN(float64(n)) {
		return text.Dash
	}
	return fmt.Sprintf("%+.2f", float64(n))
}

// table is the verdict to read; times are in milliseconds.
func (v *Verdict) table() [][]string {
	rows := [][]string{{"", "trace", "fit", "difference", "fit, lowest to highest"}}
	for _, r := range v.Rows {
		name, scale := r.Metric, 1.0
		switch r.Unit {
		case "s":
			name, scale = name+", ms", 1000
		case "share":
			name, scale = name+", %", 100
		}
		show := func(n stats.Number) string { return text.Significant(float64(n) * scale) }
		difference := text.Dash
		if r.Trace != 0 {
			difference = text.SignedPercent(100 * float64(r.Fit/r.Trace-1))
		}
		rows = append(rows, []string{name, show(r.Trace), show(r.Fit), difference, show(r.Low) + " to " + show(r.High)})
	}
	return rows
}

// correlated, shared and busier are from where on what no law keeps is worth a word.
const correlated, shared, busier = 0.15, 0.02, 1.5

// notes say which laws were chosen, and what of the trace they do not keep.
func (f *Fit) notes() []string {
	notes := []string{fmt.Sprintf("Arrivals: %s, the nearest in burstiness of %d that were tried (%s apart in the mean).",
		f.Arrivals[0].name(), len(f.Arrivals), text.WholePercent(math.Expm1(f.Arrivals[0].Distance)))}
	for _, of := range []struct {
		name string
		laws []LengthLaw
	}{{"Prompts", f.Prompt}, {"Outputs", f.Output}} {
		var tried []string
		law := ""
		for _, l := range of.laws {
			tried = append(tried, fmt.Sprintf("%s %s", l.name(), text.Percent(l.Distance)))
			if l.Chosen {
				law = l.name()
			}
		}
		notes = append(notes, fmt.Sprintf("%s: %s; largest difference of shares: %s.", of.name, law,
			strings.Join(tried, ", ")))
	}
	if is, has := float64(f.Trace.PeakIn1S), float64(f.Fitted.PeakIn1S); is > busier*has || has > busier*is {
		notes = append(notes, fmt.Sprintf("Not kept: the busiest second of the trace has %s requests, that of the fit %s, "+
			"and the longest ITLs", text.Count(int64(is)), text.Count(int64(has))),
			"come from such seconds. Replay the trace where the tail matters.")
	}
	if off := f.calmer(); len(off) > 0 {
		notes = append(notes, "Not kept: how counts of requests vary; the trace has a dispersion of "+
			strings.Join(off, " and ")+" for the fit.", "Replay the trace where a rush of such a length matters.")
	}
	if len(f.Trace.Unread) > 0 {
		notes = append(notes, "Not read from the file: "+strings.Join(f.Trace.Unread, ", ")+".")
	}
	if c := float64(f.Trace.Correlation); math.Abs(c) > correlated {
		notes = append(notes, fmt.Sprintf("Not kept: prompts and outputs of the trace go together (%+.2f); those of the fit "+
			"are drawn apart.", c))
	}
	if s := float64(f.Trace.SharedShare); s > shared {
		notes = append(notes, fmt.Sprintf("Not kept: %s of the prompt tokens were in an earlier prompt; no prompt of the "+
			"fit repeats another.", text.Percent(s)), "Replay the trace where the cache matters.")
	}
	return notes
}

// calmer says over which windows requests vary otherwise than those of the fit, by more than a few windows do by
// chance: the index of dispersion of n windows has a relative error of √(2/(n−1)), and twice the error of a ratio of
// two is allowed for.
func (f *Fit) calmer() (off []string) {
	for i := range min(len(f.Trace.Dispersion), len(f.Fitted.Dispersion)) {
		is, has := f.Trace.Dispersion[i], f.Fitted.Dispersion[i]
		n := float64(f.Trace.DurationS) / float64(is.WindowS)
		ratio := float64(is.Index / has.Index)
		if !(ratio > 0) || !(math.Abs(math.Log(ratio)) > max(math.Log(busier), 4/math.Sqrt(n-1))) {
			continue
		}
		off = append(off, fmt.Sprintf("%s beside %s over %d s", number(is.Index), number(has.Index), is.WindowS))
	}
	return off
}
