package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/decodesim/decodesim/sim/metrics"
)

// Options chooses how a table looks. The zero Options suits files and pipes.
type Options struct {
	Colour bool   // ANSI escapes for terminals
	Chunks string // what bounds the prompt tokens of a step, such as "max_num_batched_tokens 8192"; empty: nothing does
}

// Table writes a run as a table for people. Everything in it is in summary.json too.
func Table(w io.Writer, s *metrics.Summary, c Caption, o Options) error {
	t := &text{colour: o.Colour}
	t.heading(c.String())
	t.blank()
	latencies(t, &s.Latency)
	t.blank()
	stream(t, s)
	if sentence := BoundSentence(s); sentence != "" {
		t.line(sentence)
		if late := LateSentence(s, o.Chunks); late != "" {
			t.line(late)
		}
		t.blank()
	}
	gaps(t, s)
	classes(t, s)
	positions(t, s)
	sections(t, s)
	for _, warning := range s.Warnings {
		t.warning("warning: " + warning)
	}
	_, err := w.Write(t.buf.Bytes())
	return err
}

// latencies prints each distribution in the one unit that suits its median.
func latencies(t *text, l *metrics.Latency) {
	rows := latencyHead("")
	rows = latency(rows, "TTFT", l.TTFT)
	rows = latency(rows, "ITL", l.ITL)
	if l.ITLChunk.N != l.ITL.N {
		rows = latency(rows, "ITL, chunks", l.ITLChunk)
	}
	rows = latency(rows, "TPOT", l.TPOT)
	rows = latency(rows, "E2E", l.E2E)
	rows = latency(rows, "queue", l.Queue)
	t.columns(rows)
}

// stream prints what clients see, where that is more than the latencies say.
func stream(t *text, s *metrics.Summary) {
	x := s.Stream
	if x == nil || x.Requests == 0 {
		return
	}
	rows := latencyHead("at clients")
	rows = latency(rows, "TTFT", x.TTFT)
	rows = latency(rows, "ITL", x.ITL)
	rows = latency(rows, "ITL, chunks", x.ITLChunk)
	rows = latency(rows, "TPOT", x.TPOT)
	t.columns(latency(rows, "E2E", x.E2E))
	t.line(fmt.Sprintf("(a sample of %d of %d requests; a token takes %s to its client in the mean: %s until its chunk is complete, %s in the "+
		"API server and the network)", x.Requests, s.Requests.Arrived, Duration(x.Delay.MeanS), Duration(x.Delay.ChunkS), Duration(x.Delay.DeliveryS)))
	t.blank()
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
	u := timeUnit(typical)
	row := []string{name}
	for _, x := range []float64{q.Mean, q.P50, q.P90, q.P95, q.P99, q.Max} {
		row = append(row, Significant(x/u.size))
	}
	if q.N == 0 {
		u.name = ""
	}
	return append(rows, append(row, u.name, fmt.Sprint(q.N)))
}

// text is lines of a table under way.
type text struct {
	buf    bytes.Buffer
	colour bool
}

func (t *text) blank()              { t.buf.WriteByte('\n') }
func (t *text) line(s string)       { t.buf.WriteString(s + "\n") }
func (t *text) heading(s string)    { t.line(t.paint("1", s)) }
func (t *text) warning(s string)    { t.line(t.paint("33", s)) }
func (t *text) item(name, s string) { t.line(fmt.Sprintf("%-13s", name) + s) }

func (t *text) paint(code, s string) string {
	if !t.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// columns aligns rows: the first column to the left, the others to the right. The first row is the head.
func (t *text) columns(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	widths[0] = max(widths[0], 11)
	for i, row := range rows {
		var b strings.Builder
		for j, cell := range row {
			gap := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell))
			if j == 0 {
				b.WriteString(cell + gap)
			} else {
				b.WriteString("  " + gap + cell)
			}
		}
		if line := strings.TrimRight(b.String(), " "); i == 0 {
			t.line(t.paint("2", line))
		} else {
			t.line(line)
		}
	}
}
