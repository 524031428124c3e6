package sweep

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/plot"
)

// Finish writes the files of a sweep whose every run has its row, and removes the journal. A shard leaves its rows for
// Merge and has no result: nil.
func (w *Work) Finish(ctx context.Context) (*Result, error) {
	scenario, err := w.base.YAMLFor(w.Dir.Path())
	if err != nil {
		return nil, err
	}
	if !w.Shard.whole() {
		return nil, w.finishShard(ctx, scenario)
	}
	r, err := writeFiles(ctx, w.Dir, &w.Head, scenario, w.assumed, w.each)
	if err != nil {
		return nil, err
	}
	return r, w.journal.remove()
}

// writeFiles writes everything, or nothing. sweep.json comes last: where it is, the others are whole.
func writeFiles(ctx context.Context, dir *output.Dir, h *Head, scenario []byte, assumed page.Section,
	each func(func(*Row) error) error) (*Result, error) {
	r := newCollector(h)
	write := func(table func(io.Writer) (rowTable, error)) func(io.Writer) error {
		return func(f io.Writer) error {
			t, err := table(f)
			if err != nil {
				return err
			}
			err = each(func(row *Row) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return t.add(row)
			})
			if err != nil {
				return err
			}
			return t.close()
		}
	}
	csv := write(func(f io.Writer) (rowTable, error) { return newCSV(f, h) })
	parquet := write(func(f io.Writer) (rowTable, error) { return newParquet(f, h), nil })
	collect := write(func(io.Writer) (rowTable, error) { return r, nil })
	steps := []func() error{
		func() error { return dir.WriteBytes("scenario.yaml", scenario) },
		func() error { return dir.WriteFile("sweep.csv", csv) },
		func() error { return dir.WriteFile("sweep.parquet", parquet) },
		func() error { return collect(nil) },
		func() error { return r.Result.figures(dir) },
		func() error { return dir.WriteFile("report.html", r.Result.Page(scenario, assumed).Write) },
		func() error { return dir.WriteJSON("sweep.json", r.Result) },
	}
	if err := output.InOrder(ctx, steps); err != nil {
		return nil, err
	}
	return r.Result, dir.Keep()
}

// figures draws the load curve, the frontier, and what was asked for.
func (r *Result) figures(dir *output.Dir) error {
	var steps []func() error
	if len(r.Curves) > 0 {
		steps = append(steps, dir.Draw("load_curve", func() (plot.Figure, error) { return LoadCurve(r) }))
	}
	steps = append(steps, dir.Draw("frontier", func() (plot.Figure, error) { return FrontierFigure(r) }))
	for _, p := range r.drawn() {
		steps = append(steps, dir.Draw(fileOf(p), func() (plot.Figure, error) { return r.draw(p) }))
	}
	return output.InOrder(context.Background(), steps)
}

// drawn are the figures that were asked for; without any, a sweep over two axes has a map of them.
func (h *Head) drawn() []Plot {
	if len(h.Plots) == 0 && len(h.Axes) == 2 {
		return []Plot{{X: h.Axes[0].Name, Y: h.Axes[1].Name, Heat: "output_tokens_per_s_per_gpu"}}
	}
	return h.Plots
}

// drawnFiles are the files of what is drawn, by which a directory that has one is refused before the first run.
func (h *Head) drawnFiles() (names []string) {
	for _, p := range h.drawn() {
		names = append(names, fileOf(p)+".svg", fileOf(p)+".png")
	}
	return names
}

// fileOf names the files of a figure.
func fileOf(p Plot) string {
	name := fmt.Sprintf("%s_by_%s", short(p.Y), short(p.X))
	if p.Heat != "" {
		name = fmt.Sprintf("%s_by_%s_and_%s", p.Heat, short(p.X), short(p.Y))
	}
	return strings.ReplaceAll(name, "/", "_")
}
