package traffic

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/text"
)

// Fit is a workload of laws that stands for a trace, and how far it is from it.
type Fit struct {
	Schema   string      `json:"schema"`
	Workload string      `json:"workload"` // the block of a scenario, as YAML
	Arrivals []GapLaw    `json:"arrivals"` // the processes that were tried, the chosen one first
	Prompt   []LengthLaw `json:"prompt_tokens"`
	Output   []LengthLaw `json:"output_tokens"`
	Trace    *Summary    `json:"trace"`
	Fitted   *Summary    `json:"fitted"`  // of requests of the fit
	Verdict  *Verdict    `json:"verdict"` // a simulation under each

	block configs.Workload
}

// FitSchema names the fields of a Fit.
const FitSchema = "decodesim/workload-fit/v1"

// requestsMin is how many requests laws are fitted to at least.
const requestsMin = 50

// NewFit fits a workload to the trace that s describes. Burstiness and the longest prompts are kept; that long prompts
// have long outputs, and that prompts repeat each other, are not, for no law of a workload says so.
func NewFit(s *Summary, seed uint64) (*Fit, error) {
	if s.Requests < requestsMin {
		return nil, fmt.Errorf("%s has %s; expected at least %d, for laws to be fitted to", s.Source,
			text.Counted(s.Requests, "request"), requestsMin)
	}
	if math.IsNaN(float64(s.RatePerS)) {
		return nil, fmt.Errorf("%s has no rate, for its rows have no arrivals or the same one; expected a trace with "+
			"arrivals, or workload.lengths with this file under arrivals of your own", s.Source)
	}
	f := &Fit{Schema: FitSchema, Trace: s}
	var err error
	f.Arrivals, err = gapLaws(s, seed)
	if err != nil {
		return nil, err
	}
	sortByDistance(f.Arrivals)
	f.Prompt, err = lengthLaws("prompt_tokens", &s.record.prompts, seed)
	if err != nil {
		return nil, err
	}
	f.Output, err = lengthLaws("output_tokens", &s.record.outputs, seed)
	if err != nil {
		return nil, err
	}
	prompt, output := chosen(f.Prompt), chosen(f.Output)
	f.block = configs.Workload{Arrivals: &f.Arrivals[0].Arrivals, PromptTokens: &prompt, OutputTokens: &output,
		Requests: s.Requests}
	f.Workload = f.yaml()
	return f, nil
}

// yaml writes the block.
func (f *Fit) yaml() string {
	w := &f.block
	return fmt.Sprintf("workload:\n  arrivals: %s\n  prompt_tokens: %s\n  output_tokens: %s\n  requests: %d\n",
		flow(reflect.ValueOf(*w.Arrivals)), flow(reflect.ValueOf(*w.PromptTokens)), flow(reflect.ValueOf(*w.OutputTokens)),
		w.Requests)
}

// perLine is how many elements of a list stand in a line.
const perLine = 4

// flow writes what a law says, in braces; what it does not say is left out.
func flow(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Struct:
		var parts []string
		for _, f := range strict.FieldsOf(v.Type()) {
			if value := v.FieldByIndex(f.Index); !value.IsZero() || required(f) {
				parts = append(parts, f.Key+": "+flow(value))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Slice:
		var list strings.Builder
		for i := range v.Len() {
			if i > 0 {
				list.WriteString(",")
			}
			switch {
			case i%perLine == 0 && v.Len() > perLine:
				list.WriteString("\n    ")
			case i > 0:
				list.WriteString(" ")
			}
			list.WriteString(flow(v.Index(i)))
		}
		return "[" + list.String() + "]"
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprint(v.Interface())
}

// required reports whether a key of a list's element is written though it is 0.
func required(f strict.Field) bool { return f.Tag.Get("required") != "" }
