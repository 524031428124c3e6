package configs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/traces"
)

// plainly forgets where the values came from, so that equal scenarios compare equal.
func plainly(s *Scenario) Scenario {
	c := *s
	c.origins = origins{}
	return c
}

func TestEmbeddedScenariosLoadAndSayWhatTheyAnswer(t *testing.T) {
	require.Subset(t, ScenarioNames(),
		[]string{"chat-70b", "chat-8b", "code-completion", "drafter-8b-70b", "eagle3-70b", "mtp-coding-397b", "multi-turn-8b",
			"pd-70b", "pd-r1", "textbook-8b", "two-classes-8b"})
	for _, name := range ScenarioNames() {
		s, err := Load(name, Options{})
		require.NoError(t, err)
		require.Equal(t, name, s.Name)
		_, text, _ := catalog.Lookup("scenarios", name)
		require.Regexp(t, regexp.MustCompile(`^# .*\?\n`), string(text), "%s starts with its question", name)
	}
}

func TestDefaultsAreWrittenOut(t *testing.T) {
	inDir(t, `model: m
pools: [{gpu: h100-sxm}, {name: b, gpu: a100-sxm-80gb}, {name: c, gpu: l4, max_num_batched_tokens: 64}]
workload:
  closed_loop: {concurrency: 3}
  prompt_tokens: {distribution: fixed, mean: 1}
  output_tokens: {distribution: fixed, mean: 1}
  requests: 4
`)
	s, err := Load("chat.yaml", Options{})
	require.NoError(t, err)
	pool := Pool{
		Name: "serve", Role: "serve", GPU: GPURef{From: "h100-sxm"}, Replicas: 1,
		TensorParallel: 1, PipelineParallel: 1, DataParallel: 1,
		Engine: "vllm-v1",
		EngineArguments: catalog.EngineArguments{
			Version: "0.33", PerformanceMode: "balanced",
			MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192, EnableChunkedPrefill: true, SchedulerReserveFullISL: true,
			Reserve:    "as-computed",
			QueueOrder: "fcfs", PreemptionMode: "recompute", PreemptionVictim: "last-in-order", GPUMemoryUtilization: 0.92,
			BlockSize:           16,
			EnablePrefixCaching: true, HybridKV: true, KVLoad: "async", Attention: "flash",
			AsyncScheduling: true,
		},
	}
	b, c := pool, pool
	b.Name, b.GPU = "b", GPURef{From: "a100-sxm-80gb"}
	b.MaxNumSeqs, b.MaxNumBatchedTokens = 256, 2048
	c.Name, c.GPU = "c", GPURef{From: "l4"}
	c.MaxNumSeqs, c.MaxNumBatchedTokens = 64, 64
	one := &lengths.Spec{Distribution: "fixed", Mean: 1}
	require.Equal(t, Scenario{
		Name: "chat", Model: ModelRef{Config: "m"}, Pools: []Pool{pool, b, c}, Router: "least-loaded",
		Routing:     Routing{Weights: RoutingWeights{Queue: 1, Tokens: 1, KV: 1, Prefix: 1}},
		Speculation: Speculation{Method: "none"}, Decoding: Decoding{Sampling: "greedy"},
		Workload: Workload{ClosedLoop: &ClosedLoop{Concurrency: 3}, PromptTokens: one, OutputTokens: one, Requests: 4},
		Stream:   Stream{StreamInterval: 1, StallMS: 200, ReaderTokensPerS: 5},
		Seed:     1, Output: Output{RequestsCSV: Auto, Attribution: true, Intervals: true, OverTime: true},
	}, plainly(s))

	text := string(s.YAML())
	for _, key := range []string{
		"name", "model", "weights", "kv_cache", "pools", "role", "gpu", "replicas", "tensor_parallel", "pipeline_parallel",
		"data_parallel", "expert_parallel", "engine", "max_num_seqs", "max_num_batched_tokens",
		"long_prefill_token_threshold", "scheduler_reserve_full_isl", "gpu_memory_utilization", "block_size",
		"scheduling_policy", "aging_s", "watermark", "max_model_len", "enable_prefix_caching", "num_gpu_blocks", "attention",
		"enforce_eager",
		"cudagraph_capture_sizes", "async_scheduling", "weight_sparsity", "efficiency", "replicas_max", "straggler_replicas",
		"router", "split", "staleness_s", "autoscale",
		"method", "concurrency", "think_time_s", "ramp_s", "max_tokens", "requests", "duration_s", "warmup_s", "timeout_s",
		"probability", "after_s", "ttft_ms", "tpot_ms", "seed", "requests_csv", "attribution",
	} {
		require.Regexp(t, `(?m)^[ -]*`+key+`:`, text)
	}
}

func TestAResolvedScenarioRerunsItself(t *testing.T) {
	for _, name := range ScenarioNames() {
		s, err := Load(name, Options{})
		require.NoError(t, err)
		inDir(t, string(s.YAML()))
		again, err := Load("chat.yaml", Options{})
		require.NoError(t, err)
		require.Equal(t, plainly(s), plainly(again))
		require.Equal(t, string(s.YAML()), string(again.YAML()))
	}
}

func TestAResolvedScenarioReloadsFromAnotherDirectory(t *testing.T) {
	inDir(t, "model: ./cfg.json\npools: [{gpu: l4, efficiency: e.yaml}]\nworkload: {trace: {file: t.csv}}\n")
	s, err := Load("chat.yaml", Options{})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("out/deep", 0o700))
	text, err := s.YAMLFor("out/deep")
	require.NoError(t, err)
	require.Contains(t, string(text), "file: ../../t.csv ")
	for _, file := range []struct {
		path string
		text []byte
	}{{"out/deep/scenario.yaml", text}, {filepath.Join(t.TempDir(), "scenario.yaml"), s.YAML()}} {
		require.NoError(t, os.WriteFile(file.path, file.text, 0o600))
		again, err := Load(file.path, Options{})
		require.NoError(t, err)
		require.Equal(t, plainly(s), plainly(again))
	}
	here, err := s.YAMLFor(".")
	require.NoError(t, err)
	require.Contains(t, string(here), "model: ./cfg.json ")
}

// TestEveryScenarioReloads draws scenarios and demands that their resolved files reload to the same.
func TestEveryScenarioReloads(t *testing.T) {
	inDir(t, base)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~äß]{0,6}[!-~äß][ -~äß]{0,6}`).Draw(t, "name")
		rate := rapid.Float64Range(1e-3, 1e6).Draw(t, "rate")
		seed := rapid.Uint64().Draw(t, "seed")
		values := rapid.SliceOfN(rapid.Float64Range(1, 1e6), 1, 4).Draw(t, "values")
		list := fmt.Sprint(values[0])
		for _, v := range values[1:] {
			list += ", " + fmt.Sprint(v)
		}
		s, err := Load("chat.yaml", Options{Seed: &seed, Set: []string{
			"name=" + text,
			fmt.Sprintf("workload.arrivals.rate=%v", rate),
			"workload.output_tokens=null",
			"workload.output_tokens.distribution=empirical",
			"workload.output_tokens.values=[" + list + "]",
			fmt.Sprintf("pools.serve.max_num_seqs=%d", rapid.IntRange(1, 1000).Draw(t, "sequences")),
			fmt.Sprintf("output.requests_csv=%s", rapid.SampledFrom([]AutoBool{Auto, On, Off}).Draw(t, "csv")),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("again.yaml", s.YAML(), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := Load("again.yaml", Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, s.YAML())
		}
		require.Equal(t, plainly(s), plainly(again))
	})
}

func TestScenariosThatAreNotThereAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	have := "valid names: " + strict.Quoted(ScenarioNames())
	for name, want := range map[string]string{
		"chat-80b": `scenario "chat-80b" not found; did you mean "chat-8b"?`,
		"nonsense": `scenario "nonsense" not found; ` + have,
		"":         `scenario "" not found; ` + have,
		"deepseek-r1": `"deepseek-r1" is a model; expected a scenario, which takes it by --set model.config=deepseek-r1; ` +
			`decodesim explain takes --model deepseek-r1`,
		"deepseek-ai/DeepSeek-R1": `"deepseek-ai/DeepSeek-R1" is a model; expected a scenario, ` +
			`which takes it by --set model.config=deepseek-r1; decodesim explain takes --model deepseek-r1`,
		"deepseek-r1.yaml": `scenario file "deepseek-r1.yaml" does not exist`,
		"H100": `"H100" is a gpu; expected a scenario, whose pools take it by --set pools.POOL.gpu=h100-sxm; ` +
			`decodesim explain takes --gpu h100-sxm`,
		"a.yaml":    `scenario file "a.yaml" does not exist`,
		"./no/file": `scenario file "./no/file" does not exist`,
	} {
		_, err := Load(name, Options{})
		require.EqualError(t, err, want)
	}
	require.NoError(t, os.Mkdir("nonsense", 0o700))
	_, err := Load("nonsense", Options{})
	require.EqualError(t, err, `scenario "nonsense" is a directory; `+have)
	_, err = Load("./", Options{})
	require.ErrorContains(t, err, `scenario file "./" is a directory`)
}

func TestATraceEndsWhereTheFirstLimitIs(t *testing.T) {
	trace := Trace{File: "t.csv", Speed: 2, Limit: 50, StartS: 10, EndS: 100, SkipEmpty: true}
	w := Workload{Trace: &trace, Requests: 40, DurationS: 30, TimeoutS: 7, Cancel: Cancel{0.5, 3}}
	want := traces.Options{
		Speed: 2, Limit: 40, StartS: 10, EndS: 70, SkipEmpty: true, Seed: 9,
		Patience: requests.Patience{TimeoutS: 7, CancelShare: 0.5, CancelAfterS: 3},
	}
	require.Equal(t, want, w.Replay(9))
	w.Requests, w.DurationS = 60, 60
	want.Limit, want.EndS = 50, 100
	require.Equal(t, want, w.Replay(9))
	w.Requests, w.DurationS = 0, 0
	trace.Limit, trace.EndS = 0, 0
	want.Limit, want.EndS = 0, 0
	require.Equal(t, want, w.Replay(9))
	w.DurationS = sim.HorizonS // times the speed, more than the clock holds: the trace ends first
	require.Equal(t, want, w.Replay(9))
}

func TestAFileWithoutEndIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.yaml")
	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("#\n"), catalog.SizeMax/2+1), 0o600))
	_, err := Load(file, Options{})
	require.EqualError(t, err,
		fmt.Sprintf("scenario file %q is longer than 4194304 bytes (4 MiB); expected a shorter YAML file", file))
	_, err = catalog.LoadEfficiency(file)
	require.EqualError(t, err,
		fmt.Sprintf("efficiency file %q is longer than 4194304 bytes (4 MiB); expected a shorter YAML file", file))
	_, err = catalog.LoadEfficiency(filepath.Dir(file))
	require.ErrorContains(t, err, "is a directory; expected a YAML file")
}
