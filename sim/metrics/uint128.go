package metrics

import "math/bits"

// Uint128 is a sum too long for 64 bits: picoseconds times tokens overflow in hours of simulated time.
type Uint128 struct{ hi, lo uint64 }

// AddProduct adds a·b.
func (s *Uint128) AddProduct(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// AddOne adds a.
func (s *Uint128) AddOne(a uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, a, 0)
	s.hi += carry
}

// Add adds o.
func (s *Uint128) Add(o Uint128) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, o.lo, 0)
	s.hi, _ = bits.Add64(s.hi, o.hi, carry)
}

// Float returns the sum, rounded.
func (s Uint128) Float() float64 { return float64(float64(s.hi)*(1<<64)) + float64(s.lo) }
