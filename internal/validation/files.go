package validation

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// WriteFiles writes the predictions and the plots: all of them, or none. validation.json comes last: where it is,
// the others are whole.
func WriteFiles(ctx context.Context, dir *output.Dir, v *Validation) error {
	caption := text.Caption{Scenario: shortened(filepath.Base(v.File)), Model: v.Data, Hardware: selection(v)}
	steps := []func() error{
		func() error {
			return dir.WriteFile("predictions.csv", func(w io.Writer) error { return WriteCSV(w, v.Rows) })
		},
	}
	draw := func(name string, figure func() (plot.Figure, error)) {
		steps = append(steps, dir.Draw(name, figure))
	}
	for _, metric := range []string{"ttft", "tpot", "e2e"} {
		if metric != "e2e" || v.Has(metric) {
			draw("parity_"+metric, func() (plot.Figure, error) { return Parity(caption, v, metric) })
		}
	}
	draw("error_by_concurrency", func() (plot.Figure, error) { return ErrorByConcurrency(caption, v) })
	steps = append(steps, func() error { return dir.WriteFile("report.html", v.Page().Write) },
		func() error { return dir.WriteJSON("validation.json", v) })
	if err := output.InOrder(ctx, steps); err != nil {
		return err
	}
	return dir.Keep()
}

// selection says how many rows a plot is of.
func selection(v *Validation) string {
	said := fmt.Sprintf("%s of %s simulated", text.Count(v.Counts.Simulated), text.Counted(v.Counts.Rows, "row"))
	if v.Quality != "" {
		said += ", errors of quality " + v.Quality
	}
	return said
}

// shortened cuts a name that leaves no room beside it.
func shortened(name string) string {
	const most = 48
	if letters := []rune(name); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return name
}
