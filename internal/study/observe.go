package study

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// request is what its client saw of a simulated request, in seconds.
type request struct {
	sentS, ttftS, e2eS, tpotS float64
	output                    int32
	done                      bool
}

// observation is what the clients of a run saw.
type observation struct {
	metrics.Recorder
	requests []request // in order of arrival
	ctx      context.Context
}

// lookEvery is how many requests end between looks at whether the user gave up.
const lookEvery = 1 << 12

// newObservation returns the sink of a run. The ways to the engine and back are part of what clients see.
func newObservation(ctx context.Context, c *sim.Config) *observation {
	o := &observation{ctx: ctx}
	o.Ingress, o.Egress = c.Ingress, c.Egress
	o.Rows = o.row
	return o
}

func (o *observation) row(r *sim.Request, at sim.Time, outcome sim.Outcome) {
	for int(r.ID) >= len(o.requests) {
		o.requests = append(o.requests, request{})
	}
	q := request{sentS: r.Arrival.Seconds()}
	if outcome == sim.Completed {
		q = request{
			sentS: q.sentS, ttftS: r.First.Sub(r.Arrival).Seconds(), e2eS: at.Sub(r.Arrival).Seconds(), output: r.Emitted, done: true,
		}
		if r.Emitted > 1 {
			q.tpotS = at.Sub(r.First).Seconds() / float64(r.Emitted-1)
		}
	}
	o.requests[r.ID] = q
	if r.ID%lookEvery == 0 && o.ctx.Err() != nil {
		panic(errStopped) // the one way out of a run; simulate recovers it
	}
}

// incomplete returns how many requests did not complete.
func (o *observation) incomplete() int {
	n := 0
	for i := range o.requests {
		if !o.requests[i].done {
			n++
		}
	}
	return n
}

// window returns the requests that a row is about.
func (o *observation) window(row *measured.Row) []request {
	if row.Request >= 0 {
		if row.Request >= len(o.requests) {
			return nil
		}
		return o.requests[row.Request : row.Request+1]
	}
	if row.ToS == 0 {
		return o.requests
	}
	var in []request
	for _, q := range o.requests {
		if q.sentS >= row.FromS && q.sentS < row.ToS {
			in = append(in, q)
		}
	}
	return in
}

// value predicts v, in its unit, from the requests it is about; false: there is nothing to predict it from.
func (o *observation) value(v *measured.Value, in []request) (float64, bool) {
	switch v.Metric {
	case measured.ITL:
		return o.itl(v.Stat), o.Recorder.ITL.N() > 0
	case measured.OutputPerS, measured.RequestsPerS:
		return rate(v.Metric, in)
	}
	samples := make([]float64, 0, len(in))
	for i := range in {
		q := &in[i]
		switch {
		case !q.done || v.Metric == measured.TPOT && q.output < 2:
		case v.Metric == measured.TTFT:
			samples = append(samples, 1e3*q.ttftS)
		case v.Metric == measured.TPOT:
			samples = append(samples, 1e3*q.tpotS)
		case v.Metric == measured.E2E:
			samples = append(samples, 1e3*q.e2eS)
		}
	}
	if len(samples) == 0 {
		return 0, false
	}
	return statistic(samples, v.Stat), true
}

// statistic reduces samples, which it sorts.
func statistic(samples []float64, s measured.Stat) float64 {
	if s == measured.Mean {
		return stat.Mean(samples, nil)
	}
	slices.Sort(samples)
	return measured.Quantile(samples, shares[s])
}

var shares = [measured.NumStats]float64{measured.P50: .5, measured.P90: .9, measured.P95: .95, measured.P99: .99, measured.Max: 1}

func (o *observation) itl(s measured.Stat) float64 {
	if s == measured.Mean {
		return 1e3 * o.Recorder.ITL.MeanS()
	}
	return 1e3 * o.Recorder.ITL.QuantileS(shares[s])
}

// rate is tokens or requests per second, from the first send to the last token.
func rate(m measured.Metric, in []request) (float64, bool) {
	if len(in) == 0 {
		return 0, false
	}
	first, last, n := in[0].sentS, 0.0, 0.0
	for _, q := range in {
		first = min(first, q.sentS)
		if !q.done {
			continue
		}
		last = max(last, q.sentS+q.e2eS)
		if m == measured.OutputPerS {
			n += float64(q.output)
		} else {
			n++
		}
	}
	return n / (last - first), last > first
}
