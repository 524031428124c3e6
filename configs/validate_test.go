package configs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/workloads/lengths"
)

func TestImpossibleScenariosAreRefused(t *testing.T) {
	const range20 = "expected a whole number from 1 to 1048576"
	for _, c := range []struct{ yaml, want string }{
		{with("model: llama-3.1-8b", "weights: fp8"),
			`chat.yaml:1:1: model: missing; expected a catalog name, or a path to a HuggingFace config.json`},
		{with("model: llama-3.1-8b", "model:"), `chat.yaml:1:1: model: expected text, got nothing`},
		{"model: m\nworkload: {}\n",
			`chat.yaml:1:1: pools: missing; expected a list with at least one pool, such as [{gpu: h100-sxm}]`},
		{with("seed: 5", "weights: fp7"), `chat.yaml:13:1: weights: "fp7" is unknown; did you mean "fp8"?`},
		{with("seed: 5", "kv_cache: int3"), `chat.yaml:13:1: kv_cache: "int3" is unknown; did you mean "int8"?`},
		{with("seed: 5", "router: least-loded"),
			`chat.yaml:13:1: router: "least-loded" is unknown; did you mean "least-loaded"?`},
		{with("seed: 5", "speculation: {methods: eagle}"),
			`chat.yaml:13:15: speculation.methods: unknown key; did you mean "method"?`},
		{with("seed: 5", "slo: {ttft_ms: 0}"),
			`chat.yaml:13:7: slo.ttft_ms: 0 is out of range; expected a number above 0 and at most 1e+09`},
		{with("seed: 5", "slo: {tpot_ms: -1}"),
			`chat.yaml:13:7: slo.tpot_ms: -1 is out of range; expected a number above 0 and at most 1e+09`},
		{with("seed: 5", "alerts: [{rule: ttft p95}]"),
			`chat.yaml:13:11: alerts[0].rule: "ttft p95": expected a latency, <= and a limit, such as ` +
				`"ttft p95 <= 1s" or "90% of requests: ttft <= 500ms and tpot <= 40ms"`},
		{with("seed: 5", "alerts: [{over_s: 60}]"),
			`chat.yaml:13:10: alerts[0].rule: has 0 rules; expected one, such as 'ttft p95 <= 1s'`},
		{with("seed: 5", "alerts: [{rule: 'ttft p95 <= 1s, e2e max < 9s'}]"),
			`chat.yaml:13:11: alerts[0].rule: has 2 rules; expected one, such as 'ttft p95 <= 1s'`},
		{with("seed: 5", "slo: {window_s: 30}\nalerts: [{rule: ttft p95 <= 1s, over_s: 45}]"),
			`chat.yaml:14:33: alerts[0].over_s: 45 is no multiple of slo.window_s, 30; expected one`},
		{with("replicas: 2", "engine: sglang\n    data_parallel: 72"),
			`chat.yaml:3:5: pools[0].mem_fraction_static: missing: what sglang reserves by itself, for graphs of 72 ` +
				`data-parallel ranks among the rest, is more than the memory of h100-sxm; expected a share, such as 0.85`},
		{with("replicas: 2", "starts_cold: true"),
			`chat.yaml:5:5: pools[0].starts_cold: true has no effect without cold_start_s or weights_load_bps; ` +
				`expected one of them, or null`},
		{with("replicas: 2", "replicas: 0"), `chat.yaml:5:5: pools[0].replicas: 0 is out of range; ` + range20},
		{with("replicas: 2", "role: decode"),
			`chat.yaml:5:5: pools[0].role: "decode" without a pool of role prefill; expected one of each, or "serve"`},
		{with("replicas: 2", "role: server"), `chat.yaml:5:5: pools[0].role: "server" is unknown; did you mean "serve"?`},
		{with("replicas: 2", `efficiency: ""`),
			`chat.yaml:5:5: pools[0].efficiency: is empty; expected a name, a path to a file of efficiencies, or null for the engine's`},
		{with("replicas: 2", "kv_transfer: push"),
			`chat.yaml:5:5: pools[0].kv_transfer: has no effect on a pool of role serve, which hands no cache over; accepted: null, or role prefill`},
		{with("replicas: 2", "first_token: decode"),
			`chat.yaml:5:5: pools[0].first_token: has no effect on a pool of role serve, which hands no cache over; accepted: null, or role prefill`},
		{with("replicas: 2", "tensor_parallel: -1"),
			`chat.yaml:5:5: pools[0].tensor_parallel: -1 is out of range; expected a whole number from 1 to 1024`},
		{with("replicas: 2", "max_num_seqs: 0"), `chat.yaml:5:5: pools[0].max_num_seqs: 0 is out of range; ` + range20},
		{with("replicas: 2", "gpu_memory_utilization: 1.1"),
			`chat.yaml:5:5: pools[0].gpu_memory_utilization: 1.1 is out of range; expected a number above 0 and at most 1`},
		{with("replicas: 2", "block_size: 0"),
			`chat.yaml:5:5: pools[0].block_size: 0 is out of range; expected a whole number from 1 to 65536`},
		{with("replicas: 2", "max_model_len: 0"),
			`chat.yaml:5:5: pools[0].max_model_len: 0 is out of range; expected a whole number from 1 to 1073741824`},
		{with("replicas: 2", "num_gpu_blocks: -4"),
			`chat.yaml:5:5: pools[0].num_gpu_blocks: -4 is out of range; expected a whole number from 1 to 2147483647`},
		{with("replicas: 2", "engine: vllm"),
			`chat.yaml:5:5: pools[0].engine: engine "vllm" not found; did you mean "vllm-v1"?`},
		{with("replicas: 2", "engine: vllm-v2"),
			`chat.yaml:5:5: pools[0].engine: engine "vllm-v2" not found; did you mean "vllm-v1"?`},
		{with("name: other", "name: serve"),
			`chat.yaml:6:5: pools[1].name: "serve" is the name of pools[0] already; expected one of its own`},
		{with("name: other", "name: 1.5x"),
			`chat.yaml:6:5: pools[1].name: "1.5x" is not a name of a pool; expected a letter, then letters, digits, - and _`},
		{with("gpu: a100-sxm-80gb", "replicas: 1"), `chat.yaml:6:5: pools[1].gpu: missing; expected one of `},
		{with("gpu: a100-sxm-80gb", "gpu: h100-sxn"),
			`chat.yaml:7:5: pools[1].gpu: gpu "h100-sxn" not found; did you mean "h100-sxm"?`},
	} {
		t.Run(c.want, func(t *testing.T) { refuses(t, c.yaml, c.want) })
	}
}

const (
	poissonArrivals = "arrivals: {process: poisson, rate: 2}"
	fixedPrompts    = "prompt_tokens: {distribution: fixed, mean: 100}"
)

var impossibleWorkloads = []struct{ yaml, want string }{
	{with(poissonArrivals, "warmup_s: 0"),
		`chat.yaml:8:1: workload: says not when requests come; expected one of arrivals, closed_loop, trace, or arrivals of every class`},
	{with("rate: 2}", "rate: 2}\n  closed_loop: {concurrency: 1}"),
		`chat.yaml:10:3: workload.closed_loop: stands beside arrivals; expected one of arrivals, closed_loop, trace; ` +
			`for closed_loop, --set workload.arrivals=null`},
	{with("rate: 2}", "rate: 2}\n  trace: {file: a.csv}"),
		`chat.yaml:10:3: workload.trace: stands beside arrivals; expected one of arrivals, closed_loop, trace; for trace, ` +
			`--set workload.arrivals=null --set workload.prompt_tokens=null --set workload.output_tokens=null`},
	{with(poissonArrivals, "trace: {file: a.csv}"),
		`chat.yaml:10:3: workload.prompt_tokens: stands beside trace, which has lengths of its own; expected only one of them`},
	{with("rate: 2", "rate: 0"),
		`chat.yaml:9:32: workload.arrivals.rate: is 0; accepted: a number above 0 and at most 1000000000`},
	{with(poissonArrivals, "arrivals: {process: on-off, on_rate: 9, off_rate: 1, on_s: 1, off_s: 1, cv: 0}"),
		`chat.yaml:9:75: workload.arrivals.cv: 0 would count as none; accepted: a number above 0, or null`},
	{with(poissonArrivals, "arrivals: {process: on-off, on_rate: 9, off_rate: 1, on_s: 1, off_s: 1, rate: 0}"),
		`chat.yaml:9:75: workload.arrivals.rate: 0 would count as none; accepted: a number above 0, or null`},
	{with("rate: 2", "rate: 2, period_s: 0.0"),
		`chat.yaml:9:41: workload.arrivals.period_s: 0 would count as none; accepted: a number above 0, or null`},
	{with("rate: 2", "rate: -3"),
		`chat.yaml:9:32: workload.arrivals.rate: is -3; accepted: a number above 0 and at most 1000000000`},
	{with("rate: 2", "rate: 1e99"),
		`chat.yaml:9:32: workload.arrivals.rate: is 1e+99; accepted: a number above 0 and at most 1000000000`},
	{
		with(
			", rate: 2", ""), `chat.yaml:9:3: workload.arrivals.rate: missing; accepted: a number above 0 and at most 1000000000`},
	{with("process: poisson, ", ""), `chat.yaml:9:3: workload.arrivals.process: missing; valid values: `},
	{with("poisson", "poison"),
		`chat.yaml:9:14: workload.arrivals.process: "poison" is unknown; did you mean "poisson"?`},
	{with("rate: 2", "rate: 2, cv: 3"),
		`chat.yaml:9:41: workload.arrivals.cv: is 3; accepted: null, for poisson has no such parameter`},
	{with("poisson", "gamma"),
		`chat.yaml:9:3: workload.arrivals.cv: missing; accepted: a number above 0 and at most 100`},
	{with("poisson", "piecewise, points: [{at_s: 0}]"),
		`chat.yaml:9:43: workload.arrivals.points[0].rate: missing; expected at_s and rate`},
	{with("rate: 2", "rate: 1e-9"), `chat.yaml:12:3: workload.requests: is 10; accepted: at most the `},
	{with(poissonArrivals, "closed_loop: {}"),
		`chat.yaml:9:3: workload.closed_loop.concurrency: 0 is out of range; expected a whole number from 1 to 1048576`},
	{with(poissonArrivals, "closed_loop: {concurrency: 1, think_time_s: -1}"),
		`chat.yaml:9:33: workload.closed_loop.think_time_s: -1 is out of range; expected a number from 0 to 4.5792e+06`},
	{with(poissonArrivals, "closed_loop: {concurrency: 1, ramp_s: -1}"),
		`chat.yaml:9:33: workload.closed_loop.ramp_s: -1 is out of range; expected a number from 0 to 4.5792e+06`},
	{with(poissonArrivals, "closed_loop: {concurrency: 2, ramp_s: 5}\n  duration_s: 4"),
		`chat.yaml:9:33: workload.closed_loop.ramp_s: 5 leaves clients that never start within duration_s, 4; expected at most that`},
	{
		with(
			fixedPrompts, ""), `chat.yaml:8:1: workload.prompt_tokens: missing; expected a length law, such as {distribution: fixed, mean: 512}`},
	{with("fixed, mean: 100", "fixe, mean: 100"),
		`chat.yaml:10:19: workload.prompt_tokens.distribution: "fixe" is unknown; did you mean "fixed"?`},
	{with(fixedPrompts, "prompt_tokens: {mean: 100}"), `chat.yaml:10:3: workload.prompt_tokens.distribution: missing; ` +
		`expected workload.prompt_tokens={distribution: lognormal, mean: 1000, cv: 1}, say, or workload.prompt_tokens=1000 ` +
		`for a fixed length; valid values: ` + strict.Quoted(lengths.Names())},
	{with("mean: 100", "mean: 100, cv: 1"),
		`chat.yaml:10:51: workload.prompt_tokens.cv: is 1; accepted: null, for fixed has no such parameter`},
	{with("mean: 100", "mean: 0"),
		`chat.yaml:10:40: workload.prompt_tokens.mean: is 0; accepted: a number from 1 to 1073741823`},
	{with("fixed, mean: 100", "lognormal, mean: 100"),
		`chat.yaml:10:3: workload.prompt_tokens.cv: missing; accepted: a number above 0 and at most 100`},
	{with("requests: 10", "requests: 0"),
		`chat.yaml:12:3: workload.requests: 0 is out of range; expected a whole number from 1 to 2147483647`},
	{with("requests: 10", ""), `chat.yaml:8:1: workload: has no end; expected requests, duration_s or both`},
	{with("requests: 10", "duration_s: 1e9"),
		`chat.yaml:12:3: workload.duration_s: 1e+09 is out of range; expected a number above 0 and at most 4.5792e+06`},
	{with("requests: 10", "duration_s: 5\n  warmup_s: 5"),
		`chat.yaml:13:3: workload.warmup_s: 5 leaves nothing to measure of duration_s, 5; expected less`},
	{with("requests: 10", "requests: 1\n  timeout_s: 0"),
		`chat.yaml:13:3: workload.timeout_s: 0 is out of range; expected a number above 0 and at most 4.5792e+06`},
	{with("requests: 10", "requests: 1\n  cancel: {probability: 1.5}"),
		`chat.yaml:13:12: workload.cancel.probability: 1.5 is out of range; expected a number from 0 to 1`},
	{with("requests: 10", "requests: 1\n  cancel: {probability: 0.5}"),
		`chat.yaml:13:3: workload.cancel.after_s: missing; expected seconds above 0 beside a probability of 0.5`},
	{with("requests: 10", "requests: 1\n  cancel: {after_s: 5}"),
		`chat.yaml:13:12: workload.cancel.after_s: 5 has no effect; expected a probability above 0 beside it`},
	{with("requests: 10", "requests: 1\n  max_tokens: 0"),
		`chat.yaml:13:3: workload.max_tokens: 0 is out of range; expected a whole number from 1 to 1073741823`},
	{base[:strings.Index(base, "workload")] + "workload: {trace: {file: a.csv, speed: 0}}\n",
		`chat.yaml:8:33: workload.trace.speed: 0 is out of range; expected a number from 1e-06 to 1e+06`},
	{base[:strings.Index(base, "workload")] + "workload: {trace: {file: a.csv, speed: 2, rate: 40}}\n",
		`chat.yaml:8:43: workload.trace.rate: 40 stands beside a speed of 2; expected only one of them`},
	{base[:strings.Index(base, "workload")] + "workload: {trace: {file: a.csv, rate: 0}}\n",
		`chat.yaml:8:33: workload.trace.rate: 0 is out of range; expected a number above 0 and at most 1e+09`},
	{base[:strings.Index(base, "workload")] + "workload: {trace: {speed: 1}}\n",
		`chat.yaml:8:12: workload.trace.file: missing; expected a path to a CSV or JSON-lines file`},
	{base[:strings.Index(base, "workload")] + "workload: {trace: {file: a, start_s: 5, end_s: 4}}\n",
		`chat.yaml:8:41: workload.trace.end_s: 4 is out of range; expected a number above 5 and at most 4.5792e+06`},
	{base[:strings.Index(base, "workload")] + "workload: {trace: {file: a}, max_tokens: 4}\n",
		`chat.yaml:8:30: workload.max_tokens: 4 has no effect on a trace; accepted: null`},
	{base[:strings.Index(base, "workload")],
		`chat.yaml:1:1: workload: missing; expected arrivals, closed_loop or trace in it`},
}

func TestImpossibleWorkloadsAreRefused(t *testing.T) {
	for _, c := range impossibleWorkloads {
		t.Run(c.want, func(t *testing.T) { refuses(t, c.yaml, c.want) })
	}
}

// refuses loads a scenario that must fail: with that message, or one that starts so if it ends in a space.
func refuses(t *testing.T, yaml, want string) {
	t.Helper()
	inDir(t, yaml)
	_, err := Load("chat.yaml", Options{})
	require.Error(t, err)
	if strings.HasSuffix(want, " ") {
		require.Contains(t, err.Error(), want)
		return
	}
	require.EqualError(t, err, want)
}

// TestDraftsThatNothingDraftsAreRefused: a method of none turns off what stands in its layer or below, and hides
// nothing that stands above it.
func TestDraftsThatNothingDraftsAreRefused(t *testing.T) {
	const drafts = "num_speculative_tokens: 3, acceptance: {rate: 0.7}}"
	const says = ": nothing drafts; expected speculation.method beside it, one of draft, eagle, medusa, mtp, ngram"
	refuses(t, with("seed: 5", "speculation: {"+drafts), "chat.yaml:13:42: speculation.acceptance"+says)
	const none, eagle = "speculation.method=none", "speculation.method=eagle"
	const three, rate = "speculation.num_speculative_tokens=3", "speculation.acceptance.rate=0.7"
	const process, noneVariable = "speculation.acceptance.process=iid", "DECODESIM_SPECULATION_METHOD=none"
	const threeVariable = "DECODESIM_SPECULATION_NUM_SPECULATIVE_TOKENS=3"
	for _, c := range []struct {
		in, says string
		env, set []string
	}{
		{in: "{method: none, " + drafts},
		{in: "{method: none}", set: []string{three}, says: "--set " + three},
		{in: "{method: none}", set: []string{three, rate}, says: "--set " + rate},
		{in: "{method: none, " + drafts, set: []string{three}, says: "--set " + three},
		{in: "{method: none}", env: []string{threeVariable}, says: threeVariable},
		{in: "{method: eagle, " + drafts, env: []string{noneVariable}, set: []string{three}, says: "--set " + three},
		{in: "{method: eagle, " + drafts, env: []string{noneVariable, threeVariable}},
		{in: "{method: none}", env: []string{threeVariable}, set: []string{none}},
		{in: "{method: none}", set: []string{"speculation.disable_above_batch=null"}},
		{in: "{method: eagle, " + drafts, set: []string{none}},
		{in: "{method: none}", set: []string{three, none, rate}},
		{in: "{method: none}", set: []string{`speculation={method: none, num_speculative_tokens: 3}`}},
	} {
		inDir(t, with("seed: 5", "speculation: "+c.in))
		s, err := Load("chat.yaml", Options{Env: c.env, Set: c.set})
		if c.says != "" {
			require.EqualError(t, err, c.says+says, "%v", c)
			continue
		}
		require.NoError(t, err, "%v", c)
		require.False(t, s.Speculation.On(), "%v", c)
	}
	inDir(t, with("seed: 5", "speculation: {method: none}"))
	s, err := Load("chat.yaml", Options{Set: []string{eagle, three, rate, process}})
	require.NoError(t, err)
	require.Equal(t, 3, s.Speculation.DraftsMax())
}

func TestLimitsThatContradictAreRefused(t *testing.T) {
	refuses(t, with("replicas: 2", "max_num_seqs: 64\n    max_num_batched_tokens: 32"),
		`chat.yaml:6:5: pools[0].max_num_batched_tokens: 32 is below max_num_seqs, 64; a step must hold a token of each sequence`)
}

// A latency that has rules alone is no slip for another.
func TestALatencyWithoutAKeyIsShownAsARule(t *testing.T) {
	refuses(t, with("seed: 5", "slo: {task_s: 60}"),
		`chat.yaml:13:7: slo.task_s: unknown key; expected a rule, such as rules: ['task p95 <= 5s']`)
}
