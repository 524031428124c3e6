package freeze

import (
	"context"
	"fmt"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/sim"
)

// Frozen is a simulated run whose steps can be priced anew without simulating it again: the batches of its steps, and
// how much of each step every measured value waits for. In a closed loop whose clients send again at once the batches
// follow from the lengths alone, however long steps last, so the new values are those of a new simulation. Where
// arrivals take time of their own, by an open load or by what passes outside the engine, they are so as long as prices
// change little.
type Frozen struct {
	Run        *measured.Run
	Deployment hardware.Deployment
	Values     []FrozenValue
	FloorMS    float64 // least mean step that the data sheet allows

	shapes []sim.Shape
	model  *repriced
}

// FrozenValue is one measured value of a frozen run.
type FrozenValue struct {
	Row       *measured.Row
	Value     *measured.Value
	Predicted float64 // by the simulation

	wait waited
	mean float64 // seconds that wait lasted in the simulation
}

// Freeze simulates a run, with options above its scenario, and keeps what Frozen needs for the values that are wanted,
// or says why it cannot. Values that are no mean over requests keep their proportion to the mean.
func Freeze(
	ctx context.Context, run *measured.Run, above configs.Options, with validation.Efficiencies,
	want func(*measured.Row, *measured.Value) bool,
) (*Frozen, string) {
	if run.Skip != "" {
		return nil, run.Skip
	}
	b, skip := validation.Build(ctx, run, above, with)
	if skip != "" {
		return nil, skip
	}
	defer b.Close()
	if n := len(b.Config.Pools); n > 1 {
		return nil, fmt.Sprintf("%d pools: only runs of one can be fitted to", n)
	}
	if b.Config.Pools[0].Size != 1 {
		return nil, fmt.Sprintf("%d replicas: only runs of one can be fitted to", b.Config.Pools[0].Size)
	}
	if len(b.Config.Pools[0].Stages) > 1 {
		return nil, "pipeline stages: the steps of microbatches overlap, so that they cannot be priced one by one"
	}
	t, skip := record(ctx, b)
	if skip != "" {
		return nil, skip
	}
	f := &Frozen{Run: run, Deployment: b.Deployment, FloorMS: 1e3 * t.Bound().ITLFloorS,
		model: &repriced{base: hardware.NewRoofline(b.Deployment, 0)}}
	var of []int
	f.shapes, of = merge(t.steps)
	for i := range run.Rows {
		f.freeze(&run.Rows[i], t, of, want)
	}
	seconds := f.price(b.Deployment.Efficiency)
	for i := range f.Values {
		x := &f.Values[i]
		x.mean = x.wait.lasts(seconds, b.Config.Ingress.Seconds(), t.tokenizeS)
	}
	return f, ""
}

// record simulates with a recording, or says why there is nothing to be learnt from the run.
func record(ctx context.Context, b *build.Built) (*recording, string) {
	t := &recording{Observation: validation.NewObservation(&b.Config), model: b.Config.Pools[0].Model,
		tokenizeS: b.Deployment.Efficiency.TokenizeS}
	_, t.closed = b.Config.Source.(sim.Follower)
	config, pool := b.Config, *b.Config.Pools[0]
	pool.Model = t
	config.Pools, config.Sink = []*sim.PoolSpec{&pool}, t
	if _, err := validation.Simulate(ctx, b, config); err != nil {
		return nil, err.Error()
	}
	if n := t.Incomplete(); 10*n > len(t.Requests) {
		return nil, fmt.Sprintf("%d of %d simulated requests do not complete", n, len(t.Requests))
	}
	return t, ""
}

// freeze keeps the values of a row that are wanted. ITL is not among what is kept: TPOT says as much of a mean.
func (f *Frozen) freeze(row *measured.Row, t *recording, of []int, want func(*measured.Row, *measured.Value) bool) {
	in := t.Window(row)
	for j := range row.Values {
		v := &row.Values[j]
		if v.Skip != "" || v.Metric == measured.ITL || !want(row, v) {
			continue
		}
		predicted, ok := t.Value(v, in)
		if !ok {
			continue
		}
		w := waiting{waited: waited{share: make([]float64, len(f.shapes))}, recording: t, of: of}
		w.value(v.Metric, in)
		f.Values = append(f.Values, FrozenValue{Row: row, Value: v, Predicted: predicted, wait: w.waited})
	}
}

// Predict returns the values under another efficiency, into out, which has room for each.
func (f *Frozen) Predict(e hardware.Efficiency, out []float64) {
	seconds := f.price(e)
	for i := range f.Values {
		x := &f.Values[i]
		ratio := x.wait.lasts(seconds, e.FirstTokenS, e.TokenizeS) / x.mean
		if m := x.Value.Metric; m == measured.OutputPerS || m == measured.RequestsPerS {
			ratio = 1 / ratio
		}
		out[i] = x.Predicted * ratio
	}
}

// price returns the seconds that a step of each shape takes under an efficiency.
func (f *Frozen) price(e hardware.Efficiency) []float64 {
	model := f.model.with(e)
	seconds := make([]float64, len(f.shapes))
	var g sim.Segment
	for i := range f.shapes {
		model.Price(f.shapes[i:i+1], &g)
		seconds[i] = g.First.Seconds()
	}
	return seconds
}
