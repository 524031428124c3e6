package sweep

import (
	"fmt"
	"math"
	"sync"

	"github.com/decodesim/decodesim/internal/steady"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Column is a number that every run has, in SI units.
type Column struct {
	Name  string `json:"name"`
	Unit  string `json:"unit,omitempty"` // empty: a count or a share
	About string `json:"about"`

	of func(*Outcome) float64 // NaN: there is none
}

// Outcome is what a run gave.
type Outcome struct {
	Summary   *metrics.Summary
	Saturated bool // no such load is sustained
	Filling   bool // it ends before its sessions are all there, or cannot keep up with them
	Met       bool // the SLO
	Judged    bool // there is an SLO

	drift *steady.Drift // nil: the shape of the load decides what is under way
}

// Value returns the number of a column; NaN: there is none. It panics if there is no such column.
func (o *Outcome) Value(column string) float64 { return columns()[index(column)].of(o) }

// HasColumn says what is wrong with the name of a column; nil: there is one.
func HasColumn(name string) error {
	if index(name) < 0 {
		return fmt.Errorf("no column %q; %s", name, suggest(name))
	}
	return nil
}

// Format prints a number of a column with its unit.
func Format(column string, x float64) string { return cell(column, x) }

// columns are the numbers of a run, in the order of the table.
var columns = sync.OnceValue(allColumns)

func allColumns() []Column {
	all := counts()
	for _, l := range []struct {
		key, name string
		of        func(*metrics.Latency) *metrics.Quantiles
	}{
		{"ttft", "time to first token", func(l *metrics.Latency) *metrics.Quantiles { return &l.TTFT }},
		{"ttfo", "time to the first token after reasoning", func(l *metrics.Latency) *metrics.Quantiles { return l.TTFO }},
		{"itl", "gaps between tokens", func(l *metrics.Latency) *metrics.Quantiles { return &l.ITL }},
		{"tpot", "time per output token of a request", func(l *metrics.Latency) *metrics.Quantiles { return &l.TPOT }},
		{"e2e", "time to the last token", func(l *metrics.Latency) *metrics.Quantiles { return &l.E2E }},
		{"queue", "time in the queue", func(l *metrics.Latency) *metrics.Quantiles { return &l.Queue }},
		{"task", "time of a task of agents, tools included", func(l *metrics.Latency) *metrics.Quantiles { return l.Task }},
	} {
		all = append(all, quantiles(l.key, l.name, l.of)...)
	}
	all = append(all, rates()...)
	return append(append(all, bounds()...), fleet()...)
}

// counts are the requests and tokens of a run.
func counts() []Column {
	count := func(name, about string, of func(*metrics.Summary) int64) Column {
		return Column{name, "", about, func(o *Outcome) float64 { return float64(of(o.Summary)) }}
	}
	return []Column{
		count("arrived", "requests", func(s *metrics.Summary) int64 { return s.Requests.Arrived }),
		count("completed", "requests", func(s *metrics.Summary) int64 { return s.Requests.Completed }),
		count("rejected", "requests", func(s *metrics.Summary) int64 { return s.Requests.Rejected }),
		count("failed", "requests", func(s *metrics.Summary) int64 { return s.Requests.Failed }),
		count("unfinished", "requests", func(s *metrics.Summary) int64 { return s.Requests.Unfinished }),
		count("preemptions", "of requests", func(s *metrics.Summary) int64 { return s.Requests.Preemptions }),
		count("prompt_tokens", "of the requests that arrived", func(s *metrics.Summary) int64 { return s.Tokens.Prompt }),
		count("prompt_cached_tokens", "of these, in a prefix cache",
			func(s *metrics.Summary) int64 { return s.Tokens.PromptCached }),
		count("output_tokens", "emitted", func(s *metrics.Summary) int64 { return s.Tokens.Output }),
		{"duration_s", "s", "first send to last token", func(o *Outcome) float64 { return o.Summary.DurationS }},
	}
}

// quantiles are the statistics of a latency, which a workload may not have (nil); without a sample there are none.
func quantiles(key, name string, of func(*metrics.Latency) *metrics.Quantiles) []Column {
	var all []Column
	for _, q := range []struct {
		key string
		of  func(*metrics.Quantiles) float64
	}{
		{"mean", func(q *metrics.Quantiles) float64 { return q.Mean }},
		{"p50", func(q *metrics.Quantiles) float64 { return q.P50 }},
		{"p90", func(q *metrics.Quantiles) float64 { return q.P90 }},
		{"p95", func(q *metrics.Quantiles) float64 { return q.P95 }},
		{"p99", func(q *metrics.Quantiles) float64 { return q.P99 }},
		{"max", func(q *metrics.Quantiles) float64 { return q.Max }},
	} {
		all = append(all, Column{key + "_" + q.key + "_s", "s", name, func(o *Outcome) float64 {
			l := of(&o.Summary.Latency)
			if l == nil || l.N == 0 {
				return math.NaN()
			}
			return q.of(l)
		}})
	}
	return all
}

// rates are what was offered and served, and what of it was in time.
func rates() []Column {
	ofSLO := func(of func(*metrics.SLO) float64) func(*Outcome) float64 {
		return func(o *Outcome) float64 {
			if o.Summary.SLO == nil || !o.Summary.Measured() {
				return math.NaN()
			}
			return of(o.Summary.SLO)
		}
	}
	goodput := ofSLO(func(s *metrics.SLO) float64 { return s.GoodputPerS })
	return []Column{
		{"offered_per_s", "1/s", "requests, while they arrived",
			openOnly(func(l *metrics.Load) float64 { return l.OfferedPerS })},
		{"served_per_s", "1/s", "requests, while they arrived",
			openOnly(func(l *metrics.Load) float64 { return l.ServedPerS })},
		{"requests_per_s", "1/s", "completed", func(o *Outcome) float64 { return o.Summary.Throughput.RequestsPerS }},
		{"output_tokens_per_s", "1/s", "emitted", func(o *Outcome) float64 { return o.Summary.Throughput.OutputTokensPerS }},
		{"output_tokens_per_s_per_gpu", "1/s", "emitted",
			func(o *Outcome) float64 { return o.Summary.Throughput.OutputTokensPerSPerGPU }},
		{"output_tokens_per_s_per_user", "1/s", "of the median user: 1 / TPOT p50", func(o *Outcome) float64 {
			if q := &o.Summary.Latency.TPOT; q.N > 0 && q.P50 > 0 {
				return 1 / q.P50
			}
			return math.NaN()
		}},
		{"slo_attainment", "", "share of the requests that met every limit",
			ofSLO(func(s *metrics.SLO) float64 { return s.Attainment })},
		{"goodput_per_s", "1/s", "requests that met every limit", goodput},
		{"goodput_per_s_per_gpu", "1/s", "requests that met every limit",
			func(o *Outcome) float64 { return goodput(o) / gpus(o.Summary) }},
		{"slo_met", "", "1: the SLO was met", func(o *Outcome) float64 {
			if !o.Judged || !o.Summary.Measured() {
				return math.NaN()
			}
			return one(o.Met)
		}},
		{"in_flight_growth", "", "of the requests under way over the later half of the arrivals, as a share of these",
			func(o *Outcome) float64 {
				if o.drift == nil || o.drift.Arrived == 0 {
					return math.NaN()
				}
				return float64(o.drift.Growth) / float64(o.drift.Arrived)
			}},
		{"saturated", "", "1: the requests under way grow, so that no such load is sustained",
			func(o *Outcome) float64 { return one(o.Saturated) }},
		{"filling", "", "1: the run ends before its sessions or tasks are all there, or cannot keep up with them",
			func(o *Outcome) float64 { return one(o.Filling) }},
	}
}

// openOnly returns a rate of the load, which a closed loop does not have.
func openOnly(of func(*metrics.Load) float64) func(*Outcome) float64 {
	return func(o *Outcome) float64 {
		if o.Summary.Load == (metrics.Load{}) {
			return math.NaN()
		}
		return of(&o.Summary.Load)
	}
}

// bounds compare steps with what the data sheet allows.
func bounds() []Column {
	share := func(part string, of func(*metrics.Share) float64) Column {
		return Column{"share_" + part, "", "of the mean step",
			func(o *Outcome) float64 { return of(&o.Summary.Bound.Share) }}
	}
	return []Column{
		{"itl_floor_s", "s", "the least step by the data sheet",
			func(o *Outcome) float64 { return o.Summary.Bound.ITLFloorS }},
		{"step_s", "s", "the mean step that a token waits for", func(o *Outcome) float64 { return o.Summary.Bound.StepS }},
		{"fraction_of_bound", "", "floor / step", func(o *Outcome) float64 { return o.Summary.Bound.FractionOfBound }},
		share("weights", func(s *metrics.Share) float64 { return s.Weights }),
		share("kv", func(s *metrics.Share) float64 { return s.KV }),
		share("compute", func(s *metrics.Share) float64 { return s.Compute }),
		share("communication", func(s *metrics.Share) float64 { return s.Communication }),
		share("overhead", func(s *metrics.Share) float64 { return s.Overhead }),
	}
}

// fleet is what the run took.
func fleet() []Column {
	pools := func(of func(all []metrics.PoolResult) float64) func(*Outcome) float64 {
		return func(o *Outcome) float64 { return of(o.Summary.Pools) }
	}
	ofCost := func(of func(*metrics.Cost) float64) func(*Outcome) float64 {
		return func(o *Outcome) float64 {
			if o.Summary.Cost == nil {
				return math.NaN()
			}
			return of(o.Summary.Cost)
		}
	}
	return []Column{
		{"gpus", "", "of all pools, in the mean", func(o *Outcome) float64 { return gpus(o.Summary) }},
		{"busy", "", "share of the time of the GPUs", pools(busyShare)},
		{"batch_mean", "", "decoding sequences of a step, of the pool with most",
			pools(func(all []metrics.PoolResult) float64 {
				return highest(all, func(p *metrics.PoolResult) float64 { return p.BatchMean })
			})},
		{"kv_peak_fraction", "", "of the KV blocks, of the pool with most", pools(func(all []metrics.PoolResult) float64 {
			return highest(all, func(p *metrics.PoolResult) float64 { return p.KVPeakFraction })
		})},
		{"usd_per_hour", "USD/h", "rent of the GPUs", ofCost(func(c *metrics.Cost) float64 { return c.USDPerHour })},
		{"usd_per_million_output_tokens", "USD", "rent of the GPUs",
			ofCost(func(c *metrics.Cost) float64 { return c.USDPerMillionOutputTokens })},
	}
}

// gpus counts the GPUs of a run, in the mean where they come and go.
func gpus(s *metrics.Summary) (n float64) {
	for i := range s.Pools {
		n += poolGPUs(&s.Pools[i])
	}
	return n
}

func poolGPUs(p *metrics.PoolResult) float64 {
	if p.ReplicasMean > 0 {
		return p.GPUsMean
	}
	return float64(p.GPUs)
}

// busyShare is the busy share of all GPUs.
func busyShare(pools []metrics.PoolResult) float64 {
	busy, all := 0.0, 0.0
	for i := range pools {
		n := poolGPUs(&pools[i])
		busy, all = busy+float64(n*pools[i].Utilization), all+n
	}
	return busy / all
}

func highest(pools []metrics.PoolResult, of func(*metrics.PoolResult) float64) (most float64) {
	for i := range pools {
		most = max(most, of(&pools[i]))
	}
	return most
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
