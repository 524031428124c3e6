package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/decodesim/decodesim/sim/metrics"
)

// timelineHead is the columns of timeline.csv. Those that end in max are the highest level of any sample in the window;
// a cell is empty where nothing was measured.
var timelineHead = [...]string{
	"from_s", "to_s", "arrived", "completed", "unserved", "waiting",
	"ttft_n", "ttft_p50_s", "ttft_p90_s", "ttft_p95_s", "ttft_p99_s",
	"itl_n", "itl_p50_s", "itl_p90_s", "itl_p95_s", "itl_p99_s",
	"itl_chunk_n", "itl_chunk_p50_s", "itl_chunk_p90_s", "itl_chunk_p95_s", "itl_chunk_p99_s",
	"attainment", "slo_met", "missed", "running_max", "queued_max", "kv_fraction_max", "replicas_max",
}

// WriteTimeline writes a line per window.
func WriteTimeline(w io.Writer, o *metrics.OverTime, samples []metrics.Sample) error {
	c := csv.NewWriter(w)
	if err := c.Write(timelineHead[:]); err != nil {
		return err
	}
	for i := range o.Windows {
		x := &o.Windows[i]
		if err := c.Write(append(windowCells(x), levelsWithin(samples, x.FromS, x.ToS)...)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// levelsWithin returns the highest levels of the samples of a window; of a window between two samples, those of the one
// before.
func levelsWithin(samples []metrics.Sample, fromS, toS float64) []string {
	found := -1
	var highest metrics.Sample
	replicas := 0
	for i := range samples {
		m := &samples[i]
		atS := m.At.Seconds()
		if atS > toS {
			break
		}
		if atS < fromS && i+1 < len(samples) && samples[i+1].At.Seconds() <= fromS {
			continue
		}
		live := 0
		for _, p := range m.Pools {
			live += p.Live
		}
		replicas = max(replicas, live)
		if found < 0 {
			highest = *m
		} else {
			at := highest.At
			highest = highestOf(highest, *m)
			highest.At = at
		}
		found = i
	}
	if found < 0 {
		return []string{"", "", "", ""}
	}
	return []string{count(highest.Running), count(highest.Waiting),
		number(float64(highest.KVUsed) / float64(max(1, highest.KVTotal))), strconv.Itoa(replicas)}
}

// percentiles are the cells of a latency, empty where there are no values.
func percentiles(q *metrics.WindowLatency) []string {
	if q.N == 0 {
		return []string{"0", "", "", "", ""}
	}
	return []string{count(q.N), number(q.P50), number(q.P90), number(q.P95), number(q.P99)}
}

func count(n int64) string { return strconv.FormatInt(n, 10) }

func number(x float64) string {
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func share(x *float64) string {
	if x == nil {
		return ""
	}
	return number(*x)
}

func truth(x *bool) string {
	if x == nil {
		return ""
	}
	return strconv.FormatBool(*x)
}
