package catalog

import (
	"fmt"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/policies/acceptance"
)

// AcceptanceCurves are measured acceptance lengths of a model and what drafts for it.
type AcceptanceCurves struct {
	Name       string `yaml:"name"`
	Model      string `yaml:"model"` // as its publisher shortens it; perhaps none of the catalog
	Method     string `yaml:"method"`
	Dataset    string `yaml:"dataset"`
	MeasuredOn string `yaml:"measured_on"`
	// the lengths count the token of the step itself; else drafts alone, as TensorRT-LLM does
	CountsBonus bool              `yaml:"counts_bonus"`
	Source      string            `yaml:"source"`
	Curves      []AcceptanceCurve `yaml:"curves"`
}

// AcceptanceCurve is the tokens that a step yields with 1, 2, … drafts.
type AcceptanceCurve struct {
	Thinking bool      `yaml:"thinking"` // the model reasons before it answers
	Lengths  []float64 `yaml:"lengths"`
}

// acceptanceDir is where they are embedded.
const acceptanceDir = "acceptance"

// AcceptanceNames returns the acceptance curves built in.
func AcceptanceNames() []string { return Names(acceptanceDir) }

// AcceptanceOf returns the acceptance curves built in under a name.
func AcceptanceOf(name string) (AcceptanceCurves, error) {
	file, data, ok := Lookup(acceptanceDir, name)
	if !ok {
		return AcceptanceCurves{}, strict.NotFound("acceptance", name, AcceptanceNames())
	}
	var a AcceptanceCurves
	if _, err := strict.Decode(file, data, &a); err != nil {
		return a, err
	}
	if err := a.validate(name); err != nil {
		return a, fmt.Errorf("configs: %s: %w", file, err)
	}
	return a, nil
}

// Lengths returns the tokens that a step yields with 1, 2, … drafts, its own token counted.
func (a *AcceptanceCurves) Lengths(thinking bool) ([]float64, error) {
	for _, c := range a.Curves {
		if c.Thinking == thinking {
			return WithBonus(c.Lengths, a.CountsBonus), nil
		}
	}
	return nil, fmt.Errorf("configs: no_thinking is %t, but %s was measured only the other way; expected %t", !thinking,
		a.Name, thinking)
}

func (a *AcceptanceCurves) validate(name string) error {
	if a.Name != name {
		return fmt.Errorf("names %q, want %q", a.Name, name)
	}
	for _, said := range []string{a.Model, a.Method, a.Dataset, a.MeasuredOn, a.Source} {
		if said == "" {
			return fmt.Errorf("model, method, dataset, measured_on and source must all be said")
		}
	}
	if len(a.Curves) == 0 {
		return fmt.Errorf("curves missing")
	}
	for i, c := range a.Curves {
		law := acceptance.Law{Process: "curve", Lengths: WithBonus(c.Lengths, a.CountsBonus)}
		if err := law.Validate(len(c.Lengths)); err != nil {
			return fmt.Errorf("curves[%d]: %w", i, err)
		}
		for _, other := range a.Curves[:i] {
			if other.Thinking == c.Thinking {
				return fmt.Errorf("curves[%d]: thinking %t stands twice", i, c.Thinking)
			}
		}
	}
	return nil
}

// WithBonus returns lengths that count the token of the step itself.
func WithBonus(lengths []float64, counted bool) []float64 {
	out := append([]float64(nil), lengths...)
	for i := range out {
		if !counted {
			out[i]++
		}
	}
	return out
}
