package study

import (
	"context"
	"math"
	"sort"

	"github.com/decodesim/decodesim/cmd/internal/measured"
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// Frozen is a simulated run whose steps can be priced anew without simulating it again: the batches of its steps, and how
// much of each step every measured value waits for. In a closed loop without pauses the batches follow from the lengths
// alone, however long steps last, so the new values are those of a new simulation; under open load they are so as long as
// prices change little.
type Frozen struct {
	Run        *measured.Run
	Deployment hardware.Deployment
	Values     []FrozenValue

	shapes  []sim.Shape
	ingress float64 // seconds, of the simulation
}

// FrozenValue is one measured value of a frozen run.
type FrozenValue struct {
	Row       *measured.Row
	Value     *measured.Value
	Predicted float64 // by the simulation

	share   []float64 // of each shape's step that a mean request waits for, in steps
	rest    float64   // seconds it waits for something else than steps, the ingress apart
	mean    float64   // seconds, of the simulation: the mean that share adds up to
	entries float64   // how many ingress delays are in it
	inverse bool      // a rate: the more seconds, the less
}

// Freeze simulates a run and keeps what Frozen needs, or says why it cannot. Values that are no mean over requests keep
// their proportion to the mean.
func Freeze(ctx context.Context, run *measured.Run, with Efficiencies) (*Frozen, string) {
	if run.Skip != "" {
		return nil, run.Skip
	}
	b, skip := build(run, configs.Options{}, with)
	if skip != "" {
		return nil, skip
	}
	defer b.Close()
	if b.Config.Pool.Size != 1 {
		return nil, "only runs of one replica can be fitted to"
	}
	t := &tape{observation: newObservation(ctx, b.Config.Ingress), model: b.Config.Pool.Model}
	config := b.Config
	pool := *config.Pool
	pool.Model = t
	config.Pool, config.Sink = &pool, t
	if err := simulate(ctx, config); err != nil {
		return nil, err.Error()
	}
	f := &Frozen{Run: run, Deployment: b.Deployment, ingress: b.Config.Ingress.Seconds()}
	of := f.merge(t.steps)
	for i := range run.Rows {
		row := &run.Rows[i]
		in := t.window(row)
		for j := range row.Values {
			v := &row.Values[j]
			predicted, ok := t.value(v, in)
			if v.Skip != "" || !ok || v.Metric == measured.ITL {
				continue
			}
			x := FrozenValue{Row: row, Value: v, Predicted: predicted, share: make([]float64, len(f.shapes))}
			x.fill(t, in, of, f.ingress)
			f.Values = append(f.Values, x)
		}
	}
	return f, ""
}

// tape records the batches of a run.
type tape struct {
	*observation
	model sim.StepModel
	last  sim.Shape
	steps []taped
}

// taped is n steps of a batch; its shape is that of the middle of them.
type taped struct {
	shape sim.Shape
	n     int
	start sim.Time
	span  sim.Duration
}

func (s *taped) end() sim.Time { return s.start.Add(s.span) }

// Price implements sim.StepModel.
func (t *tape) Price(ranks []sim.Shape, g *sim.Segment) {
	t.last = ranks[0]
	t.model.Price(ranks, g)
}

// Run implements sim.Sink.
func (t *tape) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	t.observation.Run(in, start, g, n, tokens)
	s := taped{shape: t.last, n: n, start: start, span: g.Span(n)}
	s.shape.DecodeCtx += int64(s.shape.Decodes) * int64(n-1) / 2
	for i := range s.shape.Capped {
		s.shape.Capped[i].Ctx += int64(s.shape.Capped[i].Growing) * int64(n-1) / 2
	}
	t.steps = append(t.steps, s)
}

// merge gives like batches one shape, their mean, and returns which shape each step has.
func (f *Frozen) merge(steps []taped) (of []int) {
	type key [6]int32
	at, sums := map[key]int{}, []shapeSum{}
	of = make([]int, len(steps))
	for i := range steps {
		s := &steps[i]
		b := &s.shape
		k := key{
			octile(float64(b.Decodes), 32), octile(float64(b.DecodeCtx), 6), octile(float64(b.PrefillTokens), 12),
			octile(float64(b.PrefillPairs), 6), octile(float64(b.Outputs-b.Decodes), 6), int32(b.Prefills),
		}
		j, ok := at[k]
		if !ok {
			j = len(sums)
			at[k] = j
			sums = append(sums, shapeSum{})
		}
		sums[j].add(b, float64(s.n))
		of[i] = j
	}
	for i := range sums {
		f.shapes = append(f.shapes, sums[i].mean())
	}
	return of
}

// octile is the bucket of x ≥ 0, with so many buckets per octave.
func octile(x, perOctave float64) int32 {
	if x <= 0 {
		return -1
	}
	return int32(math.Log2(x) * perOctave)
}

// shapeSum is a weighted sum of shapes.
type shapeSum struct {
	weight float64
	x      [16]float64
}

func (s *shapeSum) add(b *sim.Shape, w float64) {
	s.weight += w
	for i, v := range fieldsOf(b) {
		s.x[i] += w * v
	}
}

func fieldsOf(b *sim.Shape) [16]float64 {
	x := [16]float64{
		float64(b.Decodes), float64(b.DecodeTokens), float64(b.DecodeCtx), float64(b.Prefills), float64(b.PrefillTokens),
		float64(b.PrefillPairs), float64(b.PrefillCtx), float64(b.Outputs),
	}
	for i, c := range b.Capped {
		copy(x[8+4*i:], []float64{float64(c.Ctx), float64(c.Growing), float64(c.PrefillPairs), float64(c.PrefillCtx)})
	}
	return x
}

func (s *shapeSum) mean() sim.Shape {
	var x [16]int64
	for i := range x {
		x[i] = int64(math.Round(s.x[i] / s.weight))
	}
	b := sim.Shape{
		Decodes: int(x[0]), DecodeTokens: x[1], DecodeCtx: x[2], Prefills: int(x[3]), PrefillTokens: x[4],
		PrefillPairs: x[5], PrefillCtx: x[6], Outputs: int(x[7]),
	}
	for i := range b.Capped {
		b.Capped[i] = sim.Capped{Ctx: x[8+4*i], Growing: int(x[9+4*i]), PrefillPairs: x[10+4*i], PrefillCtx: x[11+4*i]}
	}
	return b
}

// fill finds how many steps of each shape the mean request of the value waits for.
func (x *FrozenValue) fill(t *tape, in []request, of []int, ingress float64) {
	wait := func(fromS, toS, weight float64) {
		i := sort.Search(len(t.steps), func(i int) bool { return t.steps[i].end().Seconds() > fromS+1e-12 })
		covered := 0.0
		for ; i < len(t.steps) && t.steps[i].start.Seconds() < toS-1e-12; i++ {
			s := &t.steps[i]
			part := min(toS, s.end().Seconds()) - max(fromS, s.start.Seconds())
			covered += part
			x.share[of[i]] += weight * part / s.span.Seconds() * float64(s.n)
		}
		x.rest += weight * (toS - fromS - covered)
		x.mean += weight * (toS - fromS)
	}
	switch x.Value.Metric {
	case measured.OutputPerS, measured.RequestsPerS:
		first, last := math.Inf(1), 0.0
		for _, q := range in {
			first, last = min(first, q.sentS), max(last, q.sentS+q.e2eS)
		}
		x.inverse = true
		wait(first+ingress, last, 1)
		x.mean, x.entries = x.mean+ingress, 1
		return
	}
	n := 0.0
	for _, q := range in {
		if q.done && (x.Value.Metric != measured.TPOT || q.output > 1) {
			n++
		}
	}
	for _, q := range in {
		entered, first, last := q.sentS+ingress, q.sentS+q.ttftS, q.sentS+q.e2eS
		switch {
		case !q.done:
		case x.Value.Metric == measured.TTFT:
			wait(entered, first, 1/n)
		case x.Value.Metric == measured.E2E:
			wait(entered, last, 1/n)
		case q.output > 1:
			wait(first, last, 1/n/float64(q.output-1))
		}
	}
	if x.Value.Metric != measured.TPOT {
		x.entries = 1
		x.mean += ingress
	}
}

// Predict returns the values under another efficiency, into out, which has room for each.
func (f *Frozen) Predict(e hardware.Efficiency, out []float64) {
	d := f.Deployment
	d.Efficiency = e
	model := hardware.NewRoofline(d, 0)
	seconds := make([]float64, len(f.shapes))
	var g sim.Segment
	for i := range f.shapes {
		model.Price(f.shapes[i:i+1], &g)
		seconds[i] = g.First.Seconds()
	}
	for i := range f.Values {
		x := &f.Values[i]
		sum := x.rest + x.entries*e.FirstTokenS
		for j, share := range x.share {
			sum += share * seconds[j]
		}
		if x.inverse {
			out[i] = x.Predicted * x.mean / sum
		} else {
			out[i] = x.Predicted * sum / x.mean
		}
	}
}
