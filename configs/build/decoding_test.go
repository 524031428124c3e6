package build

import (
	"os"
	"strings"
	"testing"

	"github.com/decodesim/decodesim/configs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answering is chat8b with so many prompts of 300 tokens that hardly meet, and a decoding.
func answering(decoding string) string {
	return "decoding: " + decoding + "\n" +
		strings.NewReplacer("rate: 10", "rate: 0.1", "requests: 50", "requests: 20").Replace(chat8b)
}

// TestAnswersFindTheirPromptInTheCache: all but the first find its full blocks, the last token's excepted, and every
// answer is emitted.
func TestAnswersFindTheirPromptInTheCache(t *testing.T) {
	for _, decoding := range []string{"{n: 4}", "{beam_width: 4}"} {
		inDir(t, answering(decoding))
		cached, s := cachedBy(t)
		require.Len(t, cached, 80)
		for i, n := range cached {
			require.Equal(t, i%4 != 0, n == 288, "request %d has %d", i, n)
			require.Contains(t, []int32{0, 288}, n)
		}
		require.EqualValues(t, 80, s.Requests.Completed)
		require.EqualValues(t, 80*100, s.Tokens.Output)
		require.InDelta(t, 0.75*288/300, *s.Pools[0].PrefixHitRate, 1e-12)
		require.Contains(t, s.Warnings,
			"each prompt is 4 requests, one for each answer: what is counted and timed is answers")

		off, without := cachedBy(t, "pools.serve.enable_prefix_caching=false")
		require.Equal(t, make([]int32, 80), off)
		require.Greater(t, without.Latency.TTFT.Mean, s.Latency.TTFT.Mean)
		require.Contains(t, without.Warnings, "enable_prefix_caching is false: each prompt is computed and kept 4 times")
	}
}

// TestOneAnswerIsARunWithoutDecoding: neither the requests nor the resolved scenario know of it.
func TestOneAnswerIsARunWithoutDecoding(t *testing.T) {
	inDir(t, chat8b)
	cached, plain := cachedBy(t)
	text := string(build(t).Scenario.YAML())
	require.NotContains(t, text, "beam_width")
	require.NotContains(t, text, "\n  n:")
	for _, decoding := range []string{"{n: 1}", "{beam_width: 1}"} {
		inDir(t, "decoding: "+decoding+"\n"+chat8b)
		one, s := cachedBy(t)
		require.Equal(t, cached, one)
		require.Equal(t, plain, s)
	}
}

// TestClientsAndTracesAskForSeveralAnswersToo: every prompt of theirs is as many requests.
func TestClientsAndTracesAskForSeveralAnswersToo(t *testing.T) {
	inDir(t, strings.Replace(answering("{n: 3}"), "arrivals: {process: poisson, rate: 0.1}",
		"closed_loop: {concurrency: 2}", 1))
	b := build(t)
	require.EqualValues(t, 60, b.Requests)
	require.Contains(t, string(b.Scenario.YAML()), "\n  n: 3\n", "the resolved scenario reruns itself")
	cached, s := cachedBy(t)
	require.Len(t, cached, 60)
	require.EqualValues(t, 60, s.Requests.Completed)
	require.EqualValues(t, 40*288, s.Tokens.PromptCached)
	_, split := cachedBy(t, "pools.serve.replicas=2")
	require.Less(t, split.Tokens.PromptCached, s.Tokens.PromptCached)
	require.Contains(t, split.Warnings,
		"the router places each answer by itself: a prompt is computed on every one of the 2 replicas that has one of its "+
			"answers")

	inDir(t, "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\ndecoding: {n: 2}\nworkload: {trace: {file: t.csv}}\n")
	require.NoError(t, os.WriteFile("t.csv", []byte("arrival_s,input_tokens,output_tokens\n0,500,5\n9,500,7\n"), 0o600))
	cached, s = cachedBy(t)
	require.Equal(t, []int32{0, 496, 0, 496}, cached)
	require.EqualValues(t, 24, s.Tokens.Output)
	require.Contains(t, s.Warnings, "all answers to a prompt are as long as the recorded one")
}

func TestImpossibleAnswersAreRefused(t *testing.T) {
	for _, c := range []struct{ decoding, want string }{
		{"{n: 0}", "decoding.n: 0 is out of range; expected a whole number from 1 to 1024"},
		{"{n: -1}", "decoding.n: -1 is out of range; expected a whole number from 1 to 1024"},
		{"{n: 1000000000000}", "decoding.n: 1000000000000 is out of range; expected a whole number from 1 to 1024"},
		{"{beam_width: 0}", "decoding.beam_width: 0 is out of range; expected a whole number from 1 to 1024"},
		{"{beam_width: -1}", "decoding.beam_width: -1 is out of range; expected a whole number from 1 to 1024"},
		{"{beam_width: 1025}", "decoding.beam_width: 1025 is out of range; expected a whole number from 1 to 1024"},
		{"{n: 4, beam_width: 4}", "decoding.beam_width: 4 stands beside n, 4; expected only one of them"},
		{"{n: 1, beam_width: 1}", "decoding.beam_width: 1 stands beside n, 1; expected only one of them"},
		{"{n: 1.5}", "decoding.n: "},
	} {
		inDir(t, answering(c.decoding))
		_, err := configs.Load("chat.yaml", configs.Options{})
		require.ErrorContains(t, err, "chat.yaml:1:1")
		require.ErrorContains(t, err, c.want)
	}
	for _, c := range []struct {
		decoding, want string
		set            []string
	}{
		{"{n: 4}", "workload.requests=2000000000: 2000000000 prompts of 4 answers each; expected at most 536870911 prompts",
			[]string{"workload.requests=2000000000"}},
		{"{n: 4}", "decoding.n: 4, but a session goes on from one answer; expected 1, or a workload without sessions",
			[]string{"workload.sessions.turns.distribution=fixed", "workload.sessions.turns.mean=3"}},
		{"{beam_width: 9}", "decoding.beam_width: 9 paths, but a replica runs 8 sequences at once; expected at most that",
			[]string{"pools.serve.max_num_seqs=8"}},
		{"{beam_width: 2}", "decoding.beam_width: 2 stands beside speculation", []string{"speculation.method=eagle",
			"speculation.num_speculative_tokens=1", "speculation.acceptance.rate=0.5"}},
	} {
		inDir(t, answering(c.decoding))
		_, err := configs.Load("chat.yaml", configs.Options{Set: c.set})
		require.ErrorContains(t, err, c.want)
	}
}

// TestExpertsBehindLowLatencyKernelsHaveShortSteps: of 256 tokens, or twice as many where throughput counts, and of no
// more sequences; of whole prompts, what the longest has.
func TestExpertsBehindLowLatencyKernelsHaveShortSteps(t *testing.T) {
	inDir(t, running("vllm-v1"))
	for mode, want := range map[string]int{"balanced": 256, "throughput": 512, "interactivity": 256} {
		set := []string{"model=deepseek-r1", "pools.serve.gpu=h200-sxm", "pools.serve.data_parallel=8",
			"pools.serve.expert_parallel=true", "pools.serve.all_to_all=low-latency", "pools.serve.max_model_len=4096",
			"pools.serve.performance_mode=" + mode}
		p := build(t, set...).Scenario.Pools[0]
		assert.Equal(t, want, p.MaxNumBatchedTokens, mode)
		assert.Equal(t, want, p.MaxNumSeqs, mode)
		p = build(t, append(set, "pools.serve.enable_chunked_prefill=false")...).Scenario.Pools[0]
		assert.Equal(t, 4096, p.MaxNumBatchedTokens, mode)
	}
}
