package steady

import (
	"math"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Halves differ if their means do by more than a tenth of the first, and by more than 1.5 half-widths of their 95 %
// intervals: about three standard errors, for there are several means in a run.
const differingShare, differingHalves = 0.1, 1.5

// halves compares the halves of w.
func (w *window) halves() []metrics.Half {
	all := []metrics.Half{w.half("requests in the system", w.under())}
	for _, of := range []struct {
		name string
		of   metrics.Of
	}{{"TTFT", metrics.OfTTFT}, {"ITL", metrics.OfITL}, {"TPOT", metrics.OfTPOT}, {"E2E", metrics.OfE2E}} {
		all = append(all, w.half(of.name, func(i int) (float64, float64) {
			v := &w.slots[i].Sum[of.of]
			return v.Sum.Float() * 1e-12, float64(v.N)
		}))
	}
	return all
}

// under returns the requests under way at the ends of slots.
func (w *window) under() func(i int) (sum, n float64) {
	counts := make([]float64, len(w.slots))
	under := int64(0)
	for i, v := range w.series.Slots()[:w.from+len(w.slots)] {
		under += v.Arrived - v.Ended
		if i >= w.from {
			counts[i-w.from] = float64(under)
		}
	}
	return func(i int) (float64, float64) { return counts[i], 1 }
}

// half compares the means of a ratio of sums.
func (w *window) half(name string, of func(i int) (sum, n float64)) metrics.Half {
	middle := len(w.slots) / 2
	first, one := meanOf(0, middle, of)
	second, other := meanOf(middle, len(w.slots), of)
	difference := math.Abs(second - first)
	return metrics.Half{
		Name: name, First: first, Second: second,
		Significant: difference > differingShare*first && difference > differingHalves*math.Hypot(one, other),
	}
}

// meanOf returns the mean of a ratio over some slots, and half of its interval: of what is about a trend, for a trend
// is what is searched for.
func meanOf(from, to int, of func(i int) (sum, n float64)) (mean, half float64) {
	total, all := 0.0, 0.0
	for i := from; i < to; i++ {
		sum, n := of(i)
		total, all = total+sum, all+n
	}
	if all == 0 {
		return 0, math.Inf(1)
	}
	mean = total / all
	z := make([]float64, to-from)
	for i := range z {
		sum, n := of(from + i)
		z[i] = sum - float64(mean*n)
	}
	half = stats.HalfWidth(detrended(z)) / all
	if math.IsNaN(half) {
		half = math.Inf(1)
	}
	return mean, half
}

// detrended takes the line of least squares out of z.
func detrended(z []float64) []float64 {
	n := float64(len(z))
	centre, mean := float64((n-1)/2), 0.0
	for _, x := range z {
		mean += x / n
	}
	up, along := 0.0, 0.0
	for i, x := range z {
		d := float64(i) - centre
		up, along = up+float64(d*(x-mean)), along+float64(d*d)
	}
	for i := range z {
		z[i] -= mean + float64(up/along*(float64(i)-centre))
	}
	return z
}
