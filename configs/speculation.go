package configs

import (
	"errors"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/policies/acceptance"
	"github.com/decodesim/decodesim/sim"
)

// Speculation is how tokens are drafted before the model verifies them, and how many of them it accepts. With method none
// everything else is without effect.
type Speculation struct {
	Method            string      `yaml:"method" doc:"none draft eagle medusa mtp ngram"`
	Tokens            int         `yaml:"num_speculative_tokens,omitempty"` // drafts of a sequence in a step
	DraftModel        string      `yaml:"draft_model,omitempty"`            // of draft and perhaps eagle: catalog name, or a path to a config.json
	DraftVocab        int         `yaml:"draft_vocab,omitempty"`            // of eagle: rows of a head's own LM head; absent: the target's
	DraftHostS        float64     `yaml:"draft_host_s,omitempty"`           // what the host adds to a step with drafts
	Acceptance        *Acceptance `yaml:"acceptance"`
	HeterogeneityCV   float64     `yaml:"heterogeneity_cv,omitempty"`    // of the first draft's rate over requests
	DisableAboveBatch int         `yaml:"disable_above_batch,omitempty"` // no drafts while more sequences decode; absent: always
	Adaptive          [][]int     `yaml:"adaptive,omitempty"`            // [sequences up to, drafts], in place of num_speculative_tokens; beyond the last: none
}

// Acceptance is the process by which drafts are accepted, see acceptance.Law.
type Acceptance struct {
	Process      string    `yaml:"process" doc:"iid per-position curve"`
	Rate         float64   `yaml:"rate" doc:"iid: of each draft after accepted ones"`
	Rates        []float64 `yaml:"rates,omitempty"`         // per-position: of each draft, the ones before it accepted
	Name         string    `yaml:"name,omitempty"`          // curve: of the catalog
	NoThinking   bool      `yaml:"no_thinking,omitempty"`   // curve: as measured without thinking
	Lengths      []float64 `yaml:"lengths,omitempty"`       // curve: one's own, with 1, 2, … drafts
	LengthsCount string    `yaml:"lengths_count,omitempty"` // tokens, with the step's own, or drafts alone
}

// noSpeculation is the method that drafts nothing.
const noSpeculation = "none"

// SpeculationMethods returns what speculation.method may be.
func SpeculationMethods() []string {
	return append([]string{noSpeculation}, hardware.DraftMethods()...)
}

// On reports whether anything drafts.
func (s *Speculation) On() bool { return s.Method != noSpeculation && s.Method != "" }

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

// speculation returns what drafts for the target; nil: nothing.
func (s *Scenario) speculation(target llm.Model) (*hardware.Speculation, error) {
	v := &s.Speculation
	if !v.On() {
		return nil, nil
	}
	var given *llm.Model
	if v.DraftModel != "" {
		m, err := catalog.Checkpoint(v.DraftModel)
		if err != nil {
			return nil, s.origins.errorf("speculation.draft_model", "%s", strict.Message(err))
		}
		given = &m
	}
	drafter, err := hardware.NewDrafter(hardware.DraftMethod(v.Method), target, given, v.DraftsMax(), v.DraftVocab)
	if err != nil {
		return nil, s.notDrafted(err)
	}
	return &hardware.Speculation{Tokens: v.DraftsMax(), Drafter: drafter, HostS: v.DraftHostS}, nil
}

// drafts returns how many tokens are drafted and accepted; nil: none are drafted.
func (s *Scenario) drafts(p *Pool) (*sim.Speculation, error) {
	v := &s.Speculation
	if !v.On() || !p.Decodes() {
		return nil, nil
	}
	if engine, err := catalog.Engine(p.Engine); err == nil && engine.Scheduler == catalog.SchedulerStatic {
		return nil, s.origins.errorf("speculation.method", "%q, but engine %s computes a static batch in lock step; accepted: %q, or another engine",
			v.Method, p.Engine, noSpeculation)
	}
	a, err := s.Accepting()
	if err != nil {
		return nil, err
	}
	return &sim.Speculation{Tokens: int32(v.Tokens), Adaptive: v.rows(), Acceptance: a}, nil
}

// Accepting returns the process by which drafts are accepted; nil: nothing drafts.
func (s *Scenario) Accepting() (*acceptance.Process, error) {
	if !s.Speculation.On() {
		return nil, nil
	}
	law, err := s.Speculation.law()
	if err != nil {
		return nil, s.origins.notAccepted(err)
	}
	a, err := acceptance.New(law, s.Speculation.DraftsMax(), s.Seed)
	if err != nil {
		return nil, s.origins.notAccepted(err)
	}
	return a, nil
}

// rows returns the drafts by sequences; nil: always as many. Whatever is above the batch that turns drafting off is cut.
func (s *Speculation) rows() []sim.DraftRow {
	if len(s.Adaptive) == 0 && s.DisableAboveBatch == 0 {
		return nil
	}
	all := s.Adaptive
	if len(all) == 0 {
		all = [][]int{{s.DisableAboveBatch, s.Tokens}}
	}
	rows := []sim.DraftRow{}
	for _, row := range all {
		above := s.DisableAboveBatch > 0 && row[0] >= s.DisableAboveBatch
		if above {
			return append(rows, sim.DraftRow{Decodes: s.DisableAboveBatch, Tokens: int32(row[1])})
		}
		rows = append(rows, sim.DraftRow{Decodes: row[0], Tokens: int32(row[1])})
	}
	return rows
}

// noteDrafts warns of costs of a pool that nobody has measured.
func (s *Scenario) noteDrafts(p *Pool) []string {
	var notes []string
	switch v := &s.Speculation; {
	case !p.Decodes():
	case v.Method == string(hardware.DraftEAGLE) && v.DraftModel == "":
		notes = append(notes, "the EAGLE head is taken to be one dense layer like the model's own, in bf16: speculation.draft_model says no other")
	case v.Method == string(hardware.DraftNGram) && v.DraftHostS == 0:
		notes = append(notes, "looking up drafts takes no time: speculation.draft_host_s says none")
	}
	if name := s.Decoding.Sampling; name != string(hardware.Greedy) {
		notes = append(notes, "what "+name+" costs is counted from its algorithm and measured on no engine")
	}
	return notes
}

// notDrafted points hardware's refusal at the key it is about.
func (s *Scenario) notDrafted(err error) error {
	key, rest := cutKey(errors.New(strict.Message(err)), "method", "draft_model", "draft_vocab", "num_speculative_tokens", "draft_host_s")
	if key == "" {
		key = "method"
	}
	return s.origins.errorf("speculation."+key, "%s", rest)
}
