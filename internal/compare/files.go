package compare

import (
	"context"
	"io"
	"path/filepath"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Files is the directory of --out with a folder for each scenario: all files of a comparison, or none.
type Files struct {
	*output.Dir
	folders []*output.Dir // by variant
}

// OpenFiles opens the directory for scenarios of these names.
func OpenFiles(path string, names []string) (*Files, error) {
	dir, err := output.Open(path)
	if err != nil {
		return nil, err
	}
	b := &Files{Dir: dir}
	for _, name := range names {
		inner, err := dir.Folder(Folder(name))
		if err != nil {
			b.Abandon()
			return nil, err
		}
		b.folders = append(b.folders, inner)
	}
	return b, nil
}

// Write writes everything. compare.json comes last: where it is, the others are whole.
func (b *Files) Write(ctx context.Context, r *Race) error {
	var steps []func() error
	var files []page.Code
	var assumed []page.Section
	for i, d := range b.folders {
		scenario, err := r.Scenarios[i].YAMLFor(d.Path())
		if err != nil {
			return err
		}
		built, err := build.NewUntil(ctx, r.Scenarios[i])
		if err != nil {
			return err
		}
		assumed = append(assumed, pages.Assumed(built))
		if err := built.Close(); err != nil {
			return err
		}
		summary := r.Comparison.Scenarios[i].Summary
		files = append(files, page.Code{Name: filepath.Base(d.Path()) + "/scenario.yaml", Text: string(scenario)})
		steps = append(steps,
			func() error { return d.WriteBytes("scenario.yaml", scenario) },
			func() error { return d.WriteJSON("summary.json", summary) })
	}
	steps = append(steps, b.figures(r)...)
	steps = append(steps,
		func() error {
			return b.WriteFile("compare.csv", func(w io.Writer) error { return WriteCSV(w, r.Comparison) })
		},
		func() error {
			return b.WriteFile("report.html", r.Page(assumed, files).Write)
		},
		func() error { return b.WriteJSON("compare.json", r.Comparison) })
	if err := output.InOrder(ctx, steps); err != nil {
		return err
	}
	return b.Keep()
}

// figures draws the distributions of all scenarios over each other: each by itself, and both side by side.
func (b *Files) figures(r *Race) []func() error {
	caption := r.Comparison.Caption(r.Models)
	all := r.distributions()
	return []func() error{
		b.Draw("itl_cdf", func() (plot.Figure, error) { return plot.CDF(caption, all[0]) }),
		b.Draw("ttft_cdf", func() (plot.Figure, error) { return plot.CDF(caption, all[1]) }),
		b.Draw("cdfs", func() (plot.Figure, error) {
			return plot.CDFPair(caption, "Inter-token latency and time to first token", all[0], all[1])
		}),
	}
}

// distributions are those of the gaps between tokens and of the time to the first one.
func (r *Race) distributions() []plot.Distribution {
	itl := plot.Distribution{Title: "Inter-token latency", Noun: "token gaps", Curves: curvesOf(r, r.Itl), Short: "ITL"}
	ttft := plot.Distribution{Title: "Time to first token", Noun: "requests", Curves: curvesOf(r, r.Ttft), Short: "TTFT"}
	if r.SameSLO() {
		rules := r.Scenarios[0].SLO.Rules.Rules()
		ttft.Rules, itl.Rules = plot.RulesOn(rules, metrics.RuleTTFT), plot.RulesOn(rules, metrics.RuleITL)
	}
	if slo := r.Comparison.Scenarios[0].Summary.SLO; slo != nil && r.SameSLO() {
		ttft.SLOS = slo.TTFTS
		itl.SLOS, itl.SLOOf = slo.TPOTS, "TPOT"
	}
	return []plot.Distribution{itl, ttft}
}

func curvesOf(r *Race, hists []metrics.Hist) []plot.Curve {
	curves := make([]plot.Curve, len(hists))
	for i := range hists {
		curves[i] = plot.CurveOf(r.Variants[i].Name, &hists[i], hists[i].Quantiles())
	}
	return curves
}
