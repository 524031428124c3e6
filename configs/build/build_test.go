package build

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
)

func build(t *testing.T, set ...string) *Built {
	s, err := configs.Load("chat.yaml", configs.Options{Set: set})
	require.NoError(t, err)
	b, err := New(s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

const chat8b = `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  arrivals: {process: poisson, rate: 10}
  prompt_tokens: {distribution: fixed, mean: 300}
  output_tokens: {distribution: fixed, mean: 100}
  requests: 50
`

func TestOneBlockIsTheEnginesOwn(t *testing.T) {
	inDir(t, chat8b)
	b := build(t)
	assert.Equal(t, b.Memory.Blocks-1, b.KVBlocks)
	assert.EqualValues(t, 999, build(t, "pools.serve.num_gpu_blocks=1000").KVBlocks)
}

func TestTheLongestSequenceIsTheModelsUnlessTheCacheIsSmaller(t *testing.T) {
	inDir(t, chat8b)
	whole := build(t)
	assert.EqualValues(t, 131072, whole.MaxModelLen)
	assert.Equal(t, 131072, whole.Scenario.Pools[0].MaxModelLen)
	for _, set := range [][]string{
		{"pools.serve.num_gpu_blocks=1001"},
		{"pools.serve.num_gpu_blocks=1001", "pools.serve.max_model_len=16000"}, // as the resolved scenario has it
	} {
		lowered := build(t, set...)
		assert.EqualValues(t, 16000, lowered.MaxModelLen)
		assert.Contains(t, lowered.warnings(1),
			"max_model_len is 16000 tokens, all that the KV cache holds of one sequence; llama-3.1-8b has a context of 131072")
	}
	asked := build(t, "pools.serve.num_gpu_blocks=1001", "pools.serve.max_model_len=9000")
	assert.EqualValues(t, 9000, asked.MaxModelLen)
	assert.NotContains(t, strings.Join(asked.warnings(1), "\n"), "max_model_len")
}

func TestTheKVTypeIsTheScenariosOrTheCheckpoints(t *testing.T) {
	inDir(t, chat8b)
	assert.Equal(t, "bf16", build(t).Deployment.KVDtype)
	half := build(t, "kv_cache=fp8")
	assert.Equal(t, "fp8", half.Deployment.KVDtype)
	assert.InDelta(t, 2, float64(half.KVBlocks)/float64(build(t).KVBlocks), 0.01)
}

func TestWeightsStandAboveTheCheckpoint(t *testing.T) {
	inDir(t, chat8b)
	assert.Less(t, build(t, "weights=fp8").Memory.Weights, 0.6*build(t).Memory.Weights)
}

func TestAModelMayBeAHuggingFaceFile(t *testing.T) {
	inDir(t, strings.Replace(chat8b, "llama-3.1-8b", "tiny/config.json", 1))
	require.NoError(t, os.Mkdir("tiny", 0o700))
	require.NoError(t, os.WriteFile("tiny/config.json",
		[]byte(`{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
"num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 128256, "max_position_embeddings": 4096,
"tie_word_embeddings": true, "torch_dtype": "bfloat16"}`), 0o600))
	b := build(t)
	assert.Equal(t, "tiny", b.Deployment.Model.Name)
	assert.EqualValues(t, 4096, b.MaxModelLen)
	require.NoError(t, os.Remove("tiny/config.json"))
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	_, err = New(s)
	require.ErrorContains(t, err, "chat.yaml:1:1: model: file \"")
	require.ErrorContains(t, err, "does not exist")
}

func TestAnEfficiencyFileTakesTheEnginesPlace(t *testing.T) {
	inDir(t, strings.Replace(chat8b, "gpu: h100-sxm", "gpu: h100-sxm, efficiency: e.yaml", 1))
	prior, err := catalog.EfficienciesOf("prior")
	require.NoError(t, err)
	e := prior.Default
	_, text, _ := catalog.Lookup(catalog.EfficiencyDir, "prior")
	_, table, _ := strings.Cut(string(text), "\ndefault:")
	table = strings.ReplaceAll(table, "\n  ", "\n")
	measured := strings.Replace(table, "first_token_s: 50e-3", "first_token_s: 20e-3", 1)
	require.NoError(t, os.WriteFile("e.yaml", []byte(measured), 0o600))
	b := build(t)
	e.FirstTokenS = 0.02
	assert.Equal(t, e, b.Deployment.Efficiency)
	assert.Equal(t, 20*sim.Millisecond, b.Config.Ingress)
	assert.Empty(t, b.warnings(1), "the user's own")
}

func TestADurationStopsTheClock(t *testing.T) {
	inDir(t, chat8b)
	s, err := configs.Load("chat.yaml",
		configs.Options{Set: []string{"workload.duration_s=2.5", "workload.requests=null"}})
	require.NoError(t, err)
	_, summary := simulate(t, s)
	assert.LessOrEqual(t, summary.DurationS, 2.5)
	assert.Positive(t, summary.Requests.Unfinished)
}

func TestTheWarmUpIsServedButNotMeasured(t *testing.T) {
	inDir(t, chat8b)
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"workload.warmup_s=2", "workload.requests=100"}})
	require.NoError(t, err)
	f, summary := simulate(t, s)
	assert.EqualValues(t, 100, summary.Requests.Completed)
	assert.Less(t, f.Recorded, int64(95))
	assert.Less(t, f.Output(), summary.Tokens.Output)
	assert.InDelta(t, 10*100, summary.Throughput.OutputTokensPerS, 150, "the measured tokens in the measured time")
}

// What ends a closed loop first says how many requests to expect, on which the traced sample and the timeline depend.
func TestADurationBoundsWhatAClosedLoopExpects(t *testing.T) {
	inDir(t, strings.Replace(chat8b, "arrivals: {process: poisson, rate: 10}", "closed_loop: {concurrency: 4}", 1))
	short := build(t, "workload.requests=10000000", "workload.duration_s=10")
	assert.InDelta(t, 10, short.SpanS, 1e-6)
	assert.EqualValues(t, 1, short.Config.TraceEvery)
	assert.InEpsilon(t, build(t, "workload.requests=null", "workload.duration_s=10").Requests, short.Requests, 1e-9)
	assert.InDelta(t, 50, build(t, "workload.duration_s=1000000").Requests, 1e-9)
}

func TestAtMostTwoThousandRequestsAreTraced(t *testing.T) {
	inDir(t, chat8b)
	for requests, every := range map[string]int32{"1": 1, "2000": 1, "2001": 2, "5000": 3, "1000000": 500} {
		assert.Equal(t, every, build(t, "workload.requests="+requests).Config.TraceEvery, requests)
	}
	closed := build(t, "workload.arrivals=null", "workload.closed_loop.concurrency=200", "workload.requests=null",
		"workload.duration_s=3600")
	f, summary := simulate(t, closed.Scenario)
	assert.InEpsilon(t, float64(summary.Requests.Arrived), closed.Requests, 0.25, "the estimate")
	assert.Less(t, summary.ByPosition[0].Requests, int64(2500))
	assert.Greater(t, summary.ByPosition[0].Requests, int64(500))
	assert.Positive(t, f.Recorded)
}

func TestLengthsThatTheirLawCutsAreReported(t *testing.T) {
	inDir(t, strings.Replace(chat8b, "{distribution: fixed, mean: 300}",
		"{distribution: lognormal, mean: 300, cv: 1, max: 600}", 1))
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"workload.requests=2000"}})
	require.NoError(t, err)
	_, summary := simulate(t, s)
	assert.True(t, warned(summary, "10.5 % of prompt_tokens were outside"), "%v", summary.Warnings)
}

// TestEveryScenarioRunsUnderEveryEngine: as comparisons of engines ask.
func TestEveryScenarioRunsUnderEveryEngine(t *testing.T) {
	for i, scenario := range configs.ScenarioNames() {
		for j, engine := range catalog.EngineNames() {
			if soak.Brief() && (i+j)%3 > 0 { // make test tries a third of the pairs, with each scenario and engine in some
				continue
			}
			s, err := configs.Load(scenario, configs.Options{Engine: engine, Set: []string{"workload.requests=20"}})
			if plain, _ := configs.Load(scenario, configs.Options{}); plain.Pools[0].Role != configs.RoleServe &&
				!slices.Contains(catalog.Dividing(), engine) {
				require.ErrorContains(t, err, "a pool of role prefill has only a part", "%s %s", scenario, engine)
				continue
			}
			if engine == "sglang" && scenario == "lpu-70b" {
				require.ErrorContains(t, err, "is more than the memory of groq-lpu", "its graphs need a GPU's memory")
				continue
			}
			require.NoError(t, err, "%s %s", scenario, engine)
			b, err := New(s)
			if scenario == "agents-v4-pro" && err != nil { // it needs chunks, or memory for a step of a million tokens
				require.ErrorContains(t, err, "steps of far fewer than 1048576 tokens would do", "a million in one step")
				continue
			}
			require.NoError(t, err, "%s %s", scenario, engine)
			require.NoError(t, b.Close())
			require.False(t, strings.Contains(string(s.YAML()), "engine: vllm-v1") && engine != "vllm-v1")
		}
	}
}
