package lengths

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/variates"
)

// fillEmpirical builds the table of an empirical law and scales it to Mean where one is given.
func (s *Spec) fillEmpirical(field string, l *Law) error {
	var err error
	l.Mean = 0
	switch {
	case s.Values != nil && s.Edges == nil && s.Quantiles == nil:
		err = s.fillValues(field, l)
	case s.Edges != nil && s.Values == nil && s.Quantiles == nil:
		err = s.fillEdges(field, l)
	case s.Quantiles != nil && s.Values == nil && s.Edges == nil && s.Weights == nil:
		err = s.fillQuantiles(field, l)
	default:
		return check.Refuse(field, "empirical", "one of values, edges with weights, quantiles")
	}
	if err != nil || s.Mean == 0 {
		return err
	}
	l.scale(s.Mean / l.Mean)
	l.Mean = s.Mean
	return nil
}

func (s *Spec) fillValues(field string, l *Law) error {
	weights := s.Weights
	if weights == nil {
		weights = slices.Repeat([]float64{1}, len(s.Values))
	}
	if err := checkList(field+".values", s.Values, 1); err != nil {
		return err
	}
	total, err := checkWeights(field+".weights", weights, len(s.Values))
	if err != nil {
		return err
	}
	l.kind, l.alias = discrete, variates.NewAliasTable(s.Values, weights, total)
	for i, v := range s.Values {
		l.Mean += v * weights[i] / total
	}
	return nil
}

func (s *Spec) fillEdges(field string, l *Law) error {
	if err := checkList(field+".edges", s.Edges, 0); err != nil {
		return err
	}
	if err := rising(field+".edges", s.Edges); err != nil {
		return err
	}
	total, err := checkWeights(field+".weights", s.Weights, len(s.Edges)-1)
	if err != nil {
		return err
	}
	p, sum := make([]float64, len(s.Edges)), 0.0
	for i, w := range s.Weights {
		sum += w
		p[i+1] = sum / total
	}
	return l.fillCurve(field+".edges", &variates.InverseCurve{P: p, V: slices.Clone(s.Edges)})
}

func (s *Spec) fillQuantiles(field string, l *Law) error {
	f := &variates.InverseCurve{}
	for _, q := range s.Quantiles {
		f.P, f.V = append(f.P, q.P), append(f.V, q.Tokens)
	}
	n := len(f.P)
	if n < 2 || f.P[0] != 0 || f.P[n-1] != 1 {
		return check.Refuse(field+".quantiles", f.P, "at least two, the first with p = 0 and the last with p = 1")
	}
	err := cmp.Or(
		checkList(field+".quantiles.tokens", f.V, 0),
		rising(field+".quantiles.p", f.P),
		rising(field+".quantiles.tokens", f.V),
	)
	if err != nil {
		return err
	}
	return l.fillCurve(field+".quantiles", f)
}

// fillCurve sets the mean of an inverse curve, which is the area under it.
func (l *Law) fillCurve(field string, f *variates.InverseCurve) error {
	l.kind, l.curve = inverse, f
	for i := 1; i < len(f.P); i++ {
		l.Mean += float64((f.P[i] - f.P[i-1]) * (f.V[i] + f.V[i-1]) / 2)
	}
	if l.Mean <= 0 {
		return check.Refuse(field, f.V, "token counts with a mean above 0")
	}
	return nil
}

// scale multiplies every draw of an empirical law by f.
func (l *Law) scale(f float64) {
	if l.alias != nil {
		l.alias.Scale(f)
	} else {
		variates.ScaleAll(l.curve.V, f)
	}
}

func checkList(field string, list []float64, lo float64) error {
	if len(list) == 0 {
		return check.Refuse(field, "empty", "a list of token counts")
	}
	for i, v := range list {
		if v >= lo && v <= check.TokensMax {
			continue // an element has a name only if something is wrong with it: there may be a million
		}
		if err := check.Within(fmt.Sprintf("%s[%d]", field, i), v, lo, check.TokensMax); err != nil {
			return err
		}
	}
	return nil
}

func checkWeights(field string, weights []float64, want int) (total float64, err error) {
	if len(weights) != want || want < 1 {
		return 0, check.Refuse(field, fmt.Sprintf("a list of %d", len(weights)), fmt.Sprintf("a list of %d", max(1, want)))
	}
	for i, w := range weights {
		if w >= 0 && w <= 1e18 {
			total += w
			continue
		}
		if err := check.Within(fmt.Sprintf("%s[%d]", field, i), w, 0, 1e18); err != nil {
			return 0, err
		}
	}
	if total == 0 {
		return 0, check.Refuse(field, weights, "at least one weight above 0")
	}
	return total, nil
}

func rising(field string, list []float64) error {
	for i := 1; i < len(list); i++ {
		if !(list[i] >= list[i-1]) {
			return check.Refuse(fmt.Sprintf("%s[%d]", field, i), list[i],
				fmt.Sprintf("at least the one before it, %g", list[i-1]))
		}
	}
	return nil
}
