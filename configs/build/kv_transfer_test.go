package build

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// apart is a scenario with a prefill and a decode pool; their names are those of their roles.
const disaggregatedYAML = `model: llama-3.1-70b
weights: fp8
kv_cache: fp8
pools:
  - {role: prefill, gpu: h100-sxm, replicas: 2, tensor_parallel: 2}
  - {role: decode, gpu: h100-sxm, replicas: 2, tensor_parallel: 4, max_num_seqs: 100}
workload:
  arrivals: {process: poisson, rate: 10}
  prompt_tokens: {distribution: fixed, mean: 1000}
  output_tokens: {distribution: fixed, mean: 20}
  requests: 50
`

func TestAPrefillPoolTransfersToADecodePool(t *testing.T) {
	inDir(t, disaggregatedYAML)
	c := build(t).Config
	require.Len(t, c.Pools, 2)
	assert.Equal(t, []string{"prefill", "decode"}, []string{c.Pools[0].Name, c.Pools[1].Name})
	// 163,840 bytes of a token leave over two adapters of 50 GB/s, of which 0.7 is achieved after 0.4 ms, and arrive at
	// four.
	link := sim.Link{Token: sim.SecondsUp(81920 / (0.7 * 50e9)), Layers: 80, Latency: sim.SecondsUp(0.4e-3)}
	assert.Equal(t, []sim.Route{{{Pool: 0, Tokens: 1, Cache: true, Link: link}, {Pool: 1}}}, c.Routes)
	assert.Equal(t, 100, c.Pools[1].MaxNumSeqs)
	assert.Zero(t, c.Pools[0].MaxNumSeqs)
	assert.False(t, c.Pools[1].RecomputeLastToken)
	assert.Nil(t, c.Splitter)

	atDecode := build(t, "pools.prefill.first_token=decode", "pools.prefill.kv_transfer=push",
		"pools.prefill.kv_link=nic-100g",
		"pools.prefill.kv_link_latency_s=1e-5", "pools.prefill.kv_link_efficiency=0.5").Config
	link = sim.Link{Latency: 10 * sim.Microsecond, Token: sim.SecondsUp(81920 / 6.25e9), Layers: 80}
	assert.Equal(t, []sim.Route{{{Pool: 0, Cache: true, Push: true, Link: link}, {Pool: 1}}}, atDecode.Routes)
	assert.True(t, atDecode.Pools[1].RecomputeLastToken, "vLLM computes the last token of the prompt again")
	for _, engine := range []string{"sglang", "tensorrt-llm"} {
		assert.False(t, build(t, "pools.prefill.first_token=decode",
			"pools.decode.engine="+engine).Config.Pools[1].RecomputeLastToken, "%s sends it with the cache", engine)
	}
	assert.True(t, build(t, "pools.prefill.first_token=decode", "pools.decode.engine=vllm-v1",
		"pools.decode.version=0.22").Config.Pools[1].RecomputeLastToken, "in every release of vLLM")
	assert.False(t, build(t, "pools.decode.engine=sglang").Config.Pools[1].PrefixCaching, "SGLang's have none")
	assert.True(t, build(t, "pools.decode.engine=sglang", "pools.decode.radix_cache=true").Config.Pools[1].PrefixCaching)
	own := build(t, "pools.prefill.kv_link_bps=1e9").Config
	assert.Equal(t, sim.SecondsUp(81920/1e9), own.Routes[0][0].Link.Token)
	ranks := build(t, "model=deepseek-v3", "pools.decode.data_parallel=2", "pools.decode.tensor_parallel=8",
		"pools.prefill.tensor_parallel=16")
	assert.Equal(t, 100, ranks.Config.Pools[1].MaxNumSeqs)
}

// TestPoolsOnAMeshHaveTheLinksBetweenThem: 163,840 bytes of a token leave two MI300X, each over two of the seven links
// that 448 GB/s are; another link of a GPU is its own, whatever its scale-up links are.
func TestPoolsOnAMeshHaveTheLinksBetweenThem(t *testing.T) {
	inDir(t, disaggregatedYAML)
	mesh := []string{"pools.prefill.gpu=mi300x", "pools.decode.gpu=mi300x", "pools.prefill.replicas=1",
		"pools.decode.replicas=1"}
	link := build(t, append(mesh, "pools.prefill.kv_link=nvlink")...).Config.Routes[0][0].Link
	assert.Equal(t, sim.SecondsUp(81920/(2*64e9)), link.Token)
	own := "={from: mi300x, domain: 6, scale_up_bps: 500e9}"
	link = build(t, "pools.prefill.gpu"+own, "pools.decode.gpu"+own, "pools.prefill.replicas=1",
		"pools.decode.replicas=1", "pools.prefill.kv_link=nvlink").Config.Routes[0][0].Link
	assert.Equal(t, sim.SecondsUp(81920/(2*100e9)), link.Token, "both pools have GPUs of the user's own")
	link = build(t, append(mesh, "pools.prefill.kv_link=pcie")...).Config.Routes[0][0].Link
	assert.Equal(t, sim.SecondsUp(81920/64e9), link.Token)
}

// TestACacheBetweenMakersIsWarnedOf: whether an engine transfers it is for its release to say.
func TestACacheBetweenMakersIsWarnedOf(t *testing.T) {
	inDir(t, disaggregatedYAML)
	warnings := func(settings ...string) string {
		return strings.Join(build(t, settings...).Describe("", 50).Warnings, "; ")
	}
	const said = "KV caches come from pool prefill on GPUs of NVIDIA, and these are of AMD"
	assert.Contains(t, warnings("pools.decode.gpu=mi300x"), said)
	assert.NotContains(t, warnings("pools.decode.gpu=b200-sxm"), "KV caches come from", "of one maker")
	assert.NotContains(t, warnings(), "KV caches come from")
}

// TestSGLangsDecodePoolsLeaveRoomAndRestore: they leave 512 tokens free for each request, let twice as many more come
// as may run, if those are few, and copy what they retract to host memory and back.
func TestSGLangsDecodePoolsLeaveRoomAndRestore(t *testing.T) {
	inDir(t, disaggregatedYAML)
	decode := func(settings ...string) *sim.PoolSpec {
		return build(t, append(settings, "pools.decode.engine=sglang")...).Config.Pools[1]
	}
	assert.Equal(t, sim.Reserved{Tokens: 512, Most: 4096, Restores: true}, decode().Reserved)
	assert.Equal(t, 64, decode("pools.decode.max_running_requests=32").Reserved.Slots)
	assert.Zero(t, decode("pools.decode.max_running_requests=33").Reserved.Slots)
	cached := decode("pools.decode.radix_cache=true")
	assert.False(t, cached.Reserved.Restores)
	assert.Zero(t, cached.SwapBlocks)
	assert.Zero(t, build(t).Config.Pools[1].Reserved, "vLLM's have other rules")
}

// TestEachPoolIsOfItsOwn: GPUs, engines, memory and prices of one pool leave the other alone, and results are of both.
func TestEachPoolIsOfItsOwn(t *testing.T) {
	inDir(t, disaggregatedYAML)
	b := build(t, "pools.prefill.gpu=h200-sxm", "pools.prefill.engine=sglang", "pools.decode.num_gpu_blocks=1001",
		"pools.decode.cold_start_s=3",
		"pools.prefill.router=round-robin", "speculation.method=ngram", "speculation.num_speculative_tokens=3",
		"speculation.acceptance.rate=0.5")
	require.Len(t, b.Replicas, 2)
	assert.Equal(t, "h200-sxm", b.Replicas[0].Deployment.GPU.Name)
	assert.IsType(t, &schedulers.SGLang{}, b.Config.Pools[0].Scheduler)
	assert.IsType(t, &schedulers.Continuous{}, b.Config.Pools[1].Scheduler)
	assert.IsType(t, &routers.RoundRobin{}, b.Config.Pools[0].Router)
	assert.IsType(t, routers.LeastLoaded{}, b.Config.Pools[1].Router)
	assert.Equal(t, []int64{b.Replicas[0].KVBlocks, 1000}, []int64{b.Config.Pools[0].KVBlocks, b.Config.Pools[1].KVBlocks})
	assert.Equal(t, []sim.Duration{0, 3 * sim.Second},
		[]sim.Duration{b.Config.Pools[0].ColdStart, b.Config.Pools[1].ColdStart})
	assert.Nil(t, b.Config.Pools[0].Speculation, "drafts are of who decodes")
	assert.NotNil(t, b.Config.Pools[1].Speculation)
	assert.Nil(t, b.Replicas[0].Deployment.Speculation)

	d := b.Describe("v", 1)
	assert.Equal(t, 2*2+2*4, d.GPUs)
	assert.Equal(t, "h200-sxm + h100-sxm", d.GPU)
	price := func(i int) float64 { return b.Replicas[i].Deployment.GPU.Price.USDPerHour }
	assert.InDelta(t, 4*price(0)+8*price(1), d.USDPerHour, 1e-9)
	assert.EqualValues(t, 16000, d.MaxModelLen, "the shorter of both")
	assert.Contains(t, d.Warnings,
		"pools differ in max_model_len: a request that passes pool decode has 16000 tokens at most, prompt and output "+
			"together; "+
			"pool prefill alone would take 131072")
	assert.Contains(t, d.Warnings,
		"pool decode: max_model_len is 16000 tokens, all that the KV cache holds of one sequence; llama-3.1-70b has a "+
			"context of 131072")
	own := b.Replicas[1].Deployment.Efficiency
	own.Bandwidth, own.FirstTokenS, own.TokenizeS = own.Bandwidth/2, 0.5, 1e-6
	b.SetEfficiency(own)
	assert.Equal(t, sim.Seconds(0.5), b.Config.Ingress)
	assert.Equal(t, [2]sim.Duration{sim.Microsecond, 0},
		[2]sim.Duration{b.Config.Pools[0].Tokenize, b.Config.Pools[1].Tokenize})
	assert.Equal(t, own, b.Replicas[0].Deployment.Efficiency)
	assert.Same(t, b.Replicas[1].Model, b.Config.Pools[1].Model)
}

// TestTheTransferredTokenComesAsTheLinkSays: one request alone is on the wire for the time that the link takes,
// whichever pool emits the first token.
func TestTheTransferredTokenComesAsTheLinkSays(t *testing.T) {
	inDir(t, disaggregatedYAML)
	ttft := func(set ...string) float64 {
		s, err := configs.Load("chat.yaml", configs.Options{Set: append(set, "workload.requests=1")})
		require.NoError(t, err)
		_, summary := simulate(t, s)
		return summary.Latency.E2E.Mean
	}
	slow, fast := ttft("pools.prefill.kv_link_bps=1e8"), ttft("pools.prefill.kv_link_bps=1e12")
	moved := 81920 * 1000 / 1e8 // seconds, by two links
	assert.InDelta(t, moved, slow-fast, 0.02)
	slow, fast = ttft("pools.prefill.kv_link_bps=1e8", "pools.prefill.first_token=decode"),
		ttft("pools.prefill.kv_link_bps=1e12", "pools.prefill.first_token=decode")
	assert.InDelta(t, moved, slow-fast, 0.02)
	pushed := ttft("pools.prefill.kv_link_bps=1e8", "pools.prefill.kv_transfer=push")
	assert.Less(t, pushed, ttft("pools.prefill.kv_link_bps=1e8"),
		"what is sent while the prompt is read need not be waited for")
}

// TestPromptsApartLeaveTokensAlone is what the comment of pd-70b says of it and chat-70b.
func TestPromptsApartLeaveTokensAlone(t *testing.T) {
	pd, err := configs.Load("pd-70b", configs.Options{})
	require.NoError(t, err)
	chat, err := configs.Load("chat-70b", configs.Options{Set: []string{"workload.arrivals.rate=12"}})
	require.NoError(t, err)
	require.Equal(t, chat.Workload, pd.Workload)
	_, disaggregatedYAML := simulate(t, pd)
	_, together := simulate(t, chat)
	assert.Less(t, disaggregatedYAML.Latency.ITL.P99, together.Latency.ITL.P99/5)
	assert.Greater(t, disaggregatedYAML.Latency.TTFT.Mean, together.Latency.TTFT.Mean)
}

// TestEnginesThatReserveTheOutputServeAlone: and every other one may take any part.
func TestEnginesThatReserveTheOutputServeAlone(t *testing.T) {
	assert.Equal(t, []string{"orca", "static"},
		slices.DeleteFunc(catalog.EngineNames(), func(name string) bool { return slices.Contains(catalog.Dividing(), name) }))
	inDir(t, disaggregatedYAML)
	for _, engine := range catalog.Dividing() {
		for _, set := range [][]string{{"pools.prefill.engine=" + engine}, {"pools.decode.engine=" + engine}} {
			s, err := configs.Load("chat.yaml", configs.Options{Set: append(set, "pools.decode.max_num_seqs=null")})
			require.NoError(t, err)
			_, summary := simulate(t, s)
			assert.EqualValues(t, 50, summary.Requests.Completed, set)
		}
	}
}

// TestAnEncoderStandsInFront: it reads the prompt with its own model and transfers an embedding of each token.
func TestAnEncoderStandsInFront(t *testing.T) {
	inDir(t, `model: llama-3.1-8b
pools:
  - {role: encode, gpu: l40s, model: llama-3.2-1b}
  - {gpu: h100-sxm}
workload: {closed_loop: {concurrency: 4}, prompt_tokens: {distribution: fixed, mean: 500}, output_tokens: {distribution: fixed, mean: 20}, requests: 40}
`)
	b := build(t, "pools.encode.kv_link=pcie")
	assert.NotEqual(t, "llama-3.2-1b", b.Deployment.Model.Name,
		"the run is of the scenario's model, whichever pool comes first")
	assert.Equal(t, []sim.Route{{{Pool: 0, Link: sim.Link{Token: sim.SecondsUp(2 * 4096 / 32e9)}}, {Pool: 1}}},
		b.Config.Routes)
	assert.Equal(t, "llama-3.2-1b", b.Replicas[0].Deployment.Model.Name)
	assert.Zero(t, b.Config.Pools[1].MaxNumSeqs, "no cache comes")
	s, err := configs.Load("chat.yaml", configs.Options{Set: []string{"pools.encode.kv_link=pcie"}})
	require.NoError(t, err)
	_, summary := simulate(t, s)
	assert.EqualValues(t, 40, summary.Requests.Completed)
	assert.Contains(t, hardware.Links(), s.Pools[0].KVLink)
}
