package configs

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/stretchr/testify/require"
)

// value returns a value that the key may have and that no engine takes by itself.
func value(key string) string {
	switch key {
	case "queue_order":
		return "priority"
	case "enable_prefix_caching", "enforce_eager", "async_scheduling":
		return "true"
	case "gpu_memory_utilization":
		return "0.71"
	case "cudagraph_capture_sizes":
		return "[1, 2, 96]"
	case "max_num_batched_tokens":
		return "4352"
	}
	return "96"
}

// TestEnginesHaveTheirOwnNames: a key may be given under the engine's own name or under every engine's, in a file, by
// --set and by the environment; it is written under the engine's own, and a second name beside it is refused.
func TestEnginesHaveTheirOwnNames(t *testing.T) {
	for _, name := range catalog.EngineNames() {
		e, err := catalog.Engine(name)
		require.NoError(t, err)
		for own, key := range e.Names {
			t.Run(name+"/"+own, func(t *testing.T) {
				v := value(key)
				inDir(t, running(name, own+": "+v))
				require.NoError(t, os.WriteFile("canonical.yaml", []byte(running(name, key+": "+v)), 0o600))
				require.NoError(t, os.WriteFile("short.yaml", []byte(running(name)), 0o600))
				want, err := Load("chat.yaml", Options{})
				require.NoError(t, err)
				want.Name = "short"
				text := string(want.YAML())
				require.Contains(t, text, "\n    "+own+": "+v)
				require.NotContains(t, text, "\n    "+key+":")
				for _, opts := range []Options{
					{Set: []string{"pools.serve." + own + "=" + v}}, {Set: []string{"pools.serve." + key + "=" + v}},
					{Env: []string{"DECODESIM_POOLS_SERVE_" + strings.ToUpper(own) + "=" + v}},
					{Env: []string{"DECODESIM_POOLS_SERVE_" + strings.ToUpper(key) + "=" + v}},
				} {
					got, err := Load("short.yaml", opts)
					require.NoError(t, err)
					require.Equal(t, text, string(got.YAML()))
				}
				got, err := Load("canonical.yaml", Options{})
				require.NoError(t, err)
				got.Name = "short"
				require.Equal(t, text, string(got.YAML()))

				refuses(t, running(name, own+": "+v, key+": "+v),
					fmt.Sprintf("chat.yaml:12:5: pools[0].%s: is another name of %s, which is on line 11; expected only one of them",
						key, own))
			})
		}
	}
}

func TestTwoNamesInOneLayerAreRefused(t *testing.T) {
	inDir(t, running("sglang", "page_size: 4"))
	_, err := Load("chat.yaml", Options{Set: []string{"pools.serve.block_size=8", "pools.serve.page_size=16"}})
	require.EqualError(t, err,
		"--set pools.serve.page_size=16: is another name of block_size, which stands beside it; expected only one of them")
	_, err = Load("chat.yaml",
		Options{Env: []string{"DECODESIM_POOLS_SERVE_BLOCK_SIZE=8", "DECODESIM_POOLS_SERVE_PAGE_SIZE=16"}})
	require.EqualError(t, err,
		"DECODESIM_POOLS_SERVE_PAGE_SIZE=16: is another name of block_size, which stands beside it; "+
			"expected only one of them")
	s, err := Load("chat.yaml",
		Options{Set: []string{"pools.serve.block_size=8"}, Env: []string{"DECODESIM_POOLS_SERVE_PAGE_SIZE=16"}})
	require.NoError(t, err)
	require.Equal(t, 8, s.Pools[0].BlockSize, "--set over the environment over the file, whatever the names")
}

var engineMistakes = []struct{ engine, line, want string }{
	{"sglang", "max_running_requests: 0",
		"max_running_requests: 0 is out of range; expected a whole number from 1 to 1048576"},
	{"sglang", "max_num_seqs: 0", "max_num_seqs: 0 is out of range; expected a whole number from 1 to 1048576"},
	{"sglang", "chunked_prefill_size: 0",
		"chunked_prefill_size: 0 is out of range; expected a whole number from 1 to 1073741824, or -1 for prompts that " +
			"run whole"},
	{"sglang", "chunked_prefill_size: -2",
		"chunked_prefill_size: -2 is out of range; expected a whole number from 1 to 1073741824, or -1 for prompts that " +
			"run whole"},
	{"sglang", "max_prefill_tokens: 0",
		"max_prefill_tokens: 0 is out of range; expected a whole number from 1 to 1073741824"},
	{"sglang", "schedule_conservativeness: 0",
		"schedule_conservativeness: 0 is out of range; expected a number above 0 and at most 1000"},
	{"sglang", "enable_mixed_chunk: 1", "enable_mixed_chunk: expected true or false, got the number 1"},
	{"sglang", "mem_fraction_static: 1.5",
		"mem_fraction_static: 1.5 is out of range; expected a number above 0 and at most 1"},
	{"sglang", "page_size: 0", "page_size: 0 is out of range; expected a whole number from 1 to 65536"},
	{"sglang", "context_length: 0", "context_length: 0 is out of range; expected a whole number from 1 to 1073741824"},
	{"sglang", "hicache_size: 0", "hicache_size: 0 is out of range; expected a number above 0 and at most 1.048576e+06"},
	{"sglang", "cuda_graph_bs: [0]", "cuda_graph_bs: 0 is out of range; expected a whole number from 1 to 65536"},
	{"sglang", "cuda_graph_bs: []",
		"cuda_graph_bs: is empty; expected rows such as [1, 2, 4, 8], null for the engine's own, or disable_cuda_graph: " +
			"true for none"},
	{"sglang", "schedule_policy: random", `schedule_policy: "random" is unknown; valid values: "fcfs", `},
	{"sglang", "max_runing_requests: 4", `max_runing_requests: unknown key; did you mean "max_running_requests"?`},
	{"sglang", "max_num_sqs: 4", `max_num_sqs: unknown key; did you mean "max_running_requests"?`},
	{"sglang", "max_batch_sizes: 4", `max_batch_sizes: unknown key; did you mean "max_running_requests"?`},
	{"sglang", "swap_space: 4",
		`swap_space: engine "sglang" has no such argument; valid keys: "max_running_requests", "chunked_prefill_size", `},
	{"sglang", "max_batch_size: 4",
		`max_batch_size: is its name under "orca", "static", "tensorrt-llm"; engine "sglang" calls it "max_running_requests"`},
	{"tensorrt-llm", "capacity_scheduler_policy: STATIC_BATCH",
		`capacity_scheduler_policy: "STATIC_BATCH" is unknown; valid values: "GUARANTEED_NO_EVICT", "MAX_UTILIZATION"`},
	{"tensorrt-llm", "batch_wait_timeout_iters: -1",
		"batch_wait_timeout_iters: -1 is out of range; expected a whole number from 0 to 1048576"},
	{"tensorrt-llm", "batch_wait_timeout_ms: 5", `batch_wait_timeout_ms: unknown key; did you mean "batch_wait_timeout_iters"?`},
	{"vllm-v1", "batch_wait_timeout_iters: 5",
		`batch_wait_timeout_iters: engine "vllm-v1" has no such argument; valid keys: `},
	{"tensorrt-llm", "enable_block_reuse: 5", "enable_block_reuse: expected true or false, got the number 5"},
	{"tensorrt-llm", "watermark: 0.1", `watermark: engine "tensorrt-llm" has no such argument; valid keys: `},
	{"vllm-v1", "version: 0.9", `version: the rules of release 0.9 are not known; expected one of "0.22", "0.33"`},
	{"vllm-v1", "version: 0.30", `version: the rules of release 0.30 are not known; expected one of "0.22", "0.33"`},
	{"vllm-v1", "version: [0.33]", "version: expected a release such as 0.33, got a list"},
	{"sglang", "version: 0.33", `version: engine "sglang" has no such argument; valid keys: `},
	{"vllm-v1", "scheduling_policy: priorty", `scheduling_policy: "priorty" is unknown; did you mean "priority"?`},
	{"vllm-v1", "scheduling_policy: lpm", `scheduling_policy: "lpm" is unknown; valid values: "fcfs", `},
	{"vllm-v1", "scheduling_policy: aging",
		"aging_s: missing beside scheduling_policy aging; expected a number such as 10"},
	{"vllm-v1", "aging_s: 3", "aging_s: 3 has no effect with scheduling_policy fcfs; accepted: null, or aging"},
	{"vllm-v1", "scheduling_policy: shortest-predicted-job",
		"prediction_cv: missing beside scheduling_policy shortest-predicted-job; expected a number such as 0.5"},
	{"vllm-v1", "prediction_cv: -1",
		"prediction_cv: -1 has no effect with scheduling_policy fcfs; accepted: null, or shortest-predicted-job"},
	{"vllm-v1", "watermark: -0.1", "watermark: -0.1 is out of range; expected a number from 0 to 1"},
	{"vllm-v1", "watermark: 1", "watermark: 1 leaves no block to admit anybody to; expected a share from 0 to below 1"},
	{"vllm-v1", "preemption_victim: head", `preemption_victim: "head" is unknown; valid values: "tail", "last-in-order"`},
	{"vllm-v1", "kv_offloading_size: -4",
		"kv_offloading_size: -4 is out of range; expected a number above 0 and at most 1.048576e+06"},
	{"vllm-v1", "prefill_below: 4", `prefill_below: engine "vllm-v1" has no such argument; valid keys: `},
	{"vllm-v0", "preemption_mode: drop", `preemption_mode: "drop" is unknown; valid values: "recompute", "swap"`},
	{"vllm-v0", "swap_space: -1", "swap_space: -1 is out of range; expected a number from 0 to 1.048576e+06"},
	{"vllm-v0", "host_link_bps: 0", "host_link_bps: 0 is out of range; expected a number above 0 and at most 1e+15"},
	{"vllm-v0", "async_scheduling: true", `async_scheduling: engine "vllm-v0" has no such argument; valid keys: `},
	{"sarathi", "chunk_size: 0", "chunk_size: 0 is out of range; expected a whole number from 1 to 1073741824"},
	{"orca", "reserve: everything",
		`reserve: "everything" is unknown; valid values: "as-computed", "prompt", "max-tokens", "max-model-len"`},
	{"decode-priority", "prefill_below: -1",
		"prefill_below: -1 is out of range; expected a whole number from 0 to 1048576"},
	{"static", "max_batch_size: 4000000",
		"max_batch_size: 4000000 is out of range; expected a whole number from 1 to 1048576"},
}

// TestErrorsSpeakTheEnginesLanguage: bad input per argument, in the words of the engine or those that the user chose.
func TestErrorsSpeakTheEnginesLanguage(t *testing.T) {
	for _, c := range engineMistakes {
		t.Run(c.engine+"/"+c.line, func(t *testing.T) {
			at := "chat.yaml:11:5: "
			if key, _, _ := strings.Cut(c.line, ":"); !strings.HasPrefix(c.want, key+":") {
				at = "chat.yaml:9:5: " // about a key that nobody gave
			}
			refuses(t, running(c.engine, c.line), at+"pools[0]."+c.want)
		})
	}
}

func TestStepsHoldATokenOfEach(t *testing.T) {
	refuses(t, running("tensorrt-llm", "max_num_tokens: 64", "max_batch_size: 65"),
		"chat.yaml:11:5: pools[0].max_num_tokens: 64 is below max_batch_size, 65; a step must hold a token of each sequence")
}

func TestOrdersByTheCacheNeedOne(t *testing.T) {
	refuses(t, running("sglang", "schedule_policy: lpm", "radix_cache: false"),
		`chat.yaml:11:5: pools[0].schedule_policy: "lpm" goes by the prefix cache; expected another order, or radix_cache true`)
}

func TestSwappingNeedsRoom(t *testing.T) {
	refuses(t, running("vllm-v0", "swap_space: 0", "preemption_mode: swap"),
		"chat.yaml:11:5: pools[0].swap_space: 0 leaves no room to swap to; "+
			"expected GiB above 0, or preemption_mode recompute")
}

// TestSwappingNeedsAPoolWithoutPrefixCaching, whether the engine or the scenario says that it has one.
func TestSwappingNeedsAPoolWithoutPrefixCaching(t *testing.T) {
	const want = `"swap" is not modelled with a prefix cache; accepted: "recompute", or enable_prefix_caching false`
	refuses(t, running("vllm-v0", "preemption_mode: swap", "enable_prefix_caching: true"),
		"chat.yaml:11:5: pools[0].preemption_mode: "+want)
	byDefault := Pool{EngineArguments: catalog.EngineArguments{PreemptionMode: catalog.PreemptSwap, SwapSpace: 4,
		EnablePrefixCaching: true, PreemptionVictim: catalog.VictimTail}}
	c := checker{origins: &origins{strict.NewPositions("s.yaml"), map[string]string{}}}
	e, err := catalog.Engine("vllm-v1")
	require.NoError(t, err)
	byDefault.checkPreemption(&c, "pools[0]", &e)
	require.EqualError(t, c.err, "s.yaml:1:1: pools[0].preemption_mode: "+want)
}

// TestAnArgumentFitsTheEngineThatRuns: the engine of the topmost layer decides what an argument may be called.
func TestAnArgumentFitsTheEngineThatRuns(t *testing.T) {
	inDir(t, running("sglang", "max_running_requests: 7"))
	_, err := Load("chat.yaml", Options{Set: []string{"pools.serve.engine=tensorrt-llm"}})
	require.EqualError(t, err,
		`chat.yaml:11:5: pools[0].max_running_requests: is its name under "sglang"; engine "tensorrt-llm" calls it "max_batch_size"`)
	_, err = Load("chat.yaml", Options{Set: []string{"pools.serve.engine=vllm-v0", "pools.serve.swap_spase=1"}})
	require.EqualError(t, err,
		`--set pools.serve.swap_spase=1: no key "swap_spase" in pools[0]; did you mean "swap_space"?`)
}

// TestNoEngineCallsAnArgumentByAKeyOfEveryPool: a key would mean two things.
func TestNoEngineCallsAnArgumentByAKeyOfEveryPool(t *testing.T) {
	keys := strict.KeysOf(strict.FieldsOf(reflect.TypeFor[Pool]()))
	for _, name := range catalog.EngineNames() {
		e, err := catalog.Engine(name)
		require.NoError(t, err)
		for own := range e.Names {
			require.NotContains(t, keys, own, name)
		}
	}
}
