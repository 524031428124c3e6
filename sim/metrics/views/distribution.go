package views

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/decodesim/decodesim/sim/metrics"
)

// Distribution is values with integer weights, in SI units and in increasing order.
type Distribution struct {
	Count  int64 // observations, whatever they weigh
	values []float64
	upto   []int64 // weight of this value and all below it
	mean   float64
	std    float64
}

// weighted is an observation.
type weighted struct {
	x float64
	w int64
}

// distributionOf takes over the observations; those without weight are none.
func distributionOf(all []weighted) Distribution {
	all = slices.DeleteFunc(all, func(v weighted) bool { return v.w == 0 })
	slices.SortFunc(all, func(a, b weighted) int { return cmp.Compare(a.x, b.x) })
	d := Distribution{Count: int64(len(all))}
	total, sum := int64(0), 0.0
	for _, v := range all {
		total += v.w
		sum += float64(v.x * float64(v.w))
		if n := len(d.values); n > 0 && d.values[n-1] == v.x {
			d.upto[n-1] = total
			continue
		}
		d.values, d.upto = append(d.values, v.x), append(d.upto, total)
	}
	d.mean = sum / float64(total) // NaN if there is none
	d.std = d.deviation()
	return d
}

// distributionOfHist is a histogram's, shifted: its buckets are 0.1 % wide and stand at their midpoints. The mean is
// exact.
func distributionOfHist(h *metrics.Hist, shiftS float64) Distribution {
	d := Distribution{Count: h.N(), mean: h.MeanS() + shiftS}
	total := int64(0)
	h.Each(func(seconds float64, count int64) {
		total += count
		d.values, d.upto = append(d.values, seconds+shiftS), append(d.upto, total)
	})
	d.std = d.deviation()
	return d
}

func (d *Distribution) deviation() float64 {
	sum, before := 0.0, int64(0)
	for i, x := range d.values {
		sum += float64((x - d.mean) * (x - d.mean) * float64(d.upto[i]-before))
		before = d.upto[i]
	}
	return math.Sqrt(sum / float64(before))
}

// Weight returns the sum of all weights.
func (d *Distribution) Weight() int64 {
	if len(d.upto) == 0 {
		return 0
	}
	return d.upto[len(d.upto)-1]
}

// at returns the value of a rank, from 0.
func (d *Distribution) at(rank int64) float64 {
	return d.values[sort.Search(len(d.upto), func(i int) bool { return d.upto[i] > rank })]
}

// Mean returns the mean; NaN: there are no values.
func (d *Distribution) Mean() float64 { return d.mean }

// Std returns the standard deviation of the values themselves, as numpy's default.
func (d *Distribution) Std() float64 { return d.std }

// Min returns the least value; NaN: there are none.
func (d *Distribution) Min() float64 { return d.Quantile(0) }

// Max returns the greatest value; NaN: there are none.
func (d *Distribution) Max() float64 { return d.Quantile(1) }

// Mode returns the value of most weight, the least of several; NaN: there are no values.
func (d *Distribution) Mode() float64 {
	mode, most, before := math.NaN(), int64(0), int64(0)
	for i, x := range d.values {
		if w := d.upto[i] - before; w > most {
			mode, most = x, w
		}
		before = d.upto[i]
	}
	return mode
}

// Quantile returns the p-quantile, linear between values: numpy's default, type 7. NaN: there are no values.
func (d *Distribution) Quantile(p float64) float64 {
	n := d.Weight()
	if n == 0 {
		return math.NaN()
	}
	h := float64(p * float64(n-1))
	i := int64(math.Floor(h))
	low := d.at(i)
	if i+1 >= n {
		return low
	}
	return low + float64((h-float64(i))*(d.at(i+1)-low))
}

// NearestRank returns the least value that at least a share p of the weight does not exceed; NaN: there are no values.
func (d *Distribution) NearestRank(p float64) float64 {
	n := d.Weight()
	if n == 0 {
		return math.NaN()
	}
	return d.at(max(1, int64(math.Ceil(p*float64(n)))) - 1)
}

// Below returns the share of the weight at or below x; NaN: there are no values.
func (d *Distribution) Below(x float64) float64 {
	i := sort.Search(len(d.values), func(i int) bool { return d.values[i] > x })
	if i == 0 {
		return 0 / float64(d.Weight())
	}
	return float64(d.upto[i-1]) / float64(d.Weight())
}
