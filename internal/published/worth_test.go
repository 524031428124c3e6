package published

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// worthSeeds are how often each load is simulated, with a rule and without it.
const worthSeeds = 5

// worthHeading begins the last section of docs/engines.md, which TestWhatEqualityIsWorth writes.
const worthHeading = "\n## What equality with the engines is worth\n"

// without is a rule of vLLM's, and a pool that does not have it.
type without struct {
	rule string
	set  []string // keys that take it away
	do   func(p *sim.PoolSpec)
}

// under is a load under which rules are taken away, one by one.
type under struct {
	load     string
	scenario string
	set      []string
	rules    []without
}

// worthTable is what is taken away, and where.
func worthTable() []under {
	noQueue := without{rule: "what a step frees is had two steps later", do: func(p *sim.PoolSpec) { p.BatchQueue = 1 }}
	sync := without{rule: "asynchronous scheduling at all", set: []string{"pools.serve.async_scheduling=false"}}
	old := without{rule: "0.33: the rules of 0.22", set: []string{"pools.serve.version=0.22"}}
	decodeSync := without{rule: sync.rule, set: []string{"pools.decode.async_scheduling=false"}}
	sglang := []string{"pools.serve.engine=sglang"}
	plain := without{rule: sync.rule, set: []string{"pools.serve.overlap_schedule=false"}}
	few := []string{"workload.arrivals.rate=5", "pools.serve.max_num_seqs=16"}
	long := []string{"workload.arrivals.rate=1", "workload.prompt_tokens.mean=6000", "workload.requests=2000",
		"pools.serve.long_prefill_token_threshold=512"}
	drafts := []string{"speculation.method=eagle", "speculation.num_speculative_tokens=4",
		"speculation.acceptance.process=iid", "speculation.acceptance.rate=0.7", "workload.arrivals.rate=10"}
	shared := []string{"workload.prefix.groups=40", "workload.prefix.tokens=1008"}
	slots := []string{"speculation.method=draft", "speculation.draft_model=llama-3.2-1b",
		"speculation.num_speculative_tokens=3", "speculation.acceptance.process=iid", "speculation.acceptance.rate=0.7",
		"workload.arrivals.rate=10", "pools.serve.max_num_batched_tokens=1024"}
	turns := []string{"model=gpt-oss-20b", "workload.arrivals.rate=1", "workload.duration_s=null", "workload.warmup_s=0",
		"workload.requests=4000", "pools.serve.version=0.22", "pools.serve.async_scheduling=false"}
	decodes := []string{"pools.prefill.max_model_len=16384", "pools.decode.max_model_len=16384",
		"pools.decode.num_gpu_blocks=2400"}
	return []under{
		{"chat-8b, 14 requests/s", "chat-8b", nil, []without{sync, noQueue, old}},
		{"chat-8b, 20 requests/s", "chat-8b", []string{"workload.arrivals.rate=20"}, []without{sync, noQueue, old}},
		{"chat-8b, 5 requests/s, 16 sequences", "chat-8b", few, []without{sync, noQueue, old}},
		{"chat-8b, prompts of 6,000 tokens, 1 request/s, long_prefill_token_threshold 512", "chat-8b", long, []without{
			{rule: "a lone request is exempt from it",
				do: continuous(func(p *schedulers.Continuous) { p.SingleExempt = false })}}},
		{"chat-8b, 40 shared prefixes of 1,008 tokens, KV cache of 3,000 blocks", "chat-8b", append(shared,
			"pools.serve.num_gpu_blocks=3000", "workload.arrivals.rate=5"), []without{
			{rule: "blocks without a hash are evicted first", do: func(p *sim.PoolSpec) { p.UnnamedFirst = false }}}},
		{"the same with 4 drafts of EAGLE, 10 requests/s", "chat-8b", append(drafts, shared...), []without{
			{rule: "drafts beyond what a client may get", do: drafting(func(s *sim.Speculation) { s.Uncapped = false })},
			{rule: "blocks of look-ahead", do: drafting(func(s *sim.Speculation) { s.LookAhead = 0 })},
			{rule: "a block is found with its next token alone", do: func(p *sim.PoolSpec) { p.Drafter = sim.Drafter{} }}}},
		{"chat-8b, 3 drafts of a model, 10 requests/s, 1,024 tokens a step", "chat-8b", slots, []without{
			{rule: "the drafter's slots in the budget", do: continuous(func(p *schedulers.Continuous) { p.DraftSlots = 0 })}}},
		{"multi-turn-8b, 1 session/s, gpt-oss-20b, 4 drafts of EAGLE, 0.22 without asynchronous scheduling", "multi-turn-8b",
			append(drafts, turns...), []without{
				{rule: "accepted drafts at the end of an answer name no block",
					do: drafting(func(s *sim.Speculation) { s.DelayedNames = false })},
				{rule: "the last block that is found is computed again", do: func(p *sim.PoolSpec) { p.Drafter = sim.Drafter{} }}}},
		{"pd-70b, 12 requests/s; of its decode pool", "pd-70b", nil, []without{decodeSync, noQueue}},
		{"the same with 2,400 blocks in each", "pd-70b", decodes, []without{
			decodeSync, noQueue,
			{rule: "nothing is freed that a step under way may write", do: func(p *sim.PoolSpec) { p.DefersFrees = false }},
			{rule: "loads leave blocks for what prompts under way lack",
				do: continuous(func(p *schedulers.Continuous) { p.LoadsReserve = false })},
			{rule: old.rule, set: []string{"pools.decode.version=0.22"}}}},
		{"chat-8b under sglang, 20 requests/s", "chat-8b", append(sglang, "workload.arrivals.rate=20"), []without{noQueue}},
		{"chat-8b under sglang, 5 requests/s, 16 sequences", "chat-8b", append(sglang, "workload.arrivals.rate=5",
			"pools.serve.max_running_requests=16"), []without{plain, noQueue}},
		{"the same, KV cache of 16,000 tokens", "chat-8b", append(sglang, "workload.arrivals.rate=5",
			"pools.serve.max_running_requests=16", "pools.serve.num_gpu_blocks=16000"), []without{noQueue}},
	}
}

func continuous(do func(p *schedulers.Continuous)) func(p *sim.PoolSpec) {
	return func(p *sim.PoolSpec) { do(p.Scheduler.(*schedulers.Continuous)) }
}

func drafting(do func(s *sim.Speculation)) func(p *sim.PoolSpec) {
	return func(p *sim.PoolSpec) { do(p.Speculation) }
}

// TestWhatEqualityIsWorth takes rules of vLLM's scheduler away, one by one, and writes what that changes into the last
// section of docs/engines.md: the change of each seed against the same requests with the rule.
func TestWhatEqualityIsWorth(t *testing.T) {
	if !whole() {
		t.Skip("simulates for a while; make published asks for it")
	}
	path := filepath.Join("..", "..", "docs", "engines.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	head, old, found := strings.Cut(string(page), worthHeading)
	require.True(t, found)
	text := worthSection(t)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(head+worthHeading+text), 0o644))
		return
	}
	assert.Equal(t, old, text, "go test ./internal/published -run Worth -update writes it")
}

func worthSection(t *testing.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
Written by `+"`go test ./internal/published -run Equality -update`"+`. Each row is vllm-v1, or sglang, with a rule of the
engine's scheduler taken away, against itself with the rule: the same requests, %d seeds, mean of the changes and
their standard deviation. The capacity is of the same requests, all at once. With ~ the mean is within two standard
errors of nothing. Rules whose lack changes little here decide single requests, not means.

`, worthSeeds)
	b.WriteString("| load | taken away | TTFT mean | ITL mean | E2E mean | capacity |\n|---|---|--:|--:|--:|--:|\n")
	for _, load := range worthTable() {
		base, flood := worthRuns(t, load, without{}, false), worthRuns(t, load, without{}, true)
		for i, rule := range load.rules {
			name := load.load
			if i > 0 {
				name = "the same"
			}
			got, flooded := worthRuns(t, load, rule, false), worthRuns(t, load, rule, true)
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, rule.rule,
				changed(base, got, func(s *metrics.Summary) float64 { return s.Latency.TTFT.Mean }),
				changed(base, got, func(s *metrics.Summary) float64 { return s.Latency.ITL.Mean }),
				changed(base, got, func(s *metrics.Summary) float64 { return s.Latency.E2E.Mean }),
				changed(flood, flooded, func(s *metrics.Summary) float64 { return s.Throughput.RequestsPerS }))
		}
	}
	return b.String()
}

// worthRuns simulates a load once for each seed, without a rule.
func worthRuns(t *testing.T, load under, rule without, flood bool) (all []*metrics.Summary) {
	t.Helper()
	for seed := range worthSeeds {
		set := append([]string{"output.attribution=false", fmt.Sprintf("seed=%d", seed+1)}, load.set...)
		if flood {
			set = append(set, "workload.arrivals.rate=10000")
		}
		s, err := configs.Load(load.scenario, configs.Options{Set: append(set, rule.set...)})
		require.NoError(t, err, "%s", load.load)
		b, err := build.New(s)
		require.NoError(t, err, "%s", load.load)
		if rule.do != nil {
			rule.do(b.Config.Pools[len(b.Config.Pools)-1]) // of several, the one that decodes
		}
		r, err := run.Simulate(context.Background(), b, run.Options{})
		b.Close()
		require.NoError(t, err, "%s", load.load)
		all = append(all, r.Summary)
	}
	return all
}

// changed says by how much a measure changes from one run of each seed to the other.
func changed(from, to []*metrics.Summary, of func(*metrics.Summary) float64) string {
	sum, squares, n := 0.0, 0.0, float64(len(from))
	for i := range from {
		x := 100 * (of(to[i])/of(from[i]) - 1)
		sum, squares = sum+x, squares+x*x
	}
	mean := sum / n
	spread := math.Sqrt(max(0, squares-n*mean*mean) / (n - 1))
	switch {
	case mean == 0 && spread == 0:
		return "equal"
	case math.Abs(mean) < 2*spread/math.Sqrt(n):
		return fmt.Sprintf("~ %+.1f ± %.1f %%", mean, spread)
	}
	return fmt.Sprintf("%+.1f ± %.1f %%", mean, spread)
}
