package configs

import (
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/acceptance"
)

// SpeculationExample is the least that --set has to say of speculation.
const SpeculationExample = "--set speculation.method=eagle --set speculation.num_speculative_tokens=3 " +
	"--set speculation.acceptance.process=iid --set speculation.acceptance.rate=0.7"

// Speculation is how tokens are drafted before the model verifies them, and how many of them it accepts. A method of
// none leaves without effect whatever else stands in its layer or below, so that one key turns a scenario's drafts off
// and a sweep may have none among its methods. A key of a layer above it is refused.
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

// speculationMax bounds the drafts of a sequence in a step.
const speculationMax = 64

// check reports what no drafts can be; what depends on the model is checked where the parts are built.
func (s *Speculation) check(c *checker) {
	const path = "speculation."
	if c.err != nil {
		return
	}
	if !s.On() {
		if key := c.origins.above(c.origins.layer(path+"method"), path); key != "" {
			c.fail(key, "nothing drafts; expected speculation.method beside it, one of %s",
				strings.Join(hardware.DraftMethods(), ", "))
		}
		return
	}
	s.checkDrafts(c)
	switch draft := s.Method == string(hardware.DraftModel); {
	case draft && s.DraftModel == "":
		c.fail(path+"draft_model", "missing; expected a catalog name, or a path to a HuggingFace config.json")
	case !draft && s.Method != string(hardware.DraftEAGLE) && s.DraftModel != "":
		c.fail(path+"draft_model", "%q has no effect with method %s; accepted: methods draft and eagle, or null",
			s.DraftModel, s.Method)
	case s.Method != string(hardware.DraftEAGLE) && s.DraftVocab != 0:
		c.fail(path+"draft_vocab", "%d has no effect with method %s; accepted: method eagle, or null", s.DraftVocab, s.Method)
	}
	if c.err == nil {
		s.checkAcceptance(c)
	}
}

// checkDrafts requires how many drafts there are, said once.
func (s *Speculation) checkDrafts(c *checker) {
	const tokens, adaptive = "speculation.num_speculative_tokens", "speculation.adaptive"
	if len(s.Adaptive) == 0 {
		if s.Tokens == 0 && !c.origins.given(tokens) {
			c.fail(tokens, "missing; expected a whole number from 1 to %d", speculationMax)
		}
		c.count(tokens, int64(s.Tokens), speculationMax)
		return
	}
	if s.Tokens != 0 {
		c.fail(tokens, "%d, but adaptive says how many drafts there are; expected one of the two", s.Tokens)
	}
	most, last := 0, 0
	for _, row := range s.Adaptive {
		if len(row) != 2 || row[0] <= last || row[0] > countMax || row[1] < 0 || row[1] > speculationMax {
			c.fail(adaptive, "%v; expected pairs of sequences, rising, and 0 to %d drafts, such as [[8, 5], [32, 3]]",
				s.Adaptive, speculationMax)
			return
		}
		most, last = max(most, row[1]), row[0]
	}
	if most == 0 {
		c.fail(adaptive, "%v has no drafts at all; expected some, or method none", s.Adaptive)
	}
}

// checkAcceptance reports what no process says.
func (s *Speculation) checkAcceptance(c *checker) {
	const path = "speculation.acceptance"
	a := s.Acceptance
	if a == nil {
		c.fail(path, "missing; expected how drafts are accepted, such as {process: iid, rate: 0.8}")
		return
	}
	for _, k := range []struct {
		key, process string
		has          bool
	}{
		{"rate", "iid", a.Rate != 0}, {"rates", "per-position", len(a.Rates) > 0}, {"name", "curve", a.Name != ""},
		{"no_thinking", "curve", a.NoThinking}, {"lengths", "curve", len(a.Lengths) > 0},
		{"lengths_count", "curve", a.LengthsCount != ""},
	} {
		if k.has && k.process != a.Process {
			c.fail(path+"."+k.key, "has no effect with process %s; accepted: process %s", a.Process, k.process)
		}
	}
	if a.Process == "iid" && !c.origins.given(path+".rate") {
		c.fail(path+".rate", "missing; expected a number from 0 to 1")
	}
	if a.Process == "curve" {
		a.checkCurve(c)
	}
	if c.err != nil {
		return
	}
	law, err := s.AcceptanceLaw()
	if err == nil {
		err = law.Validate(s.DraftsMax())
	}
	if err != nil {
		c.err = c.origins.notAccepted(err)
	}
}

// checkCurve requires lengths of the catalog or one's own, and for the latter what they count.
func (a *Acceptance) checkCurve(c *checker) {
	const path = "speculation.acceptance."
	switch own := len(a.Lengths) > 0; {
	case own == (a.Name != ""):
		c.fail(path+"name", "says nothing, or as much as lengths; expected one of the two: a name such as %q, or lengths",
			catalog.AcceptanceNames()[0])
	case own && a.LengthsCount == "":
		c.fail(path+"lengths_count",
			"missing; expected tokens, if the token of the step itself counts, as in vLLM, or drafts, as in TensorRT-LLM")
	case own:
		c.oneOf(path+"lengths_count", a.LengthsCount, []string{countTokens, countDrafts})
	case a.LengthsCount != "":
		c.fail(path+"lengths_count", "%q, but the catalog says what %s counts; accepted: null", a.LengthsCount, a.Name)
	}
	if own := len(a.Lengths) > 0; own && a.NoThinking {
		c.fail(path+"no_thinking", "has no effect on lengths of one's own; accepted: a name of the catalog")
	}
}

// What lengths count.
const (
	countTokens = "tokens" // the step's own is one of them
	countDrafts = "drafts"
)

// AcceptanceLaw returns how likely drafts are accepted.
func (s *Speculation) AcceptanceLaw() (acceptance.Law, error) {
	a := s.Acceptance
	law := acceptance.Law{Process: a.Process, Rate: a.Rate, Rates: a.Rates, CV: s.HeterogeneityCV}
	if a.Process != "curve" {
		return law, nil
	}
	if a.Name != "" {
		curves, err := catalog.AcceptanceOf(a.Name)
		if err != nil {
			return law, err
		}
		law.Lengths, err = curves.Lengths(!a.NoThinking)
		return law, err
	}
	law.Lengths = catalog.WithBonus(a.Lengths, a.LengthsCount == countTokens)
	return law, nil
}

// notAccepted points a refusal of a law at the key it is about.
func (o *origins) notAccepted(err error) error {
	key, rest := strict.CutKey(err, "rate", "rates", "lengths", "process", "heterogeneity_cv", "no_thinking", "acceptance")
	switch key {
	case "heterogeneity_cv":
		return o.errorf("speculation.heterogeneity_cv", "%s", rest)
	case "", "acceptance":
		return o.errorf("speculation.acceptance.name", "%s", strict.Message(err))
	}
	return o.errorf("speculation.acceptance."+key, "%s", rest)
}

// RefusedAcceptance points a refusal of an acceptance law at the key it is about.
func (s *Scenario) RefusedAcceptance(err error) error { return s.origins.notAccepted(err) }
