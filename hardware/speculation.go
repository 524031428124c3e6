package hardware

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// Speculation is what proposes tokens before the model verifies them all in one step (Leviathan, Kalman & Matias, ICML
// 2023). How many of them the model accepts is no matter of cost: see policies.
type Speculation struct {
	Tokens  int      // drafts per sequence and step, at most (K)
	Drafter *Drafter // what computes them; nil: nothing on the GPU, as when they are looked up in the prompt
	HostS   float64  // seconds that the host adds to each step with drafts; 0: none are known
}

// Drafter is a model that drafts: one of its own, or a head on the target. It runs on the target's GPUs, split as the
// target is over tensor-parallel ranks.
type Drafter struct {
	Model      llm.Model // of a head: what one pass reads
	Head       bool      // it looks tokens up in the target's embedding
	SharesHead bool      // it reads the target's LM head
	Modules    int       // copies of its layers in memory, each with a cache of its own, used in turn; at least 1
	Parallel   bool      // one pass yields all drafts, not one after the other
}

// DraftMethod names a way to draft.
type DraftMethod string

// The ways to draft.
const (
	DraftModel  DraftMethod = "draft"  // a smaller model of the same vocabulary
	DraftEAGLE  DraftMethod = "eagle"  // a layer that continues the target's hidden states
	DraftMedusa DraftMethod = "medusa" // K heads beside each other
	DraftMTP    DraftMethod = "mtp"    // the checkpoint's own multi-token-prediction modules
	DraftNGram  DraftMethod = "ngram"  // what followed the same tokens before, looked up by the host
)

// DraftMethods lists them.
func DraftMethods() []string {
	return []string{string(DraftModel), string(DraftEAGLE), string(DraftMedusa), string(DraftMTP), string(DraftNGram)}
}

// drafting returns d with the drafter as its model. The host prepares a step once, with the verification.
func (d *Deployment) drafting() Deployment {
	sub := *d
	sub.Model, sub.Speculation, sub.Decoding = d.Speculation.Drafter.Model, nil, Decoding{}
	sub.Efficiency.StepS, sub.Efficiency.SequenceS, sub.Efficiency.SequenceHostS = 0, 0, 0
	return sub
}

// drafts reports whether something on the GPU drafts.
func (d *Deployment) drafts() bool { return d.Speculation != nil && d.Speculation.Drafter != nil }

// draftsMax bounds the drafts of a sequence in a step.
const draftsMax = 256

// validateSpeculation reports what cannot draft for the target.
func (d *Deployment) validateSpeculation() error {
	s := d.Speculation
	if s == nil {
		return nil
	}
	if s.Tokens < 1 || s.Tokens > draftsMax {
		return fmt.Errorf("hardware: num_speculative_tokens %d; expected 1 to %d", s.Tokens, draftsMax)
	}
	if !(s.HostS >= 0 && s.HostS <= 3600) {
		return fmt.Errorf("hardware: draft_host_s %g; expected seconds from 0 to 3600", s.HostS)
	}
	if s.Drafter == nil {
		return nil
	}
	if d.Parallel.Pipeline > 1 {
		return fmt.Errorf("hardware: pipeline_parallel %d, but a drafter runs on the GPUs of one stage; "+
			"accepted: 1, or speculation.method ngram", d.Parallel.Pipeline)
	}
	sub := d.drafting()
	for _, f := range sub.Model.Precision.Weights {
		if _, err := d.GPU.rate(f); err != nil {
			return err
		}
	}
	if err := sub.validateSplit(); err != nil {
		return err
	}
	for _, w := range sub.Windows() {
		if indexWindow(d.Windows(), w) < 0 {
			return fmt.Errorf("hardware: draft_model %s attends to a window of %d tokens, which %s does not have; "+
				"expected one whose windows are among the target's", sub.Model.Name, w.Tokens, d.Model.Name)
		}
	}
	return nil
}

// DrafterBytes returns the weights of the drafter on a GPU: of a head without what it shares with the target.
func (d *Deployment) DrafterBytes() float64 {
	if !d.drafts() {
		return 0
	}
	sub, s, sum := d.drafting(), d.Speculation.Drafter, 0.0
	for c, n := range sub.Model.Params() {
		copies := max(1, s.Modules)
		switch class := llm.WeightClass(c); {
		case class == llm.Embedding && s.Head, class == llm.Head && s.SharesHead:
			continue
		case class == llm.Embedding, class == llm.Head:
			copies = 1
		}
		bytes := float64(n) * sub.Model.WeightBits(llm.WeightClass(c)) / 8 * sub.share(llm.WeightClass(c))
		sum += float64(float64(copies) * bytes)
	}
	return sum
}

// drafterCacheBytes returns what drafting adds to a GPU's cache, by token and by sequence: the drafter's own cache, and
// a recurrent state of the target after each draft, for a rejected one must not leave traces in it.
func (d *Deployment) drafterCacheBytes() (token, fixed float64) {
	if d.Speculation == nil {
		return 0, 0
	}
	token, fixed = d.drafterOwnCacheBytes()
	states := float64(d.Speculation.Tokens) * d.Model.RecurrentBytes() / float64(d.Parallel.Tensor) * d.stageShare()
	return token, fixed + float64(states)
}

// drafterOwnCacheBytes returns what the drafter's own cache adds to that of a GPU, by token and by sequence.
func (d *Deployment) drafterOwnCacheBytes() (token, fixed float64) {
	if !d.drafts() {
		return 0, 0
	}
	sub := d.drafting()
	token, fixed = sub.cacheBytes()
	modules := float64(max(1, d.Speculation.Drafter.Modules))
	return token * modules, fixed * modules
}

// rowsPerSequence returns how many rows of a decoding sequence go through the LM head in a step, at most.
func (d *Deployment) rowsPerSequence() int {
	if d.Speculation == nil {
		return 1
	}
	return 1 + d.Speculation.Tokens
}

// unknownMethod refuses a way to draft.
func unknownMethod(m DraftMethod) error {
	return fmt.Errorf("hardware: speculation method %q not known; valid values: %s", m, strings.Join(DraftMethods(), ", "))
}

// windowsOf returns, for each window of the drafter, which of the target's it is.
func (d *Deployment) windowsOf(drafter *Deployment) []int {
	target := d.Windows()
	var at []int
	for _, w := range drafter.Windows() {
		at = append(at, slices.IndexFunc(target, func(have sim.Window) bool { return have == w }))
	}
	return at
}
