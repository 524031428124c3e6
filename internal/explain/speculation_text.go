package explain

import (
	"bytes"
	"fmt"
	"math/bits"

	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/text"
)

// explainDrafting says what drafting does to the step, and when it pays.
func explainDrafting(b *bytes.Buffer, s *Step, x *Explanation) {
	v := x.Speculation
	line := func(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }
	what := v.Method
	if v.Drafter != "" {
		what += fmt.Sprintf(" (%s, %s GB of each GPU)", v.Drafter, describe.Giga(v.DrafterBytes))
	}
	line("Speculation: %s, %s a step and sequence, accepted %s. All of the above is the step without drafts.", what,
		count(v.Drafts, "draft"), acceptedHow(s))
	line(
		"With drafts the step takes %s ms, %s ms of it drafting, against %s ms without, and yields %s tokens of a "+
			"sequence: %s × the tokens/s.",
		milli(v.StepS), milli(v.DraftingS), milli(v.PlainS), text.Significant(v.TokensPerStep), text.Significant(v.SpeedUp))
	line("Break-even: %s", breakEvenSentence(s, v))
	line("Compute: %s", verifySentence(s, v))
	if v.off > 0 {
		line("Drafting is off above %s, whatever the table says.", count(v.off, "sequence"))
	}
	line("")
	line("Speed-up of a sequence, by batch and the rate γ at which each draft is accepted:")
	explainSpeedUps(b, s, v)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return text.Count(n) + " " + noun
}

// acceptedHow says how drafts are accepted.
func acceptedHow(s *Step) string {
	how := ""
	switch a := s.scenario.Speculation.Acceptance; {
	case a.Process == "iid":
		how = "at the rate " + text.Significant(a.Rate) + " each"
	case a.Process == "per-position":
		how = "at rates by position"
	case a.Name != "":
		how = "as measured: " + a.Name
	default:
		how = "as lengths that were given"
	}
	if cv := s.scenario.Speculation.HeterogeneityCV; cv > 0 {
		how += fmt.Sprintf(", which vary over requests by %s %%", text.Significant(100*cv))
	}
	return how
}

// breakEvenSentence says from which rate on drafting pays at the step's batch.
func breakEvenSentence(s *Step, v *SpeculationX) string {
	at := fmt.Sprintf("at batch %s", text.Count(s.batch))
	switch need := v.StepS / v.PlainS; {
	case v.Drafts == 0:
		return at + " nothing is drafted."
	case v.BreakEven == nil:
		return fmt.Sprintf("%s a step takes as long as %s without drafts and yields at most %d tokens: drafting never pays.",
			at, text.Significant(need), v.Drafts+1)
	default:
		return fmt.Sprintf("%s drafting pays from %s tokens a step, which drafts accepted at the rate %s each yield.",
			at, text.Significant(need), text.Significant(*v.BreakEven))
	}
}

// verifySentence says from which batch on compute limits the verification.
func verifySentence(s *Step, v *SpeculationX) string {
	said := ""
	switch sequencesMax := s.sequencesMax(); {
	case v.LinearFrom == 0:
		said = "the linear layers of a verification stay memory-bound at every batch"
	case v.LinearSwitchBatch == nil:
		said = fmt.Sprintf("the linear layers of a verification would turn compute-bound at batch %s; %s fit",
			text.Count(v.LinearFrom), text.Count(sequencesMax))
	default:
		said = fmt.Sprintf("the linear layers of a verification turn compute-bound at batch %s", text.Count(v.LinearFrom))
	}
	if v.SwitchBatch != nil {
		return said + fmt.Sprintf(", the whole step at batch %s.", text.Count(*v.SwitchBatch))
	}
	return said + "; the whole step does not, at this context."
}

// explainSpeedUps is the speed-up of a sequence by batch and rate.
func explainSpeedUps(b *bytes.Buffer, s *Step, v *SpeculationX) {
	head := []string{"batch", "drafts", "ms without", "ms with"}
	displayed := []int{0, 3, 5, 6, 7, 8, 9, 10}
	for _, i := range displayed {
		head = append(head, fmt.Sprintf("γ %.1f", v.Rates[i]))
	}
	rows := [][]string{append(head, "as accepted", "break-even")}
	for _, p := range v.Curve {
		row := []string{text.Count(p.Batch), fmt.Sprint(p.Drafts), milli(p.PlainS), milli(p.StepS)}
		for _, i := range displayed {
			row = append(row, fmt.Sprintf("%.2f", p.SpeedUps[i]))
		}
		even := "never"
		switch {
		case p.Drafts == 0:
			even = "–"
		case p.BreakEven != nil:
			even = fmt.Sprintf("%.2f", *p.BreakEven)
		}
		rows = append(rows, append(row, fmt.Sprintf("%.2f", p.SpeedUp), even))
		if p.Batch > s.sequencesMax() && p.Batch >= s.batch {
			break
		}
	}
	aligned(b, rows)
}

// speedUpsOf are the powers of two that the engine runs, for the heat map.
func speedUpsOf(s *Step, v *SpeculationX) *SpeedUps {
	h := &SpeedUps{Drafts: fmt.Sprintf("%s, %s", count(v.Drafts, "draft"), v.Method), Rates: v.Rates}
	for _, p := range v.Curve {
		if bits.OnesCount(uint(p.Batch)) != 1 || p.Batch > max(s.sequencesMax(), s.batch) {
			continue
		}
		h.Batches, h.Factor = append(h.Batches, p.Batch), append(h.Factor, p.SpeedUps)
	}
	h.Ridge = float64(v.LinearFrom)
	return h
}
