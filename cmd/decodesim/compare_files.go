package main

import (
	"context"
	"io"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/compare"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// compareBox is the directory of --out with a folder for each scenario: all files of this comparison, or none.
type compareBox struct {
	dir     *report.Dir
	folders []*report.Dir // by variant
}

func openCompareBox(path string, names []string) (*compareBox, error) {
	dir, err := report.Open(path)
	if err != nil {
		return nil, err
	}
	box := &compareBox{dir: dir}
	for _, name := range names {
		inner, err := report.Open(filepath.Join(path, compare.Folder(name)))
		if err != nil {
			box.abandon()
			return nil, err
		}
		box.folders = append(box.folders, inner)
	}
	return box, nil
}

// abandon takes back what was written, the folders first, unless all of it was.
func (box *compareBox) abandon() {
	for _, d := range box.folders {
		d.Abandon()
	}
	box.dir.Abandon()
}

func (box *compareBox) files() []string {
	var paths []string
	for _, d := range box.folders {
		paths = append(paths, d.Files()...)
	}
	return append(paths, box.dir.Files()...)
}

// write writes everything. compare.json comes last: where it is, the others are whole.
func (box *compareBox) write(ctx context.Context, r *compare.Race) error {
	var steps []func() error
	for i, d := range box.folders {
		scenario, err := r.Scenarios[i].YAMLFor(d.Path())
		if err != nil {
			return err
		}
		summary := r.Comparison.Scenarios[i].Summary
		steps = append(steps,
			func() error { return d.WriteFile("scenario.yaml", writeBytes(scenario)) },
			func() error {
				return d.WriteFile("summary.json", func(w io.Writer) error { return text.WriteJSON(w, summary) })
			})
	}
	steps = append(steps, box.figures(r)...)
	steps = append(steps,
		func() error {
			return box.dir.WriteFile("compare.csv", func(w io.Writer) error { return compare.WriteCSV(w, r.Comparison) })
		},
		func() error {
			return box.dir.WriteFile("compare.json", func(w io.Writer) error { return text.WriteJSON(w, r.Comparison) })
		})
	if err := inOrder(ctx, steps); err != nil {
		return err
	}
	for _, d := range append(box.folders, box.dir) {
		d.Keep()
	}
	return nil
}

// figures draws the distributions of all scenarios over each other: each by itself, and both side by side.
func (box *compareBox) figures(r *compare.Race) []func() error {
	caption := r.Comparison.Caption(r.Models)
	itl := plot.Distribution{Title: "Inter-token latency", Noun: "token gaps", Curves: curvesOf(r, r.Itl), Short: "ITL"}
	ttft := plot.Distribution{Title: "Time to first token", Noun: "requests", Curves: curvesOf(r, r.Ttft), Short: "TTFT"}
	if slo := r.Comparison.Scenarios[0].Summary.SLO; slo != nil && r.SameSLO() {
		ttft.SLOS = slo.TTFTS
		itl.SLOS, itl.SLOOf = slo.TPOTS, "TPOT"
	}
	draw := func(name string, figure func() (plot.Figure, error)) func() error {
		return func() error {
			f, err := figure()
			if err != nil {
				return err
			}
			return f.Write(box.dir, name)
		}
	}
	return []func() error{
		draw("itl_cdf", func() (plot.Figure, error) { return plot.CDF(caption, itl) }),
		draw("ttft_cdf", func() (plot.Figure, error) { return plot.CDF(caption, ttft) }),
		draw("cdfs", func() (plot.Figure, error) {
			return plot.CDFPair(caption, "Inter-token latency and time to first token", itl, ttft)
		}),
	}
}

func curvesOf(r *compare.Race, hists []metrics.Hist) []plot.Curve {
	curves := make([]plot.Curve, len(hists))
	for i := range hists {
		curves[i] = plot.CurveOf(r.Variants[i].Name, &hists[i], hists[i].Quantiles())
	}
	return curves
}
