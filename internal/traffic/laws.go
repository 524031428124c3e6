package traffic

import (
	"math"
	"slices"

	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/lengths"
)

// LengthLaw is a law that may stand for the token counts of a stream.
type LengthLaw struct {
	Lengths lengths.Spec `json:"-"`
	Law     string       `json:"distribution"`
	Moments string       `json:"moments,omitempty"` // that it has of the stream; empty: points of the distribution
	// Distance is the largest difference between the two distribution functions (Kolmogorov and Smirnov).
	Distance float64 `json:"ks_distance"`
	Chosen   bool    `json:"chosen"`
}

// What a law of two parameters has in common with a stream.
const ofCounts, ofLogarithms = "counts", "logarithms"

// name returns the name of the law, and of which moments it is where two laws differ in nothing else.
func (l *LengthLaw) name() string {
	if l.Moments == ofLogarithms {
		return l.Law + " by logarithms"
	}
	return l.Law
}

// simpleMax is how far a law with two parameters may be from the stream before points of the distribution itself stand
// for it.
const simpleMax = 0.05

// lengthLaws returns the laws that were tried; one of them is chosen.
func lengthLaws(field string, t *tally, seed uint64) ([]LengthLaw, error) {
	var laws []LengthLaw
	best := -1
	for _, c := range lengthCandidates(t) {
		spec := c.Lengths
		d, err := distanceOf(field, spec, t, seed)
		if err != nil {
			return nil, err
		}
		c.Law, c.Distance = spec.Distribution, d
		laws = append(laws, c)
		if best < 0 || d < laws[best].Distance && laws[best].Distance > simpleMax ||
			spec.Distribution != "empirical" && d < laws[best].Distance {
			best = len(laws) - 1
		}
	}
	laws[best].Chosen = true
	return laws, nil
}

// chosen returns the law that was chosen.
func chosen(laws []LengthLaw) lengths.Spec {
	i := slices.IndexFunc(laws, func(l LengthLaw) bool { return l.Chosen })
	return laws[i].Lengths
}

// lengthCandidates returns laws with the moments of the stream, of the counts and of their logarithms, and points of
// its own distribution.
func lengthCandidates(t *tally) []LengthLaw {
	steps := t.steps()
	longest := int64(steps[len(steps)-1].tokens)
	if len(steps) == 1 {
		return []LengthLaw{{Lengths: lengths.Fixed(float64(longest))}}
	}
	of := func(law, moments string, mean, cv float64) LengthLaw {
		return LengthLaw{Lengths: lengths.Spec{Distribution: law, Mean: round(mean), CV: round(cv), Max: longest},
			Moments: moments}
	}
	laws := []LengthLaw{
		of("lognormal", ofCounts, t.mean(), t.cv()),
		of("gamma", ofCounts, t.mean(), t.cv()),
	}
	var logs moments
	from := int64(0)
	for _, s := range steps {
		for range s.upTo - from {
			logs.add(math.Log(float64(s.tokens)), true)
		}
		from = s.upTo
	}
	// A lognormal law whose logarithms have the mean µ and the variance σ²: mean = e^(µ + σ²/2), cv² = e^(σ²) − 1.
	variance := logs.sums / float64(logs.n)
	if cv := math.Sqrt(math.Expm1(variance)); cv < 50 {
		laws = append(laws, of("lognormal", ofLogarithms, math.Exp(logs.mean+float64(variance/2)), cv))
	}
	return append(laws, LengthLaw{Lengths: t.points(steps)})
}

// points returns the law through points of the distribution, with the stream's mean. Straight lines between few points
// of a long tail would have more tokens than the tail has, so that there are more points in it.
func (t *tally) points(steps []step) lengths.Spec {
	spec := lengths.Spec{Distribution: "empirical", Mean: round(t.mean()),
		Quantiles: []lengths.Quantile{{P: 0, Tokens: float64(steps[0].tokens)}}}
	for _, p := range []float64{0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7,
		0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.9925, 0.995, 0.9975, 0.9985, 0.999,
		0.9995, 0.9999} {
		if p*float64(t.n) >= 1 && (1-p)*float64(t.n) >= 1 {
			spec.Quantiles = append(spec.Quantiles, lengths.Quantile{P: p, Tokens: float64(quantile(steps, p, t.n))})
		}
	}
	spec.Quantiles = append(spec.Quantiles, lengths.Quantile{P: 1, Tokens: float64(steps[len(steps)-1].tokens)})
	return spec
}

// drawn is how many lengths of a law are drawn to compare it: their own error is below 1 %.
const drawn = 20_000

// distanceOf returns the largest difference between the distribution of a law and that of the stream.
func distanceOf(field string, spec lengths.Spec, t *tally, seed uint64) (float64, error) {
	law, err := lengths.New(field, spec)
	if err != nil {
		return 0, err
	}
	own := newTally()
	draws := rng.Stream(seed, "traffic."+field)
	for range drawn {
		own.add(law.Draw(draws))
	}
	a, b := own.steps(), t.steps()
	most := 0.0
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case j == len(b) || i < len(a) && a[i].tokens < b[j].tokens:
			i++
		case i == len(a) || b[j].tokens < a[i].tokens:
			j++
		default:
			i, j = i+1, j+1
		}
		most = max(most, math.Abs(below(a, i, own.n)-below(b, j, t.n)))
	}
	return most, nil
}

// below returns the share of n requests that the first i steps have.
func below(steps []step, i int, n int64) float64 {
	if i == 0 {
		return 0
	}
	return float64(steps[i-1].upTo) / float64(n)
}
