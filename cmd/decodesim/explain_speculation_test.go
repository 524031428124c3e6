package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var eagle70B = []string{"--model", "llama-3.1-70b", "--gpu", "h100-sxm", "--tensor-parallel", "4", "--speculation",
	"eagle",
	"--num-speculative-tokens", "3", "--acceptance", "0.8"}

// What is said of drafts adds up: a speed-up is tokens per step over the steps' ratio, it is 1 where drafting breaks
// even, and grows with the rate and falls with the batch.
func TestExplainedDraftsAddUp(t *testing.T) {
	v := explained(t, append(eagle70B, "--batch", "16")...).Speculation
	require.NotNil(t, v)
	assert.InEpsilon(t, 2.952, v.TokensPerStep, 1e-9, "1 + 0.8 + 0.64 + 0.512")
	assert.InEpsilon(t, v.TokensPerStep*v.PlainS/v.StepS, v.SpeedUp, 1e-9)
	assert.LessOrEqual(t, v.BoundS, v.StepS)
	assert.Greater(t, v.StepS-v.DraftingS, v.PlainS, "verifying takes longer than a plain step")
	last := 4.0
	for _, p := range v.Curve {
		require.Len(t, p.SpeedUps, len(v.Rates))
		for i := range p.SpeedUps[1:] {
			assert.Greater(t, p.SpeedUps[i+1], p.SpeedUps[i])
		}
		assert.InEpsilon(t, p.PlainS/p.StepS*(1+0.8+0.64+0.512), p.SpeedUp, 1e-9)
		assert.Less(t, p.SpeedUp, last, "of a dense model")
		last = p.SpeedUp
		if p.BreakEven != nil {
			assert.InEpsilon(t, 1, p.PlainS/p.StepS*expectedTokens(*p.BreakEven), 1e-9)
		}
	}
	assert.Nil(t, explained(t, "chat-8b").Speculation)
}

func TestExplainTellsWhenDraftingPays(t *testing.T) {
	text := explainedText(t, eagle70B...)
	for _, want := range []string{
		"Speculation: eagle (llama-3.1-70b EAGLE head, 0.696 GB of each GPU), 3 drafts a step and sequence, accepted at " +
			"the rate 0.800 each.",
		"Break-even: at batch 1 drafting pays from 1.09 tokens a step",
		"Compute: the linear layers of a verification turn compute-bound at batch 74, the whole step at batch 115.",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, explainedText(t, "chat-8b"), "Speculation")
	off := explainedText(t, append(eagle70B, "--set", "speculation.disable_above_batch=8")...)
	assert.Contains(t, off, "Drafting is off above 8 sequences, whatever the table says.")
	measured := explainedText(t, "--model", "glm-5", "--gpu", "h200-sxm", "--tensor-parallel", "8", "--weights", "fp8",
		"--speculation", "mtp", "--num-speculative-tokens", "3",
		"--set", "speculation.acceptance.process=curve", "--set", "speculation.acceptance.name=glm-5.2-mtp")
	assert.Contains(t, measured, "accepted as measured: glm-5.2-mtp")
}

func TestExplainDrawsSpeedUps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	var out, errOut bytes.Buffer
	require.Equal(t, exitOK, execute(context.Background(), &out, &errOut,
		append([]string{"explain", "--out", dir}, eagle70B...)), errOut.String())
	assert.FileExists(t, filepath.Join(dir, "speculation.svg"))
	assert.FileExists(t, filepath.Join(dir, "speculation.png"))
}

// A mistake in a flag is named as the flag, or as the key that is missing.
func TestMistakesInDraftFlags(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--speculation", "eagel"}, `--speculation eagel: "eagel" is unknown; did you mean "eagle"?`},
		{[]string{"--speculation", "eagle"},
			"speculation.num_speculative_tokens: missing; expected a whole number from 1 to 64"},
		{[]string{"--speculation", "eagle", "--num-speculative-tokens", "3"},
			"speculation.acceptance: missing; expected how drafts are accepted"},
		{[]string{"--speculation", "eagle", "--num-speculative-tokens", "3", "--acceptance", "2"},
			"--acceptance 2: is 2, must be from 0 to 1"},
	} {
		var out, errOut bytes.Buffer
		status := execute(context.Background(), &out, &errOut,
			append([]string{"explain", "--model", "llama-3.1-8b", "--gpu", "h100-sxm"}, c.flags...))
		assert.Equal(t, exitBadInput, status)
		assert.Contains(t, errOut.String(), c.want)
	}
}

// expectedTokens returns the tokens of a step with three drafts, each accepted at a rate after accepted ones.
func expectedTokens(rate float64) float64 { return 1 + rate + rate*rate + rate*rate*rate }
