package traffic

import (
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
)

// Text is the summary to read.
func (s *Summary) Text(colour bool) *text.Page {
	p := text.NewPage(colour)
	heading := text.Counted(s.Requests, "request")
	if s.Format != "" {
		heading += " · " + s.Format
	}
	if s.Skipped > 0 {
		heading += fmt.Sprintf(" · %s left out: failed or empty", text.Counted(s.Skipped, "row"))
	}
	p.Heading(s.Source + " · " + heading)
	p.Blank()
	s.writeLengths(p)
	p.Blank()
	s.writeArrivals(p)
	if c := float64(s.Correlation); !math.IsNaN(c) {
		p.Item("correlation", fmt.Sprintf("%+.2f of the logarithms of prompt and output", c))
	}
	if share := float64(s.SharedShare); !math.IsNaN(share) {
		p.Item("sharing", text.Percent(share)+" of the prompt tokens were in an earlier prompt: what a cache without an "+
			"end would spare")
	} else {
		p.Item("sharing", "unknown: no blocks of prompts are read from it")
	}
	s.writeHours(p)
	if len(s.Unread) > 0 {
		p.Item("not read", strings.Join(s.Unread, ", "))
	}
	return p
}

func (s *Summary) writeLengths(p *text.Page) {
	rows := [][]string{{"tokens", "mean", "CV", "min", "p10", "p50", "p90", "p95", "p99", "max"}}
	for _, of := range []struct {
		name string
		l    Lengths
	}{{"prompt", s.Prompt}, {"output", s.Output}} {
		l := of.l
		rows = append(rows, []string{of.name, text.Significant(l.Mean), fmt.Sprintf("%.2f", l.CV), text.Count(l.Min),
			text.Count(l.P10), text.Count(l.P50), text.Count(l.P90), text.Count(l.P95), text.Count(l.P99), text.Count(l.Max)})
	}
	p.Table(rows)
}

func (s *Summary) writeArrivals(p *text.Page) {
	if math.IsNaN(float64(s.DurationS)) {
		p.Item("arrivals", "none: lengths alone are read from it")
		return
	}
	if s.DurationS == 0 {
		p.Item("arrivals", text.Counted(s.Requests, "request")+" at one instant: there is no rate, and there are no gaps")
		return
	}
	rate := fmt.Sprintf("%s requests/s over %s", text.Significant(float64(s.RatePerS)), text.Lasting(float64(s.DurationS)))
	if peak := float64(s.PeakPerS); !math.IsNaN(peak) {
		rate += fmt.Sprintf(", %s in the busiest minute", text.Significant(peak))
	}
	if peak := float64(s.PeakIn1S); !math.IsNaN(peak) {
		rate += fmt.Sprintf(", %s in the busiest second", text.Count(int64(peak)))
	}
	p.Item("rate", rate)
	var indices []string
	for _, d := range s.Dispersion {
		if !math.IsNaN(float64(d.Index)) {
			indices = append(indices, fmt.Sprintf("%s in windows of %d s", number(d.Index), d.WindowS))
		}
	}
	p.Item("gaps", "CV "+number(s.GapCV)+"; 1 for Poisson arrivals")
	if len(indices) > 0 {
		p.Item("dispersion", strings.Join(indices, ", ")+"; 1 for Poisson arrivals")
	}
	p.Item("over time", bars(s.OverTime)+"  "+text.Counted(len(s.OverTime), "part")+
		" of "+text.Lasting(partS(s.OverTime)))
}

func (s *Summary) writeHours(p *text.Page) {
	var busy []string
	for _, h := range s.Hours {
		if h.Requests > 0 {
			busy = append(busy, fmt.Sprintf("%d h %s", h.Hour, text.Count(h.Requests)))
		}
	}
	if len(busy) > 0 {
		p.Item("by hour", strings.Join(busy, ", ")+" (UTC)")
	}
}

func number(n stats.Number) string { return text.Significant(float64(n)) }

// partS is how long a part of the stream is.
func partS(w []Window) float64 {
	if len(w) < 2 {
		return 1
	}
	return w[1].StartS - w[0].StartS
}

// bars draws rates as a line of blocks, from none to the highest.
func bars(windows []Window) string {
	blocks, most := []rune("▁▂▃▄▅▆▇█"), 0.0
	for _, w := range windows {
		most = max(most, w.RatePerS)
	}
	var line strings.Builder
	for _, w := range windows {
		line.WriteRune(blocks[min(len(blocks)-1, int(w.RatePerS/most*float64(len(blocks))))])
	}
	return line.String()
}

// requestsOf writes a whole number that a stream may not have.
func requestsOf(n stats.Number) string {
	if math.IsNaN(float64(n)) {
		return text.Dash
	}
	return text.Count(int64(n))
}
