package workloads

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
)

// fillEmpirical builds the table of an empirical law and scales it to Mean where one is given.
func (c *Length) fillEmpirical(field string, l *law) error {
	var err error
	l.mean = 0
	switch {
	case c.Values != nil && c.Edges == nil && c.Quantiles == nil:
		err = c.fillValues(field, l)
	case c.Edges != nil && c.Values == nil && c.Quantiles == nil:
		err = c.fillEdges(field, l)
	case c.Quantiles != nil && c.Values == nil && c.Edges == nil && c.Weights == nil:
		err = c.fillQuantiles(field, l)
	default:
		return refuse(field, "empirical", "one of values, edges with weights, quantiles")
	}
	if err != nil || c.Mean == 0 {
		return err
	}
	l.scale(c.Mean / l.mean)
	l.mean = c.Mean
	return nil
}

func (c *Length) fillValues(field string, l *law) error {
	weights := c.Weights
	if weights == nil {
		weights = make([]float64, len(c.Values))
		for i := range weights {
			weights[i] = 1
		}
	}
	if err := checkList(field+".values", c.Values, 1); err != nil {
		return err
	}
	total, err := checkWeights(field+".weights", weights, len(c.Values))
	if err != nil {
		return err
	}
	l.kind, l.alias = discrete, newAliasTable(c.Values, weights, total)
	for i, v := range c.Values {
		l.mean += v * weights[i] / total
	}
	return nil
}

func (c *Length) fillEdges(field string, l *law) error {
	if err := checkList(field+".edges", c.Edges, 0); err != nil {
		return err
	}
	if err := rising(field+".edges", c.Edges); err != nil {
		return err
	}
	total, err := checkWeights(field+".weights", c.Weights, len(c.Edges)-1)
	if err != nil {
		return err
	}
	p, sum := make([]float64, len(c.Edges)), 0.0
	for i, w := range c.Weights {
		sum += w
		p[i+1] = sum / total
	}
	return l.fillCurve(field+".edges", &inverseCurve{p: p, v: append([]float64(nil), c.Edges...)})
}

func (c *Length) fillQuantiles(field string, l *law) error {
	f := &inverseCurve{}
	for _, q := range c.Quantiles {
		f.p, f.v = append(f.p, q.P), append(f.v, q.Tokens)
	}
	n := len(f.p)
	if n < 2 || f.p[0] != 0 || f.p[n-1] != 1 {
		return refuse(field+".quantiles", f.p, "at least two, the first with p = 0 and the last with p = 1")
	}
	err := first(
		checkList(field+".quantiles.tokens", f.v, 0),
		rising(field+".quantiles.p", f.p),
		rising(field+".quantiles.tokens", f.v),
	)
	if err != nil {
		return err
	}
	return l.fillCurve(field+".quantiles", f)
}

// fillCurve sets the mean of an inverse curve, which is the area under it.
func (l *law) fillCurve(field string, f *inverseCurve) error {
	l.kind, l.curve = inverse, f
	for i := 1; i < len(f.p); i++ {
		l.mean += (f.p[i] - f.p[i-1]) * (f.v[i] + f.v[i-1]) / 2
	}
	if l.mean <= 0 {
		return refuse(field, f.v, "token counts with a mean above 0")
	}
	return nil
}

// scale multiplies every draw of an empirical law by f.
func (l *law) scale(f float64) {
	if l.alias != nil {
		scaleAll(l.alias.value, f)
	} else {
		scaleAll(l.curve.v, f)
	}
}

func scaleAll(list []float64, f float64) {
	for i := range list {
		list[i] *= f
	}
}

func checkList(field string, list []float64, lo float64) error {
	if len(list) == 0 {
		return refuse(field, "empty", "a list of token counts")
	}
	for i, v := range list {
		if err := closed(fmt.Sprintf("%s[%d]", field, i), v, lo, tokensMax); err != nil {
			return err
		}
	}
	return nil
}

func checkWeights(field string, weights []float64, want int) (total float64, err error) {
	if len(weights) != want || want < 1 {
		return 0, refuse(field, fmt.Sprintf("a list of %d", len(weights)), fmt.Sprintf("a list of %d", max(1, want)))
	}
	for i, w := range weights {
		if err := closed(fmt.Sprintf("%s[%d]", field, i), w, 0, 1e18); err != nil {
			return 0, err
		}
		total += w
	}
	if total == 0 {
		return 0, refuse(field, weights, "at least one weight above 0")
	}
	return total, nil
}

func rising(field string, list []float64) error {
	for i := 1; i < len(list); i++ {
		if !(list[i] >= list[i-1]) {
			return refuse(fmt.Sprintf("%s[%d]", field, i), list[i], fmt.Sprintf("at least the one before it, %g", list[i-1]))
		}
	}
	return nil
}

// aliasTable draws a value by its weight with one uniform number and one comparison: Walker, An efficient method for
// generating discrete random variables with general distributions, ACM TOMS 3(3), 1977.
type aliasTable struct {
	value []float64
	keep  []float64 // share of slot i that is its own
	other []int32   // whose the rest is
}

func newAliasTable(values, weights []float64, total float64) *aliasTable {
	n := len(values)
	t := &aliasTable{append([]float64(nil), values...), make([]float64, n), make([]int32, n)}
	var small, large []int32
	for i, w := range weights {
		t.keep[i], t.other[i] = w/total*float64(n), int32(i)
		if t.keep[i] < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, g := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t.other[s] = g
		t.keep[g] -= 1 - t.keep[s]
		if t.keep[g] < 1 {
			large, small = large[:len(large)-1], append(small, g)
		}
	}
	for _, i := range append(small, large...) { // what rounding left over
		t.keep[i] = 1
	}
	return t
}

func (t *aliasTable) draw(r *rand.Rand) float64 {
	u := r.Float64() * float64(len(t.value))
	i := min(int(u), len(t.value)-1)
	if u-math.Floor(u) < t.keep[i] {
		return t.value[i]
	}
	return t.value[t.other[i]]
}

// inverseCurve is an inverse distribution function, linear between its points.
type inverseCurve struct{ p, v []float64 }

func (f *inverseCurve) at(u float64) float64 {
	i := sort.SearchFloat64s(f.p, u)
	if i == 0 {
		return f.v[0]
	}
	width := f.p[i] - f.p[i-1]
	return f.v[i-1] + float64((u-f.p[i-1])/width*(f.v[i]-f.v[i-1]))
}
