package explain

import (
	"fmt"
	"io"

	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
)

// WriteFiles leaves the plots and explain.json: all of them, or none.
func WriteFiles(dir *report.Dir, s *Step, x *Explanation) error {
	caption := text.Caption{
		Scenario: fmt.Sprintf("decode at context %d", x.Context), Model: x.Model, Hardware: fmt.Sprintf("%d × %s", x.GPUs, x.GPU),
	}
	if x.Scenario != "" {
		caption.Scenario = fmt.Sprintf("%s, %s", s.scenario.Name, caption.Scenario)
	}
	type drawing struct {
		name string
		draw func() (report.Figure, error)
	}
	figures := []drawing{
		{"roofline", func() (report.Figure, error) { return report.DrawRoofline(caption, rooflineOf(s, x)) }},
		{"itl_vs_batch", func() (report.Figure, error) { return report.ITLVsBatch(caption, batchPoints(x)) }},
	}
	if v := x.Speculation; v != nil {
		figures = append(figures, drawing{"speculation", func() (report.Figure, error) { return report.DrawSpeedUps(caption, speedUpsOf(s, v)) }})
	}
	for _, f := range figures {
		figure, err := f.draw()
		if err == nil {
			err = figure.Write(dir, f.name)
		}
		if err != nil {
			return err
		}
	}
	if err := dir.WriteFile("explain.json", func(w io.Writer) error { return text.WriteJSON(w, x) }); err != nil {
		return err
	}
	dir.Keep()
	return nil
}

// rooflineOf places the batches that fit, and the step itself, under the roof of one GPU.
func rooflineOf(s *Step, x *Explanation) report.Roofline {
	gpu := &s.Deployment.GPU
	peak, dtype := gpu.ComputeFLOPS(x.Weights)
	r := report.Roofline{GPU: x.GPU, DType: dtype, BandwidthBps: gpu.BandwidthBps.Value, PeakFLOPS: peak}
	for _, c := range x.Curve {
		if c.Fits || c.Batch == x.Batch {
			r.Points = append(r.Points, report.RooflinePoint{Label: fmt.Sprintf("batch %d", c.Batch), Intensity: c.flops / c.bytes, FLOPS: c.flops / c.StepS})
		}
	}
	return r
}

// batchPoints are the batches that fit, and the step itself.
func batchPoints(x *Explanation) []report.BatchPoint {
	var points []report.BatchPoint
	for _, c := range x.Curve {
		if c.Fits || c.Batch == x.Batch {
			points = append(points, report.BatchPoint{Batch: c.Batch, ITLS: c.StepS, FloorS: c.BoundS, ComputeBound: c.Limit == "compute"})
		}
	}
	return points
}
