package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/sim/metrics"
)

// comparedMetric is a row of a comparison.
type comparedMetric struct {
	metric, name, unit string
	of                 func(*metrics.Summary) float64 // NaN: there is none

	// Of a metric that is a statistic of single requests: the sample of one, and the statistic. A nil sample: no interval
	// from one run.
	sample func(*Served) float64
	statistic
}

// statistic is what a metric says of a distribution.
type statistic struct {
	key      string
	of       func(*metrics.Quantiles) float64
	reduce   func([]float64) float64
	perBatch int // the least requests that say something of it
}

const (
	perMean   = 10  // requests that a mean takes
	perMedian = 20  // that a median takes, and a p95: its rank is the last but one
	perTail   = 100 // that a p99 takes, for the same reason
)

func meanOf() statistic {
	return statistic{"mean", func(q *metrics.Quantiles) float64 { return q.Mean }, mean, perMean}
}

func p50Of() statistic {
	return statistic{"p50", func(q *metrics.Quantiles) float64 { return q.P50 }, quantile(.5), perMedian}
}

func p90Of() statistic {
	return statistic{"p90", func(q *metrics.Quantiles) float64 { return q.P90 }, quantile(.9), perMedian}
}

func p95Of() statistic {
	return statistic{"p95", func(q *metrics.Quantiles) float64 { return q.P95 }, quantile(.95), perMedian}
}

func p99Of() statistic {
	return statistic{"p99", func(q *metrics.Quantiles) float64 { return q.P99 }, quantile(.99), perTail}
}

func maxOf() statistic {
	return statistic{"max", func(q *metrics.Quantiles) float64 { return q.Max }, slices.Max[[]float64], math.MaxInt}
}

// latencyRow is a row of a comparison: a latency, and a statistic of it.
type latencyRow struct {
	key, name string
	of        func(*metrics.Latency) *metrics.Quantiles
	sample    func(*Served) float64 // nil: it is of tokens
	statistic statistic
}

// latencyRows are those of all requests.
func latencyRows() []latencyRow {
	ttft := func(l *metrics.Latency) *metrics.Quantiles { return &l.TTFT }
	itl := func(l *metrics.Latency) *metrics.Quantiles { return &l.ITL }
	tpot := func(l *metrics.Latency) *metrics.Quantiles { return &l.TPOT }
	e2e := func(l *metrics.Latency) *metrics.Quantiles { return &l.E2E }
	queue := func(l *metrics.Latency) *metrics.Quantiles { return &l.Queue }
	ttfo := func(l *metrics.Latency) *metrics.Quantiles { return given(l.TTFO) }
	task := func(l *metrics.Latency) *metrics.Quantiles { return given(l.Task) }
	ttftS := func(s *Served) float64 { return s.TTFT.Seconds() }
	e2eS := func(s *Served) float64 { return s.E2E.Seconds() }
	queueS := func(s *Served) float64 { return s.Queue.Seconds() }
	var rows []latencyRow
	for _, r := range []latencyRow{
		{key: "ttft_s", name: "TTFT", of: ttft, sample: ttftS}, {key: "itl_s", name: "ITL", of: itl},
		{key: "tpot_s", name: "TPOT", of: tpot, sample: (*Served).tpotS}, {key: "e2e_s", name: "E2E", of: e2e, sample: e2eS},
		{key: "queue_s", name: "queue", of: queue, sample: queueS}, {key: "ttfo_s", name: "TTFO", of: ttfo},
		{key: "task_s", name: "task", of: task},
	} {
		all := []statistic{meanOf(), p50Of(), p90Of(), p95Of(), p99Of()}
		switch r.key {
		case "itl_s":
			all = append(all[1:], maxOf()) // the mean gap is TPOT's
		case "queue_s":
			all = all[1:]
		}
		for _, r.statistic = range all {
			rows = append(rows, r)
		}
	}
	return rows
}

// given returns a distribution that not every run has, or one of nothing.
func given(q *metrics.Quantiles) *metrics.Quantiles {
	if q != nil {
		return q
	}
	none := math.NaN()
	return &metrics.Quantiles{Mean: none, P50: none, P90: none, P95: none, P99: none, P999: none, Max: none}
}

// metric is the row for all requests of a run.
func (r latencyRow) metric() comparedMetric {
	return comparedMetric{metric: "latency." + r.key + "." + r.statistic.key, name: r.name + " " + r.statistic.key,
		unit: "s", sample: r.sample, statistic: r.statistic,
		of: func(s *metrics.Summary) float64 { return r.statistic.of(r.of(&s.Latency)) }}
}

// comparedMetrics are the rows of all requests. Where some tokens come together, the gaps between chunks stand before
// those between tokens, of which most are 0.
func comparedMetrics(bursts bool) []comparedMetric {
	var all []comparedMetric
	for _, r := range latencyRows() {
		m := r.metric()
		if bursts && r.key == "itl_s" {
			if r.statistic.key == p50Of().key {
				all = append(all, chunkMetrics()...)
			}
			m.name += ", tokens"
		}
		all = append(all, m)
	}
	return append(all, runMetrics()...)
}

// chunkMetrics are of the gaps between the chunks that clients receive.
func chunkMetrics() []comparedMetric {
	var all []comparedMetric
	for _, s := range []statistic{p50Of(), p90Of(), p95Of(), p99Of(), maxOf()} {
		row := latencyRow{key: "itl_chunk_s", statistic: s,
			of: func(l *metrics.Latency) *metrics.Quantiles { return &l.ITLChunk }}.metric()
		row.name = "ITL " + s.key + ", chunks"
		all = append(all, row)
	}
	return all
}

// bursts reports whether tokens come together in some of the runs.
func bursts(trials [][]*metrics.Summary) bool {
	for _, trial := range trials {
		for _, s := range trial {
			if s.Latency.Bursts() {
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
	_, busyName, _ := strings.Cut(busyMetric, ".")
	return []comparedMetric{
		whole("throughput.requests_per_s", "throughput", "requests/s",
			func(s *metrics.Summary) float64 { return s.Throughput.RequestsPerS }),
		whole("throughput.output_tokens_per_s", "output", "tokens/s",
			func(s *metrics.Summary) float64 { return s.Throughput.OutputTokensPerS }),
		count("completed", "completed", func(r *metrics.Requests) int64 { return r.Completed }),
		count("rejected", "rejected", func(r *metrics.Requests) int64 { return r.Rejected }),
		count("preemptions", "preemptions", func(r *metrics.Requests) int64 { return r.Preemptions }),
		whole("slo.attainment", "SLO met", "share",
			func(s *metrics.Summary) float64 { return attainment(s.SLO, s.Measured()) }),
		whole("slo.goodput_per_s", "goodput", "requests/s",
			func(s *metrics.Summary) float64 { return goodput(s.SLO, s.Measured()) }),
		whole("cost.usd_per_million_output_tokens", "cost", "USD/Mtoken", func(s *metrics.Summary) float64 {
			if s.Cost == nil {
				return math.NaN()
			}
			return s.Cost.USDPerMillionOutputTokens
		}),
		whole(busyMetric, busyName, "share", busy),
		whole("pools.kv_peak_fraction", "KV peak", "share", kvPeak),
	}
}

// busyMetric keeps its key and, in JSON, the name that programs already read; label has the word for people.
const busyMetric = "pools.utilization"

// label is the name of a row in tables.
func (i *Item) label() string {
	if i.Metric == busyMetric {
		return "busy"
	}
	return i.Name
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
