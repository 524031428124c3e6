package validation

import (
	"slices"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Request is what its client saw of a simulated request, in seconds.
type Request struct {
	SentS, TtftS, E2eS, tpotS float64
	TokenizingS               float64 // of its TTFT
	Output                    int32
	Done                      bool
}

// Observation is what the clients of a run saw.
type Observation struct {
	metrics.Recorder
	Requests []Request // in order of arrival
}

// NewObservation returns the sink of a run. The ways to the engine and back are part of what clients see.
func NewObservation(c *sim.Config) *Observation {
	o := &Observation{}
	o.Ingress, o.Egress = c.Ingress, c.Egress
	o.Rows = o.row
	return o
}

func (o *Observation) row(r *sim.Request, at sim.Time, outcome sim.Outcome) {
	for int(r.ID) >= len(o.Requests) {
		o.Requests = append(o.Requests, Request{})
	}
	q := Request{SentS: r.Arrival.Seconds()}
	if outcome == sim.Completed {
		q = Request{
			SentS: q.SentS, TtftS: r.First.Sub(r.Arrival).Seconds(), E2eS: at.Sub(r.Arrival).Seconds(), Output: r.Emitted,
			TokenizingS: r.Tokenizing.Seconds(), Done: true,
		}
		if r.Emitted > 1 {
			q.tpotS = at.Sub(r.First).Seconds() / float64(r.Emitted-1)
		}
	}
	o.Requests[r.ID] = q
}

// Incomplete returns how many requests did not complete.
func (o *Observation) Incomplete() int {
	n := 0
	for i := range o.Requests {
		if !o.Requests[i].Done {
			n++
		}
	}
	return n
}

// Window returns the requests that a row is about.
func (o *Observation) Window(row *measured.Row) []Request {
	if row.Request >= 0 {
		if row.Request >= len(o.Requests) {
			return nil
		}
		return o.Requests[row.Request : row.Request+1]
	}
	if row.ToS == 0 {
		return o.Requests
	}
	var in []Request
	for _, q := range o.Requests {
		if q.SentS >= row.FromS && q.SentS < row.ToS {
			in = append(in, q)
		}
	}
	return in
}

// Value predicts v, in its unit, from the requests it is about; false: there is nothing to predict it from.
func (o *Observation) Value(v *measured.Value, in []Request) (float64, bool) {
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
		case !q.Done || v.Metric == measured.TPOT && q.Output < 2:
		case v.Metric == measured.TTFT:
			samples = append(samples, 1e3*q.TtftS)
		case v.Metric == measured.TPOT:
			samples = append(samples, 1e3*q.tpotS)
		case v.Metric == measured.E2E:
			samples = append(samples, 1e3*q.E2eS)
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
		return stats.Mean(samples)
	}
	slices.Sort(samples)
	return measured.Quantile(samples, shares[s])
}

var shares = [measured.NumStats]float64{measured.P50: .5, measured.P90: .9, measured.P95: .95, measured.P99: .99,
	measured.Max: 1}

func (o *Observation) itl(s measured.Stat) float64 {
	if s == measured.Mean {
		return 1e3 * o.Recorder.ITL.MeanS()
	}
	return 1e3 * o.Recorder.ITL.QuantileS(shares[s])
}

// rate is tokens or requests per second, from the first send to the last token.
func rate(m measured.Metric, in []Request) (float64, bool) {
	if len(in) == 0 {
		return 0, false
	}
	first, last, n := in[0].SentS, 0.0, 0.0
	for _, q := range in {
		first = min(first, q.SentS)
		if !q.Done {
			continue
		}
		last = max(last, q.SentS+q.E2eS)
		if m == measured.OutputPerS {
			n += float64(q.Output)
		} else {
			n++
		}
	}
	return n / (last - first), last > first
}
