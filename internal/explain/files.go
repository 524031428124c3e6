package explain

import (
	"fmt"
	"io"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// WriteFiles writes the plots and explain.json: all of them, or none.
func WriteFiles(dir *output.Dir, s *Step, x *Explanation) error {
	caption := text.Caption{
		Scenario: "decode at context " + text.Count(x.Context), Model: x.Model,
		Hardware: fmt.Sprintf("%d × %s", x.GPUs, x.GPU),
	}
	if x.Scenario != "" {
		caption.Scenario = fmt.Sprintf("%s, %s", s.scenario.Name, caption.Scenario)
	}
	type drawing struct {
		name string
		draw func() (plot.Figure, error)
	}
	figures := []drawing{
		{"roofline", func() (plot.Figure, error) { return RooflineOf(s, x).Draw(caption) }},
		{"itl_vs_batch", func() (plot.Figure, error) { return ITLVsBatch(caption, batchPoints(x)) }},
	}
	if v := x.Speculation; v != nil {
		figures = append(figures,
			drawing{"speculation", func() (plot.Figure, error) { return speedUpsOf(s, v).Draw(caption) }})
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
	return dir.Keep()
}

// RooflineOf places the batches that fit, and the step itself, under the roof of one GPU.
func RooflineOf(s *Step, x *Explanation) *Roofline {
	gpu := &s.Deployment.GPU
	peak, dtype := gpu.ComputeFLOPS(x.Weights)
	r := &Roofline{GPU: x.GPU, DType: dtype, BandwidthBps: gpu.BandwidthBps.Value, PeakFLOPS: peak}
	for _, c := range x.Curve {
		if c.Fits || c.Batch == x.Batch {
			r.Points = append(r.Points, RooflinePoint{
				Label: "batch " + text.Count(c.Batch), Intensity: c.flops / c.bytes, FLOPS: c.flops / c.StepS,
			})
		}
	}
	return r
}

// batchPoints are the batches that fit, and the step itself.
func batchPoints(x *Explanation) []BatchPoint {
	var points []BatchPoint
	for _, c := range x.Curve {
		if c.Fits || c.Batch == x.Batch {
			points = append(points, BatchPoint{Batch: c.Batch, ITLS: c.StepS, FloorS: c.BoundS,
				ComputeBound: c.Limit == "compute"})
		}
	}
	return points
}
