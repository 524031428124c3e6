package run

import (
	"math"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/sim/metrics"
)

// ofPeak adds what the parts of the usual step of each pool that decodes achieve of the peaks.
func ofPeak(s *metrics.Summary, b *build.Built) {
	context := b.PromptMean + float64(b.OutputMean/2)
	for i := range s.Pools {
		if !b.Scenario.Pools[i].Decodes() {
			continue
		}
		x, warnings := OfPeak(b.Replicas[i].Model, s.Pools[i].Name, s.Pools[i].BatchMean, context)
		if len(x.Parts) > 0 {
			s.OfPeak, s.Warnings = append(s.OfPeak, x), append(s.Warnings, warnings...)
		}
	}
}

// OfPeak returns what the parts of a pool's step of so many sequences with so much context achieve of the peaks, with
// warnings of arithmetic that a fitted constant keeps far below it; no parts: less than one sequence decodes.
func OfPeak(model *hardware.Roofline, pool string, batch, context float64) (x metrics.OfPeak, warnings []string) {
	x = metrics.OfPeak{Pool: pool, Batch: int(math.Round(batch)), Context: int(math.Round(context))}
	if x.Batch < 1 || x.Context < 1 {
		return x, nil
	}
	for _, p := range model.PeakShares(x.Batch, x.Context) {
		limit := "memory"
		switch {
		case p.Kernels:
			limit = "kernels"
		case p.FLOPS:
			limit = "compute"
		}
		x.Parts = append(x.Parts, metrics.PeakShare{Part: p.Part, Limit: limit, OfPeak: p.OfPeak})
		if p.Slow {
			warnings = append(warnings, expected.SlowPart(p.Part, p.OfPeak, p.Rows))
		}
	}
	return x, warnings
}
