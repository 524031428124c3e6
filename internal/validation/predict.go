package validation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim"
)

// Prediction is a measured value beside the simulated one.
type Prediction struct {
	Run       *measured.Run
	Row       *measured.Row
	Value     *measured.Value
	Predicted float64 // in the unit of Value.Measured
	FloorMS   float64 // least mean step of the run that the data sheet allows, of a simulated run
	Skip      string  // why there is no prediction; empty: there is
}

// Error is the relative error, with its sign.
func (p *Prediction) Error() float64 { return p.Predicted/p.Value.Measured - 1 }

// Efficiencies decides what a deployment achieves; nil: what its scenario says.
type Efficiencies func(run *measured.Run, d *hardware.Deployment) hardware.Efficiency

// predictUnder simulates a run and returns a prediction for each of its values. It sees the scenario and, after the
// run, only which statistic of which requests is asked for.
func predictUnder(ctx context.Context, run *measured.Run, above configs.Options, with Efficiencies) []Prediction {
	o, floor, skip := observe(ctx, run, above, with)
	var out []Prediction
	for i := range run.Rows {
		row := &run.Rows[i]
		var in []Request
		if skip == "" {
			in = o.Window(row)
		}
		for j := range row.Values {
			p := Prediction{Run: run, Row: row, Value: &row.Values[j], FloorMS: floor}
			p.Skip = skip
			if skip == "" {
				p.Skip = p.Value.Skip
			}
			if p.Skip == "" {
				var ok bool
				p.Predicted, ok = o.Value(p.Value, in)
				p.Predicted = p.Value.Unit.Of(p.Predicted)
				if !ok {
					p.Skip = "no simulated request completed that it could be compared with"
				}
			}
			out = append(out, p)
		}
	}
	return out
}

// observe simulates a run, or says why it cannot.
func observe(ctx context.Context, run *measured.Run, above configs.Options, with Efficiencies) (o *Observation,
	floorMS float64, skip string) {
	if run.Skip != "" {
		return nil, 0, run.Skip
	}
	b, skip := Build(ctx, run, above, with)
	if skip != "" {
		return nil, 0, skip
	}
	defer b.Close()
	o = NewObservation(&b.Config)
	config := b.Config
	config.Sink = o
	if _, err := Simulate(ctx, b, config); err != nil {
		return nil, 0, err.Error()
	}
	if n := o.Incomplete(); 10*n > len(o.Requests) {
		return nil, 0, fmt.Sprintf("%d of %d simulated requests do not complete", n, len(o.Requests))
	}
	return o, 1e3 * o.Bound().ITLFloorS, ""
}

// Build makes the parts of a run, or says why there are none.
func Build(ctx context.Context, run *measured.Run, above configs.Options, with Efficiencies) (*build.Built, string) {
	s, err := configs.Read(run.ID, []byte(run.Scenario), above)
	if err != nil {
		return nil, reason(run, err)
	}
	b, err := build.NewUntil(ctx, s)
	if err != nil {
		return nil, reason(run, err)
	}
	if with != nil {
		b.SetEfficiency(with(run, &b.Deployment))
	}
	return b, ""
}

// reason is an error about a scenario without the position, which no file has.
func reason(run *measured.Run, err error) string {
	text := strings.TrimPrefix(err.Error(), run.ID)
	for strings.HasPrefix(text, ":") {
		_, rest, ok := strings.Cut(text[1:], ":")
		if !ok || strings.ContainsAny(text[1:len(text)-len(rest)-1], " abcdefghijklmnopqrstuvwxyz") {
			break
		}
		text = ":" + rest
	}
	return strings.TrimLeft(text, ": ")
}

// Simulate runs b with a configuration of the caller's, and returns the cluster as it is at the end.
func Simulate(ctx context.Context, b *build.Built, config sim.Config) (*sim.Cluster, error) {
	c, err := run.Drive(ctx, config)
	switch {
	case err != nil:
		return nil, err
	case b.SourceErr() != nil:
		return nil, b.SourceErr()
	case c.Overran():
		return nil, errors.New("the simulated clock ended before the run did")
	}
	return c, nil
}
