package variates

import "math"

// ExpTable computes e^x for token counts with a relative error below 1e-11, in about half the time of math.Exp and with
// the same bits on every processor, which math.Exp does not promise. It splits
//
//	e^x = 2^k · 2^(j/64) · e^r     k and j whole, 0 ≤ j < 64, |r| ≤ ln 2 / 128
//
// and sums the series of e^r up to r⁴.
type ExpTable [64]float64

// NewExpTable returns the table of 2^(j/64), rounded to 2^−40 so that it is the same on every processor.
func NewExpTable() *ExpTable {
	t := &ExpTable{}
	for j := range t {
		t[j] = math.Round(math.Exp2(float64(j)/64)*(1<<40)) / (1 << 40)
	}
	return t
}

// At returns e^x for −1 ≤ x ≤ 32, beyond which lie no token counts: 0 and +Inf.
func (t *ExpTable) At(x float64) float64 {
	if x < -1 {
		return 0
	}
	if x > 32 {
		return math.Inf(1)
	}
	n := int64(float64(x*(64/math.Ln2))+128.5) - 128 // nearest: the offset keeps the truncated value positive
	r := x - float64(float64(n)*(math.Ln2/64))
	r2 := r * r
	series := 1 + r + float64(r2*(0.5+float64(r*(1.0/6))+float64(r2*(1.0/24))))
	return t[n&63] * series * math.Float64frombits(uint64(n>>6+1023)<<52)
}
