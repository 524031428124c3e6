package build

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// TestEveryEngineRunsAndItsResolvedScenarioRerunsItself: to the byte, and to the same results.
func TestEveryEngineRunsAndItsResolvedScenarioRerunsItself(t *testing.T) {
	for _, name := range catalog.EngineNames() {
		t.Run(name, func(t *testing.T) {
			inDir(t, running(name))
			first := build(t)
			text := first.Scenario.YAML()
			require.NoError(t, os.WriteFile("again.yaml", text, 0o600))
			s, err := configs.Load("again.yaml", configs.Options{})
			require.NoError(t, err)
			require.Equal(t, string(text), string(s.YAML()), "loading adds nothing")
			again, err := New(s)
			require.NoError(t, err)
			require.Equal(t, string(text), string(again.Scenario.YAML()), "nor does building")
			s, err = configs.Load("chat.yaml", configs.Options{})
			require.NoError(t, err)
			_, want := simulate(t, s)
			_, got := simulate(t, again.Scenario)
			assert.Equal(t, want, got)
			assert.EqualValues(t, 60, want.Requests.Completed)
		})
	}
}

// TestSharesOfMemoryMeanWhatTheEngineMeans: the cache of each kind, from the same parts.
func TestSharesOfMemoryMeanWhatTheEngineMeans(t *testing.T) {
	inDir(t, running("vllm-v1"))
	m := build(t, "pools.serve.gpu_memory_utilization=0.8").Memory
	assert.InDelta(t, 0.8*m.Total-m.Weights-m.Activations-m.Context, m.KV, 1)
	inDir(t, running("sglang"))
	m = build(t, "pools.serve.mem_fraction_static=0.8").Memory
	assert.InDelta(t, 0.8*m.Total-m.Weights, m.KV, 1)
	inDir(t, running("tensorrt-llm"))
	m = build(t, "pools.serve.free_gpu_memory_fraction=0.8").Memory
	assert.InDelta(t, 0.8*(m.Total-m.Weights-m.Activations-m.Context), m.KV, 1)
	for _, engine := range catalog.EngineNames() {
		inDir(t, running(engine))
		m := build(t).Memory
		assert.InEpsilon(t, m.Usable, m.Weights+m.Activations+m.Context+m.KV, 1e-12, engine)
		assert.Less(t, m.Usable, m.Total, engine)
	}
}

func TestACacheTooLargeForTheStepsIsReported(t *testing.T) {
	inDir(t, running("sglang"))
	assert.Contains(t, strings.Join(build(t, "pools.serve.mem_fraction_static=0.99").warnings(1), "\n"),
		"mem_fraction_static leaves 0.9 GB of each GPU: the engine would run out of memory")
	assert.NotContains(t, strings.Join(build(t).warnings(1), "\n"), "out of memory")
}

// TestPromptsThatNoStepHoldsAreRejected, as nobody else will ever run them; by engines that divide prompts they are
// not.
func TestPromptsThatNoStepHoldsAreRejected(t *testing.T) {
	for _, c := range []struct {
		engine string
		set    []string
		max    int32
		why    string
	}{
		{"tensorrt-llm", nil, 8192,
			"longer than max_seq_len, 131072 tokens, or with a prompt longer than max_num_tokens, 8192 tokens: " +
				"enable_chunked_prefill is false"},
		{"tensorrt-llm", []string{"pools.serve.enable_chunked_prefill=true"}, 0, "longer than max_seq_len, 131072 tokens"},
		{"tensorrt-llm", []string{"pools.serve.max_seq_len=8000"}, 0, "longer than max_seq_len, 8000 tokens"},
		{"vllm-v1", []string{"pools.serve.enable_chunked_prefill=false"}, 0, "longer than max_model_len, 131072 tokens"},
		{"vllm-v0", nil, 0, "longer than max_model_len, 131072 tokens"},
		{"vllm-v0", []string{"pools.serve.max_num_batched_tokens=500"}, 500,
			"longer than max_model_len, 131072 tokens, or with a prompt longer than max_num_batched_tokens, 500 tokens: " +
				"vllm-v0 runs prompts whole"},
		{"orca", []string{"pools.serve.max_num_batched_tokens=500"}, 500,
			"longer than max_model_len, 131072 tokens, or with a prompt longer than max_num_batched_tokens, 500 tokens: orca " +
				"runs prompts whole"},
		{"static", []string{"pools.serve.max_num_batched_tokens=500"}, 0, "longer than max_model_len, 131072 tokens"},
		{"sglang", []string{"pools.serve.chunked_prefill_size=-1"}, 0, "longer than context_length, 131072 tokens"},
	} {
		inDir(t, running(c.engine))
		b := build(t, append([]string{"pools.serve.max_num_seqs=64"}, c.set...)...)
		assert.Equal(t, c.max, b.Config.Pools[0].PromptMax, "%s %v", c.engine, c.set)
		assert.Equal(t, c.why, b.Describe("", 1).RejectedFor)
	}
}

// TestStepsOfWholePromptsHoldTheLongest, unless somebody says otherwise; the model's context is what counts, or less if
// asked.
func TestStepsOfWholePromptsHoldTheLongest(t *testing.T) {
	inDir(t, running("vllm-v0"))
	assert.Equal(t, 131072, build(t).Scenario.Pools[0].MaxNumBatchedTokens)
	assert.Equal(t, 9000, build(t, "pools.serve.max_model_len=9000").Scenario.Pools[0].MaxNumBatchedTokens)
	assert.Equal(t, 2048, build(t, "pools.serve.max_model_len=1000").Scenario.Pools[0].MaxNumBatchedTokens)
	assert.Equal(t, 4000, build(t, "pools.serve.max_num_batched_tokens=4000").Scenario.Pools[0].MaxNumBatchedTokens)
	assert.Greater(t, build(t, "pools.serve.max_num_batched_tokens=4000").KVBlocks, build(t).KVBlocks,
		"a longer step takes memory")
}

// TestWholePromptsOfVLLMHaveTheStepsOfItsLimits: a step without chunks holds what one with chunks does, twice as much
// where throughput counts, and by default no more than all sequences have.
func TestWholePromptsOfVLLMHaveTheStepsOfItsLimits(t *testing.T) {
	inDir(t, running("vllm-v1"))
	for _, c := range []struct {
		set  []string
		want int
	}{
		{nil, 8192}, {[]string{"performance_mode=throughput"}, 16384}, {[]string{"max_num_seqs=1"}, 4096},
		{[]string{"max_num_seqs=1", "max_num_batched_tokens=5000"}, 5000},
	} {
		set := []string{"pools.serve.enable_chunked_prefill=false", "pools.serve.max_model_len=4096"}
		for _, s := range c.set {
			set = append(set, "pools.serve."+s)
		}
		assert.Equal(t, c.want, build(t, set...).Scenario.Pools[0].MaxNumBatchedTokens, c.set)
	}
}

// TestHostMemoryHoldsWhatIsSwapped: 4 GiB of blocks of 2 MiB, in the same measure on every rank, and only where
// swapping is on.
func TestHostMemoryHoldsWhatIsSwapped(t *testing.T) {
	inDir(t, running("vllm-v0"))
	assert.Zero(t, build(t).Config.Pools[0].SwapBlocks)
	b := build(t, "pools.serve.preemption_mode=swap")
	assert.EqualValues(t, 4<<30/(2<<20), b.Config.Pools[0].SwapBlocks)
	assert.InEpsilon(t, 0.85*6.4e10, b.Deployment.Swap.LinkBps, 1e-12)
	assert.Equal(t, sim.Swap, b.Config.Pools[0].Scheduler.(*schedulers.PrefillFirst).Preempt)
	assert.Equal(t, 2e10, build(t, "pools.serve.preemption_mode=swap",
		"pools.serve.host_link_bps=2e10").Deployment.Swap.LinkBps)
	assert.EqualValues(t, 2*4<<30/(2<<20),
		build(t, "pools.serve.preemption_mode=swap", "pools.serve.tensor_parallel=2").Config.Pools[0].SwapBlocks,
		"each GPU holds half of a block, in memory of its own")
}

// TestHostMemoryKeepsPrefixes: vLLM's size is that of all GPUs of a replica, SGLang's that of each.
func TestHostMemoryKeepsPrefixes(t *testing.T) {
	inDir(t, running("vllm-v1"))
	assert.Zero(t, build(t).Config.Pools[0].OffloadBlocks)
	for _, set := range [][]string{{"pools.serve.kv_offloading_size=4"},
		{"pools.serve.kv_offloading_size=4", "pools.serve.tensor_parallel=4"}} {
		b := build(t, set...)
		assert.EqualValues(t, 4<<30/(2<<20), b.Config.Pools[0].OffloadBlocks)
		assert.InEpsilon(t, 0.85*6.4e10, b.Deployment.Swap.LinkBps, 1e-12)
	}
	inDir(t, running("sglang"))
	assert.EqualValues(t, 2*4<<30/(131072),
		build(t, "pools.serve.hicache_size=4", "pools.serve.tensor_parallel=2").Config.Pools[0].OffloadBlocks)
	inDir(t, strings.Replace(running("vllm-v1", "kv_offloading_size: 4"), "llama-3.1-8b", "qwen3.5-27b", 1))
	b := build(t)
	assert.Zero(t, b.Config.Pools[0].OffloadBlocks)
	assert.Contains(t, b.warnings(1), "kv_offloading_size has no effect: nothing of qwen3.5-27b is found again")
	refuses(t, running("sglang", "radix_cache: false", "hicache_size: 3"),
		"chat.yaml:12:5: pools[0].hicache_size: 3 keeps cached prefixes, of which there are none; accepted: null, or "+
			"radix_cache true")
}

// TestStepsThatTakeTheMemoryAreNamed: where activations leave no room, an error names what shortens the steps, as the
// engine calls it, and doing so helps.
func TestStepsThatTakeTheMemoryAreNamed(t *testing.T) {
	for _, c := range []struct {
		engine, model, lower string
		too, fits            []string
	}{
		{"vllm-v0", "llama-4-scout", "lower max_model_len, or max_num_batched_tokens, which follows it", nil,
			[]string{"pools.serve.max_model_len=100000"}},
		{"vllm-v0", "llama-4-scout", "lower max_num_batched_tokens", []string{"pools.serve.max_num_batched_tokens=3000000"},
			[]string{"pools.serve.max_num_batched_tokens=8192"}},
		{"tensorrt-llm", "llama-4-scout", "lower max_num_tokens", []string{"pools.serve.max_num_tokens=4000000"},
			[]string{"pools.serve.max_num_tokens=8192"}},
	} {
		inDir(t, strings.Replace(running(c.engine, "tensor_parallel: 4"), "h100-sxm", "h200-sxm", 1))
		s, err := configs.Load("chat.yaml", configs.Options{Set: append(c.too, "model="+c.model)})
		require.NoError(t, err)
		_, err = New(s)
		require.ErrorContains(t, err, "does not fit on 4 × h200-sxm")
		require.Truef(t, strings.HasSuffix(err.Error(), ": "+c.lower), "%v", err)
		build(t, append(c.fits, "model="+c.model)...)
	}
	inDir(t, running("vllm-v1"))
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"model=llama-3.1-70b"}})
	require.NoError(t, err)
	_, err = New(s)
	require.ErrorContains(t, err, "tensor_parallel 2 would do")
	require.NotContains(t, err.Error(), "steps of", "its weights alone are too large")
}

func TestALinkThatNobodyStatesIsAskedFor(t *testing.T) {
	inDir(t, strings.Replace(running("vllm-v0", "preemption_mode: swap", "max_model_len: 4096"), "h100-sxm", "groq-lpu",
		1))
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	g, err := catalog.GPU("groq-lpu")
	require.NoError(t, err)
	g.PCIeBps.Value, g.PCIeBps.Source = 0, ""
	r := &Replica{Memory: hardware.Memory{BlockBytes: 1e6}}
	r.Deployment.GPU = g
	e, err := catalog.Engine("vllm-v0")
	require.NoError(t, err)
	require.ErrorContains(t, sizeHostMemory(s, r, &s.Pools[0], &e),
		`chat.yaml:11:5: pools[0].preemption_mode: goes over the link to host memory: gpu "groq-lpu" has no pcie_bps: `+
			"no source states it; expected host_link_bps")
}

// TestTensorRTLLMHidesTheHostAlone: it plans no step before the one under way has ended, as vLLM and SGLang do.
func TestTensorRTLLMHidesTheHostAlone(t *testing.T) {
	for _, c := range []struct {
		engine, overlaps string
		hides, ahead     bool
	}{
		{"vllm-v1", "true", true, true}, {"sglang", "true", true, true}, {"tensorrt-llm", "true", true, false},
		{"tensorrt-llm", "false", false, false},
	} {
		inDir(t, running(c.engine))
		b := build(t, "pools.serve.async_scheduling="+c.overlaps)
		assert.Equal(t, c.hides, b.Replicas[0].Deployment.Launch.Async, c.engine)
		assert.Equal(t, c.ahead, b.Config.Pools[0].AsyncScheduling, c.engine)
	}
}

// TestPromptsWaitForOthersWhole: what TensorRT-LLM does with chunks is not modelled.
func TestPromptsWaitForOthersWhole(t *testing.T) {
	inDir(t, strings.Replace(running("tensorrt-llm"), "llama-3.1-8b", "qwen3-30b-a3b", 1))
	const waits = "pools.serve.batch_wait_timeout_iters=5"
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{waits, "pools.serve.enable_chunked_prefill=true"}})
	require.NoError(t, err)
	_, err = New(s)
	require.ErrorContains(t, err, "batch_wait_timeout_iters=5: 5 ")
	require.ErrorContains(t, err, "accepted: 0, or enable_chunked_prefill")
	ranks := build(t, waits, "pools.serve.data_parallel=2").Config.Pools[0]
	assert.Equal(t, 2, ranks.Ranks)
	assert.Equal(t, 5, ranks.Scheduler.(*schedulers.Continuous).BatchWaitIters)
}

// TestSGLangLooksForRequestsNowAndThen, where it is modelled: a step ahead, and by itself.
func TestSGLangLooksForRequestsNowAndThen(t *testing.T) {
	inDir(t, strings.Replace(running("sglang"), "llama-3.1-8b", "qwen3-30b-a3b", 1))
	const every = "pools.serve.scheduler_recv_interval=30"
	assert.Equal(t, 30, build(t, every).Config.Pools[0].RecvInterval)
	for _, set := range []string{"overlap_schedule=false", "data_parallel=2"} {
		s, err := configs.Load("chat.yaml", configs.Options{Set: []string{every, "pools.serve." + set}})
		require.NoError(t, err)
		_, err = New(s)
		require.ErrorContains(t, err, "scheduler_recv_interval=30: 30 is not modelled here; expected 1 or, ", set)
	}
}

// TestSchedulersHaveTheEnginesArguments, each in its policy.
func TestSchedulersHaveTheEnginesArguments(t *testing.T) {
	scheduler := func(engine string, set ...string) sim.Scheduler {
		inDir(t, running(engine))
		return build(t, set...).Config.Pools[0].Scheduler
	}
	assert.Equal(t, &schedulers.Continuous{MaxNumSeqs: 1024, MaxNumBatchedTokens: 8192, SchedulerReserveFullISL: true,
		MaxModelLen: 131072, SingleExempt: true, LoadsReserve: true},
		scheduler("vllm-v1"))
	assert.Equal(t, &schedulers.Continuous{MaxNumSeqs: 128, MaxNumBatchedTokens: 512, MaxModelLen: 4096,
		Reserve: schedulers.WholePrompt, WatermarkBlocks: 10,
		Victim: schedulers.LastInOrder},
		scheduler("sarathi", "pools.serve.num_gpu_blocks=1000", "pools.serve.max_model_len=4096",
			"pools.serve.queue_order=priority"))
	assert.Equal(t, &schedulers.Continuous{MaxNumSeqs: 128, MaxNumBatchedTokens: 4096, Unchunked: true, MaxModelLen: 4096,
		Reserve: schedulers.MaxModelLen},
		scheduler("orca", "pools.serve.max_model_len=4096", "pools.serve.reserve=max-model-len"))
	assert.Equal(t, &schedulers.Continuous{MaxNumSeqs: 2048, MaxNumBatchedTokens: 8192, Unchunked: true,
		MaxModelLen: 131072, NoEvict: true}, scheduler("tensorrt-llm"))
	assert.Equal(t, &schedulers.Continuous{MaxNumSeqs: 2048, MaxNumBatchedTokens: 8192, Unchunked: true,
		MaxModelLen: 131072},
		scheduler("tensorrt-llm", "pools.serve.capacity_scheduler_policy=MAX_UTILIZATION"))
	assert.Equal(t, &schedulers.Continuous{MaxNumSeqs: 2048, MaxNumBatchedTokens: 8192, Unchunked: true,
		MaxModelLen: 131072, NoEvict: true, BatchWaitIters: 20},
		scheduler("tensorrt-llm", "pools.serve.batch_wait_timeout_iters=20"))
	assert.Equal(t, &schedulers.PrefillFirst{MaxNumSeqs: 256, MaxNumBatchedTokens: 4096, WatermarkBlocks: 10},
		scheduler("vllm-v0", "pools.serve.num_gpu_blocks=1000", "pools.serve.max_model_len=4096"))
	assert.Equal(t, &schedulers.PrefillFirst{MaxNumSeqs: 256, MaxNumBatchedTokens: 4096, WatermarkBlocks: 10,
		PrefillBelow: 64},
		scheduler("decode-priority", "pools.serve.num_gpu_blocks=1000", "pools.serve.max_model_len=4096"))
	assert.Equal(t, &schedulers.Static{MaxBatchSize: 128, MaxNumBatchedTokens: 131072}, scheduler("static"))
	assert.Equal(t, &schedulers.SGLang{
		MaxRunningRequests: 2048, MaxPrefillTokens: 16384, ChunkedPrefillSize: 8192, InitNewTokenRatio: 7e14,
		MinNewTokenRatio:   98e12,
		NewTokenRatioDecay: 602_000_000_000_000 / 600, ClipMaxNewTokens: 4096, RetractDecodeSteps: 20, PreemptionMargin: 10,
		IgnoreEOS: true,
	}, scheduler("sglang"))
	eager := scheduler("sglang", "pools.serve.chunked_prefill_size=-1", "pools.serve.schedule_conservativeness=3",
		"pools.serve.schedule_policy=lpm").(*schedulers.SGLang)
	assert.Equal(t, []any{int32(0), int64(1e15), int64(14e13), schedulers.LPM},
		[]any{eager.ChunkedPrefillSize, eager.InitNewTokenRatio, eager.MinNewTokenRatio, eager.Order})
}

// TestPoolsHaveTheRulesOfTheRelease, which its version names and no argument.
func TestPoolsHaveTheRulesOfTheRelease(t *testing.T) {
	inDir(t, running("vllm-v1"))
	drafts := []string{"speculation.method=ngram", "speculation.num_speculative_tokens=2",
		"speculation.acceptance.process=iid", "speculation.acceptance.rate=0.5"}
	for _, c := range []struct {
		set     []string
		queue   int
		unnamed bool
	}{
		{nil, 2, true},
		{[]string{"pools.serve.version=0.33"}, 2, true},
		{[]string{"pools.serve.version=0.22"}, 2, false},
		{[]string{"pools.serve.async_scheduling=false"}, 0, true},
		{append(drafts, "pools.serve.version=0.22"), 0, false},
		{drafts, 2, true},
		{[]string{"pools.serve.pipeline_parallel=2"}, 2, true},
		{[]string{"pools.serve.pipeline_parallel=2", "pools.serve.version=0.22"}, 2, false},
		{append(drafts, "pools.serve.pipeline_parallel=2"), 2, true},
	} {
		b := build(t, c.set...)
		p := b.Config.Pools[0]
		assert.Equal(t, []any{c.queue, c.unnamed, c.unnamed},
			[]any{p.BatchQueue, p.UnnamedFirst, p.Scheduler.(*schedulers.Continuous).SingleExempt}, c.set)
		assert.True(t, p.Speculation == nil || p.Speculation.Uncapped)
	}
	inDir(t, running("sglang"))
	assert.Equal(t, 2, build(t).Config.Pools[0].BatchQueue)
	for _, set := range [][]string{{"pools.serve.overlap_schedule=false"}, {"pools.serve.hicache_size=4"}, drafts} {
		assert.Zero(t, build(t, set...).Config.Pools[0].BatchQueue, set)
	}
}

// TestTheWatermarkIsAShareOfAllBlocks, the null block among them.
func TestTheWatermarkIsAShareOfAllBlocks(t *testing.T) {
	inDir(t, running("vllm-v1"))
	b := build(t, "pools.serve.num_gpu_blocks=1000", "pools.serve.max_model_len=4096", "pools.serve.watermark=0.01")
	assert.EqualValues(t, 10, b.Config.Pools[0].Scheduler.(*schedulers.Continuous).WatermarkBlocks)
}

func TestSGLangOrdersByTheCache(t *testing.T) {
	inDir(t, running("sglang"))
	for name, order := range map[string]schedulers.CacheOrder{"fcfs": schedulers.FCFS, "lpm": schedulers.LPM,
		"dfs-weight": schedulers.DFSWeight, "priority": schedulers.FCFS} {
		b := build(t, "pools.serve.schedule_policy="+name)
		assert.Equal(t, order, b.Config.Pools[0].Scheduler.(*schedulers.SGLang).Order)
		assert.Equal(t, name == "priority", b.Config.Pools[0].Order != nil)
	}
}

func TestOrdersAreBuilt(t *testing.T) {
	inDir(t, running("vllm-v1"))
	order := func(set ...string) sim.Order { return build(t, set...).Config.Pools[0].Order }
	assert.Nil(t, order())
	assert.Equal(t, schedulers.Priority{}, order("pools.serve.scheduling_policy=priority"))
	assert.Equal(t, schedulers.Aging{Step: 5 * sim.Second},
		order("pools.serve.queue_order=aging", "pools.serve.aging_s=5"))
	predicted, err := schedulers.NewShortestPredictedJob(3, 0.5)
	require.NoError(t, err)
	assert.Equal(t, predicted,
		order("seed=3", "pools.serve.queue_order=shortest-predicted-job", "pools.serve.prediction_cv=0.5"))
	assert.Equal(t, schedulers.EarliestDeadline{TTFT: []sim.Duration{500 * sim.Millisecond}},
		order("pools.serve.queue_order=earliest-deadline"))
	laxity := order("pools.serve.queue_order=least-laxity").(schedulers.LeastLaxity)
	assert.InDelta(t, 27e-6, laxity.PerToken.Seconds(), 15e-6, "an H100 reads some 40,000 tokens of an 8B model a second")
	s, err := configs.Load("chat.yaml",
		configs.Options{Set: []string{"pools.serve.queue_order=earliest-deadline", "slo.ttft_ms=null"}})
	require.NoError(t, err)
	_, err = New(s)
	require.EqualError(t, err,
		`--set pools.serve.queue_order=earliest-deadline: "earliest-deadline" goes by the time to the first token, `+
			"and nobody asks for any; expected slo.ttft_ms, or that of a class")
}

// TestChunksHoldAPage: SGLang would never get on with a prompt that is longer.
func TestChunksHoldAPage(t *testing.T) {
	refuses(t, running("sglang", "page_size: 64", "chunked_prefill_size: 63"),
		"chat.yaml:12:5: pools[0].chunked_prefill_size: 63 is below page_size, 64; "+
			"a chunk is of whole pages: expected at least 64, or -1 for prompts that run whole")
	refuses(t, running("sglang", "page_size: 8193"),
		"chat.yaml:11:5: pools[0].page_size: 8193 is above chunked_prefill_size, 8192; "+
			"a chunk is of whole pages: expected at most 8192, or chunked_prefill_size -1 for prompts that run whole")
	for _, chunk := range []string{"64", "100", "-1"} {
		inDir(t, running("sglang", "page_size: 64", "chunked_prefill_size: "+chunk))
		s, err := configs.Load("chat.yaml", configs.Options{})
		require.NoError(t, err)
		_, summary := simulate(t, s)
		require.EqualValues(t, 60, summary.Requests.Completed, chunk)
	}
}

// TestAgingIsLongEnoughForTheClock: what the clock takes for nothing is refused where it stands.
func TestAgingIsLongEnoughForTheClock(t *testing.T) {
	refuses(t, running("vllm-v1", "scheduling_policy: aging", "aging_s: 1e-300"),
		"chat.yaml:12:5: pools[0].aging_s: 1e-300 is out of range; expected a number above 1e-12 and at most 1e+06")
	inDir(t, running("vllm-v1", "scheduling_policy: aging", "aging_s: 2e-12"))
	build(t)
}
