package sim_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/policies/acceptance"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// h100Llama8B is a Llama-3.1-8B on one H100 SXM under vLLM, written out: benchmarks must not move with the catalogs.
func h100Llama8B() hardware.Deployment {
	known := func(v float64) hardware.Quantity { return hardware.Quantity{Value: v, Source: "benchmark"} }
	layer := llm.LayerRun{
		Count: 32, Norms: 2, FFN: llm.FFN{Width: 14336},
		Mixer: llm.Mixer{Attention: llm.SelfAttention{Heads: 32, KVHeads: 8, KeyDim: 128, ValueDim: 128}},
	}
	return hardware.Deployment{
		GPU: hardware.GPU{
			Name: "h100", MemoryBytes: known(85.52e9), BandwidthBps: known(3.35e12), Domain: known(8), ScaleUpBps: known(450e9),
			FLOPS: hardware.Peaks{BF16: known(989.4e12), FP8: known(1978.9e12)},
		},
		Model: llm.Model{
			Name: "llama-8b", Hidden: 4096, Vocab: 128256, NormVectors: 1, Layers: []llm.LayerRun{layer},
			Precision: llm.UniformPrecision(),
		},
		KVDtype: "bf16", Parallel: hardware.Parallel{Tensor: 1, Pipeline: 1},
		Efficiency: hardware.Efficiency{
			Bandwidth: .85, Compute: .7, MoECompute: .25, KVBandwidth: .85, AttentionCompute: .4, Link: .35, LayerS: 10e-6,
			SequenceS: 4.4e-6, CollectiveS: 9e-6, Overlap: 2,
		},
	}
}

// load is a benchmark's traffic.
type load struct {
	name           string
	rate           float64 // per replica
	prompt, output float64 // mean tokens
	cv             float64 // 0: 1
	fixed          bool    // every length is the mean; false: lognormal
	blocks         int64
	maxNumSeqs     int
	replicas       int
	router         sim.Router
	separate       bool // each instance is simulated alone
	cores          int  // with as many of them at the same time
	prefix         bool // prefix caching
	ahead          bool // asynchronous scheduling
	sharing        requests.Sharing
	scheduler      sim.Scheduler // nil: that of vLLM with a budget of 2048 tokens
	promptMax      int32
	swapBlocks     int64
	drafts         int32 // of a sequence and step, of which 0.8 after accepted ones are accepted; 0: no speculation
}

func (l load) config(tb testing.TB, n int, sink sim.Sink) sim.Config {
	cv := l.cv
	if cv == 0 {
		cv = 1
	}
	law := func(mean float64, longest int64) lengths.Spec {
		if l.fixed {
			return lengths.Spec{Distribution: "fixed", Mean: mean}
		}
		return lengths.Spec{Distribution: "lognormal", Mean: mean, CV: cv, Max: longest}
	}
	src, err := workloads.NewOpenLoop(workloads.OpenLoop{
		Arrivals: arrivals.Spec{Process: "poisson", Rate: l.rate * float64(max(1, l.replicas))},
		Mix: requests.Mix{
			Prompt: law(l.prompt, 16384), Output: law(l.output, 65536), Sharing: l.sharing,
		},
		Requests: int64(n),
	}, 1)
	if err != nil {
		tb.Fatal(err)
	}
	d := h100Llama8B()
	router := l.router
	if router == nil {
		router = new(inTurn)
	}
	scheduler := l.scheduler
	if scheduler == nil {
		scheduler = &schedulers.Continuous{MaxNumSeqs: l.maxNumSeqs, MaxNumBatchedTokens: 2048}
	}
	var speculation *sim.Speculation
	if l.drafts > 0 {
		law, err := acceptance.New(acceptance.Law{Process: "iid", Rate: .8}, int(l.drafts), 1)
		if err != nil {
			tb.Fatal(err)
		}
		speculation = speculate(l.drafts, law)
	}
	return sim.Config{
		Contents: src.Contents(), Source: src, Sink: sink, Unordered: l.separate, Cores: l.cores, Each: atOnce,
		Pools: []*sim.PoolSpec{{
			Size: max(1, l.replicas), PrefixCaching: l.prefix, AsyncScheduling: l.ahead, KVBlocks: l.blocks, BlockSize: 16,
			MaxModelLen: 16384 + 65536,
			Model:       hardware.NewRoofline(d, l.maxNumSeqs), Router: router,
			Scheduler: scheduler, PromptMax: l.promptMax, SwapBlocks: l.swapBlocks, Speculation: speculation,
		}},
	}
}

var loads = []load{
	{name: "load=70%", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256},
	{name: "saturated", rate: 1000, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256},
	{name: "output=8k/rate=0.3", rate: 0.3, prompt: 512, output: 8192, cv: 0.5, blocks: 54000, maxNumSeqs: 256},
	{name: "output=8k/saturated", rate: 1000, prompt: 512, output: 8192, cv: 0.5, blocks: 27000, maxNumSeqs: 256},
	{name: "batch=3", rate: 2, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256},
	{name: "replicas=64/least-loaded", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, replicas: 64,
		router: routers.LeastLoaded{}},
	{name: "load=70%/prefix-caching", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, prefix: true},
	{name: "saturated/prefix-caching", rate: 1000, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, prefix: true},
	{name: "load=70%/prompts=100", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, prefix: true,
		sharing: requests.Sharing{Groups: 10, PrefixTokens: 100, DistinctPrompts: 100}},
	{name: "load=70%/prompts=10k", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, prefix: true,
		sharing: requests.Sharing{Groups: 100, PrefixTokens: 1000, DistinctPrompts: 10_000}},
	{name: "output=8k/saturated/prefix-caching", rate: 1000, prompt: 512, output: 8192, cv: 0.5, blocks: 27000,
		maxNumSeqs: 256,
		prefix:     true},
	{name: "load=70%/ahead", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, ahead: true},
	{name: "batch=3/ahead", rate: 2, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, ahead: true},
	{name: "load=70%/prompts=3x512", rate: 24, prompt: 512, output: 256, fixed: true, blocks: 27000, maxNumSeqs: 256,
		prefix:  true,
		sharing: requests.Sharing{DistinctPrompts: 3}},
	{name: "speculation=3/load=70%", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, drafts: 3},
	{name: "output=8k/rate=0.3/ahead", rate: 0.3, prompt: 512, output: 8192, cv: 0.5, blocks: 54000, maxNumSeqs: 256,
		ahead: true},
	{name: "replicas=256/round-robin", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, replicas: 256},
	{name: "replicas=256/round-robin/apart", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256,
		replicas: 256,
		separate: true},
	{name: "replicas=256/round-robin/apart/cores=2", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256,
		replicas: 256, separate: true, cores: 2},
	{name: "replicas=256/least-loaded", rate: 24, prompt: 512, output: 256, blocks: 27000, maxNumSeqs: 256, replicas: 256,
		router: routers.LeastLoaded{}},
}

// engines are the policies with the arguments that engines have by default, on a model of 81,920 tokens.
var engines = []load{
	{name: "vllm-v0", promptMax: 81920, swapBlocks: 2048,
		scheduler: &schedulers.PrefillFirst{MaxNumSeqs: 256, MaxNumBatchedTokens: 81920, WatermarkBlocks: 270}},
	{name: "vllm-v0-swap", promptMax: 81920, swapBlocks: 2048,
		scheduler: &schedulers.PrefillFirst{MaxNumSeqs: 256, MaxNumBatchedTokens: 81920, WatermarkBlocks: 270,
			Preempt: sim.Swap}},
	{name: "decode-priority", promptMax: 81920,
		scheduler: &schedulers.PrefillFirst{MaxNumSeqs: 256, MaxNumBatchedTokens: 81920, WatermarkBlocks: 270,
			PrefillBelow: 32}},
	{name: "sarathi", scheduler: &schedulers.Continuous{MaxNumSeqs: 128, MaxNumBatchedTokens: 512,
		Reserve: schedulers.WholePrompt, WatermarkBlocks: 270}},
	{name: "orca", promptMax: 81920,
		scheduler: &schedulers.Continuous{MaxNumSeqs: 256, MaxNumBatchedTokens: 81920, Unchunked: true,
			Reserve: schedulers.MaxOutput}},
	{name: "tensorrt-llm", prefix: true, ahead: true, promptMax: 8192,
		scheduler: &schedulers.Continuous{MaxNumSeqs: 2048, MaxNumBatchedTokens: 8192, Unchunked: true, NoEvict: true}},
	{name: "sglang", prefix: true, ahead: true, scheduler: &schedulers.SGLang{
		MaxRunningRequests: 256, MaxPrefillTokens: 16384, ChunkedPrefillSize: 8192, InitNewTokenRatio: 700_000_000,
		MinNewTokenRatio:   98_000_000,
		NewTokenRatioDecay: 1_003_333, ClipMaxNewTokens: 4096, RetractDecodeSteps: 20,
	}},
	{name: "static", scheduler: &schedulers.Static{MaxBatchSize: 64, MaxNumBatchedTokens: 81920}},
}

// engineLoads runs every engine at two loads.
func engineLoads() (list []load) {
	for _, l := range loads[:2] {
		for _, e := range engines {
			e.name = "engine=" + e.name + "/" + l.name
			e.rate, e.prompt, e.output = l.rate, l.prompt, l.output
			e.blocks, e.maxNumSeqs = l.blocks, 2048
			list = append(list, e)
		}
	}
	return list
}

// BenchmarkRun simulates whole runs, the generator of the workload included. An op is a request.
func BenchmarkRun(b *testing.B) {
	for _, l := range append(engineLoads(), loads...) {
		b.Run(l.name, func(b *testing.B) {
			var m metrics.Recorder
			c := l.config(b, b.N, &m)
			cl, err := sim.New(c)
			if err != nil {
				b.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.ResetTimer()
			cl.Run()
			b.StopTimer()
			runtime.ReadMemStats(&after)
			pool := cl.PoolTotals(0)
			b.ReportMetric(float64(m.Output())/b.Elapsed().Seconds()/1e6, "Mtok/s")
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mreq/s")
			b.ReportMetric(float64(pool.DecodeSum)/float64(max(1, pool.Steps)), "batch")
			b.ReportMetric(pool.BusyS/cl.Now().Seconds()/float64(pool.Instances)*100, "busy-%")
			b.ReportMetric(float64(pool.Preemptions)/float64(b.N), "preempt/req")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N), "mallocs/req")
			if math.IsNaN(m.ITL.MeanS()) {
				b.Fatal("no tokens")
			}
		})
	}
}

// BenchmarkGrowth runs the same load for a hundred thousand and for ten million requests: a request must cost the same.
func BenchmarkGrowth(b *testing.B) {
	for _, requests := range []int{100_000, 10_000_000} {
		b.Run(fmt.Sprintf("requests=%d", requests), func(b *testing.B) {
			for range b.N {
				var m metrics.Recorder
				cl, err := sim.New(loads[0].config(b, requests, &m))
				if err != nil {
					b.Fatal(err)
				}
				cl.Run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*requests), "ns/req")
		})
	}
}
