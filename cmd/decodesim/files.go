package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
)

// outNamed refuses an --out that names nothing, as an unset shell variable leaves it: it would get no files.
func outNamed(c *cobra.Command) error {
	if out := c.Flags().Lookup("out"); out.Changed && out.Value.String() == "" {
		return errors.New("--out is empty; expected a directory")
	}
	return nil
}

// inOrder takes the steps that write the files of a command, until one fails or ctx is cancelled.
func inOrder(ctx context.Context, steps []func() error) error {
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return failed(err)
		}
	}
	return nil
}

// outbox is the directory of --out and the files of this run in it: all of them, or none.
type outbox struct{ *report.Dir }

func openOutbox(path string) (*outbox, error) {
	dir, err := report.Open(path)
	if err != nil {
		return nil, err
	}
	return &outbox{dir}, nil
}

func (o *outbox) figure(name string, f plot.Figure, err error) error {
	if err != nil {
		return err
	}
	return f.Write(o.Dir, name)
}

// write writes the files of a run. The summary comes last: where it is, the others are whole.
func (o *outbox) write(ctx context.Context, b *build.Built, r *result) error {
	scenario, err := b.Scenario.YAMLFor(o.Path())
	if err != nil {
		return err
	}
	steps := []func() error{func() error { return o.WriteFile("scenario.yaml", writeBytes(scenario)) }}
	if r.Rows != nil {
		steps = append(steps, func() error {
			return o.WriteFile("requests.csv", func(w io.Writer) error { return run.WriteRows(w, slices.Values(r.Rows)) })
		})
	}
	steps = append(steps, o.figures(b, r)...)
	steps = append(steps, o.viewFiles(b, r)...)
	steps = append(steps, func() error {
		return o.WriteFile("summary.json", func(w io.Writer) error { return text.WriteJSON(w, r.Summary) })
	})
	if err := inOrder(ctx, steps); err != nil {
		return err
	}
	o.Keep()
	return nil
}

func (o *outbox) figures(b *build.Built, r *result) []func() error {
	caption := report.CaptionOf(r.Summary, b.Deployment.Model.Name)
	l := &r.Summary.Latency
	itl := plot.Distribution{Title: "Inter-token latency", Noun: "token gaps"}
	itl.Curves = []plot.Curve{plot.CurveOf("ITL", &r.Recorder.ITL, l.ITL)}
	ttft := plot.Distribution{Title: "Time to first token", Noun: "requests"}
	ttft.Curves = []plot.Curve{plot.CurveOf("TTFT", &r.Recorder.TTFT, l.TTFT)}
	if r.Summary.SLO != nil {
		ttft.SLOS = r.Summary.SLO.TTFTS
		itl.SLOS, itl.SLOOf = r.Summary.SLO.TPOTS, "TPOT" // a limit on the mean gap of a request
	}
	steps := []func() error{
		func() error { f, err := plot.CDF(caption, itl); return o.figure("itl_cdf", f, err) },
		func() error { f, err := plot.CDF(caption, ttft); return o.figure("ttft_cdf", f, err) },
		func() error { f, err := report.Timeline(caption, r.Timeline); return o.figure("timeline", f, err) },
	}
	if r.Recorder.Attribution != nil {
		steps = append(steps, func() error {
			f,
				err := report.GapParts(caption, r.Summary)
			return o.figure("itl_parts", f, err)
		})
	}
	return steps
}

func writeBytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}
