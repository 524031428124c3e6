package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/decodesim/decodesim/configs/configstest"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/stretchr/testify/require"
)

// The scenarios of these tests.
const base = configstest.Base

var inDir, running, with = configstest.InDir, configstest.Running, configstest.With

func TestLayersStandInOrder(t *testing.T) {
	inDir(t, base)
	seed := uint64(9)
	for _, c := range []struct {
		name string
		opts Options
		seed uint64
		rate float64
		reps int
	}{
		{"file", Options{}, 5, 2, 2},
		{"environment over file", Options{Env: []string{
			"DECODESIM_SEED=6", "DECODESIM_WORKLOAD_ARRIVALS_RATE=4", "DECODESIM_POOLS_SERVE_REPLICAS=3",
			"DECODESIM_SHARED=/data", "HOME=/", "SEED=1",
		}}, 6, 4, 3},
		{"set over environment", Options{
			Env: []string{"DECODESIM_SEED=6", "DECODESIM_WORKLOAD_ARRIVALS_RATE=4", "DECODESIM_POOLS_SERVE_REPLICAS=3"},
			Set: []string{"seed=7", "workload.arrivals.rate=5e0", "pools.serve.replicas=4"},
		}, 7, 5, 4},
		{"a later set over an earlier one",
			Options{Set: []string{"seed=7", "seed=8", "pools.0.replicas=5", "pools[0].replicas=6"}}, 8, 2, 6},
		{"seed over all", Options{Set: []string{"seed=7"}, Env: []string{"DECODESIM_SEED=6"}, Seed: &seed}, 9, 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Load("chat.yaml", c.opts)
			require.NoError(t, err)
			require.Equal(t, []any{c.seed, c.rate, c.reps}, []any{s.Seed, s.Workload.Arrivals.Rate, s.Pools[0].Replicas})
		})
	}
}

func TestEveryKindOfValueCanBeSet(t *testing.T) {
	inDir(t, base)
	s, err := Load("chat.yaml", Options{Set: []string{
		"name=12", "weights=fp8", "pools.other.expert_parallel=true", "pools.other.gpu_memory_utilization=0.5",
		"output.requests_csv=false", "output.attribution=false", "output.intervals=false", "output.over_time=false",
		"slo.ttft_ms=100",
		"workload.cancel.probability=0.5",
		"workload.cancel.after_s=3",
		"workload.output_tokens=null", "workload.output_tokens.distribution=empirical",
		"workload.output_tokens.values=[1, 2]",
	}})
	require.NoError(t, err)
	require.Equal(t, "12", s.Name)
	require.Equal(t, "fp8", s.Weights)
	require.True(t, s.Pools[1].ExpertParallel)
	require.Equal(t, 0.5, s.Pools[1].GPUMemoryUtilization)
	require.Equal(t, Output{RequestsCSV: Off}, s.Output)
	require.Equal(t, SLO{TTFTMS: 100}, s.SLO)
	require.Equal(t, Cancel{0.5, 3}, s.Workload.Cancel)
	require.Equal(t, &lengths.Spec{Distribution: "empirical", Values: []float64{1, 2}}, s.Workload.OutputTokens)
}

func TestNullTakesASectionAway(t *testing.T) {
	inDir(t, base)
	s, err := Load("chat.yaml", Options{Set: []string{"workload.arrivals=null", "workload.closed_loop.concurrency=4"}})
	require.NoError(t, err)
	require.Nil(t, s.Workload.Arrivals)
	require.Equal(t, &ClosedLoop{Concurrency: 4}, s.Workload.ClosedLoop)
}

func TestNullTakesAListAway(t *testing.T) {
	inDir(t, strings.Replace(base, "process: poisson, rate: 2",
		"process: piecewise, points: [{at_s: 0, rate: 2}, {at_s: 5, rate: 9}]", 1))
	s, err := Load("chat.yaml", Options{Set: []string{
		"workload.arrivals.points=null", "workload.arrivals.process=poisson", "workload.arrivals.rate=3",
	}})
	require.NoError(t, err)
	require.Equal(t, &arrivals.Spec{Process: "poisson", Rate: 3}, s.Workload.Arrivals)
}

func TestPathsStartWhereTheyAreNamed(t *testing.T) {
	inDir(t, "")
	here, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("sub", 0o700))
	text := "model: m/config.json\npools: [{gpu: l4, efficiency: e.yaml}]\nworkload: {trace: {file: ../t.csv}}\n"
	require.NoError(t, os.WriteFile("sub/s.yaml", []byte(text), 0o600))
	s, err := Load("sub/s.yaml", Options{})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "sub/m/config.json"), s.Model.Config)
	require.Equal(t, filepath.Join(here, "sub/e.yaml"), s.Pools[0].Efficiency.Base)
	require.Equal(t, filepath.Join(here, "t.csv"), s.Workload.Trace.File)
	require.Equal(t, "s", s.Name)

	s, err = Load("sub/s.yaml",
		Options{Set: []string{"workload.trace.file=u.csv"}, Env: []string{"DECODESIM_MODEL=./c.json"}})
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "u.csv"), s.Workload.Trace.File)
	require.Equal(t, filepath.Join(here, "c.json"), s.Model.Config)
}

func TestWrongOverridesNameTheirFlagOrVariable(t *testing.T) {
	inDir(t, base)
	set := func(s string) Options { return Options{Set: []string{s}} }
	env := func(s string) Options { return Options{Env: []string{s}} }
	for _, c := range []struct {
		opts Options
		want string
	}{
		{set("pools.serv.replicas=3"), `--set pools.serv.replicas=3: no pool "serv"; valid names: "serve", "other"`},
		{set("pools.2.replicas=3"), `--set pools.2.replicas=3: no pool "2"; valid names: "serve", "other"`},
		{set("seed=abc"), `--set seed=abc: expected an integer, got "abc"`},
		{set("seed="), `--set seed=: "" is not a value`},
		{set("sede=1"), `--set sede=1: no key "sede"; did you mean "seed"?`},
		{set("workload.arrivals.rat=1"),
			`--set workload.arrivals.rat=1: no key "rat" in workload.arrivals; did you mean "rate"?`},
		{set("slo={ttfo_ms: 5000}"), `--set slo={ttfo_ms: 5000}: no key "ttfo_ms" in slo; ` +
			`expected a rule, such as rules: ['ttfo p95 <= 5s']`},
		{set("slo.tttf_ms=5"), `--set slo.tttf_ms=5: no key "tttf_ms" in slo; did you mean "ttft_ms"?`},
		{set("hybrid_kv=false"), `--set hybrid_kv=false: no key "hybrid_kv"; expected it as pools.serve.hybrid_kv`},
		{set("gpu.bandwidth_bps=5e12"), `--set gpu.bandwidth_bps=5e12: no key "gpu"; expected it as pools.serve.gpu`},
		{set("file=x"), `--set file=x: no key "file"; expected it as workload.trace.file or workload.lengths.file`},
		{set("pools.serve.kv_cache=fp8"), `--set pools.serve.kv_cache=fp8: no key "kv_cache" in pools[0]; ` +
			`expected kv_cache beside pools, for it is the same in all of them`},
		{set("pools.serve.tp=4"), `--set pools.serve.tp=4: no key "tp" in pools[0]; did you mean "tensor_parallel"?`},
		{set("osl=4"), `--set osl=4: no key "osl"; ` +
			`expected it as workload.output_tokens or workload.classes[0].output_tokens`},
		{set("seed.x=1"), `--set seed.x=1: seed is a value; it has no key "x"`},
		{set("seed"), `--set seed: expected key=value, such as --set workload.arrivals.rate=4`},
		{set("=1"), `--set =1: expected key=value, such as --set workload.arrivals.rate=4`},
		{set("workload=1"), `--set workload=1: workload has keys of its own; set those, such as workload.arrivals`},
		{set("workload.arrivals=1"),
			`--set workload.arrivals=1: workload.arrivals has keys of its own; set those, such as workload.arrivals.process`},
		{set("workload.prompt_tokens=4k"), `--set workload.prompt_tokens=4k: ` +
			`expected a number, or a law such as {distribution: fixed, mean: 5}`},
		{set("workload.prompt_tokens=0"),
			`--set workload.prompt_tokens=0: is 0; accepted: a number from 1 to 1073741823`},
		{set("pools=[]"), `--set pools=[]: pools has keys of its own; set those, such as pools.0.name`},
		{set("workload.arrivals.points.0.rate=1"),
			`--set workload.arrivals.points.0.rate=1: no element "0" in workload.arrivals.points, which is empty`},
		{set("workload.arrivals.rate=.inf"), `--set workload.arrivals.rate=.inf: expected a finite number, got .inf`},
		{set("workload.arrivals.rate=-1"),
			`--set workload.arrivals.rate=-1: is -1; accepted: a number above 0 and at most 1000000000`},
		{set("workload.arrivals={process: gamma, cv: -2}"), `--set workload.arrivals={process: gamma, cv: -2}: ` +
			`workload.arrivals.cv: is -2; accepted: a number above 0 and at most 100`},
		{set("pools.serve.replicas=0"),
			`--set pools.serve.replicas=0: 0 is out of range; expected a whole number from 1 to 1048576`},
		{set("output.requests_csv=maybe"), `--set output.requests_csv=maybe: expected auto, true or false, got "maybe"`},
		{set("workload.requests=null"), `chat.yaml:8:1: workload: has no end; expected requests, duration_s or both`},
		{env("DECODESIM_SEED=abc"), `DECODESIM_SEED=abc: expected an integer, got "abc"`},
		{env("DECODESIM_SEDE=1"), `DECODESIM_SEDE=1: no such key; did you mean "DECODESIM_SEED"?`},
		{env("DECODESIM_POOLS_SERV_REPLICAS=1"),
			`DECODESIM_POOLS_SERV_REPLICAS=1: no such key; did you mean "DECODESIM_POOLS_SERVE_REPLICAS"?`},
		{env("DECODESIM_RATE=5"), `DECODESIM_RATE=5: no such key; expected it as ` +
			`DECODESIM_SPECULATION_ACCEPTANCE_RATE or DECODESIM_WORKLOAD_ARRIVALS_RATE or DECODESIM_WORKLOAD_TRACE_RATE`},
		{env("DECODESIM_REQUESTS=5"), `DECODESIM_REQUESTS=5: no such key; expected it as DECODESIM_WORKLOAD_REQUESTS`},
		{env("DECODESIM_X=1"), `DECODESIM_X=1: no such key; valid keys: DECODESIM_SEED and so on`},
		{env("DECODESIM_POOLS_OTHER_GPU=h1000"), `DECODESIM_POOLS_OTHER_GPU=h1000: gpu "h1000" not found; did you mean "h100"?`},
	} {
		t.Run(c.want, func(t *testing.T) {
			_, err := Load("chat.yaml", c.opts)
			require.Error(t, err)
			if c.want[len(c.want)-1] == ' ' {
				require.Contains(t, err.Error(), c.want)
				return
			}
			require.EqualError(t, err, c.want)
		})
	}
}

// TestSpeculationIsAnsweredWithAWholeExample, for any key of it alone is refused.
func TestSpeculationIsAnsweredWithAWholeExample(t *testing.T) {
	inDir(t, base)
	for _, one := range []string{"speculation=eagle", "speculation.acceptance=0.7"} {
		_, err := Load("chat.yaml", Options{Set: []string{one}})
		require.ErrorContains(t, err, "has keys of its own; set those, as in "+SpeculationExample, one)
	}
}

// TestAKeyThatNobodyHasIsAnsweredWithThoseLikeIt, and not with all that a pool has.
func TestAKeyThatNobodyHasIsAnsweredWithThoseLikeIt(t *testing.T) {
	inDir(t, base)
	for key, says := range map[string]string{
		"max_batch":        `in pools[0]; did you mean "max_num_batched_tokens"?`,
		"lora_slots":       `in pools[0]; did you mean one of "enable_lora", "max_loras", `,
		"network_gbps":     `in pools[0]; did you mean "kv_link_bps"? it is in bytes/s`,
		"kv_transfer.link": `pools[0].kv_transfer is a value; it has no key "link"; did you mean "kv_link"?`,
		"frobnicate":       `in pools[0]; valid keys: "name", "role", `,
	} {
		_, err := Load("chat.yaml", Options{Set: []string{"pools.serve." + key + "=1"}})
		require.ErrorContains(t, err, says, key)
	}
}

// A number in the place of a law is that number every time, whatever law was there.
func TestANumberStandsInThePlaceOfALaw(t *testing.T) {
	const text = "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n" +
		"  prompt_tokens: {distribution: lognormal, mean: 1000, cv: 1, max: 9000}\n  output_tokens: 80\n" +
		"  agents: {turns: 3, tool_time_s: 2.5, tool_tokens: 40}\n  arrivals: {process: poisson, rate: 2}\n  requests: 9\n"
	inDir(t, text)
	for _, by := range []Options{
		{Set: []string{"workload.prompt_tokens=4000"}}, {Env: []string{"DECODESIM_WORKLOAD_PROMPT_TOKENS=4000"}},
	} {
		s, err := Load("chat.yaml", by)
		require.NoError(t, err)
		require.Equal(t, lengths.Fixed(4000), *s.Workload.PromptTokens)
		require.Equal(t, lengths.Fixed(80), *s.Workload.OutputTokens)
		require.Equal(t, lengths.Fixed(3), *s.Workload.Agents.Turns)
		require.Equal(t, sessions.Span{Distribution: "fixed", MeanS: 2.5}, *s.Workload.Agents.ToolTimeS)
	}
	s, err := Load("chat.yaml", Options{Set: []string{"workload.output_tokens.mean=90"}})
	require.NoError(t, err)
	require.Equal(t, lengths.Fixed(90), *s.Workload.OutputTokens)
	inDir(t, strings.Replace(text, "output_tokens: 80", "output_tokens: [80]", 1))
	_, err = Load("chat.yaml", Options{})
	require.EqualError(t, err, "chat.yaml:5:3: workload.output_tokens: expected a number, or a law such as "+
		"{distribution: fixed, mean: 5}, got a list")
}

// Several keys of one part can be set at once, and its others stay as they are.
func TestKeysOfAPartAreSetAtOnce(t *testing.T) {
	const text = "model: llama-3.1-8b\npools: [{gpu: {from: h100-sxm, tdp_w: 500}}]\nworkload: {trace: {file: t.csv}}\n"
	inDir(t, text)
	s, err := Load("chat.yaml", Options{Set: []string{
		"pools.0.gpu={from: 8xH200, bandwidth_bps: 5e12, flops: {bf16: 2e15}}",
		"pools.0.efficiency={base: vllm, link: 0.85}"}})
	require.NoError(t, err)
	p := &s.Pools[0]
	require.Equal(t, "h200-sxm", p.GPU.From)
	require.Equal(t, []float64{5e12, 2e15, 500}, []float64{*p.GPU.BandwidthBps, *p.GPU.FLOPS.BF16, *p.GPU.TDPW})
	require.Equal(t, []float64{8, 0.85}, []float64{float64(p.TensorParallel), *p.Efficiency.Link})
	for set, says := range map[string]string{
		"pools.0.gpu={from: h200-sxm, bandwith_bps: 5e12}": `no key "bandwith_bps" in pools[0].gpu; did you mean "bandwidth_bps"?`,
		"pools.0.gpu={from: h200-sxm":                      `is not a value; expected keys and values such as {from: …}`,
		"pools.0.gpu={from: h200-sxm, from: h100-sxm}":     `key "from" twice`,
		"pools.0.kv_tiers={}":                              `{} sets nothing; expected keys and values such as {write_policy: …}`,
		"pools.0.kv_tiers={nvme: {}}":                      `{} sets nothing`,
		"pools.0.gpu={bandwidth_bps: fast}":                `expected a number, got "fast"`,
		"pools.0.gpu.bandwidth=5e12":                       `no key "bandwidth" in pools[0].gpu; did you mean "bandwidth_bps"?`,
	} {
		_, err := Load("chat.yaml", Options{Set: []string{set}})
		require.ErrorContains(t, err, says)
	}
}
