package sensitivity

import (
	"context"
	"io"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/plot"
)

// WriteFiles writes everything, or nothing. sensitivity.json comes last: where it is, the others are whole.
func WriteFiles(ctx context.Context, dir *output.Dir, r *Result) error {
	return output.InOrder(ctx, []func() error{
		func() error {
			return dir.WriteFile("sensitivity.csv", func(w io.Writer) error { return WriteCSV(w, r) })
		},
		dir.Draw("tornado", func() (plot.Figure, error) { return Tornado(r) }),
		func() error {
			scenario, err := r.base.YAMLFor(dir.Path())
			if err != nil {
				return err
			}
			return dir.WriteFile("report.html", r.Page(scenario).Write)
		},
		func() error { return dir.WriteJSON("sensitivity.json", r) },
		dir.Keep,
	})
}
