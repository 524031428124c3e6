package build

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/sim"
)

// drafting is base with one pool and speculation.
func drafting(speculation string) string {
	return strings.Replace(with("seed: 5", "seed: 5\nspeculation: "+speculation),
		"  - name: other\n    gpu: a100-sxm-80gb\n", "", 1)
}

func TestImpossibleSpeculationIsRefused(t *testing.T) {
	const accepts = "acceptance: {rate: 0.8}}"
	for _, c := range []struct{ yaml, want string }{
		{"{method: eagel}", `speculation.method: "eagel" is unknown; did you mean "eagle"?`},
		{"{method: eagle, " + accepts, "speculation.num_speculative_tokens: missing; expected a whole number from 1 to 64"},
		{"{num_speculative_tokens: 65, method: eagle, " + accepts,
			"speculation.num_speculative_tokens: 65 is out of range; expected a whole number from 1 to 64"},
		{"{num_speculative_tokens: 3, method: eagle}",
			"speculation.acceptance: missing; expected how drafts are accepted, such as {process: iid, rate: 0.8}"},
		{"{num_speculative_tokens: 3, method: eagle, acceptance: {process: iid}}",
			"speculation.acceptance.rate: missing; expected a number from 0 to 1"},
		{"{method: draft, num_speculative_tokens: 3, " + accepts,
			"speculation.draft_model: missing; expected a catalog name, or a path to a HuggingFace config.json"},
		{"{draft_model: qwen3-0.6b, method: mtp, num_speculative_tokens: 3, " + accepts,
			`speculation.draft_model: "qwen3-0.6b" has no effect with method mtp; accepted: methods draft and eagle, or null`},
		{"{adaptive: [[8, 5], [4, 1]], method: eagle, " + accepts,
			"speculation.adaptive: [[8 5] [4 1]]; expected pairs of sequences, rising, and 0 to 64 drafts, such as [[8, 5], " +
				"[32, 3]]"},
		{"{adaptive: [[8, 0]], method: eagle, " + accepts,
			"speculation.adaptive: [[8 0]] has no drafts at all; expected some, or method none"},
		{"{num_speculative_tokens: 1, adaptive: [[8, 1]], method: eagle, " + accepts,
			"speculation.num_speculative_tokens: 1, but adaptive says how many drafts there are; expected one of the two"},
		{"{method: eagle, num_speculative_tokens: 3, acceptance: {rate: 1.5}}",
			"speculation.acceptance.rate: is 1.5, must be from 0 to 1"},
		{"{method: eagle, num_speculative_tokens: 3, acceptance: {process: per-position, rates: [0.5, 2, 0]}}",
			"speculation.acceptance.rates[1]: is 2, must be from 0 to 1"},
		{"{method: eagle, num_speculative_tokens: 3, acceptance: {process: per-position, rates: [0.5]}}",
			"speculation.acceptance.rates: has 1 numbers, must have one for each of 3 drafts"},
		{"{method: eagle, num_speculative_tokens: 9, acceptance: {process: curve, name: glm-5.2-mtp}}",
			"speculation.acceptance.lengths: has 8 numbers, must have one for each of 1 to 9 drafts"},
		{"{method: eagle, num_speculative_tokens: 3, acceptance: {process: curve, name: glm-5.3-mtp}}",
			`speculation.acceptance.name: acceptance "glm-5.3-mtp" not found; did you mean "glm-5.2-mtp"?`},
		{"{method: eagle, num_speculative_tokens: 3, acceptance: {process: curve, name: glm-5.2-mtp, no_thinking: true}}",
			"speculation.acceptance.no_thinking: is true, but glm-5.2-mtp was measured only the other way; expected false"},
		{"{method: eagle, num_speculative_tokens: 1, acceptance: {process: curve, lengths: [1.5]}}",
			"speculation.acceptance.lengths_count: missing; expected tokens, if the token of the step itself counts"},
		{"{method: eagle, num_speculative_tokens: 1, acceptance: {rate: 0.5, rates: [0.5]}}",
			"speculation.acceptance.rates: has no effect with process iid; accepted: process per-position"},
		{"{method: eagle, num_speculative_tokens: 1, heterogeneity_cv: 2, acceptance: {rate: 0.5}}",
			"speculation.heterogeneity_cv: is 2, must be 0 or more and below 1: rates from 0 to 1 with a mean of 0.5 vary no " +
				"more"},
	} {
		inDir(t, drafting(c.yaml))
		_, err := configs.Load("chat.yaml", configs.Options{})
		require.ErrorContains(t, err, c.want)
	}
}

func TestSpeculationThatNoReplicaHasIsRefused(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"{method: mtp, num_speculative_tokens: 3, acceptance: {rate: 0.8}}",
			"speculation.method: mtp, but the checkpoint of llama-3.1-8b has no such module; accepted: draft, eagle, medusa, " +
				"ngram"},
		{"{method: draft, draft_model: qwen3-0.6b, num_speculative_tokens: 3, acceptance: {rate: 0.8}}",
			"speculation.draft_model: qwen3-0.6b has a vocabulary of 151936 tokens and llama-3.1-8b one of 128256; expected " +
				"one that shares it"},
		{"{method: draft, draft_model: llama-3.2-1, num_speculative_tokens: 3, acceptance: {rate: 0.8}}",
			`speculation.draft_model: model "llama-3.2-1" not found; did you mean "llama-3.2-1b"?`},
		{"{method: eagle, draft_vocab: 500000, num_speculative_tokens: 3, acceptance: {rate: 0.8}}",
			"speculation.draft_vocab: 500000; llama-3.1-8b has 128256 tokens, of which a head drafts some or all"},
	} {
		inDir(t, drafting(c.yaml))
		s, err := configs.Load("chat.yaml", configs.Options{})
		require.NoError(t, err, c.yaml)
		_, err = FirstReplica(s)
		require.ErrorContains(t, err, c.want)
	}
	inDir(t, drafting("{method: eagle, num_speculative_tokens: 3, acceptance: {rate: 0.8}}"))
	s, err := configs.Load("chat.yaml",
		configs.Options{Set: []string{"pools.serve.engine=textbook", "pools.serve.pipeline_parallel=2"}})
	require.NoError(t, err)
	_, err = FirstReplica(s)
	require.ErrorContains(t, err,
		"2, but a drafter runs on the GPUs of one stage; accepted: 1, or speculation.method ngram")
}

// A resolved scenario says all that was said of speculation, and nothing of other processes; switching it off by one
// key is enough.
func TestSpeculationIsResolved(t *testing.T) {
	inDir(
		t, drafting(
			"{method: draft, draft_model: llama-3.2-1b, adaptive: [[8, 5], [32, 3]], disable_above_batch: 16, "+
				"heterogeneity_cv: 0.2, "+
				"acceptance: {process: curve, name: minimax-m3-eagle3, no_thinking: true}}"))
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	again, err := configs.Read("again.yaml", s.YAML(), configs.Options{})
	require.NoError(t, err)
	assert.Equal(t, s.Speculation, again.Speculation)
	assert.NotContains(t, string(s.YAML()), "lengths_count")
	b, err := New(s)
	require.NoError(t, err)
	defer b.Close()
	got := b.Config.Pools[0].Speculation
	assert.Equal(t, []sim.DraftRow{{Decodes: 8, Tokens: 5}, {Decodes: 16, Tokens: 3}}, got.Adaptive)
	for n, want := range map[int]int{1: 5, 8: 5, 9: 3, 16: 3, 17: 0} {
		assert.Equal(t, want, s.Speculation.Drafts(n), n)
	}
	a, err := NewAcceptance(s)
	require.NoError(t, err)
	assert.InDelta(t, 3.59, a.Length(5), 1e-6)

	plain, err := configs.Load("chat.yaml", configs.Options{Set: []string{"speculation.method=none"}})
	require.NoError(t, err)
	off, err := New(plain)
	require.NoError(t, err)
	defer off.Close()
	assert.Nil(t, off.Config.Pools[0].Speculation)
	assert.Nil(t, off.Deployment.Speculation)
	assert.Greater(t, off.KVBlocks, b.KVBlocks, "drafts take memory")
}

// Without the word speculation nothing of it stands in a resolved scenario but that there is none.
func TestNoSpeculationIsOneLine(t *testing.T) {
	s, err := configs.Load("chat-8b", configs.Options{})
	require.NoError(t, err)
	assert.Contains(t, string(s.YAML()), "speculation:\n  method: none")
	assert.NotContains(t, string(s.YAML()), "acceptance")
}

// A length that counts drafts alone is one less than one that counts the token of the step.
func TestLengthsCountWhatTheySay(t *testing.T) {
	for count, lengths := range map[string]string{"tokens": "[1.8, 2.4]", "drafts": "[0.8, 1.4]"} {
		inDir(
			t, drafting(
				fmt.Sprintf(
					"{method: ngram, num_speculative_tokens: 2, acceptance: {process: curve, lengths: %s, lengths_count: %s}}",
					lengths, count)))
		s, err := configs.Load("chat.yaml", configs.Options{})
		require.NoError(t, err)
		a, err := NewAcceptance(s)
		require.NoError(t, err)
		assert.InDelta(t, 2.4, a.Length(2), 1e-9)
	}
}

// The catalog is the file it restates, and each of its curves is one that drafts can have.
func TestAcceptanceCurvesAreThoseMeasured(t *testing.T) {
	require.Len(t, catalog.AcceptanceNames(), 9)
	have := map[string]float64{}
	for _, name := range catalog.AcceptanceNames() {
		a, err := catalog.AcceptanceOf(name)
		require.NoError(t, err)
		assert.True(t, a.CountsBonus, "as their source counts")
		for _, c := range a.Curves {
			for j, length := range c.Lengths {
				_, rest, _ := strings.Cut(a.Source, ", curve ")
				id, _, _ := strings.Cut(rest, ",")
				have[fmt.Sprintf("%s %t %d", id, c.Thinking, j+1)] = length
			}
		}
	}
	assert.Len(t, have, 112)
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(shared, "groundtruth", "E_golden_accept_len.csv"))
	if err != nil {
		t.Skip("no measured acceptance lengths: set DECODESIM_SHARED")
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] { // model, method, curve, thinking, draft_tokens, accept_len, …
		want, err := strconv.ParseFloat(row[5], 64)
		require.NoError(t, err)
		assert.EqualValues(t, want, have[fmt.Sprintf("%s %t %s", row[2], row[3] == "on", row[4])], row)
	}
}

// TestADraftModelLeavesLessOfAStepToPrompts: 0.33 takes a token of it for each request, 0.22 one for each of
// max_num_seqs.
func TestADraftModelLeavesLessOfAStepToPrompts(t *testing.T) {
	inDir(t, running("vllm-v1"))
	for version, max := range map[string]int32{"0.33": 999, "0.22": 936} {
		b := build(t, "pools.serve.version="+version, "pools.serve.enable_chunked_prefill=false",
			"pools.serve.max_num_batched_tokens=1000", "pools.serve.max_num_seqs=64", "speculation={method: draft, "+
				"draft_model: llama-3.2-1b, num_speculative_tokens: 3, acceptance: {rate: 0.8}}")
		assert.Equal(t, max, b.Config.Pools[0].PromptMax, version)
		assert.Contains(t, b.Describe("", 1).RejectedFor, fmt.Sprintf("with a prompt longer than max_num_batched_tokens "+
			"less what a draft model takes of them, %d tokens: enable_chunked_prefill is false", max))
	}
}
