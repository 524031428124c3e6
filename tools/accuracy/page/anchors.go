package page

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/validation"
)

// prompts are times to first token beside what the arithmetic of the prompt takes at least.
func (a *Accuracy) prompts(m *markdown) {
	m.heading(2, "Cold prompts")
	m.para("TTFT of one prompt on an idle server, which includes what the server spends outside its steps, beside the " +
		"FLOPs of the prompt at the peak of the data sheet on all its GPUs: 2 per parameter that a token uses, and the " +
		"products of attention. No prediction is below.")
	rows := [][]string{{"deployment", "prompt tokens", "at least", "predicted", "ratio"}}
	for _, p := range a.Prompts {
		rows = append(rows, []string{
			p.Deployment, fmt.Sprint(p.Tokens), text.Duration(p.BoundMS / 1e3), text.Duration(p.TTFTMS / 1e3),
			text.Significant(p.TTFTMS / p.BoundMS),
		})
	}
	m.table(1, rows)
}

// The saying about 70B models, and how near counts as near.
const (
	seventyMS    = 25
	seventyShare = 0.2
)

// NearSeventy reports whether a step is about as long as the saying has it.
func (s *AnchorStep) NearSeventy() bool { return math.Abs(s.StepMS/seventyMS-1) <= seventyShare }

// anchors are published speeds with their conditions.
func (a *Accuracy) anchors(m *markdown) {
	m.heading(2, "Anchors")
	m.para("**\"70B on H100 is about %d ms per token.\"** One decode step of Llama-3.1-70B under vLLM, of sequences "+
		"with %d tokens of context; about: within %.0f %%. It is true of bf16 on two GPUs, of which each reads 70 GB in 21 "+
		"ms at peak bandwidth; of larger batches on more GPUs or in fp8; and of fp8 on one GPU, where hardly any cache "+
		"fits beside the weights. It is not true of one sequence on four GPUs and more.", seventyMS,
		contextOf(a.Seventy), 100*seventyShare)
	rows := [][]string{{"deployment", "batch", "at least, ms", "predicted, ms", "about 25 ms"}}
	for i := range a.Seventy {
		s, about := &a.Seventy[i], "no"
		if s.NearSeventy() {
			about = "yes"
		}
		rows = append(rows, []string{s.Deployment, fmt.Sprint(s.Batch), text.Significant(s.BoundMS),
			text.Significant(s.StepMS), about})
	}
	m.table(1, rows)
	for i := range a.Targets {
		a.Targets[i].write(m)
	}
}

func contextOf(steps []AnchorStep) int {
	if len(steps) == 0 {
		return 0
	}
	return steps[0].Context
}

// TargetMS is the time per token of a target.
func (t *Target) TargetMS() float64 { return 1e3 / t.TokensPerS }

// write says what a published speed would take.
func (t *Target) write(m *markdown) {
	layer := func(ms float64) string { return text.Significant(1e3 * ms / float64(t.Layers)) }
	m.para("**%s at %s tokens/s to one user** is %s ms per token. One sequence with %d tokens of context; tokens per "+
		"step are what a step of the predicted length would have to yield, if drafting and verifying cost nothing:", t.Model,
		text.Short(t.TokensPerS),
		text.Significant(t.TargetMS()), contextOf(t.Steps))
	rows := [][]string{{"deployment", "at least, ms", "predicted, ms", "predicted, µs per layer", "tokens per step"}}
	for i := range t.Steps {
		s := &t.Steps[i]
		rows = append(rows, []string{
			s.Deployment, text.Significant(s.BoundMS), text.Significant(s.StepMS), layer(s.StepMS),
			text.Significant(max(1, s.StepMS/t.TargetMS())),
		})
	}
	m.table(1, rows)
	measured := "Without speculation nothing was measured of it."
	if t.Best != nil {
		measured = "The fastest that was measured of this shape without speculation is " + measuredBest(t.Best) +
			fmt.Sprintf(", %s times "+
				"as long.",
				text.Significant(t.Best.Value.Measured/t.TargetMS()))
	}
	m.para("%s The bound allows the speed, the software measured here does not: it would take %s µs per layer with all "+
		"that a layer does, in %d layers, such as one fused kernel for the whole model; or speculation that yields the "+
		"tokens per step of the table.", measured, layer(t.TargetMS()),
		t.Layers)
}

func measuredBest(p *validation.Prediction) string {
	l := &p.Run.Labels
	return fmt.Sprintf("%s ms (%s, %s tokens, %s)", text.Significant(p.Value.Measured), deploymentName(l), l.Load,
		text.Counted(l.Concurrency, "client"))
}
