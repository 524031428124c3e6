package configs

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// switched loads the scenario under another engine.
func switched(t *testing.T, to string, set ...string) *Scenario {
	t.Helper()
	s, err := Load("chat.yaml", Options{Engine: to, Set: set})
	require.NoError(t, err)
	return s
}

// TestArgumentsKeepTheirMeaningUnderAnotherEngine: what both engines have is carried over, whatever they call it; what
// the new one lacks, or would take for something else, is left out and reported.
func TestArgumentsKeepTheirMeaningUnderAnotherEngine(t *testing.T) {
	inDir(t, running("vllm-v0", "max_num_seqs: 48", "swap_space: 2", "gpu_memory_utilization: 0.8",
		"max_num_batched_tokens: 9000",
		"max_model_len: 8000", "scheduling_policy: priority"))
	s := switched(t, "sglang")
	p := s.Pools[0]
	require.Equal(t, "sglang", p.Engine)
	require.Equal(t, []int{48, 8192, 8000, 1}, []int{p.MaxNumSeqs, p.MaxNumBatchedTokens, p.MaxModelLen, p.BlockSize})
	require.Equal(t, []any{"priority", 0.835, 0.0}, []any{p.QueueOrder, p.GPUMemoryUtilization, p.SwapSpace})
	require.Equal(t, []string{
		"pools.serve.max_num_batched_tokens: 9000 is left out: of vllm-v0 and sglang only one runs prompts whole, for " +
			"which it is the longest of them",
		"pools.serve.swap_space: 2 is left out: engine sglang has no such argument",
		"pools.serve.gpu_memory_utilization: 0.8 is left out: mem_fraction_static of sglang is that of something else",
	}, s.Notes())
	require.Contains(t, string(s.YAML()), "\n    max_running_requests: 48 ")

	s = switched(t, "decode-priority")
	require.Equal(t, []any{48, 9000, 0.8, 2.0},
		[]any{s.Pools[0].MaxNumSeqs, s.Pools[0].MaxNumBatchedTokens, s.Pools[0].GPUMemoryUtilization, s.Pools[0].SwapSpace})
	require.Empty(t, s.Notes())
	require.Empty(t, switched(t, "vllm-v0").Notes())
	require.Equal(t, string(switched(t, "vllm-v0").YAML()), string(switched(t, "").YAML()),
		"its own engine changes nothing")
}

func TestChunksAndOrdersThatAnotherEngineLacksAreLeftOut(t *testing.T) {
	inDir(t, running("sglang", "chunked_prefill_size: -1", "schedule_policy: lpm", "max_running_requests: 4"))
	s := switched(t, "vllm-v1")
	require.Equal(t, []any{4, 8192, "fcfs"},
		[]any{s.Pools[0].MaxNumSeqs, s.Pools[0].MaxNumBatchedTokens, s.Pools[0].QueueOrder})
	require.Len(t, s.Notes(), 2)
	inDir(t, running("vllm-v1", "max_num_batched_tokens: 4096"))
	require.Equal(t, 4096, switched(t, "sglang").Pools[0].MaxNumBatchedTokens)
	require.Equal(t, 8192, switched(t, "tensorrt-llm").Pools[0].MaxNumBatchedTokens, "it would reject prompts above 4096")
	require.Equal(t, 4096, switched(t, "tensorrt-llm",
		"pools.serve.enable_chunked_prefill=true").Pools[0].MaxNumBatchedTokens)
	require.Equal(t, 16, switched(t, "tensorrt-llm", "pools.serve.max_num_seqs=16").Pools[0].MaxNumSeqs)
}

// TestACacheKeepsItsTokensUnderBlocksOfAnotherSize: blocks are carried over by what they hold, rounded down, unless
// their size is carried over too.
func TestACacheKeepsItsTokensUnderBlocksOfAnotherSize(t *testing.T) {
	inDir(t, running("vllm-v1", "num_gpu_blocks: 3001"))
	for to, c := range map[string]struct {
		blocks int64
		note   string
	}{
		"sglang": {
			48016, "pools.serve.num_gpu_blocks: 3001 is carried over as 48016: blocks of vllm-v1 have 16 tokens, those of " +
				"sglang 1"},
		"tensorrt-llm": {
			1500, "pools.serve.num_gpu_blocks: 3001 is carried over as 1500: blocks of vllm-v1 have 16 tokens, those of " +
				"tensorrt-llm 32"},
		"vllm-v0": {3001, ""},
		"vllm-v1": {3001, ""},
	} {
		s := switched(t, to)
		require.Equal(t, c.blocks, s.Pools[0].NumGPUBlocks, to)
		if c.note != "" {
			require.Equal(t, []string{c.note}, s.Notes())
		} else {
			require.Empty(t, s.Notes())
		}
		again, err := Read("again.yaml", s.YAML(), Options{})
		require.NoError(t, err)
		require.Equal(t, c.blocks, again.Pools[0].NumGPUBlocks)
	}
	sized := switched(t, "tensorrt-llm", "pools.serve.block_size=64", "pools.serve.num_gpu_blocks=500")
	require.Equal(t, []int64{500, 64}, []int64{sized.Pools[0].NumGPUBlocks, int64(sized.Pools[0].BlockSize)})
	require.Empty(t, sized.Notes())

	inDir(t, running("sglang", "num_gpu_blocks: 15"))
	_, err := Load("chat.yaml", Options{Engine: "vllm-v1"})
	require.EqualError(t, err,
		"engine vllm-v1: pools.serve.num_gpu_blocks: 0 is out of range; expected a whole number from 1 to 2147483647")
}

func TestErrorsAfterASwitchAreInTheNewWords(t *testing.T) {
	inDir(t, running("vllm-v1", "max_num_seqs: 0"))
	_, err := Load("chat.yaml", Options{Engine: "sglang"})
	require.EqualError(t, err,
		"chat.yaml:11:5: pools[0].max_running_requests: 0 is out of range; expected a whole number from 1 to 1048576")
	_, err = Load("chat.yaml", Options{Engine: "sglung"})
	require.ErrorContains(t, err, `engine "sglung" not found; did you mean "sglang"?`)
	require.NotContains(t, err.Error(), "configs:")
}
