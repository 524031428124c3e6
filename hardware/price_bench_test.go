package hardware_test

import (
	"fmt"
	"testing"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// BenchmarkPrice prices one step: of decodes alone, and with a chunk of prompt.
func BenchmarkPrice(b *testing.B) {
	d := deployment(b, "llama-3.1-8b", "h100-sxm", 1)
	r := hardware.NewRoofline(d, 256)
	for _, c := range []struct {
		name  string
		shape sim.Shape
	}{
		{"decode", sim.Shape{Decodes: 64, DecodeTokens: 64, DecodeCtx: 64 * 700, Outputs: 64}},
		{"mixed", sim.Shape{
			Decodes: 64, DecodeTokens: 64, DecodeCtx: 64 * 700, Outputs: 65,
			Prefills: 1, PrefillTokens: 512, PrefillPairs: 512 * 513 / 2, PrefillCtx: 512, PrefillLongest: 512,
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var g sim.Segment
			ranks := []sim.Shape{c.shape}
			b.ReportAllocs()
			for range b.N {
				r.Price(ranks, &g)
			}
		})
	}
}

// BenchmarkNewRoofline derives the coefficients of a deployment, as a fit does over and over: without a table and with
// one of 64 batch sizes.
func BenchmarkNewRoofline(b *testing.B) {
	d := deployment(b, "deepseek-v3", "h200-sxm", 8)
	for _, decodesMax := range []int{0, 64} {
		b.Run(fmt.Sprint(decodesMax), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				hardware.NewRoofline(d, decodesMax)
			}
		})
	}
}
