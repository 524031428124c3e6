package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/sim/metrics"
)

// explained runs decodesim explain and decodes its JSON.
func explained(t *testing.T, args ...string) *explain.Explanation {
	var out, errOut bytes.Buffer
	status := execute(context.Background(), &out, &errOut, append([]string{"explain", "--json"}, args...))
	require.Equal(t, exitOK, status, errOut.String())
	x := &explain.Explanation{}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(x))
	assert.False(t, d.More(), "stdout is one JSON document")
	return x
}

// explainedText runs decodesim explain and returns its tables.
func explainedText(t *testing.T, args ...string) string {
	var out, errOut bytes.Buffer
	status := execute(context.Background(), &out, &errOut, append([]string{"explain"}, args...))
	require.Equal(t, exitOK, status, errOut.String())
	assert.Empty(t, errOut.String())
	return out.String()
}

// The bound of a dense model is (weights + batch · context · cache of a token) / bandwidth.
func TestExplainGivesTheBoundOfTheFormula(t *testing.T) {
	const (
		read      = 2 * (8_030_261_248 - 128_256*4096)
		perToken  = 131_072
		bandwidth = 3.35e12
	)
	for _, c := range []struct{ batch, context string }{{"1", "1"}, {"8", "4096"}, {"32", "32768"}} {
		x := explained(t, "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--batch", c.batch, "--context", c.context)
		assert.Equal(t, "memory", x.Limit)
		assert.EqualValues(t, perToken, x.KVBytes)
		assert.InEpsilon(t, (read+float64(x.Batch*x.Context)*perToken)/bandwidth, x.BoundS, 1e-4)
		assert.InEpsilon(t, x.BoundS/x.StepS, x.Fraction, 1e-12)
	}
}

// What is said adds up: parts to the step, budget to the memory, and no batch of the curve beats its bound.
func TestExplainedNumbersAddUp(t *testing.T) {
	for _, args := range [][]string{
		{"chat-70b"},
		{"chat-8b", "--set", "pools.serve.max_num_seqs=64", "--set", "pools.serve.max_num_batched_tokens=64"},
		{"code-completion", "--gpu", "l40s"},
		{"--model", "gpt-oss-120b", "--gpu", "h100-sxm", "--batch", "7", "--context", "5000"},
		{"--model", "deepseek-v3.2", "--gpu", "h200-sxm", "--tensor-parallel", "8", "--kv-cache", "fp8", "--batch", "32"},
		{"--model", "qwen3.5-35b-a3b", "--gpu", "b200-sxm", "--pipeline-parallel", "2", "--engine", "textbook", "--weights",
			"nvfp4"},
		{"--model", "deepseek-v3", "--gpu", "h200-sxm", "--kv-cache", "fp8", "--batch", "77", "--set",
			"pools.serve.data_parallel=8"},
		{"--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--kv-cache", "int4", "--batch", "25", "--set",
			"weight_sparsity=2:4",
			"--set", "pools.serve.attention=materialized", "--set", "pools.serve.async_scheduling=true"},
	} {
		x := explained(t, args...)
		bytes, flops := 0.0, 0.0
		seconds, share := 0.0, 0.0
		for _, p := range x.Parts {
			bytes += p.Bytes
			flops += p.FLOPs
			seconds += p.TimeS
			share += p.Share
		}
		assert.InEpsilon(t, x.StepS, seconds, 1e-4, args)
		assert.InEpsilon(t, 1, share, 1e-4, args)
		assert.InEpsilon(t, x.BytesTotal, bytes, 1e-12, args)
		assert.InEpsilon(t, x.FLOPsTotal, flops, 1e-12, args)
		s := x.Share
		assert.InEpsilon(t, 1, s.Weights+s.KV+s.Compute+s.Communication+s.Overhead, 1e-12, args)
		m := x.Memory
		assert.InEpsilon(t, m.Usable, m.Weights+m.Activations+m.Context+m.KV, 1e-12, args)
		assert.Positive(t, m.Sequences, args)

		var last explain.Curve
		for _, c := range x.Curve {
			assert.Greater(t, c.Batch, last.Batch, args)
			assert.GreaterOrEqual(t, c.StepS, last.StepS, args)
			assert.LessOrEqual(t, c.BoundS, c.StepS, args)
			assert.InEpsilon(t, max(c.MemoryS, c.ComputeS), c.BoundS, 1e-3, args)
			assert.InEpsilon(t, float64(c.Batch)/c.StepS, c.TokensPerS, 1e-12, args)
			last = c
		}
	}
}

// A scenario is explained at the batch that fills it: as many sequences of its mean context as fit, and no more.
func TestExplainFillsAScenario(t *testing.T) {
	x := explained(t, "chat-8b")
	assert.Equal(t, x.Memory.Sequences, x.Batch)
	assert.Equal(t, 1154+106, x.Context, "1154.7 tokens of prompt and half of 211.1 of output")
	assert.True(t, x.Fits)
	x = explained(t, "chat-8b", "--set", "pools.serve.max_num_seqs=64")
	assert.Equal(t, 64, x.Batch)
	x = explained(t, "chat-8b", "--batch", "500")
	assert.False(t, x.Fits)
	assert.Contains(t, strings.Join(x.Warnings, "\n"), "500 sequences of 1260 tokens do not fit")
}

// The linear layers of a dense bf16 model turn at the ridge of the GPU, 989.4e12 / 3.35e12 FLOP per byte at one FLOP
// per byte and sequence: from batch 296.
func TestLinearLayersTurnAtTheRidge(t *testing.T) {
	x := explained(t, "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--context", "16")
	require.NotNil(t, x.LinearSwitchBatch)
	assert.Equal(t, 296, *x.LinearSwitchBatch)
	assert.Contains(t, explainedText(t, "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--context", "16"),
		"compute-bound from batch 296")
	long := explained(t, "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--context", "8192")
	assert.Nil(t, long.SwitchBatch, "the cache binds to memory whatever the batch")
	assert.Nil(t, long.LinearSwitchBatch, "and 296 sequences of so much context do not fit")
}

func TestExplainTellsWhatAPlannerAsks(t *testing.T) {
	text := explainedText(t, "--model", "gpt-oss-120b", "--gpu", "h100-sxm", "--engine", "textbook", "--batch", "8",
		"--context",
		"8000")
	for _, want := range []string{
		"gpt-oss-120b · 1 × h100-sxm · mxfp4 weights · bf16 KV cache · textbook",
		"one decode step: batch 8, context 8,000",
		"experts (28.7 of 128)", "KV cache, windowed attention", "bound, at peak", "× its bound of",
		"never within what fits", "room for 35 sequences of 8,000 tokens", "this step", "does not fit",
	} {
		assert.Contains(t, text, want)
	}
	text = explainedText(t, "--model", "deepseek-v3", "--gpu", "h200-sxm", "--tensor-parallel", "8")
	assert.Contains(
		t, text, "671 G parameters (36.6 G active) in 61 layers, MLA, 8 of 256 experts; KV cache of 70.3 kB per token, "+
			"stored 8 times over its GPUs\n")
	assert.Contains(t, text, "562 kB per token over all GPUs", "every rank holds the latent")
	text = explainedText(t, "--model", "llama-3.1-8b", "--gpu", "h100-sxm")
	assert.Contains(t, text, "8.03 G parameters in 32 layers, GQA; KV cache of 131 kB per token\n")
	assert.Contains(t, text, "batch 1 (default), context 2,048 (default)")
	text = explainedText(t, "chat-8b", "--context", "16", "--kv-cache", "fp8")
	assert.Regexp(t, `memory-bound until batch \d+; compute-bound beyond`, text)
	text = explainedText(t, "--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--context", "100", "--set",
		"pools.serve.max_num_seqs=256")
	assert.Contains(t, text, "compute-bound from batch 296, above max_num_seqs.", "the cache has room for thousands")
}

// Bad input names the flag, the value and what would do, on stderr alone, with exit status 2.
func TestExplainRefusesBadInput(t *testing.T) {
	h100 := []string{"--gpu", "h100-sxm"}
	for _, c := range []struct {
		args []string
		says string
	}{
		{nil, "expected a SCENARIO, or both --model and --gpu"},
		{[]string{"--model", "llama-3.1-8b"}, "both --model and --gpu"},
		{[]string{"chat-9b"}, `scenario "chat-9b" not found; did you mean "chat-8b"?`},
		{[]string{"chat-8b", "chat-70b"}, `"chat-70b" is one argument too many`},
		{append(h100, "--model", "llama-3.1-8c"),
			`--model llama-3.1-8c: model "llama-3.1-8c" not found; did you mean "llama-3.1-8b"?`},
		{[]string{"--model", "llama-3.1-8b", "--gpu", "h100-smx"},
			`--gpu h100-smx: gpu "h100-smx" not found; did you mean "h100-sxm"?`},
		{append(h100, "--model", "llama-3.1-8b", "--engine", "vllm-v2"),
			`--engine vllm-v2: engine "vllm-v2" not found; did you mean "vllm-v1"?`},
		{append(h100, "--model", "llama-3.1-8b", "--weights", "fp9"), `--weights fp9: "fp9" is unknown; did you mean "fp8"?`},
		{append(h100, "--model", "llama-3.1-8b", "--kv-cache", "int5"),
			`--kv-cache int5: "int5" is unknown; did you mean "int8"?`},
		{append(h100, "--model", "llama-3.1-8b", "--tensor-parallel", "3"),
			"3 does not divide the 32 attention heads of llama-3.1-8b; 1, 2, 4, 8, 16, 32 would do"},
		{append(h100, "--model", "llama-3.1-8b", "--tensor-parallel", "0"), "--tensor-parallel 0: 0 is out of range"},
		{append(h100, "--model", "llama-3.1-8b", "--batch", "0"), "--batch 0: expected 1 to 1048576 sequences"},
		{[]string{"chat-8b", "--context", "0"}, "--context 0: llama-3.1-8b has a context of 131072 tokens; expected 1 to"},
		{[]string{"chat-8b", "--acceptance", "0.5"}, "--acceptance 0.5: nothing drafts; expected --speculation beside it"},
		{append(h100, "--model", "llama-3.1-8b", "--num-speculative-tokens", "-1", "--batch", "1,2"),
			"--num-speculative-tokens -1: nothing drafts"},
		{append(h100, "--model", "llama-3.1-8b", "--context", "131073"),
			"llama-3.1-8b has a context of 131072 tokens; expected 1 to 131072"},
		{append(h100, "--model", "llama-3.1-8b", "--batch", "1048576", "--context", "131072"), "expected at most 600 s"},
		{append(h100, "--model", "llama-3.1-8b", "--set", "pools.serve.block_siz=8"),
			`no key "block_siz" in pools[0]; did you mean "block_size"?`},
		{append(h100, "--model", "llama-3.1-70b"), "misses by 65.9 GB; tensor_parallel 2 would do"},
		{append(h100, "--model", "no/such/config.json"), "does not exist"},
		{append(h100, "--model", "."), `--model .: "." is a directory; name its config.json`},
		{append(h100, "--model", "./"), `--model ./: "`},
		{append(h100, "--model", "./"), `" is a directory; name its config.json`},
		{append(h100, "--model", "/dev/zero"), "is a device; expected a regular file"},
		{append(h100, "--model", "llama-3.1-8b", "--tokens", "3"), "unknown flag: --tokens"},
		{append(h100, "--ctx", "4k"), "unknown flag: --ctx; did you mean --context? see decodesim explain --help"},
		{append(h100, "--batch_size", "4"), "did you mean --batch? "},
		{append(h100, "--kv-cache-dtype", "fp8"), "did you mean --kv-cache? "},
	} {
		var out, errOut bytes.Buffer
		status := execute(context.Background(), &out, &errOut, append([]string{"explain"}, c.args...))
		assert.Equal(t, exitBadInput, status, c.args)
		assert.Empty(t, out.String(), c.args)
		assert.Contains(t, errOut.String(), c.says)
		assert.NotContains(t, errOut.String(), "chat-8b.yaml", "flags stand in no file")
	}
}

// What the busiest GPU has of a batch is printed where it is not simply the batch.
func TestExplainTellsWhatAGPUHasOfABatch(t *testing.T) {
	ranks := []string{"--model", "deepseek-v3", "--gpu", "h200-sxm", "--set", "pools.serve.data_parallel=8", "--batch",
		"100"}
	text := explainedText(t, ranks...)
	assert.Contains(
		t, text, "data parallel: 8 ranks in lock step, of up to 13 sequences each; experts see 128 tokens at once\n")
	assert.Contains(t, text, "CUDA graph: the linear layers run 16 rows, 3 of them padding\n")
	x := explained(t, ranks...)
	assert.Equal(t, []int{8, 8, 13, 16, 3}, []int{x.Data, x.GPUs, x.RankBatch, x.Rows, x.RowsPadding})
	assert.Zero(t, x.Memory.Sequences%8, "as many on each rank")
	assert.NotContains(t, text, "the busiest GPU")
	whole := []string{"--model", "deepseek-v3", "--gpu", "h200-sxm", "--tensor-parallel", "8", "--set",
		"pools.serve.expert_parallel=true", "--set", "pools.serve.expert_skew=0.01", "--batch", "4"}
	assert.Contains(t, explainedText(t, whole...),
		"expert parallel: the busiest GPU reads 1.72 times the mean of experts\n")
	assert.InDelta(t, 1.72, explained(t, whole...).ExpertsUneven, 0.005)

	dense := []string{"--model", "llama-3.1-8b", "--gpu", "h100-sxm", "--batch", "32"}
	text = explainedText(t, dense...)
	for _, word := range []string{"data parallel", "CUDA graph", "eager", "waiting for the host", "pipeline:"} {
		assert.NotContains(t, text, word, "off")
	}
	eager := append(dense, "--set", "pools.serve.enforce_eager=true")
	file := filepath.Join(t.TempDir(), "slow.yaml")
	launching := func(seconds string) string {
		require.NoError(t, os.WriteFile(file, []byte(`{bandwidth: 1, compute: 1, moe_compute: 1, kv_bandwidth: 1,
			attention_compute: 1, link: 1, layer_s: 0, moe_layer_s: 0, mixer_layer_s: 0, eager_layer_s: `+seconds+`,
			step_s: 0, sequence_s: 0, collective_s: 0, first_token_s: 0, overlap: 2, source: test}`), 0o600))
		return explainedText(t, append(eager, "--set", "pools.serve.efficiency="+file)...)
	}
	assert.Contains(t, launching("0"),
		"eager: no CUDA graph runs 32 rows; what launching takes is not known (eager_layer_s is 0)\n")
	text = launching("1e-3")
	assert.Contains(t, text, "launching takes the host at least 32.0 ms\n")
	assert.Contains(t, text, "waiting for the host")
	text = explainedText(t, append(dense, "--pipeline-parallel", "2", "--set", "weight_sparsity=2:4")...)
	assert.Contains(t, text, "pipeline: 2 stages, each with 16 rows at a time\n")
	assert.Contains(t, text, "2:4 bf16 weights")
}

// A config.json of HuggingFace's is a model like those built in.
func TestExplainReadsACheckpointsConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
		"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
		"vocab_size": 128256, "max_position_embeddings": 131072, "hidden_act": "silu", "rms_norm_eps": 1e-05,
		"tie_word_embeddings": false, "attention_bias": false, "torch_dtype": "bfloat16"}`), 0o600))
	read := explained(t, "--model", file, "--gpu", "h100-sxm")
	built := explained(t, "--model", "llama-3.1-8b", "--gpu", "h100-sxm")
	read.Model, read.Expected = built.Model, built.Expected // nobody knows which model a file is
	assert.Equal(t, built, read)
}

// --out leaves the plots and the JSON that --json prints; stdout then is that JSON alone.
func TestExplainLeavesFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "explained")
	args := []string{"chat-8b", "--engine", "textbook"}
	text := explainedText(t, append(args, "--out", dir)...)
	for _, name := range []string{"roofline.svg", "roofline.png", "itl_vs_batch.svg", "itl_vs_batch.png", "explain.json"} {
		path := filepath.Join(dir, name)
		assert.Contains(t, text, path+"\n")
		assert.FileExists(t, path)
	}
	figure, err := os.ReadFile(filepath.Join(dir, "roofline.svg"))
	require.NoError(t, err)
	assert.NotContains(t, string(figure), "seed", "nothing is drawn at random")
	var out, errOut bytes.Buffer
	again := append([]string{"explain", "--json", "--out", dir}, args...)
	require.Equal(t, exitBadInput, execute(context.Background(), &out, &errOut, again), "the directory is taken")
	assert.Contains(t, errOut.String(), "already holds a run (explain.json)")
	dir = filepath.Join(t.TempDir(), "again")
	again[3] = dir
	require.Equal(t, exitOK, execute(context.Background(), &out, &errOut, again))
	written, err := os.ReadFile(filepath.Join(dir, "explain.json"))
	require.NoError(t, err)
	assert.Equal(t, string(written), out.String())
	assert.Contains(t, errOut.String(), filepath.Join(dir, "explain.json"))
}

// TestOfSeveralPoolsTheDecodingOneIsExplained: a decode step is none of the prefill pool, whose GPU is another one; and
// a flag that would change that pool unseen is refused.
func TestOfSeveralPoolsTheDecodingOneIsExplained(t *testing.T) {
	inDir(t, handed)
	disaggregated := []string{"explain", "chat.yaml", "--set", "pools.decode.gpu=a100-sxm-80gb"}
	status, out, errOut := try(disaggregated...)
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "chat.yaml · pool decode · ")
	assert.Contains(t, out, "a100-sxm-80gb")
	status, _, errOut = try(append(disaggregated, "--gpu", "h200-sxm")...)
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, "--gpu is for scenarios of one pool")
	assert.Contains(t, errOut, "expected --set pools.decode.gpu=h200-sxm")
}

// Every part says what it makes of the peaks, and arithmetic that a fitted constant keeps far below its peak is warned
// of where rows are many, and not where they are few.
func TestExplainSaysWhatIsAchievedOfThePeaks(t *testing.T) {
	const experts = "experts: "
	args := []string{"--model", "deepseek-r1", "--gpu", "h200-sxm", "--tensor-parallel", "8", "--engine", "sglang",
		"--set", "pools.0.efficiency=own.yaml", "--batch"}
	t.Chdir(t.TempDir())
	sets, err := catalog.EfficienciesOf("sglang")
	require.NoError(t, err)
	own := sets.Default
	own.MoECompute = 0.03
	var file bytes.Buffer
	require.NoError(t, calibration.WriteEfficiency(&file, &own, nil, "by hand"))
	require.NoError(t, os.WriteFile("own.yaml", file.Bytes(), 0o600))

	x := explained(t, append(args, "300")...)
	gpu, err := catalog.GPU("h200-sxm")
	require.NoError(t, err)
	for _, p := range x.Parts {
		assert.InEpsilon(t, 1+p.Bytes/gpu.BandwidthBps.Value/max(p.TimeS, 1e-12), 1+p.BandwidthOfPeak, 1e-9, p.Name)
		assert.LessOrEqual(t, max(p.BandwidthOfPeak, p.FLOPSOfPeak), 1.0, p.Name)
	}
	assert.Contains(t, strings.Join(x.Warnings, "\n"), experts)
	for _, p := range x.Parts {
		assert.Equal(t, p.Name == "experts", p.Limit == "kernels", p.Name)
	}
	assert.Greater(t, x.KernelShare, 0.3)
	assert.LessOrEqual(t, x.KernelShare, x.Share.Compute)
	assert.Contains(t, explainedText(t, append(args, "300")...), " % kernels far below the peak FLOP/s, ")
	few := explained(t, append(args, "64")...)
	assert.NotContains(t, strings.Join(few.Warnings, "\n"), experts)
	for _, p := range few.Parts {
		assert.False(t, p.Limit == "compute" && p.FLOPSOfPeak < 0.1, "%s at few rows waits for no FLOP/s either", p.Name)
	}
	own.AttentionCompute = 0.03
	file.Reset()
	require.NoError(t, calibration.WriteEfficiency(&file, &own, nil, "by hand"))
	require.NoError(t, os.WriteFile("own.yaml", file.Bytes(), 0o600))
	assert.Contains(t, strings.Join(explained(t, append(args, "300")...).Warnings, "\n"), "KV cache, attention: ",
		"of attention too")
	both := explainedText(t, append(args, "8,300")...)
	assert.Regexp(t, `(?m) compute  kernels  comm\.`, both, "a grid tells them apart")
	assert.Contains(t, both, "kernels: arithmetic that they keep far below the peak FLOP/s\n")
	assert.Empty(t, x.Expected, "of constants of one's own nobody knows the error")
}

// What is printed of the error to expect is what the JSON has, and what the other commands say.
func TestTheErrorToExpectIsInEveryAnswer(t *testing.T) {
	x := explained(t, "chat-70b")
	require.Len(t, x.Expected, 1)
	assert.Equal(t, []string{"llama-3.1-70b", "h100-sxm", "vllm", "deployment"},
		[]string{x.Expected[0].Model, x.Expected[0].GPU, x.Expected[0].Engine, x.Expected[0].LeftOut})
	sentence := expected.Sentence(&x.Expected[0])
	assert.Contains(t, explainedText(t, "chat-70b"), "\naccuracy: "+sentence+"\n")
	assert.Contains(t, explainedText(t, "--model", "llama-3.1-70b", "--gpu", "h100-sxm", "--tensor-parallel", "4",
		"--batch", "1,8"), "\naccuracy: "+sentence+"\n", "of a grid too")
	assert.Contains(t, outputOf(t, []string{"run", "chat-70b"}), "\naccuracy     "+sentence+"\n")
	var s metrics.Summary
	require.NoError(t, json.Unmarshal([]byte(outputOf(t, []string{"run", "chat-70b", "--json"})), &s))
	assert.Equal(t, x.Expected, s.Expected)
	unseen := explained(t, "--model", "llama-3.1-70b", "--gpu", "l40s", "--tensor-parallel", "8")
	require.Len(t, unseen.Expected, 1)
	assert.NotEqual(t, "deployment", unseen.Expected[0].LeftOut)
	assert.Greater(t, unseen.Expected[0].Runs, 100)
}

// A chunk on Blackwell takes what one multiprocessor takes for 256 rows and all keys, whatever the tokens; Hopper's
// kernels divide the keys.
func TestExplainSaysWhatAChunkTakesAtLeast(t *testing.T) {
	args := []string{"--model", "llama-3.1-70b", "--tensor-parallel", "8", "--engine", "vllm-v1", "--batch", "8",
		"--context", "65536", "--gpu"}
	x := explained(t, append(args, "b200-sxm")...)
	assert.InEpsilon(t, 80*256*65536*2*(128+128)/(0.8*2.25e15/148), x.ChunkFloorS, 1e-9)
	assert.Contains(t, explainedText(t, append(args, "b200-sxm")...),
		"takes at least 56.5 ms, for one of 148 multiprocessors")
	assert.Zero(t, explained(t, append(args, "h100-sxm")...).ChunkFloorS)
	assert.NotContains(t, explainedText(t, append(args, "h100-sxm")...), "multiprocessors")
}
