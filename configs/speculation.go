package configs

import (
	"github.com/decodesim/decodesim/hardware"
)

// Speculation is how tokens are drafted before the model verifies them, and how many of them it accepts. With method
// none everything else is without effect.
type Speculation struct {
	Method            string      `yaml:"method" oneof:"speculation-methods" doc:"none draft eagle medusa mtp ngram"`
	Tokens            int         `yaml:"num_speculative_tokens,omitempty" unit:"tokens" about:"drafts of a sequence in a step"`
	DraftModel        string      `yaml:"draft_model,omitempty" about:"of draft and perhaps eagle: catalog name, or a path to a config.json"`
	DraftVocab        int         `yaml:"draft_vocab,omitempty" bound:"[1,16777216]" about:"of eagle: rows of the head's own LM head; null: the target's"`
	DraftHostS        float64     `yaml:"draft_host_s,omitempty" bound:"[0,3600]" about:"time that the host adds to a step with drafts"`
	Acceptance        *Acceptance `yaml:"acceptance" about:"the process by which drafts are accepted"`
	HeterogeneityCV   float64     `yaml:"heterogeneity_cv,omitempty" about:"standard deviation / mean of the first draft's acceptance rate over requests"`
	DisableAboveBatch int         `yaml:"disable_above_batch,omitempty" bound:"[1,1048576]" unit:"sequences" about:"no drafts while more sequences decode; null: always"`
	Adaptive          [][]int     `yaml:"adaptive,omitempty" about:"[sequences up to, drafts], in place of num_speculative_tokens; beyond the last: none"`
}

// Acceptance is the process by which drafts are accepted, see acceptance.Law.
type Acceptance struct {
	Process      string    `yaml:"process" oneof:"acceptance-processes" doc:"iid per-position curve"`
	Rate         float64   `yaml:"rate" doc:"iid: of each draft after accepted ones"`
	Rates        []float64 `yaml:"rates,omitempty" about:"per-position: of each draft, the ones before it accepted"`
	Name         string    `yaml:"name,omitempty" about:"curve: name of built-in acceptance lengths"`
	NoThinking   bool      `yaml:"no_thinking,omitempty" about:"curve: as measured without thinking"`
	Lengths      []float64 `yaml:"lengths,omitempty" about:"curve: acceptance lengths with 1, 2, … drafts"`
	LengthsCount string    `yaml:"lengths_count,omitempty" about:"what lengths count: tokens, with the step's own, or drafts alone"`
}

// NoSpeculation is the method that drafts nothing.
const NoSpeculation = "none"

// SpeculationMethods returns what speculation.method may be.
func SpeculationMethods() []string {
	return append([]string{NoSpeculation}, hardware.DraftMethods()...)
}

// On reports whether anything drafts.
func (s *Speculation) On() bool { return s.Method != NoSpeculation && s.Method != "" }

// DraftsMax returns the most drafts of a sequence in a step; 0: none.
func (s *Speculation) DraftsMax() int {
	if !s.On() {
		return 0
	}
	most := s.Tokens
	for _, row := range s.Adaptive {
		most = max(most, row[1])
	}
	return most
}

// Drafts returns the drafts of each sequence while so many decode.
func (s *Speculation) Drafts(decodes int) int {
	switch {
	case !s.On() || s.DisableAboveBatch > 0 && decodes > s.DisableAboveBatch:
		return 0
	case len(s.Adaptive) == 0:
		return s.Tokens
	}
	for _, row := range s.Adaptive {
		if decodes <= row[0] {
			return row[1]
		}
	}
	return 0
}
