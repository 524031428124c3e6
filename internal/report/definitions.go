package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// listedMax is how many values a cell lists before it says how many there are.
const listedMax = 4

// Definitions writes what each tool says of one request, side by side and in milliseconds, and what it means.
func Definitions(w io.Writer, r *views.Record, heading string, o Options) error {
	t := text.NewPage(o.Colour)
	t.Heading(heading)
	t.Line(requestSentence(r))
	t.Line("With F = t_1 − t_send, E2E = t_m − t_send, and n tokens in m chunks, in milliseconds:")
	t.Blank()
	rows := [][]string{{"", "TTFT", "ITL", "TPOT", "ITL is; TPOT is"}}
	for _, tool := range append(views.Tools(), views.Others()...) {
		cells := []string{tool.Name}
		var words []string
		for _, k := range []views.Kind{views.TTFT, views.ITL, views.TPOT} {
			cell, formulas := definition(&tool, k, r)
			cells = append(cells, cell)
			if k != views.TTFT && len(formulas) > 0 {
				words = append(words, strings.Join(formulas, ", or "))
			}
		}
		rows = append(rows, append(cells, strings.Join(words, "; ")))
	}
	t.Table(rows, -1)
	_, err := t.WriteTo(w)
	return err
}

// requestSentence says what the request is.
func requestSentence(r *views.Record) string {
	var chunks []string
	for _, c := range r.Chunks {
		chunks = append(chunks, fmt.Sprintf("%s (%d)", milli(c.At.Sub(r.Send).Seconds()), c.Tokens))
	}
	if len(chunks) <= 2*listedMax {
		return fmt.Sprintf("%d tokens in %d chunks, which come at %s ms after the request (tokens in each).", r.Tokens(),
			len(chunks), strings.Join(chunks, ", "))
	}
	return fmt.Sprintf(
		"%d prompt tokens; %d tokens in %d chunks, the first %s ms after the request and the last after %s ms.",
		r.Prompt, r.Tokens(), len(chunks), milli(r.Chunks[0].At.Sub(r.Send).Seconds()),
		milli(r.Chunks[len(r.Chunks)-1].At.Sub(r.Send).Seconds()))
}

// definition is the cell of a tool's measures of a kind, and their formulas; a dash: it has none.
func definition(tool *views.Tool, k views.Kind, r *views.Record) (cell string, formulas []string) {
	var cells []string
	for i := range tool.Measures {
		m := &tool.Measures[i]
		if m.Kind != k || m.Unit.Name != "ms" && m.Unit.Name != "s" {
			continue
		}
		values, weight := m.Values(r)
		cells, formulas = append(cells, samples(values, weight)), append(formulas, m.Formula)
	}
	if len(cells) == 0 {
		return "–", nil
	}
	return strings.Join(cells, ", or "), formulas
}

// samples prints one value, a list of a few with their mean, or the mean of many.
func samples(values []float64, weight int64) string {
	switch n := len(values); {
	case n == 0:
		return "–"
	case n == 1 && weight > 1:
		return fmt.Sprintf("%s (weight %d)", milli(values[0]), weight)
	case n == 1:
		return milli(values[0])
	}
	sum := 0.0
	var list []string
	for _, x := range values {
		sum += x
		list = append(list, milli(x))
	}
	mean := milli(sum / float64(len(values)))
	if len(values) > listedMax {
		return fmt.Sprintf("%s (mean of %d)", mean, len(values))
	}
	return fmt.Sprintf("{%s} %s", strings.Join(list, ", "), mean)
}

// milli prints seconds as milliseconds, with three significant digits at least and no trailing zeros.
func milli(s float64) string {
	if s >= 1 {
		return fmt.Sprintf("%.0f", 1e3*s)
	}
	return text.Short(1e3 * s)
}
