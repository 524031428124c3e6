package sweep

import (
	"fmt"
	"io"
	"math"

	"github.com/decodesim/decodesim/internal/text"
)

// rowsMax is how many points the table on a terminal has; all of them are in the files.
const rowsMax = 40

// printed are the columns of that table.
func printed() [][2]string {
	return [][2]string{
		{"ttft_p50_s", "TTFT p50"}, {"ttft_p95_s", "p95"}, {"ttft_p99_s", "p99"},
		{"itl_p50_s", "ITL p50"}, {"itl_p95_s", "p95"}, {"itl_p99_s", "p99"},
		{"requests_per_s", "requests/s"}, {"output_tokens_per_s", "tokens/s"}, {"output_tokens_per_s_per_gpu", "per GPU"},
		{"output_tokens_per_s_per_user", "per user"}, {"slo_attainment", "SLO met by"}, {"goodput_per_s", "goodput/s"},
	}
}

// WriteText writes a sweep for people: its points, and what its curves say.
func WriteText(w io.Writer, r *Result, colour bool) error {
	page := text.NewPage(colour)
	page.Heading(heading(r))
	page.Line(r.Is)
	page.Blank()
	page.Table(r.rows())
	if r.Points > rowsMax {
		page.Line(fmt.Sprintf("(the first %d of %s points)", rowsMax, text.Count(r.Points)))
	}
	if r.Failed > 0 {
		page.Blank()
		page.Warning(fmt.Sprintf("%s of %s ended with an error:", text.Counted(r.Failed, "run"), text.Count(r.Runs)))
		for _, f := range r.Failures {
			page.Line(fmt.Sprintf("%s, first of point %d: %s", text.Counted(f.Runs, "run"), f.Point, f.Error))
		}
	}
	if len(r.Curves) > 0 {
		page.Blank()
	}
	for i := range r.Curves {
		name := named(r.Curves[i].Of)
		if name != "" {
			name += ": "
		}
		for _, sentence := range r.Curves[i].Sentences {
			page.Line(name + sentence)
		}
	}
	_, err := page.WriteTo(w)
	return err
}

func heading(r *Result) string {
	of := fmt.Sprintf("seed %d", r.Seeds[0])
	if len(r.Seeds) > 1 {
		of = fmt.Sprintf("%s from %d", text.Counted(len(r.Seeds), "seed"), r.Seeds[0])
	}
	return fmt.Sprintf("%s · %s, %s · %s over %s", r.Scenario, text.Counted(r.Points, "point"), of,
		text.Counted(r.Runs, "run"), r.axisNames())
}

// rows are the first points; columns that none of them has are left out.
func (r *Result) rows() [][]string {
	points := min(r.Points, rowsMax)
	head := []string{}
	for i := range r.Axes {
		head = append(head, short(r.Axes[i].Name))
	}
	rows := make([][]string, points)
	for point := range rows {
		for i, which := range at(r.Axes, point) {
			rows[point] = append(rows[point], r.Axes[i].Values[which])
		}
	}
	for _, c := range printed() {
		known := false
		for point := range rows {
			known = known || !math.IsNaN(r.mean(point, c[0]))
		}
		if !known {
			continue
		}
		head = append(head, c[1])
		for point := range rows {
			rows[point] = append(rows[point], cell(c[0], r.mean(point, c[0])))
		}
	}
	head = append(head, "")
	for point := range rows {
		mark := ""
		switch {
		case r.means[point] == nil:
			mark = "failed"
		case r.saturates(point):
			mark = "saturated"
		case r.fills(point):
			mark = "too short"
		}
		rows[point] = append(rows[point], mark)
	}
	return append([][]string{head}, rows...)
}

// cell prints a number of a column.
func cell(column string, x float64) string {
	switch {
	case math.IsNaN(x):
		return text.Dash
	case columns()[index(column)].Unit == "s":
		return text.Duration(x)
	case isShare(column):
		return text.Percent(x)
	}
	return text.Significant(x)
}
