package variates

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// AliasTable draws a value by its weight with one uniform number and one comparison: Walker, An efficient method for
// generating discrete random variables with general distributions, ACM TOMS 3(3), 1977.
type AliasTable struct {
	values []float64
	share  []float64 // of slot i, the part that yields value i
	alias  []int32   // the value that the remainder of slot i yields
}

// NewAliasTable returns a table of values whose weights sum to total.
func NewAliasTable(values, weights []float64, total float64) *AliasTable {
	n := len(values)
	t := &AliasTable{slices.Clone(values), make([]float64, n), make([]int32, n)}
	var small, large []int32
	for i, w := range weights {
		t.share[i], t.alias[i] = w/total*float64(n), int32(i)
		if t.share[i] < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, g := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.alias[s] = g
		t.share[g] -= 1 - t.share[s]
		if t.share[g] < 1 {
			large, small = large[:len(large)-1], append(small, g)
		}
	}
	for _, i := range append(small, large...) { // exactly 1 but for rounding
		t.share[i] = 1
	}
	return t
}

// Draw returns one of the values.
func (t *AliasTable) Draw(r *rand.Rand) float64 {
	u := float64(r.Float64() * float64(len(t.values))) // below that number, rounded too, as Float64 is at most 1 − 2^−53
	i := int(u)
	if u-math.Floor(u) < t.share[i] {
		return t.values[i]
	}
	return t.values[t.alias[i]]
}

// Scale multiplies every value by f.
func (t *AliasTable) Scale(f float64) { ScaleAll(t.values, f) }

// InverseCurve is an inverse distribution function, linear between its points: a share P[i] of the draws is at most
// V[i].
type InverseCurve struct{ P, V []float64 }

// At returns the value at the share u.
func (f *InverseCurve) At(u float64) float64 {
	i := sort.SearchFloat64s(f.P, u)
	if i == 0 {
		return f.V[0]
	}
	width := f.P[i] - f.P[i-1]
	return f.V[i-1] + float64((u-f.P[i-1])/width*(f.V[i]-f.V[i-1]))
}

// ScaleAll multiplies every element of a list by f.
func ScaleAll(list []float64, f float64) {
	for i := range list {
		list[i] *= f
	}
}
