package report

import (
	"fmt"
	"io"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Options chooses how a table looks. The zero Options suits files and pipes.
type Options struct {
	Colour bool   // ANSI escapes for terminals
	Chunks string // what bounds the prompt tokens of a step, such as "max_num_batched_tokens 8192"; empty: nothing does
}

// Table writes a run as a table for people. Everything in it is in summary.json too.
func Table(w io.Writer, s *metrics.Summary, c text.Caption, o Options) error {
	t := text.NewPage(o.Colour)
	t.Heading(c.String())
	doubt(t, s)
	t.Blank()
	latencies(t, &s.Latency)
	t.Blank()
	intervals(t, s)
	stream(t, s)
	rules(t, s)
	if sentence := BoundSentence(s); sentence != "" {
		t.Line(sentence)
		if withTail := TailSentence(s, o.Chunks); withTail != "" {
			t.Line(withTail)
		}
		for _, sentence := range OfPeakSentences(s.OfPeak) {
			t.Line(sentence)
		}
		t.Blank()
	}
	gaps(t, s)
	classes(t, s)
	if len(s.Classes) > 1 {
		classesOverTime(t, s.Classes)
	}
	positions(t, s)
	sections(t, s)
	for _, warning := range s.Warnings {
		t.Warning("warning: " + warning)
	}
	_, err := t.WriteTo(w)
	return err
}

// latencies prints each distribution in the one unit that suits its median.
func latencies(t *text.Page, l *metrics.Latency) {
	rows := latencyHead("")
	for _, q := range l.Named() {
		rows = latency(rows, q.Name, q.Quantiles)
	}
	t.Table(rows)
}

// stream prints what clients see, where that is more than the latencies say.
func stream(t *text.Page, s *metrics.Summary) {
	x := s.Stream
	if x == nil || x.Requests == 0 {
		return
	}
	if x.Delay.DeliveryS == 0 { // the latencies are exact
		t.Line(fmt.Sprintf("A token waits %s in the mean until its chunk of %d is complete (a sample of %s of %s requests).",
			text.Duration(x.Delay.ChunkS), s.Interval, text.Count(x.Requests), text.Count(s.Requests.Arrived)))
		t.Blank()
		return
	}
	rows := latencyHead("at clients")
	rows = latency(rows, "TTFT", x.TTFT)
	rows = latency(rows, "ITL, chunks", x.ITLChunk)
	rows = latency(rows, "ITL, tokens", x.ITL)
	rows = latency(rows, "TPOT", x.TPOT)
	t.Table(latency(rows, "E2E", x.E2E))
	t.Line(
		fmt.Sprintf(
			"(a sample of %s of %s requests; a token takes %s to its client in the mean: %s until its chunk is complete, %s "+
				"in the "+
				"API server and the network)", text.Count(x.Requests), text.Count(s.Requests.Arrived),
			text.Duration(x.Delay.MeanS), text.Duration(x.Delay.ChunkS), text.Duration(x.Delay.DeliveryS)))
	t.Blank()
}

func latencyHead(name string) [][]string {
	return [][]string{{name, "mean", "p50", "p90", "p95", "p99", "max", "", "n"}}
}

// latency appends a row: the distribution in the unit that suits its median.
func latency(rows [][]string, name string, q metrics.Quantiles) [][]string {
	typical := q.P50
	if typical == 0 {
		typical = q.Mean
	}
	u := text.TimeUnit(typical)
	row := []string{name}
	for _, x := range []float64{q.Mean, q.P50, q.P90, q.P95, q.P99, q.Max} {
		row = append(row, text.Significant(x/u.Size))
	}
	if q.N == 0 {
		u.Name = ""
	}
	return append(rows, append(row, u.Name, text.Count(q.N)))
}
