package expected

import (
	_ "embed"
	"encoding/json"
	"io"
	"strings"
	"sync"
)

// Table is the errors of left-out runs.
type Table struct {
	Measured   []Entry `json:"measured"`   // by engine, model and GPU, each deployment left out of the fit that predicts it
	Unmeasured []Entry `json:"unmeasured"` // by engine, and of all engines together, by what was left out
}

// Entry is the errors of some runs, in percent.
type Entry struct {
	Engine      string  `json:"engine,omitempty"` // empty: all of them
	Model       string  `json:"model,omitempty"`
	GPU         string  `json:"gpu,omitempty"`
	LeftOut     LeftOut `json:"left_out,omitempty"`
	Runs        int     `json:"runs"`
	Deployments int     `json:"deployments"`
	TPOT        Spread  `json:"tpot"`
	TTFT        Spread  `json:"ttft"`
}

// Spread is the median and the 90th percentile of absolute errors in percent.
type Spread struct {
	MedianPct float64 `json:"median_abs_error_pct"`
	P90Pct    float64 `json:"p90_abs_error_pct"`
}

// LeftOut is what the fit behind a prediction had not seen.
type LeftOut string

// What was left out: the deployment alone; every run of the model on the GPU; all runs of the GPU, of the model, or of
// either; and runs with separate pools for prefill and decode, which no fit has seen.
const (
	Deployment    LeftOut = "deployment"
	Pair          LeftOut = "pair"
	GPU           LeftOut = "gpu"
	Model         LeftOut = "model"
	GPUAndModel   LeftOut = "gpu and model"
	Disaggregated LeftOut = "disaggregated"
)

// Run: one run alone was left out of the fit to a user's own, whose file says so.
const Run LeftOut = "run"

// Separate pools on a GPU or of a model of which no latency was measured: their errors are those of pools that were
// measured, which is less than is to be expected.
const (
	DisaggregatedGPU         LeftOut = "disaggregated and gpu"
	DisaggregatedModel       LeftOut = "disaggregated and model"
	DisaggregatedGPUAndModel LeftOut = "disaggregated, gpu and model"
)

//go:embed errors.json
var embedded string

// builtIn is the table that the program carries.
var builtIn = sync.OnceValue(func() *Table {
	t, err := read(strings.NewReader(embedded))
	if err != nil {
		panic("expected: errors.json: " + err.Error()) // a test reads it
	}
	return t
})

func read(r io.Reader) (*Table, error) {
	var t Table
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	return &t, d.Decode(&t)
}

// Write writes a table as the program embeds it, an entry a line.
func (t *Table) Write(w io.Writer) error {
	var b strings.Builder
	for i, part := range []struct {
		name    string
		entries []Entry
	}{{"measured", t.Measured}, {"unmeasured", t.Unmeasured}} {
		if i > 0 {
			b.WriteString(",\n")
		} else {
			b.WriteString("{\n")
		}
		b.WriteString("\"" + part.name + "\": [\n")
		for j := range part.entries {
			line, err := json.Marshal(part.entries[j])
			if err != nil {
				return err
			}
			b.Write(line)
			if j+1 < len(part.entries) {
				b.WriteByte(',')
			}
			b.WriteByte('\n')
		}
		b.WriteString("]")
	}
	b.WriteString("\n}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// entry returns that of a deployment: its own where the model was measured on the GPU under the engine, or else that of
// what is unmeasured about it.
func (t *Table) entry(engine, model, gpu string) (Entry, bool) {
	seen := func(match func(*Entry) bool) bool {
		for i := range t.Measured {
			if e := &t.Measured[i]; e.Engine == engine && match(e) {
				return true
			}
		}
		return false
	}
	for _, e := range t.Measured {
		if e.Engine == engine && e.Model == model && e.GPU == gpu {
			e.LeftOut = Deployment
			return e, true
		}
	}
	onGPU := seen(func(e *Entry) bool { return e.GPU == gpu })
	ofModel := seen(func(e *Entry) bool { return e.Model == model })
	switch {
	case onGPU && ofModel:
		return t.unmeasured(engine, Pair)
	case onGPU:
		return t.unmeasured(engine, Model)
	case ofModel:
		return t.unmeasured(engine, GPU)
	}
	return t.unmeasured(engine, GPUAndModel)
}

// separate returns the errors of separate pools, and what no latency of any server was measured with.
func (t *Table) separate(engine, model, gpu string) (Entry, bool) {
	e, ok := t.unmeasured(engine, Disaggregated)
	server, _ := t.entry(engine, model, gpu)
	switch server.LeftOut {
	case GPU:
		e.LeftOut = DisaggregatedGPU
	case Model:
		e.LeftOut = DisaggregatedModel
	case GPUAndModel:
		e.LeftOut = DisaggregatedGPUAndModel
	}
	return e, ok
}

// unmeasured returns the errors of an engine with something left out; of all engines, where its own are not known.
func (t *Table) unmeasured(engine string, out LeftOut) (Entry, bool) {
	for _, name := range []string{engine, ""} {
		for _, e := range t.Unmeasured {
			if e.Engine == name && e.LeftOut == out {
				return e, true
			}
		}
	}
	return Entry{}, false
}
