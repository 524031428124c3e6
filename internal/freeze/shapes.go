package freeze

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// merge gives like batches one shape, their mean, and returns which shape each step has. Prices are nearly linear in a
// shape, so that a mean of a narrow bucket costs what its steps do on average.
func merge(steps []taped) (shapes []sim.Shape, of []int) {
	type key [6]int32
	at, sums := map[key]int{}, []shapeSum{}
	of = make([]int, len(steps))
	for i := range steps {
		b := &steps[i].shape
		k := key{
			bucket(float64(b.Decodes), 32), bucket(float64(b.DecodeCtx), 6), bucket(float64(b.PrefillTokens), 12),
			bucket(float64(b.PrefillPairs), 6), bucket(float64(b.Outputs-b.Decodes), 6), int32(b.Prefills),
		}
		j, ok := at[k]
		if !ok {
			j = len(sums)
			at[k] = j
			sums = append(sums, shapeSum{})
		}
		sums[j].add(b, float64(steps[i].n))
		of[i] = j
	}
	for i := range sums {
		shapes = append(shapes, sums[i].mean())
	}
	return shapes, of
}

// bucket is the bucket of x ≥ 0, with so many buckets per octave.
func bucket(x, perOctave float64) int32 {
	if x <= 0 {
		return -1
	}
	return int32(math.Log2(x) * perOctave)
}

// fields is how many numbers of a shape are summed.
const fields = 9 + 4*len(sim.Shape{}.Capped)

// shapeSum is a weighted sum of shapes.
type shapeSum struct {
	weight float64
	x      [fields]float64
}

func (s *shapeSum) add(b *sim.Shape, weight float64) {
	s.weight += weight
	for i, v := range fieldsOf(b) {
		s.x[i] += float64(weight * v)
	}
}

func fieldsOf(b *sim.Shape) [fields]float64 {
	x := [fields]float64{
		float64(b.Decodes), float64(b.DecodeTokens), float64(b.DecodeCtx), float64(b.Prefills), float64(b.PrefillTokens),
		float64(b.PrefillPairs), float64(b.PrefillCtx), float64(b.Outputs), float64(b.PrefillLongest),
	}
	for i, c := range b.Capped {
		copy(x[9+4*i:], []float64{float64(c.Ctx), float64(c.Growing), float64(c.PrefillPairs), float64(c.PrefillCtx)})
	}
	return x
}

func (s *shapeSum) mean() sim.Shape {
	var x [fields]int64
	for i := range x {
		x[i] = int64(math.Round(s.x[i] / s.weight))
	}
	b := sim.Shape{
		Decodes: int(x[0]), DecodeTokens: x[1], DecodeCtx: x[2], Prefills: int(x[3]), PrefillTokens: x[4],
		PrefillPairs: x[5], PrefillCtx: x[6], Outputs: int(x[7]), PrefillLongest: x[8],
	}
	for i := range b.Capped {
		b.Capped[i] = sim.Capped{Ctx: x[9+4*i], Growing: int(x[10+4*i]), PrefillPairs: x[11+4*i], PrefillCtx: x[12+4*i]}
	}
	return b
}
