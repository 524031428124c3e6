package build

import (
	"errors"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/policies/acceptance"
	"github.com/decodesim/decodesim/sim"
)

// drafterOf returns what drafts for the target; nil: nothing.
func drafterOf(s *configs.Scenario, target llm.Model) (*hardware.Speculation, error) {
	v := &s.Speculation
	if !v.On() {
		return nil, nil
	}
	var given *llm.Model
	if v.DraftModel != "" {
		m, err := catalog.Checkpoint(v.DraftModel)
		if err != nil {
			return nil, s.Errorf("speculation.draft_model", "%s", strict.Message(err))
		}
		given = &m
	}
	drafter, err := hardware.NewDrafter(hardware.DraftMethod(v.Method), target, given, v.DraftsMax(), v.DraftVocab)
	if err != nil {
		return nil, notDrafted(s, err)
	}
	return &hardware.Speculation{Tokens: v.DraftsMax(), Drafter: drafter, HostS: v.DraftHostS}, nil
}

// newSpeculation returns how many tokens are drafted and accepted; nil: none are drafted.
func newSpeculation(s *configs.Scenario, p *configs.Pool) (*sim.Speculation, error) {
	v := &s.Speculation
	if !v.On() || !p.Decodes() {
		return nil, nil
	}
	if engine, err := catalog.Engine(p.Engine); err == nil && engine.Scheduler == catalog.SchedulerStatic {
		return nil, s.Errorf("speculation.method",
			"%q, but engine %s computes a static batch in lock step; accepted: %q, or another engine",
			v.Method, p.Engine, configs.NoSpeculation)
	}
	a, err := NewAcceptance(s)
	if err != nil {
		return nil, err
	}
	return &sim.Speculation{Tokens: int32(v.Tokens), Adaptive: draftRows(v), Acceptance: a}, nil
}

// NewAcceptance returns the process by which drafts are accepted; nil: nothing drafts.
func NewAcceptance(s *configs.Scenario) (*acceptance.Process, error) {
	if !s.Speculation.On() {
		return nil, nil
	}
	law, err := s.Speculation.AcceptanceLaw()
	if err != nil {
		return nil, s.RefusedAcceptance(err)
	}
	a, err := acceptance.New(law, s.Speculation.DraftsMax(), s.Seed)
	if err != nil {
		return nil, s.RefusedAcceptance(err)
	}
	return a, nil
}

// draftRows returns the drafts by sequences; nil: always as many. Whatever is above the batch that turns drafting off
// is cut.
func draftRows(s *configs.Speculation) []sim.DraftRow {
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
func noteDrafts(s *configs.Scenario, p *configs.Pool) []string {
	var notes []string
	switch v := &s.Speculation; {
	case !p.Decodes():
	case v.Method == string(hardware.DraftEAGLE) && v.DraftModel == "":
		notes = append(
			notes, "the EAGLE head is taken to be one dense layer like the model's own, in bf16: speculation.draft_model says "+
				"no other")
	case v.Method == string(hardware.DraftNGram) && v.DraftHostS == 0:
		notes = append(notes, "looking up drafts takes no time: speculation.draft_host_s says none")
	}
	if name := s.Decoding.Sampling; name != string(hardware.Greedy) {
		notes = append(notes, "what "+name+" costs is counted from its algorithm and measured on no engine")
	}
	return notes
}

// notDrafted points hardware's refusal at the key it is about.
func notDrafted(s *configs.Scenario, err error) error {
	key, rest := strict.CutKey(errors.New(strict.Message(err)), "method", "draft_model", "draft_vocab",
		"num_speculative_tokens", "draft_host_s")
	if key == "" {
		key = "method"
	}
	return s.Errorf("speculation."+key, "%s", rest)
}
