package compare

import (
	"cmp"
	"math"

	"github.com/decodesim/decodesim/sim/metrics"
)

// comparedMetric is a row of a comparison.
type comparedMetric struct {
	metric, name, unit string
	of                 func(*metrics.Summary) float64 // NaN: there is none

	// Of a metric that is a statistic of single requests: the sample of one, the statistic, and the least requests that
	// say something of it. A nil sample: no interval from one run.
	sample   func(*Served) float64
	reduce   func([]float64) float64
	perBatch int
}

const (
	perMean   = 10  // requests that a mean takes
	perMedian = 20  // that a median takes
	perTail   = 100 // that a p99 takes: its rank is the last but one
)

func comparedMetrics() []comparedMetric {
	ttft := func(s *Served) float64 { return s.TTFT.Seconds() }
	e2e := func(s *Served) float64 { return s.E2E.Seconds() }
	queue := func(s *Served) float64 { return s.Queue.Seconds() }
	p50, p99 := quantile(.5), quantile(.99)
	return append([]comparedMetric{
		{"latency.ttft_s.mean", "TTFT mean", "s", func(s *metrics.Summary) float64 { return s.Latency.TTFT.Mean }, ttft, mean,
			perMean},
		{"latency.ttft_s.p50", "TTFT p50", "s", func(s *metrics.Summary) float64 { return s.Latency.TTFT.P50 }, ttft, p50,
			perMedian},
		{"latency.ttft_s.p99", "TTFT p99", "s", func(s *metrics.Summary) float64 { return s.Latency.TTFT.P99 }, ttft, p99,
			perTail},
		{"latency.itl_s.p50", "ITL p50", "s", func(s *metrics.Summary) float64 { return s.Latency.ITL.P50 }, nil, nil, 0},
		{"latency.itl_s.p99", "ITL p99", "s", func(s *metrics.Summary) float64 { return s.Latency.ITL.P99 }, nil, nil, 0},
		{"latency.itl_s.max", "ITL max", "s", func(s *metrics.Summary) float64 { return s.Latency.ITL.Max }, nil, nil, 0},
		{"latency.tpot_s.mean", "TPOT mean", "s", func(s *metrics.Summary) float64 { return s.Latency.TPOT.Mean },
			(*Served).tpotS, mean, perMean},
		{"latency.e2e_s.mean", "E2E mean", "s", func(s *metrics.Summary) float64 { return s.Latency.E2E.Mean }, e2e, mean,
			perMean},
		{"latency.e2e_s.p99", "E2E p99", "s", func(s *metrics.Summary) float64 { return s.Latency.E2E.P99 }, e2e, p99,
			perTail},
		{"latency.queue_s.p99", "queue p99", "s", func(s *metrics.Summary) float64 { return s.Latency.Queue.P99 }, queue, p99,
			perTail},
	}, runMetrics()...)
}

// chunkMetrics are of the gaps between chunks, where some tokens come together and ITL is zero for most.
func chunkMetrics() []comparedMetric {
	gaps := func(metric, name string, of func(*metrics.Quantiles) float64) comparedMetric {
		return comparedMetric{metric: "latency.itl_chunk_s." + metric, name: name, unit: "s",
			of: func(s *metrics.Summary) float64 { return of(&s.Latency.ITLChunk) }}
	}
	return []comparedMetric{
		gaps("p50", "ITL p50, chunks", func(q *metrics.Quantiles) float64 { return q.P50 }),
		gaps("p99", "ITL p99, chunks", func(q *metrics.Quantiles) float64 { return q.P99 }),
	}
}

// bursts reports whether tokens come together in some of the runs.
func bursts(trials [][]*metrics.Summary) bool {
	for _, trial := range trials {
		for _, s := range trial {
			if s.Latency.ITL.N > s.Latency.ITLChunk.N {
				return true
			}
		}
	}
	return false
}

// runMetrics are those of a run as a whole.
func runMetrics() []comparedMetric {
	whole := func(metric, name, unit string, of func(*metrics.Summary) float64) comparedMetric {
		return comparedMetric{metric: metric, name: name, unit: unit, of: of}
	}
	count := func(metric, name string, of func(*metrics.Requests) int64) comparedMetric {
		return whole("requests."+metric, name, "", func(s *metrics.Summary) float64 { return float64(of(&s.Requests)) })
	}
	return []comparedMetric{
		whole("throughput.requests_per_s", "throughput", "requests/s",
			func(s *metrics.Summary) float64 { return s.Throughput.RequestsPerS }),
		whole("throughput.output_tokens_per_s", "output", "tokens/s",
			func(s *metrics.Summary) float64 { return s.Throughput.OutputTokensPerS }),
		count("completed", "completed", func(r *metrics.Requests) int64 { return r.Completed }),
		count("rejected", "rejected", func(r *metrics.Requests) int64 { return r.Rejected }),
		count("preemptions", "preemptions", func(r *metrics.Requests) int64 { return r.Preemptions }),
		whole("slo.attainment", "SLO met", "share", func(s *metrics.Summary) float64 { return attainment(s.SLO) }),
		whole("slo.goodput_per_s", "goodput", "requests/s", func(s *metrics.Summary) float64 { return goodput(s.SLO) }),
		whole("cost.usd_per_million_output_tokens", "cost", "USD/Mtoken", func(s *metrics.Summary) float64 {
			if s.Cost == nil {
				return math.NaN()
			}
			return s.Cost.USDPerMillionOutputTokens
		}),
		whole("pools.utilization", "busy", "share", busy),
		whole("pools.kv_peak_fraction", "KV peak", "share", kvPeak),
	}
}

// busy is the busy share of all replicas, of their mean number where they start and stop.
func busy(s *metrics.Summary) float64 {
	busy, replicas := 0.0, 0.0
	for i := range s.Pools {
		n := cmp.Or(s.Pools[i].ReplicasMean, float64(s.Pools[i].Replicas))
		busy += float64(s.Pools[i].Utilization * n)
		replicas += n
	}
	return busy / replicas
}

// kvPeak is that of the fullest pool.
func kvPeak(s *metrics.Summary) float64 {
	peak := 0.0
	for i := range s.Pools {
		peak = max(peak, s.Pools[i].KVPeakFraction)
	}
	return peak
}
