package results

import (
	"context"
	"io"
	"slices"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/pages"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/report/tools"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics"
)

// WriteFiles writes the files of a run to dir. The summary comes last: where it is, the others are whole.
func WriteFiles(ctx context.Context, dir *output.Dir, b *build.Built, r *Result) error {
	scenario, err := b.Scenario.YAMLFor(dir.Path())
	if err != nil {
		return err
	}
	steps := []func() error{func() error { return dir.WriteBytes("scenario.yaml", scenario) }}
	if r.Rows != nil {
		steps = append(steps, func() error {
			return dir.WriteFile("requests.csv", func(w io.Writer) error { return run.WriteRows(w, slices.Values(r.Rows)) })
		})
	}
	if r.Tasks != nil {
		steps = append(steps, func() error {
			return dir.WriteFile("tasks.csv", func(w io.Writer) error {
				return run.WriteTasks(w, r.SortedTasks(), b.Scenario.Workload.Classes)
			})
		})
	}
	if r.Summary.OverTime != nil {
		steps = append(steps, func() error {
			return dir.WriteFile("timeline.csv", func(w io.Writer) error {
				return report.WriteTimeline(w, r.Summary.OverTime, r.Timeline)
			})
		})
	}
	if len(r.Summary.Classes) > 0 && r.Summary.Classes[0].OverTime != nil {
		steps = append(steps, func() error {
			return dir.WriteFile("timeline_classes.csv", func(w io.Writer) error {
				return report.WriteClassTimeline(w, r.Summary.Classes)
			})
		})
	}
	steps = append(steps, figureFiles(dir, b, r)...)
	steps = append(steps, pageFile(dir, b, r, scenario))
	steps = append(steps, viewFiles(dir, b, r)...)
	steps = append(steps, func() error { return dir.WriteJSON("summary.json", r.Summary) })
	if err := output.InOrder(ctx, steps); err != nil {
		return err
	}
	return dir.Keep()
}

// figure is a plot of a run that has still to be drawn.
type figure struct {
	name string
	draw func() (plot.Figure, error)
}

// figureFiles are the plots.
func figureFiles(dir *output.Dir, b *build.Built, r *Result) []func() error {
	var steps []func() error
	for _, f := range figures(b, r) {
		steps = append(steps, dir.Draw(f.name, f.draw))
	}
	return steps
}

// pageFile is the page of the run.
func pageFile(dir *output.Dir, b *build.Built, r *Result, scenario []byte) func() error {
	return func() error {
		p := pages.Run{Built: b, Summary: r.Summary, Timeline: r.Timeline, Curves: Distributions(r), Chunks: chunkLimit(b),
			Scenario: scenario}
		return dir.WriteFile("report.html", p.Page().Write)
	}
}

// Distributions are those of the gaps between tokens and of the time to the first one.
func Distributions(r *Result) []plot.Distribution {
	l := &r.Summary.Latency
	itl := plot.Distribution{Title: "Inter-token latency", Noun: "token gaps"}
	itl.Curves = []plot.Curve{plot.CurveOf("ITL", r.Recorder.ChunkGaps(), l.ITLChunk)}
	if l.Bursts() {
		itl.Curves[0].Name = "ITL, chunks"
		itl.Curves = append(itl.Curves, plot.CurveOf("ITL, tokens", r.Recorder.TokenGaps(), l.ITL))
	}
	ttft := plot.Distribution{Title: "Time to first token", Noun: "requests"}
	ttft.Curves = []plot.Curve{plot.CurveOf("TTFT", &r.Recorder.TTFT, l.TTFT)}
	ttft.Rules = plot.RulesOn(r.Recorder.Rules, metrics.RuleTTFT)
	itl.Rules = plot.RulesOn(r.Recorder.Rules, metrics.RuleITL)
	if r.Summary.SLO != nil {
		ttft.SLOS = r.Summary.SLO.TTFTS
		itl.SLOS, itl.SLOOf = r.Summary.SLO.TPOTS, "TPOT" // a limit on the mean gap of a request
	}
	return []plot.Distribution{itl, ttft}
}

func figures(b *build.Built, r *Result) []figure {
	caption := report.CaptionOf(r.Summary, b.Deployment.Model.Name)
	all := Distributions(r)
	list := []figure{
		{"itl_cdf", func() (plot.Figure, error) { return plot.CDF(caption, all[0]) }},
		{"ttft_cdf", func() (plot.Figure, error) { return plot.CDF(caption, all[1]) }},
		{"timeline", func() (plot.Figure, error) {
			return report.Timeline(caption, r.Timeline, r.Summary.OverTime, r.Summary.Classes)
		}},
	}
	if r.Recorder.Attribution != nil {
		list = append(list, figure{"itl_parts", func() (plot.Figure, error) { return report.GapParts(caption, r.Summary) }})
	}
	return list
}

// viewFiles are the files of --out that the chosen tools would have left.
func viewFiles(dir *output.Dir, b *build.Built, r *Result) []func() error {
	if r.Viewed == nil {
		return nil
	}
	measured := MeasuredAs(b, r.Result, r.Viewed)
	var steps []func() error
	for _, view := range r.Viewed.Views {
		for _, file := range tools.Files(view.Tool.Name, measured) {
			steps = append(steps, func() error { return dir.WriteFile(file.Name, file.Write) })
		}
	}
	return append(steps, func() error {
		return dir.WriteFile("views.json", func(w io.Writer) error { return WriteJSON(w, r.Summary, r.Viewed) })
	})
}
