package clock

import "math/bits"

// Uint128 is a sum too long for 64 bits: picoseconds times tokens overflow in hours of simulated time, and those that
// the instances of a pool are up in 106 days of all of them.
type Uint128 struct{ Hi, Lo uint64 }

// AddProduct adds a·b.
func (s *Uint128) AddProduct(a, b uint64) {
	hi, lo := bits.Mul64(a, b)
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, lo, 0)
	s.Hi, _ = bits.Add64(s.Hi, hi, carry)
}

// AddOne adds a.
func (s *Uint128) AddOne(a uint64) {
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, a, 0)
	s.Hi += carry
}

// Add adds o.
func (s *Uint128) Add(o Uint128) {
	var carry uint64
	s.Lo, carry = bits.Add64(s.Lo, o.Lo, 0)
	s.Hi, _ = bits.Add64(s.Hi, o.Hi, carry)
}

// Float returns the sum, rounded.
func (s Uint128) Float() float64 { return float64(float64(s.Hi)*(1<<64)) + float64(s.Lo) }
