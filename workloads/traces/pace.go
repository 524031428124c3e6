package traces

import (
	"cmp"
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/check"
)

// The slowest and the fastest replay.
const speedMin, speedMax = 1e-6, 1e6

// checkRate refuses a rate that is none, and one beside a speed, for both say how fast the trace is replayed.
func (o *Options) checkRate() error {
	if o.Speed != 1 {
		return check.Refuse("trace.rate", o.Rate, fmt.Sprintf("null beside a trace.speed of %g, or a trace.speed of 1",
			o.Speed))
	}
	return cmp.Or(
		check.Above("trace.rate", o.Rate, 0, 1e9),
		check.Within("trace.duration_s", o.DurationS, 0, sim.HorizonS),
	)
}

// cut takes the ends of the run, beside those of the window.
func (t *Trace) cut() {
	o := &t.options
	if o.Requests > 0 && (t.most == 0 || o.Requests < t.most) {
		t.most = o.Requests
	}
	t.last = sim.Time(0).Add(sim.Seconds(o.DurationS))
}

// pace reads through the window as it was recorded, for the speed at which its mean rate is the asked one.
func (t *Trace) pace() error {
	o := t.options
	recorded := Options{Limit: o.Limit, StartS: o.StartS, EndS: o.EndS, SkipEmpty: o.SkipEmpty}
	x, err := newTrace(t.in, recorded)
	if err != nil {
		return err
	}
	rate := x.Rate()
	if rate == 0 {
		return check.Refuse("trace.rate", o.Rate, "null, for all requests of the trace arrive at one instant")
	}
	t.options.Speed = o.Rate / rate
	if s := t.options.Speed; s < speedMin || s > speedMax {
		return check.Refuse("trace.rate", o.Rate, fmt.Sprintf("%.3g to %.3g, up to a million times slower or faster than "+
			"the %.4g requests/s that were recorded", rate*speedMin, rate*speedMax, rate))
	}
	return nil
}

// Speed returns how many times faster than recorded the trace is replayed.
func (t *Trace) Speed() float64 { return t.options.Speed }
