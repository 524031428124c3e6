package explain

import (
	"cmp"
	"io"
	"slices"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// MedianRecord returns the request of median latency among the completed ones with several chunks, and how many these
// are.
func MedianRecord(records []views.Record) (r views.Record, of int, ok bool) {
	records = slices.DeleteFunc(records, func(r views.Record) bool {
		return r.Outcome != sim.Completed || len(r.Chunks) < 2
	})
	if len(records) == 0 {
		return r, 0, false
	}
	latency := func(r *views.Record) sim.Duration { return r.Chunks[len(r.Chunks)-1].At.Sub(r.Send) }
	slices.SortStableFunc(records, func(a, b views.Record) int { return cmp.Compare(latency(&a), latency(&b)) })
	return records[(len(records)-1)/2], len(records), true
}

// DefinitionX is one measure of one request, in seconds.
type DefinitionX struct {
	Tool    string    `json:"tool"`
	Name    string    `json:"name"`
	Formula string    `json:"formula"`
	Values  []float64 `json:"values"` // in seconds, tokens, and tokens/s
	Weight  int64     `json:"weight"`
}

// WriteDefinitions writes what each benchmark tool says of one request.
func WriteDefinitions(w io.Writer, r *views.Record, heading string) error {
	x := struct {
		Request string        `json:"request"`
		Prompt  int32         `json:"prompt_tokens"`
		Tokens  int32         `json:"output_tokens"`
		Chunks  int           `json:"chunks"`
		Metrics []DefinitionX `json:"metrics"`
	}{heading, r.Prompt, r.Tokens(), len(r.Chunks), nil}
	for _, tool := range append(views.Tools(), views.Others()...) {
		for i := range tool.Measures {
			m := &tool.Measures[i]
			values, weight := m.Values(r)
			x.Metrics = append(x.Metrics, DefinitionX{tool.Name, m.Key, m.Formula, append([]float64{}, values...), weight})
		}
	}
	return text.WriteJSON(w, x)
}
