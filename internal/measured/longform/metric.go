package longform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// metric is what a row measured.
type metric struct {
	of   measured.Metric
	stat measured.Stat
	name string // in predictions.csv
	unit float64
}

// Units by what they count: a second, or a token or request per second.
var (
	timeUnits = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
	rateUnits = map[string]float64{"tok/s": 1, "tokens/s": 1, "req/s": 1, "requests/s": 1}
	bandUnits = map[string]float64{"GB/s": 1e9, "TB/s": 1e12}
	flopUnits = map[string]float64{"TFLOPS": 1e12, "TFLOP/s": 1e12, "PFLOPS": 1e15}
)

// family is metrics of one unit.
type family struct {
	units   map[string]float64
	metrics []string
}

// families are the metrics that are predicted.
func families() []family {
	var latencies []string
	for _, m := range []measured.Metric{measured.TTFT, measured.TPOT, measured.ITL, measured.E2E} {
		latencies = append(latencies, m.String()) // its mean
		for s := range measured.NumStats {
			latencies = append(latencies, m.String()+"_"+s.String())
		}
	}
	return []family{
		{timeUnits, append(latencies, "first_token_latency", "batch_latency", "step_time", "allreduce_time",
			"alltoall_dispatch_time", "alltoall_combine_time", "gemm_time")},
		{rateUnits, []string{"output_tokens_per_s", "requests_per_s", "input_tokens_per_s", "tokens_per_s_user"}},
		{bandUnits, []string{"allreduce_busbw", "hbm_bandwidth_copy", "hbm_bandwidth_mul", "hbm_bandwidth_add",
			"hbm_bandwidth_triad", "hbm_bandwidth_dot", "hbm_bandwidth"}},
		{flopUnits, []string{"gemm_tflops"}},
	}
}

// statistic spells a metric's as its family does: a median is a p50, and an average a mean.
func statistic(name string) string {
	for _, also := range [][2]string{{"_median", "_p50"}, {"_avg", "_mean"}} {
		if of, ok := strings.CutSuffix(name, also[0]); ok {
			return of + also[1]
		}
	}
	return name
}

// readMetric reads metric and unit, or says why it is not predicted.
func (r *row) readMetric() (m metric, skip string) {
	name := statistic(r.Text("metric"))
	var known []string
	for _, f := range families() {
		known = append(known, f.metrics...)
		if !slices.Contains(f.metrics, name) {
			continue
		}
		unit, ok := f.units[r.Text("unit")]
		if !ok {
			r.Fail("unit", "one of "+strings.Join(sortedKeys(f.units), ", ")+" for "+name)
		}
		m = metricNamed(name)
		m.unit = unit
		return m, ""
	}
	if name == "" {
		r.Fail("metric", "what was measured, such as ttft_mean, tpot_mean or output_tokens_per_s")
	}
	m = metric{of: measured.Rate, name: name}
	switch {
	case strings.HasPrefix(name, "alltoall_"):
		return m, "bandwidths of an all-to-all count bytes as each library likes; its times are predicted"
	case name == "gemm_bandwidth":
		return m, "bandwidths of a product count bytes as each library likes; gemm_time and gemm_tflops are predicted"
	}
	return m, names.DidYouMean("metric "+name+" is not predicted", name, known)
}

func sortedKeys(units map[string]float64) []string {
	var keys []string
	for key := range units {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// metricNamed returns what a name measures. A mean leads and has the name of its metric alone, as everywhere, which is
// accepted for it too.
func metricNamed(name string) metric {
	switch name {
	case "first_token_latency":
		return metric{of: measured.TTFT, name: "ttft"}
	case "batch_latency": // from sending a batch until the last of its tokens
		return metric{of: measured.E2E, stat: measured.Max, name: name}
	case "tokens_per_s_user": // while it decodes
		return metric{of: measured.TPOT, name: name}
	case "output_tokens_per_s":
		return metric{of: measured.OutputPerS, name: name}
	case "requests_per_s":
		return metric{of: measured.RequestsPerS, name: name}
	}
	for _, m := range []measured.Metric{measured.TTFT, measured.TPOT, measured.ITL, measured.E2E} {
		if name == m.String() {
			return metric{of: m, name: name}
		}
		for s := range measured.NumStats {
			switch {
			case name != m.String()+"_"+s.String():
			case s == measured.Mean:
				return metric{of: m, name: m.String()}
			default:
				return metric{of: m, stat: s, name: name}
			}
		}
	}
	if strings.HasSuffix(name, "_time") {
		return metric{of: measured.Duration, name: name}
	}
	return metric{of: measured.Rate, name: name}
}

// latenciesPer is what latencies may be per; each is that of one request, or of a batch of them, and TPOT and ITL are
// of a token too.
var latenciesPer = []string{"", "request", "user", "batch", "step"}

// latencyPer refuses what no latency is per.
func (r *row) latencyPer() (skip string) {
	per, accepted := r.Text("per"), latenciesPer
	if r.metric.of == measured.TPOT || r.metric.of == measured.ITL {
		accepted = append(slices.Clone(accepted), "token")
	}
	if slices.Contains(accepted, per) {
		return ""
	}
	return fmt.Sprintf("per %q is not what a latency is of; it is %s", per, strings.Join(accepted[1:], ", "))
}

// perWhat sets the unit of a value that requests are simulated for, by what it is per: rates of a system, of each of
// its GPUs, of a node of 8 of them, of a replica or rank, or of one user.
func (r *row) perWhat(v *measured.Value, d *replica, batch int, prompt float64) (skip string) {
	unit := r.metric.unit
	switch r.metric.of {
	case measured.TTFT, measured.TPOT, measured.ITL, measured.E2E:
		if skip := r.latencyPer(); skip != "" {
			return skip
		}
		if r.metric.name == "tokens_per_s_user" {
			v.Unit.Factor, v.Unit.Inverse = 1e3/unit, true
			return ""
		}
		v.Unit.Factor = 1e-3 / unit
		return ""
	case measured.OutputPerS, measured.RequestsPerS:
		share, skip := r.share(d)
		if r.Text("per") == "user" && r.metric.of == measured.OutputPerS && d.replicas == 1 {
			share, skip = 1/float64(max(1, batch)), ""
		}
		v.Unit.Factor = share / unit
		return skip
	}
	if r.metric.name == "input_tokens_per_s" { // the prompts of the requests that complete
		share, skip := r.share(d)
		v.Metric, v.Unit.Factor = measured.RequestsPerS, share*prompt/unit
		return skip
	}
	return r.metric.name + " is not a metric of requests"
}

// share returns how many times what is simulated a rate is per.
func (r *row) share(d *replica) (share float64, skip string) {
	all := float64(d.simulated * d.perReplica())
	switch per := r.Text("per"); per {
	case "system", "":
		return float64(d.replicas) / float64(d.simulated), ""
	case "gpu", "rank": // a rank is a GPU where attention is data-parallel
		return 1 / all, ""
	case "node of 8":
		return 8 / all, ""
	case "replica":
		return 1 / float64(d.simulated), ""
	default:
		return 0, fmt.Sprintf("per %q is not predicted; it is system, gpu, node of 8, replica, rank or user", per)
	}
}
