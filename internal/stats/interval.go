package stats

import (
	"encoding/json"
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence of every interval.
const Confidence = 0.95

// Interval holds the true difference with probability Confidence.
type Interval struct {
	Low         float64 `json:"low"`
	High        float64 `json:"high"`
	N           int     `json:"n"`           // batches or seeds
	Significant bool    `json:"significant"` // it does not hold 0
}

// IntervalAround returns centre ± t·√(Σ(xⱼ − centre)²/(n−1)/n): around the estimate from all samples, not around the
// mean of the parts, for a quantile of a part is biased (sectioning: Asmussen and Glynn, "Stochastic Simulation", 2007,
// III.5).
func IntervalAround(centre float64, parts []float64) *Interval {
	n := float64(len(parts))
	sum := 0.0
	for _, x := range parts {
		if math.IsNaN(x) {
			return nil
		}
		sum += float64((x - centre) * (x - centre))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + Confidence) / 2)
	half := Settled(t*math.Sqrt(sum/(n-1)/n), digits)
	i := &Interval{Low: centre - half, High: centre + half, N: len(parts)}
	i.Significant = i.Low > 0 || i.High < 0
	return i
}

// Mean returns the mean, NaN of none. It adds one value after the other, as processors with wide registers would not.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// digits of an interval are binary ones.
const digits = 30

// Settled keeps so many binary digits of x, of the 53. Libraries, package math among them, do not round products before
// they add them where a processor does both at once, and so differ between processors in their last digits.
func Settled(x float64, digits int) float64 {
	fraction, exponent := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(math.Ldexp(fraction, digits)), exponent-digits)
}

// Number is NaN, written as null, where nothing was measured.
type Number float64

// Cell is the number with all its digits for a CSV file; what is not known is empty.
func (n Number) Cell() string {
	if x := float64(n); !math.IsNaN(x) && !math.IsInf(x, 0) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return ""
}

// MarshalJSON writes NaN and infinities as null.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}
