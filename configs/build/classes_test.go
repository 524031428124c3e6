package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// twoClasses is a workload with classes; %s stands for more of the second one.
const twoClasses = `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  arrivals: {process: poisson, rate: 8}
  prompt_tokens: {distribution: lognormal, mean: 300, cv: 1}
  output_tokens: {distribution: lognormal, mean: 100, cv: 1}
  classes:
    - {name: chat, share: 0.75}
    - {name: batch, share: 0.25, priority: 9%s}
  requests: 300
slo: {ttft_ms: 300}
`

// conversations is a workload with sessions; %s stands for more of it.
const conversations = `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  arrivals: {process: poisson, rate: 2}
  sessions:
    turns: {distribution: uniform, min: 1, max: 8}
    think_time_s: {distribution: exponential, mean: 2}
  prefix: {groups: 2, tokens: 200}
  prompt_tokens: {distribution: lognormal, mean: 60, cv: 1}
  output_tokens: {distribution: lognormal, mean: 80, cv: 1}
  requests: 400%s
`

// simulated runs the scenario of a text, with values set.
func simulated(t require.TestingT, text string, set ...string) (*Built, *metrics.Summary) {
	s, err := configs.Read("scenario.yaml", []byte(text), configs.Options{Set: set})
	require.NoError(t, err)
	b, err := New(s)
	require.NoError(t, err)
	f := &metrics.Full{}
	f.SLO, f.Warmup, f.Ingress = b.SLO, b.Warmup, b.Config.Ingress
	f.SeparateClasses(b.Classes())
	b.Config.Sink = f
	c, err := sim.New(b.Config)
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	require.NoError(t, b.SourceErr())
	return b, f.Summary(b.Describe("v", c.Totals().Arrived))
}

// TestUrgentRequestsPreemptOthersAnywhere: a request may be preempted that has just filled a block. Windows have blocks
// that the urgent one takes, so that all others are there still when it comes back.
func TestUrgentRequestsPreemptOthersAnywhere(t *testing.T) {
	_, summary := simulated(t, `model: gemma-3-27b
pools:
  - {gpu: h100-sxm, max_num_seqs: 64, max_model_len: 2048, num_gpu_blocks: 2000, queue_order: priority,
     async_scheduling: false}
workload:
  arrivals: {process: poisson, rate: 8}
  classes:
    - {name: chat, share: 0.5, prompt_tokens: {distribution: uniform, min: 1, max: 100},
       output_tokens: {distribution: uniform, min: 1, max: 400}}
    - {name: batch, share: 0.5, priority: 10, prompt_tokens: {distribution: uniform, min: 1, max: 100},
       output_tokens: {distribution: uniform, min: 1, max: 400}}
  requests: 150
seed: 3
`)
	require.Equal(t, int64(150), summary.Requests.Completed)
	require.Greater(t, summary.Requests.Preemptions, int64(50))
}

// TestClassesSumToTheRun: requests, tokens and gaps of all classes are those of the run, whatever happens to them.
func TestClassesSumToTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0.05, 0.95).Draw(t, "share")
		set := []string{
			fmt.Sprintf("workload.classes.0.share=%.17g", share), fmt.Sprintf("workload.classes.1.share=%.17g", 1-share),
			fmt.Sprint("workload.arrivals.rate=", rapid.SampledFrom([]int{2, 30, 200}).Draw(t, "rate")),
			"pools.serve.engine=" + rapid.SampledFrom(catalog.EngineNames()).Draw(t, "engine"),
			fmt.Sprint("seed=", rapid.IntRange(0, 1000).Draw(t, "seed")),
			"pools.serve.queue_order=" + rapid.SampledFrom([]string{"fcfs", "priority"}).Draw(t, "order"),
		}
		for _, some := range []string{"workload.timeout_s=2", "pools.serve.max_model_len=1024", "workload.duration_s=20",
			"workload.warmup_s=3"} {
			if rapid.Bool().Draw(t, some) {
				set = append(set, some)
			}
		}
		if rapid.Bool().Draw(t, "tight") { // some 4000 tokens of cache: preemptions
			set = append(set, "pools.serve.block_size=16", "pools.serve.num_gpu_blocks=260", "pools.serve.max_model_len=1024")
		}
		requireClassesSum(t, set)
	})
}

// TestAVictimThatHadEndedIsNoPreemption: with batches queued, a request that has ended can make room, and nobody waits
// for it.
func TestAVictimThatHadEndedIsNoPreemption(t *testing.T) {
	requireClassesSum(t, []string{
		"workload.classes.0.share=0.5", "workload.classes.1.share=0.5", "workload.arrivals.rate=200", "seed=0",
		"pools.serve.block_size=16", "pools.serve.num_gpu_blocks=260", "pools.serve.max_model_len=1024",
	})
}

// requireClassesSum simulates two classes with values set and compares their sum with the run.
func requireClassesSum(t require.TestingT, set []string) {
	_, s := simulated(t, fmt.Sprintf(twoClasses,
		", slo: {e2e_ms: 1500}, output_tokens: {distribution: fixed, mean: 150}"), set...)
	var sum metrics.ClassResult
	var gaps, first int64
	for _, c := range s.Classes {
		sum.Requests.Arrived += c.Requests.Arrived
		sum.Requests.Completed += c.Requests.Completed
		sum.Requests.Rejected += c.Requests.Rejected
		sum.Requests.Failed += c.Requests.Failed
		sum.Requests.Unfinished += c.Requests.Unfinished
		sum.Requests.Preemptions += c.Requests.Preemptions
		sum.Tokens.Prompt += c.Tokens.Prompt
		sum.Tokens.PromptCached += c.Tokens.PromptCached
		sum.Tokens.Output += c.Tokens.Output
		gaps, first = gaps+c.Latency.ITL.N, first+c.Latency.TTFT.N
	}
	require.Len(t, s.Classes, 2)
	require.Equal(t, s.Requests, sum.Requests)
	require.Equal(t, s.Tokens, sum.Tokens)
	require.Equal(t, s.Latency.ITL.N, gaps)
	require.Equal(t, s.Latency.TTFT.N, first)
}

// TestOneClassIsTheRun: its distributions are those of the whole, and so are its SLO's.
func TestOneClassIsTheRun(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(twoClasses, ""), "    - {name: batch, share: 0.25, priority: 9}\n", "", 1)
	_, s := simulated(t, strings.Replace(text, "share: 0.75", "share: 1", 1))
	require.Len(t, s.Classes, 1)
	require.Equal(t, s.Latency, s.Classes[0].Latency)
	require.Equal(t, s.SLO, s.Classes[0].SLO)
	require.Equal(t, s.Requests, s.Classes[0].Requests)
}

// TestAClassHasItsOwnLimits: all of its own or all of the scenario's.
func TestAClassHasItsOwnLimits(t *testing.T) {
	limits := func(more string) []metrics.Limits {
		s, err := configs.Read("s.yaml", fmt.Appendf(nil, twoClasses, more), configs.Options{})
		require.NoError(t, err)
		var all []metrics.Limits
		for i := range s.Workload.Classes {
			all = append(all, classLimits(s, &s.Workload.Classes[i]))
		}
		require.Equal(t, []sim.Duration{all[0].TTFT, all[1].TTFT}, ttftLimits(s))
		return all
	}
	scenario := metrics.Limits{TTFT: 300 * sim.Millisecond}
	require.Equal(t, []metrics.Limits{scenario, scenario}, limits(""))
	require.Equal(t, []metrics.Limits{scenario, {}}, limits(", slo: {}"))
	require.Equal(t, []metrics.Limits{scenario, {TPOT: 20 * sim.Millisecond, E2E: sim.Second}},
		limits(", slo: {tpot_ms: 20, e2e_ms: 1000}"))
	s, err := configs.Read("s.yaml", []byte(fmt.Sprintf(conversations, "\nslo: {ttft_ms: 40}")), configs.Options{})
	require.NoError(t, err)
	require.Equal(t, []sim.Duration{40 * sim.Millisecond}, ttftLimits(s))
}

// TestClassesAndSessionsRerunFromTheirResolvedScenario.
func TestClassesAndSessionsRerunFromTheirResolvedScenario(t *testing.T) {
	for _, text := range []string{fmt.Sprintf(twoClasses, ", slo: {}, max_tokens: 90"), fmt.Sprintf(conversations, ""),
		fmt.Sprintf(conversations, "\n  classes: [{name: a, share: 1, prompt_tokens: {distribution: fixed, mean: 7}}]")} {
		b, first := simulated(t, text)
		resolved := b.Scenario.YAML()
		again, second := simulated(t, string(resolved))
		require.Equal(t, string(resolved), string(again.Scenario.YAML()))
		first.Scenario = second.Scenario
		require.Equal(t, first, second)
	}
}

// TestTurnsFindTheirHistoryInTheCache: all full blocks of it, where nothing is evicted; nothing without a cache. The
// requests are the same either way.
func TestTurnsFindTheirHistoryInTheCache(t *testing.T) {
	b, with := simulated(t, fmt.Sprintf(conversations, ""))
	_, without := simulated(t, fmt.Sprintf(conversations, ""), "pools.serve.enable_prefix_caching=false")
	require.Equal(t, with.Requests, without.Requests)
	require.Equal(t, metrics.Requests{Arrived: 400, Completed: 400}, with.Requests)
	require.Equal(t, with.Tokens.Prompt, without.Tokens.Prompt)
	require.Equal(t, with.Tokens.Output, without.Tokens.Output)
	require.Zero(t, without.Tokens.PromptCached)
	require.Greater(t, float64(with.Tokens.PromptCached), 0.75*float64(with.Tokens.Prompt))
	require.InEpsilon(t, float64(with.Tokens.Prompt)/400, b.PromptMean, 0.2)
	require.Equal(t, 400.0, b.Requests)
}

// TestFullHistoriesAreReported: sessions that outgrow the model, and those that lose a turn.
func TestFullHistoriesAreReported(t *testing.T) {
	_, s := simulated(t, fmt.Sprintf(conversations, ""), "pools.serve.max_model_len=512")
	require.Contains(t, strings.Join(s.Warnings, "\n"),
		"with its history a prompt would be longer than max_model_len, 512 tokens")
	require.Equal(t, int64(400), s.Requests.Arrived+lostTurns(t, s))
	_, s = simulated(t, fmt.Sprintf(conversations, ""), "workload.timeout_s=0.5")
	require.Contains(t, strings.Join(s.Warnings, "\n"), "a turn before was rejected or failed")
	require.Equal(t, int64(400), s.Requests.Arrived+lostTurns(t, s))
}

// lostTurns reads the turns that a failed or rejected one took along.
func lostTurns(t *testing.T, s *metrics.Summary) (n int64) {
	for _, w := range s.Warnings {
		if strings.Contains(w, "was rejected or failed") {
			var lost, of int64
			_, err := fmt.Sscanf(w, "%d of %d sessions ended early, and %d turns", &lost, &of, &n)
			require.NoError(t, err, w)
		}
	}
	return n
}

// TestClientsOfAClosedLoopLeadSessions: one at a time each, so that there are never more requests than clients.
func TestClientsOfAClosedLoopLeadSessions(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(conversations, ""), "arrivals: {process: poisson, rate: 2}",
		"closed_loop: {concurrency: 6, think_time_s: 3, ramp_s: 5}", 1)
	b, s := simulated(t, text)
	require.Equal(t, metrics.Requests{Arrived: 400, Completed: 400}, s.Requests)
	require.LessOrEqual(t, s.Pools[0].BatchMean, 6.0)
	require.InEpsilon(t, s.DurationS, b.SpanS, 0.3, "what is expected")
}

func TestBadClassesAndSessionsAreRefusedByKey(t *testing.T) {
	classes := func(list string) string {
		text, _, _ := strings.Cut(fmt.Sprintf(twoClasses, ""), "  classes:")
		return text + "  requests: 3\n  classes: " + list + "\n"
	}
	lawless := func(list string) string {
		return strings.Replace(classes(list), "  output_tokens: {distribution: lognormal, mean: 100, cv: 1}\n", "", 1)
	}
	sessions := func(was, is string) string { return strings.Replace(fmt.Sprintf(conversations, ""), was, is, 1) }
	for text, want := range map[string]string{
		lawless("[{name: a, share: 0.5, output_tokens: {distribution: fixed, mean: 9}}, {name: b, share: 0.5}]"): "" +
			"workload.classes[1].output_tokens: missing, and workload.output_tokens too; expected a length law",
		lawless("[{name: a, share: 1}]"): "workload.output_tokens: missing; expected a length law, such as",
		classes("[]"):                    "workload.classes: is empty; expected a list",
		classes(
			"[{name: a, share: 0.5}, {name: b, share: 0.4}]"): "s.yaml:8:46: workload.classes[1].share: is 0.4; accepted: " +
			"shares that sum to 1, not to 0.9",
		classes(
			"[{name: a, share: 0.5}, {name: a, share: 0.5}]"): `workload.classes[1].name: is "a"; accepted: a name that classes[0] does not have`,
		classes(
			"[{name: a}]"): "workload.classes[0].share: missing; expected a number above 0",
		classes(
			"[{share: 1}]"): `workload.classes[0].name: "" is not a name of a class`,
		classes(
			"[{name: a b, share: 1}]"): `workload.classes[0].name: "a b" is not a name of a class`,
		classes(
			"[{name: a, share: .nan}]"): "workload.classes[0].share: expected a finite number, got .nan",
		classes(
			"[{name: a, share: 1, priority: -200}]"): "workload.classes[0].priority: -200 is out of range; expected a whole " +
			"number from -128 to 127",
		classes(
			"[{name: a, share: 1, slo: {ttft_ms: -1}}]"): "workload.classes[0].slo.ttft_ms: -1 is out of range",
		classes(
			"[{name: a, share: 1, max_tokens: 0}]"): "workload.classes[0].max_tokens: 0 is out of range",
		classes(
			"[{name: a, share: 1, prompt_tokens: {distribution: lognorm}}]"): `workload.classes[0].prompt_tokens.distribution: "lognorm" is unknown; did you mean "lognormal"?`,
		classes(
			"[{name: a, share: 1, prompt_tokens: {distribution: fixed, mean: 0.5}}]"): "workload.classes[0].prompt_tokens" +
			".mean: is 0.5; accepted",
		classes(
			"[{name: a, share: 1, prioritty: 3}]"): `unknown key; did you mean "priority"?`,
		sessions("turns: {distribution: uniform, min: 1, max: 8}",
			"turns: {distribution: fixed, mean: 0}"): "workload.sessions.turns.mean: is 0; accepted: a number from 1",
		sessions("    turns: {distribution: uniform, min: 1, max: 8}\n",
			""): "workload.sessions.turns: missing; expected a law",
		sessions("exponential, mean: 2",
			"exponential"): "workload.sessions.think_time_s.mean: missing; expected seconds",
		sessions("exponential, mean: 2",
			"exponential, mean: -2"): "workload.sessions.think_time_s.mean: is -2; accepted",
		sessions("exponential, mean: 2", "exponential, mean: .inf"): "expected a finite number",
		sessions("exponential", "exponentia"):                       `did you mean "exponential"?`,
		sessions("requests: 400",
			"requests: 400\n  distinct_prompts: 5"): "workload.sessions: stands beside distinct_prompts",
		sessions("arrivals: {process: poisson, rate: 2}", "trace: {file: t.csv}"): "workload.sessions: stands beside trace",
	} {
		_, err := configs.Read("s.yaml", []byte(text), configs.Options{})
		require.ErrorContains(t, err, want, text)
	}
}

// TestFlagsNameAClass: by its name or by its index.
func TestFlagsNameAClass(t *testing.T) {
	set := func(flag string) (*configs.Scenario, error) {
		return configs.Read("s.yaml", []byte(fmt.Sprintf(twoClasses, "")), configs.Options{Set: []string{flag}})
	}
	for _, flag := range []string{"workload.classes.batch.priority=3", "workload.classes.1.priority=3",
		"workload.classes[1].priority=3"} {
		s, err := set(flag)
		require.NoError(t, err)
		require.EqualValues(t, 3, s.Workload.Classes[1].Priority)
	}
	_, err := set("workload.classes.bulk.priority=3")
	require.ErrorContains(t, err, `no class "bulk"; valid names: "chat", "batch"`)
}

// TestUrgentRequestsTakePlaces of SGLang's whose priorities are more than 10 lower, unless that is switched off.
func TestUrgentRequestsTakePlaces(t *testing.T) {
	policy := func(set ...string) *schedulers.SGLang {
		text := strings.Replace(fmt.Sprintf(twoClasses, ""), "priority: 9", "priority: 11", 1)
		s, err := configs.Read("scenario.yaml", []byte(text), configs.Options{Set: append(set, "pools.0.engine=sglang")})
		require.NoError(t, err)
		b, err := New(s)
		require.NoError(t, err)
		return b.Config.Pools[0].Scheduler.(*schedulers.SGLang)
	}
	byPriority := "pools.0.queue_order=priority"
	p := policy(byPriority)
	require.True(t, p.Preemption)
	require.EqualValues(t, 10, p.PreemptionMargin)
	require.EqualValues(t, 3, policy(byPriority, "pools.0.priority_scheduling_preemption_threshold=3").PreemptionMargin)
	require.False(t, policy().Preemption)
	require.False(t, policy(byPriority, "pools.0.disable_priority_preemption=true").Preemption)
}
