package metrics

import (
	"encoding/json"
	"math"
)

// Steady says how far a run tells of a steady state: where its warm-up ended, how sure its headline numbers are, and
// whether they depend on its length. Its numbers come from the Series of a run.
type Steady struct {
	// NotStationary says why there is no steady state to tell of, such as a trace; the other fields are then empty.
	NotStationary string `json:"not_stationary,omitempty"`

	// DependsOnLength says how another length would have given another answer; empty: nothing suggests it.
	DependsOnLength string `json:"depends_on_length,omitempty"`

	Method         string  `json:"warmup_method,omitempty"`
	WarmupS        float64 `json:"warmup_s"`         // end of the warm-up, as it was detected
	WarmupRequests int64   `json:"warmup_requests"`  // that arrived before it
	MeasuredFromS  float64 `json:"measured_from_s"`  // start of the measured window, as the scenario has it
	LastArrivalS   float64 `json:"last_arrival_s"`   // end of the steady state, about
	Confidence     float64 `json:"confidence"`       // of the intervals
	OfferedPerS    float64 `json:"offered_per_s"`    // requests/s after the warm-up
	LongRunPerS    float64 `json:"long_run_per_s"`   // requests/s, as the workload says; 0: it is a result
	Halves         []Half  `json:"halves,omitempty"` // of what is after the warm-up

	// Precision is half of the widest interval of a headline number, as a share of it: of a mean, p50, p95 or p99.
	// Absent: one has no upper end, or there are no intervals.
	Precision      *float64 `json:"precision,omitempty"`
	PrecisionOf    string   `json:"precision_of,omitempty"`    // that number, such as TTFT p99
	PrecisionAsked float64  `json:"precision_asked,omitempty"` // by workload.precision

	TTFT       *Intervals `json:"ttft_s,omitempty"` // absent: nothing was measured, or too little
	ITL        *Intervals `json:"itl_s,omitempty"`
	ITLChunk   *Intervals `json:"itl_chunk_s,omitempty"` // in place of itl_s, where clients receive some tokens together
	TPOT       *Intervals `json:"tpot_s,omitempty"`
	E2E        *Intervals `json:"e2e_s,omitempty"`
	Task       *Intervals `json:"task_s,omitempty"` // absent where there are no agents, too
	Attainment *Range     `json:"attainment,omitempty"`
}

// Intervals are those of the mean and of quantiles of a latency, in seconds.
type Intervals struct {
	Mean Range `json:"mean"`
	P50  Range `json:"p50"`
	P90  Range `json:"p90"`
	P95  Range `json:"p95"`
	P99  Range `json:"p99"`
}

// Range is an interval of confidence. High is infinite, and null in JSON, where the run is too short to bound it.
type Range struct{ Low, High float64 }

// MarshalJSON writes an infinite end as null.
func (r Range) MarshalJSON() ([]byte, error) {
	high := any(r.High)
	if math.IsInf(r.High, 0) {
		high = nil
	}
	return json.Marshal(struct {
		Low  float64 `json:"low"`
		High any     `json:"high"`
	}{r.Low, high})
}

// Half compares a mean of the first half of what is after the warm-up with that of the second.
type Half struct {
	Name        string  `json:"name"`
	First       float64 `json:"first"`
	Second      float64 `json:"second"`
	Significant bool    `json:"significant"` // they differ by more than a tenth, and by more than chance does
}
