package build

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// cachedBy runs the scenario in chat.yaml and returns the cached tokens of each request, by ID.
func cachedBy(t *testing.T, set ...string) ([]int32, *metrics.Summary) {
	t.Helper()
	b := build(t, set...)
	recorder := &metrics.Full{}
	cached := map[int32]int32{}
	recorder.Rows = func(r *sim.Request, _ sim.Time, _ sim.Outcome) { cached[r.ID] = r.Cached }
	config := b.Config
	config.Sink = recorder
	c, err := sim.New(config)
	require.NoError(t, err)
	recorder.Watch(c)
	c.Run()
	list := make([]int32, len(cached))
	for id, n := range cached {
		list[id] = n
	}
	return list, recorder.Summary(b.Describe("", c.Totals().Arrived))
}

// repeats is the workload of a measured run: ten system prompts, ten questions to each, cycled.
const repeats = `model: llama-3.1-8b
pools: [{gpu: h100-sxm, max_num_seqs: 128, max_num_batched_tokens: 2048}]
workload:
  arrivals: {process: poisson, rate: 8}
  prefix: {groups: 10, tokens: 100}
  distinct_prompts: 100
  order: cycle
  prompt_tokens: {distribution: normal, mean: 447, cv: 0.1}
  output_tokens: {distribution: fixed, mean: 20}
  requests: 300
`

// TestPromptsThatRepeatAreComputedOnce: whatever comes a second time is cached but for its last block, and whatever
// comes first finds at most its group's system prompt.
func TestPromptsThatRepeatAreComputedOnce(t *testing.T) {
	inDir(t, repeats)
	cached, summary := cachedBy(t)
	require.Len(t, cached, 300)
	var sum int64
	for i, n := range cached {
		sum += int64(n)
		if i < 100 {
			require.Contains(t, []int32{0, 96}, n, "request %d", i)
			continue
		}
		require.Greater(t, n, int32(300), "request %d", i)
		require.Zero(t, n%16)
		if i >= 200 {
			require.Equal(t, cached[i-100], n)
		}
	}
	require.Equal(t, sum, summary.Tokens.PromptCached)
	require.InDelta(t, float64(sum)/float64(summary.Tokens.Prompt), *summary.Pools[0].PrefixHitRate, 1e-12)

	off, without := cachedBy(t, "pools.serve.enable_prefix_caching=false")
	require.Equal(t, make([]int32, 300), off)
	require.Nil(t, without.Pools[0].PrefixHitRate)
	require.Equal(t, summary.Tokens.Prompt, without.Tokens.Prompt, "the same requests")
	require.Greater(t, without.Latency.TTFT.Mean, summary.Latency.TTFT.Mean)
}

// TestAClosedLoopSharesToo: clients draw from the same prompts.
func TestAClosedLoopSharesToo(t *testing.T) {
	inDir(t, strings.Replace(repeats, "arrivals: {process: poisson, rate: 8}", "closed_loop: {concurrency: 4}", 1))
	cached, _ := cachedBy(t)
	require.Len(t, cached, 300)
	require.Greater(t, cached[299], int32(300))
	_, random := cachedBy(t, "workload.order=random")
	require.Positive(t, random.Tokens.PromptCached)
}

// TestATraceSharesByItsBlockIDs: the second prompt begins with two blocks of the first.
func TestATraceSharesByItsBlockIDs(t *testing.T) {
	inDir(t, "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload: {trace: {file: t.jsonl}}\n")
	require.NoError(t, os.WriteFile("t.jsonl",
		[]byte(`{"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [7, 8, 9]}
{"timestamp": 9000, "input_length": 1300, "output_length": 5, "hash_ids": [7, 8, 10]}
`), 0o600))
	cached, _ := cachedBy(t)
	require.Equal(t, []int32{0, 1024}, cached)
	cached, _ = cachedBy(t, "pools.serve.enable_prefix_caching=false")
	require.Equal(t, []int32{0, 0}, cached)
}

// TestARecurrentStateIsNotFoundAgain: by default the cache is off for such a model, and the resolved scenario says so.
func TestARecurrentStateIsNotFoundAgain(t *testing.T) {
	inDir(t, strings.Replace(chat8b, "llama-3.1-8b", "qwen3.5-35b-a3b", 1))
	b := build(t)
	require.False(t, b.Config.Pools[0].PrefixCaching)
	require.False(t, b.Scenario.Pools[0].EnablePrefixCaching)
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"pools.serve.enable_prefix_caching=true"}})
	require.NoError(t, err)
	_, err = New(s)
	require.ErrorContains(t, err,
		"pools.serve.enable_prefix_caching=true: true, but qwen3.5-35b-a3b keeps a recurrent state")
}

func TestImpossibleSharingIsRefused(t *testing.T) {
	arrivals, prompts := "arrivals: {process: poisson, rate: 2}", "prompt_tokens: {distribution: fixed, mean: 100}"
	for _, c := range []struct{ yaml, want string }{
		{with("requests: 10", "requests: 10\n  prefix: {groups: 0, tokens: 5}"),
			`chat.yaml:13:12: workload.prefix.groups: 0 is out of range; expected a whole number from 1 to 16777216`},
		{with("requests: 10", "requests: 10\n  prefix: {groups: 3}"),
			`chat.yaml:13:3: workload.prefix.tokens: missing; expected groups and tokens`},
		{with("requests: 10", "requests: 10\n  prefix: {number: 3}"),
			`chat.yaml:13:12: workload.prefix.number: unknown key; valid keys: "groups", "tokens"`},
		{with("requests: 10", "requests: 10\n  distinct_prompts: 0"),
			`chat.yaml:13:3: workload.distinct_prompts: 0 is out of range; expected a whole number from 1 to 16777216`},
		{with("requests: 10", "requests: 10\n  order: cycle"),
			`chat.yaml:13:3: workload.order: is "cycle"; accepted: nothing without distinct_prompts`},
		{with("requests: 10", "requests: 10\n  distinct_prompts: 5\n  order: cicle"),
			`chat.yaml:14:3: workload.order: "cicle" is unknown; did you mean "cycle"?`},
		{with("requests: 10", "requests: 10\n  distinct_prompts: 5\n  prefix: {groups: 10, tokens: 100}"),
			`chat.yaml:13:3: workload.distinct_prompts: is 5; accepted: at least one prompt for each of the 10 groups`},
		{strings.Replace(with(arrivals, "trace: {file: a.csv}"), prompts, "prefix: {groups: 1, tokens: 1}", 1),
			`chat.yaml:10:3: workload.prefix: stands beside trace, whose block ids say what prompts share; expected only one of them`},
		{strings.Replace(with(arrivals, "trace: {file: a.csv}"), prompts, "distinct_prompts: 1", 1),
			`chat.yaml:10:3: workload.distinct_prompts: stands beside trace, which has prompts of its own; expected only one of them`},
		{strings.Replace(with(arrivals, "trace: {file: a.csv}"), prompts, "order: random", 1),
			`chat.yaml:10:3: workload.order: stands beside trace, which has an order of its own; expected only one of them`},
	} {
		t.Run(c.want, func(t *testing.T) { refuses(t, c.yaml, c.want) })
	}
}

// TestTiersBelowNoBlockAreRefused: what leaves the GPUs would reach no store, and the run would be one without them.
func TestTiersBelowNoBlockAreRefused(t *testing.T) {
	inDir(t, repeats)
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"pools.serve.kv_offloading_size=0.0001",
		"pools.serve.kv_tiers={nvme: {size_gib: 1, read_bps: 1e10}}"}})
	require.NoError(t, err)
	_, err = New(s)
	require.ErrorContains(t, err, "kv_tiers: lies below host memory that holds no block of 16 tokens, which takes "+
		"0.00195 GiB; expected more host memory")
}
