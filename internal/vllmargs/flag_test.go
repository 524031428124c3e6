package vllmargs

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

func TestFlagsHaveOneMeaning(t *testing.T) {
	spelt := regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9.-]*$`)
	for _, engine := range Engines() {
		seen := map[string]bool{}
		for _, f := range flagsOf(engine) {
			require.NotEmpty(t, f.names)
			for _, name := range f.names {
				assert.Regexp(t, spelt, name, engine)
				assert.False(t, seen[name], "%s: %s stands twice", engine, name)
				seen[name] = true
			}
		}
		assert.Greater(t, len(seen), 40, engine)
	}
}

func TestNamesMayBeSpeltOtherwise(t *testing.T) {
	flags := flagsOf(vllmV1)
	for written, want := range map[string]string{
		"--max-num-seqs": "--max-num-seqs", "--max_num_seqs": "--max-num-seqs", "-tp": "--tensor-parallel-size",
		"--no-enable-prefix-caching": "--enable-prefix-caching", "--gpu-memory": "--gpu-memory-utilization",
		"--compilation-config.cudagraph_mode": "--compilation-config",
	} {
		m, known := flags.find(written)
		require.True(t, known, written)
		assert.Equal(t, want, m.names[0])
	}
	for _, written := range []string{"--max-num", "--no-max-num-seqs", "--max-num-", "--enable-", "-t",
		"--tensor-parallel-sizes"} {
		_, known := flags.find(written)
		assert.False(t, known, written)
	}
}

// TestAnyFlagsAreAnErrorOrAScenario draws command lines of flags that exist, with values good and bad, in any order.
func TestAnyFlagsAreAnErrorOrAScenario(t *testing.T) {
	starts := map[string]string{vllmV1: "vllm serve", vllmV0: "VLLM_USE_V1=0 vllm serve", sglang: "sglang serve --model",
		tensorRTLLM: "trtllm-serve"}
	values := []string{"1", "2", "8", "0.5", "-1", "fp8", "auto", "true", "none", "lpm", "8K", "{}", `{"level": 0}`, "$X",
		"", "[1, 2]", "a\u2028b: c #", "x=y", "'"}
	read, written := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		engine := rapid.SampledFrom(Engines()).Draw(t, "engine")
		words := wordsOf(t, starts[engine]+" "+rapid.SampledFrom([]string{"llama-3.1-8b", "openai/gpt-oss-120b"}).Draw(t,
			"model"))[0]
		flags := flagsOf(engine)
		for range rapid.IntRange(0, 6).Draw(t, "flags") {
			f := rapid.SampledFrom(flags).Draw(t, "flag")
			words = append(words, rapid.SampledFrom(f.names).Draw(t, "name"))
			for range rapid.IntRange(0, 2).Draw(t, "values") {
				words = append(words, rapid.SampledFrom(values).Draw(t, "value"))
			}
		}
		read++
		i, err := ReadWords(words, Options{GPU: "h200", ReadFile: folder{}.read})
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		written++
		require.NoError(t, yaml.Unmarshal(i.Text, &yaml.Node{}), "%s", i.Text)
		if wrong, err := i.Check(); err != nil && !wrong {
			require.Regexp(t, `does not fit|data_parallel|KV cache`, err.Error(), "%s", i.Text)
		}
	})
	require.Greater(t, written, read/20, "of the drawn command lines too few are read")
}

// TestAnyTextIsAnErrorOrAScenario: no text is too odd.
func TestAnyTextIsAnErrorOrAScenario(t *testing.T) {
	parts := []string{"vllm", " serve ", "--model", " -tp ", "4", "'", `"`, "\\", "\n", "$", "{", "}", "((", "))", "#",
		"<<", ">", "EOF", ";", "=", "-e ", "A=1", "llama-3.1-8b", " ", "é", "-O", "-c ", "."}
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		for range rapid.IntRange(0, 30).Draw(t, "parts") {
			text += rapid.SampledFrom(parts).Draw(t, "part")
		}
		_, _ = Read(text, Options{GPU: "h200", ReadFile: folder{}.read})
	})
}

// TestKernelsSendTokensToTheExpertsOfOtherRanks, and none where there are no such.
func TestKernelsSendTokensToTheExpertsOfOtherRanks(t *testing.T) {
	const sends = "sglang serve --tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend deepep --deepep-mode "
	for command, want := range map[string]string{
		"vllm serve --all2all-backend deepep_low_latency -dp 8 -ep":          "low-latency",
		"vllm serve --all2all-backend nixl_ep -dp 8 -ep":                     "low-latency",
		"vllm serve -dp 8 -ep --all2all-backend deepep_high_throughput":      "normal",
		"vllm serve -dp 8 -ep --all2all-backend flashinfer_nvlink_one_sided": "one-sided",
		"vllm serve -dp 8 -ep --all2all-backend allgather_reducescatter":     "",
		"vllm serve -tp 8 -ep --all2all-backend deepep_low_latency":          "",
		"vllm serve -dp 2 -tp 4 --all2all-backend deepep_low_latency":        "",
		sends + "low_latency": "low-latency", sends + "normal": "normal", sends + "auto": "",
	} {
		i, err := read(command+" --model deepseek-ai/DeepSeek-R1", "h200", folder{})
		require.NoError(t, err, command)
		if want == "" {
			assert.NotContains(t, string(i.Text), "all_to_all", command)
			assert.NotEmpty(t, i.Idle, command)
		} else {
			assert.Contains(t, string(i.Text), "all_to_all: "+want, command)
		}
	}
}

// TestAFlagIsTakenOnce, also where several of them say one key.
func TestAFlagIsTakenOnce(t *testing.T) {
	for command, want := range map[string][]string{
		"trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 8 --ep_size 8 --enable_attention_dp": {"--enable_attention_dp",
			"--tp_size 8", "--ep_size 8"},
		"sglang serve --model deepseek-ai/DeepSeek-R1 --tp 8 --dp 8 --enable-dp-attention": {"--tp 8", "--dp 8",
			"--enable-dp-attention"},
	} {
		i, err := read(command, "h200", folder{})
		require.NoError(t, err, command)
		assert.Equal(t, want, i.Taken, command)
	}
}

// TestWhatHidesExchangesIsRead, and what leaves all-reduces to NCCL: both have keys of the scenario.
func TestWhatHidesExchangesIsRead(t *testing.T) {
	const ranks = "sglang serve --tp 8 --dp 8 --enable-dp-attention --moe-a2a-backend deepep "
	for command, want := range map[string]string{
		"vllm serve -dp 8 -ep --enable-dbo":                                        "batch_overlap: two-batch",
		"vllm serve -tp 8 --disable-custom-all-reduce":                             "disable_custom_all_reduce: true",
		"sglang serve --tp 8 --disable-custom-all-reduce":                          "disable_custom_all_reduce: true",
		ranks + "--enable-two-batch-overlap":                                       "batch_overlap: two-batch",
		ranks + "--enable-single-batch-overlap":                                    "batch_overlap: single-batch",
		ranks + "--enable-single-batch-overlap --enable-two-batch-overlap":         "batch_overlap: two-batch",
		ranks + "--enable-two-batch-overlap --enable-single-batch-overlap":         "batch_overlap: two-batch",
		"vllm serve -tp 8 --enable-dbo":                                            "",
		"vllm serve -pp 8 --disable-custom-all-reduce":                             "",
		"vllm serve -dp 8 -ep --disable-custom-all-reduce":                         "",
		"vllm serve -dp 8 -ep --no-enable-dbo --no-disable-custom-all-reduce":      "",
		"sglang serve --tp 8 --enable-single-batch-overlap --moe-a2a-backend none": "",
	} {
		i, err := read(command+" --model deepseek-ai/DeepSeek-R1", "h200", folder{})
		require.NoError(t, err, command)
		if want == "" {
			assert.NotContains(t, string(i.Text), "batch_overlap:", command)
			assert.NotContains(t, string(i.Text), "custom_all_reduce:", command)
			assert.NotEmpty(t, i.Idle, command)
			continue
		}
		assert.Contains(t, string(i.Text), want, command)
		_, err = i.Check()
		require.NoError(t, err, command)
	}
}
