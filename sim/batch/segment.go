package batch

import (
	"math"

	"github.com/decodesim/decodesim/sim/clock"
)

// Affine is a quantity that changes by the same amount with every step: A + i·B at step i, in picoseconds.
type Affine struct{ A, B clock.Duration }

// At returns the value at step i.
func (f Affine) At(i int) clock.Duration { return f.A + clock.Duration(i)*f.B }

// From returns f as counted from step i on.
func (f Affine) From(i int) Affine { return Affine{f.At(i), f.B} }

// A Part is a share of a step's time.
type Part uint8

// The parts of a step, in the order in which overlapping time is attributed: the last is the remainder.
const (
	Weights Part = iota // reading weights
	KV                  // reading the cache
	Compute             // arithmetic beyond the memory time it overlaps
	Communication
	Overhead
	NumParts
)

var partNames = [NumParts]string{"weights", "kv", "compute", "communication", "overhead"}

func (p Part) String() string { return partNames[p] }

// Segment prices consecutive steps of an unchanged batch: step i (from 0) lasts First + i·Growth, for i < Steps. Decode
// attention reads a cache that grows by one token per sequence and step, so the price of a fixed batch is affine in i
// until another resource becomes the bottleneck, which is where a cost model ends the segment.
type Segment struct {
	First, Growth clock.Duration
	Steps         int
	Bound         Affine           // max(bytes / peak bandwidth, FLOPs / peak FLOP/s), rounded down: never above the step
	ComputeBound  bool             // the FLOPs are the larger of the two
	Part          [NumParts]Affine // sum to the step exactly
}

// Step returns the length of step i.
func (g *Segment) Step(i int) clock.Duration { return g.First + clock.Duration(i)*g.Growth }

// Span returns the length of the first n steps: n·First + Growth·n(n−1)/2.
func (g *Segment) Span(n int) clock.Duration {
	k := clock.Duration(n)
	return k*g.First + g.Growth*(k*(k-1)/2)
}

// Parts is what steps consist of, part by part.
type Parts [NumParts]clock.Duration

// Sum sets sum to what n steps from step i on consist of: Σ A + j·B = n·A(i) + B·n(n−1)/2, which is never negative
// although B may be, and no more than their span.
func (g *Segment) Sum(i, n int, sum *Parts) {
	from, k := clock.Duration(i), clock.Duration(n)
	j, p := k*from+k*(k-1)/2, &g.Part
	sum[Weights] = k*p[Weights].A + j*p[Weights].B // no loop: this is done for every segment
	sum[KV] = k*p[KV].A + j*p[KV].B
	sum[Compute] = k*p[Compute].A + j*p[Compute].B
	sum[Communication] = k*p[Communication].A + j*p[Communication].B
	sum[Overhead] = k*p[Overhead].A + j*p[Overhead].B
}

// FirstParts sets parts to what the first step consists of.
func (g *Segment) FirstParts(parts *Parts) {
	parts[Weights], parts[KV] = g.Part[Weights].A, g.Part[KV].A
	parts[Compute], parts[Communication] = g.Part[Compute].A, g.Part[Communication].A
	parts[Overhead] = g.Part[Overhead].A
}

// Cover returns the least n ≥ 1 with Span(n) ≥ d: the step boundary at or after d. Span(n) = d is a quadratic in n; its
// float root is corrected with exact integers.
func (g *Segment) Cover(d clock.Duration) int {
	span, step := g.First, g.First
	for n := 1; n <= 8; n++ { // most runs are short: cheaper than a root
		if span >= d {
			return n
		}
		step += g.Growth
		span += step
	}
	n := max(1, g.root(d))
	for n > 1 && g.Span(n-1) >= d {
		n--
	}
	for g.Span(n) < d {
		n++
	}
	return n
}

// Ended returns the greatest n with Span(n) ≤ d: how many steps have ended when d has passed.
func (g *Segment) Ended(d clock.Duration) int {
	if d < g.First {
		return 0
	}
	n := max(1, g.root(d))
	for g.Span(n) > d {
		n--
	}
	for g.Span(n+1) <= d {
		n++
	}
	return n
}

// root returns n with Span(n) ≈ d.
func (g *Segment) root(d clock.Duration) int {
	if g.Growth == 0 {
		return int(d / g.First)
	}
	a, b := float64(g.First)-float64(float64(g.Growth)/2), float64(g.Growth)
	return int(2 * float64(d) / (a + math.Sqrt(float64(a*a)+float64(2*b*float64(d)))))
}

// Tail returns the segment that remains after i steps.
func (g *Segment) Tail(i int) Segment {
	t := *g
	t.First, t.Steps, t.Bound = g.Step(i), g.Steps-i, g.Bound.From(i)
	for p := range t.Part {
		t.Part[p] = g.Part[p].From(i)
	}
	return t
}
