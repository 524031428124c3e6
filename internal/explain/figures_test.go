package explain

import (
	"strconv"
	"testing"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/plot/plottest"
	"github.com/decodesim/decodesim/internal/text"
)

func caption() text.Caption {
	return text.Caption{Scenario: "chat-70b", Model: "llama-3.1-70b", Hardware: "8 × h100-sxm"}
}

func TestFiguresKeepTheHouseRules(t *testing.T) {
	drawing := func(name string, draw func() (plot.Figure, error)) plottest.Drawing {
		return plottest.Drawing{Name: name, Caption: caption().String(), Draw: draw}
	}
	roof := func(name string, n int) plottest.Drawing {
		return drawing(name, func() (plot.Figure, error) { r, _ := batches(n); return r.Draw(caption()) })
	}
	itl := func(name string, n int) plottest.Drawing {
		return drawing(name, func() (plot.Figure, error) { _, b := batches(n); return ITLVsBatch(caption(), b) })
	}
	speedUps := func(name string, batches int, ridge float64) plottest.Drawing {
		return drawing(name, func() (plot.Figure, error) { h := gains(batches, ridge); return h.Draw(caption()) })
	}
	plottest.Check(t, []plottest.Drawing{
		roof("roofline", 12),
		roof("roofline-alone", 0),
		drawing("roofline-none", func() (plot.Figure, error) { return (&Roofline{GPU: "toy"}).Draw(caption()) }),
		itl("batch", 12),
		itl("batch-one", 1),
		itl("batch-none", 0),
		speedUps("speculation", 8, 74),
		speedUps("speculation-many", 14, 0),
		speedUps("speculation-one", 1, 1),
		speedUps("speculation-none", 0, 0),
	})
}

// batches prices decode steps of a toy 70B model on four H100.
func batches(n int) (Roofline, []BatchPoint) {
	r := Roofline{GPU: "h100-sxm × 4", DType: "bf16", BandwidthBps: 4 * 3.35e12, PeakFLOPS: 4 * 989.4e12}
	var points []BatchPoint
	for i := range n {
		b := 1 << i
		bytes, flop := 140e9+float64(b)*30e6, float64(b)*140e9
		memory, compute := bytes/r.BandwidthBps, flop/r.PeakFLOPS
		step := (memory+compute)/0.8 + 0.002
		r.Points = append(r.Points, RooflinePoint{"batch " + strconv.Itoa(b), flop / bytes, flop / step})
		points = append(points, BatchPoint{b, step, max(memory, compute), compute > memory})
	}
	return r, points
}
