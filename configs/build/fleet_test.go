package build

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

const afterFleet = "  requests: 50\n"

// Pools to break: two that serve, and one each for prefill and decode.
var (
	twoServing    = strings.Replace(disaggregatedYAML, "  - {role: decode", "  - {name: more", 1)
	disaggregated = disaggregatedYAML
)

var impossibleFleets = []struct{ yaml, set, want string }{
	{
		twoServing, "", `chat.yaml:5:6: pools[0].role: "prefill" without a pool of role decode; expected one of each, or "serve"`},
	{strings.Replace(disaggregatedYAML, "role: prefill", "name: more", 1), "",
		`chat.yaml:6:6: pools[1].role: "decode" without a pool of role prefill; expected one of each, or "serve"`},
	{disaggregatedYAML, "pools.prefill.role=encode",
		`--set pools.prefill.role=encode: "encode" without a pool of role serve or prefill; expected one behind it`},
	{disaggregatedYAML, "pools.decode.role=prefil",
		`--set pools.decode.role=prefil: "prefil" is unknown; did you mean "prefill"?`},
	{strings.Replace(disaggregatedYAML, "  - {role: decode",
		"  - {role: decode, gpu: l40s, name: other}\n  - {role: decode", 1), "",
		`chat.yaml:7:6: pools[2].role: "decode" is that of pools[1] already: a request would have to choose its decode pool before it is read; expected one`},
	{disaggregatedYAML, "pools.decode.kv_transfer=pull",
		`--set pools.decode.kv_transfer=pull: has no effect on a pool of role decode, which hands no cache over; accepted: null, or role prefill`},
	{disaggregatedYAML, "pools.prefill.kv_transfer=shove",
		`--set pools.prefill.kv_transfer=shove: "shove" is unknown; valid values: "pull", "push"`},
	{disaggregatedYAML, "pools.prefill.first_token=both",
		`--set pools.prefill.first_token=both: "both" is unknown; valid values: "prefill", "decode"`},
	{disaggregatedYAML, "pools.prefill.kv_link=nic-40g",
		`--set pools.prefill.kv_link=nic-40g: "nic-40g" is unknown; did you mean "nic-400g"?`},
	{disaggregatedYAML, "pools.prefill.kv_link_bps=0",
		`--set pools.prefill.kv_link_bps=0: 0 is out of range; expected a number above 0 and at most 1e+15`},
	{strings.Replace(disaggregatedYAML, "role: prefill,", "role: prefill, kv_link: nic, kv_link_bps: 1e9,", 1), "",
		`chat.yaml:5:35: pools[0].kv_link_bps: 1e+09 stands beside kv_link nic; expected only one of them`},
	{disaggregatedYAML, "pools.prefill.kv_link_efficiency=0",
		`--set pools.prefill.kv_link_efficiency=0: 0 is out of range; expected a number above 0 and at most 1`},
	{disaggregatedYAML, "pools.prefill.kv_link_efficiency=1.01",
		`--set pools.prefill.kv_link_efficiency=1.01: 1.01 is out of range; expected a number above 0 and at most 1`},
	{disaggregatedYAML, "pools.prefill.kv_link_efficiency=.nan",
		`--set pools.prefill.kv_link_efficiency=.nan: expected a finite number, got .nan`},
	{disaggregatedYAML, "pools.prefill.kv_link_latency_s=-1",
		`--set pools.prefill.kv_link_latency_s=-1: -1 is out of range; expected a number from 0 to 3600`},
	{disaggregatedYAML, "pools.prefill.replicas=0",
		`--set pools.prefill.replicas=0: 0 is out of range; expected a whole number from 1 to 1048576`},
	{disaggregatedYAML, "pools.decode.replicas_max=1",
		`--set pools.decode.replicas_max=1: 1 is below replicas, 2; expected at least that, or null`},
	{disaggregatedYAML, "pools.decode.router=round-rob",
		`--set pools.decode.router=round-rob: "round-rob" is unknown; did you mean "round-robin"?`},
	{disaggregatedYAML, "pools.decode.model=llama-3.1-8b",
		`--set pools.decode.model=llama-3.1-8b: "llama-3.1-8b", but a pool of role decode runs the scenario's; accepted: null, or role encode`},
	{disaggregatedYAML, "pools.decode.engine=orca",
		`--set pools.decode.engine=orca: "orca" takes the cache of a request for all of its output, or its batch as one, ` +
			`and a pool of role decode has only a part; accepted: "decode-priority", "sarathi", "sglang", "tensorrt-llm", "textbook", "vllm-v0", "vllm-v1"`},
	{disaggregatedYAML, "pools.decode.straggler_replicas=1",
		`chat.yaml:6:5: pools[1].straggler_slowdown: missing beside straggler_replicas; expected a number such as 1.5`},
	{disaggregatedYAML, "pools.decode.straggler_slowdown=2",
		`chat.yaml:6:5: pools[1].straggler_replicas: missing beside straggler_slowdown; expected a whole number from 1 to 2`},

	{disaggregated + "split: 1P\n", "",
		`chat.yaml:12:1: split: "1P" is no split; expected prefill and decode replicas, such as 1P3D`},
	{disaggregated, "split=0P4D", `--set split=0P4D: 0 is out of range; expected a whole number from 1 to 1048576`},
	{disaggregated + "split: 1P3D\n", "",
		`chat.yaml:12:1: split: "1P3D" contradicts pools[0].replicas, 2; expected only one of them`},
	{base, "split=1P3D", `--set split=1P3D: "1P3D", but 0 pools have the role prefill; expected one`},

	{disaggregated + "routing: {staleness_s: -1}\n", "",
		`chat.yaml:12:11: routing.staleness_s: -1 is out of range; expected a number from 0 to 3600`},
	{disaggregated + "routing: {weights: {kv: 1e9}}\n", "",
		`chat.yaml:12:21: routing.weights.kv: 1e+09 is out of range; expected a number from 0 to 1024`},
	{base + "disaggregation: {local_below_tokens: 5}\n", "",
		`chat.yaml:14:18: disaggregation.local_below_tokens: 5, beside 0 pools of role prefill and 2 of role serve; ` +
			`expected one of role prefill and one of role decode alone`},
	{disaggregated + "disaggregation: {serve_share: 0.5}\n", "",
		`chat.yaml:12:18: disaggregation.serve_share: 0.5, but all requests go the same way; expected pools of role serve beside those of role prefill and decode`},
	{disaggregated + "admission: {rate_per_s: 5}\n", "",
		`chat.yaml:12:1: admission.burst: missing beside rate_per_s; expected a whole number of at least 1`},
	{disaggregated + "admission: {token_burst: 5}\n", "",
		`chat.yaml:12:13: admission.token_burst: has no effect without tokens_per_s; expected both or none`},
	{disaggregated + "admission: {queue_limit: 0}\n", "",
		`chat.yaml:12:13: admission.queue_limit: 0 is out of range; expected a whole number from 1 to 2147483647`},
	{disaggregated + "autoscale: [{pool: serve, on: queue, target: 1}]\n", "",
		`chat.yaml:12:14: autoscale[0].pool: "serve" is unknown; valid values: "prefill", "decode"`},
	{disaggregated + "autoscale: [{pool: decode, target: 1}]\n", "",
		`chat.yaml:12:13: autoscale[0].on: missing; valid values: "queue", "requests", "kv", "ttft", "schedule"`},
	{disaggregated + "autoscale: [{pool: decode, on: kv}]\n", "",
		`chat.yaml:12:13: autoscale[0].target: missing; expected a number above 0 and at most 1`},
	{disaggregated + "autoscale: [{pool: decode, on: kv, target: 2}]\n", "",
		`chat.yaml:12:36: autoscale[0].target: 2 is out of range; expected a number above 0 and at most 1`},
	{disaggregated + "autoscale: [{pool: decode, on: ttft, target: 0.1}]\n", "",
		`chat.yaml:12:28: autoscale[0].on: "ttft", but pool "decode" emits no first tokens; expected another signal`},
	{disaggregated + "autoscale: [{pool: prefill, on: ttft, target: 0.1}]\n", "",
		`chat.yaml:12:29: autoscale[0].on: "ttft", but nothing says when first tokens are due; expected slo.ttft_ms`},
	{disaggregated + "autoscale: [{pool: decode, on: schedule, schedule: [{at_s: 0, replicas: 3}]}]\n", "",
		`chat.yaml:12:63: autoscale[0].schedule[0].replicas: 3 is out of range; expected a whole number from 1 to 2`},
	{disaggregated + "autoscale: [{pool: decode, on: schedule}]\n", "",
		`chat.yaml:12:13: autoscale[0].schedule: missing; expected rows such as [{at_s: 0, replicas: 1}, {at_s: 3600, replicas: 4}]`},
	{disaggregated + "role_switch: {}\n", "",
		`chat.yaml:12:1: role_switch: a replica of pool "prefill" takes 2 × h100-sxm, one of pool "decode" 4 × h100-sxm; expected the same GPUs`},
	{disaggregated + "failures: [{pool: decode, replica: 2, at_s: 1}]\n", "",
		`chat.yaml:12:27: failures[0].replica: 2 is out of range; expected a whole number from 0 to 1`},
	{disaggregated + "failures: [{pool: decode}]\n", "",
		`chat.yaml:12:12: failures[0].at_s: missing; expected seconds after the start`},
	{disaggregated + "failures: [{pool: decode, at_s: 1, in_flight: retrie}]\n", "",
		`chat.yaml:12:36: failures[0].in_flight: "retrie" is unknown; did you mean "retry"?`},
	{disaggregated + "failures: [{pool: decode, at_s: 1, down_s: 0}]\n", "",
		`chat.yaml:12:36: failures[0].down_s: 0 is out of range; expected a number above 0 and at most 4.5792e+06`},
	{disaggregated + "random_failures: [{pool: decode, mtbf_s: 9}]\n", "",
		`chat.yaml:12:19: random_failures[0].mttr_s: missing; expected seconds`},
	{disaggregated + "drain: [{at_s: 1}]\n", "",
		`chat.yaml:12:9: drain[0].pool: missing; valid values: "prefill", "decode"`},
}

// TestImpossibleFleetsAreRefused: lines afterFleet the pools are sections of apart.
func TestImpossibleFleetsAreRefused(t *testing.T) {
	for _, c := range impossibleFleets {
		t.Run(c.want, func(t *testing.T) {
			require.Contains(t, c.yaml, afterFleet[:11])
			inDir(t, c.yaml)
			var set []string
			if c.set != "" {
				set = []string{c.set}
			}
			_, err := configs.Load("chat.yaml", configs.Options{Set: set})
			require.EqualError(t, err, c.want)
		})
	}
}

// TestLinksThatDoNotExistAreRefused, when the parts are built and the GPUs known.
func TestLinksThatDoNotExistAreRefused(t *testing.T) {
	for want, set := range map[string][]string{
		`nvlink joins 8 GPUs of h100-sxm, and the pools that transfer have 12; expected another, such as nic or nic-400g`: {
			"pools.prefill.kv_link=nvlink"},
		`nvlink joins GPUs of one kind, and pool "prefill" has h100-sxm, pool "decode" h200-sxm; expected another, such as nic or nic-400g`: {
			"pools.prefill.kv_link=nvlink", "pools.decode.gpu=h200-sxm"},
		`pool "prefill" has h100-sxm, pool "decode" h100-sxm with other figures; expected another, such as nic`: {
			"pools.prefill.kv_link=nvlink", "pools.decode.gpu={from: h100-sxm, nic_bps: 1e9}"},
		`nic: gpu "l4" has no nic_bps: no source states it; expected another, or kv_link_bps`: {"pools.prefill.gpu=l4",
			"pools.prefill.tensor_parallel=8",
			"pools.prefill.pipeline_parallel=1"},
		`a token takes 1m21.92s from h100-sxm to h100-sxm; expected a second at most`: {"pools.prefill.kv_link_bps=1000"},
	} {
		inDir(t, disaggregatedYAML)
		s, err := configs.Load("chat.yaml", configs.Options{Set: set})
		require.NoError(t, err)
		_, err = New(s)
		require.ErrorContains(t, err, want)
	}
}

// TestASplitSaysTheReplicas: from above the pools' own, and errors about them point at it.
func TestASplitSaysTheReplicas(t *testing.T) {
	inDir(t, disaggregatedYAML)
	for _, split := range []string{"1P3D", "1p3d"} {
		s := build(t, "split="+split).Scenario
		assert.Equal(t, []int{1, 3}, []int{s.Pools[0].Replicas, s.Pools[1].Replicas})
		assert.Empty(t, s.Split, "said once")
		assert.Contains(t, string(s.YAML()), "split: null ")
	}
	inDir(t, disaggregatedYAML+"split: 2P2D\n")
	assert.Equal(t, 2, build(t).Scenario.Pools[1].Replicas, "the same said twice")
	s, err := configs.Load("chat.yaml",
		configs.Options{Set: []string{"split=1P2D"}, Env: []string{"DECODESIM_POOLS_DECODE_REPLICAS=7"}})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2}, []int{s.Pools[0].Replicas, s.Pools[1].Replicas})
	_, err = configs.Load("chat.yaml",
		configs.Options{Env: []string{"DECODESIM_SPLIT=1P2D"}, Set: []string{"pools.decode.replicas=7"}})
	require.EqualError(t, err, `DECODESIM_SPLIT=1P2D: "1P2D" contradicts pools[1].replicas, 7; expected only one of them`)
}

// TestRequestsChooseAmongWays: by load among serve pools, by share beside a prefill pool, by length past it.
func TestRequestsChooseAmongWays(t *testing.T) {
	serves := strings.NewReplacer("role: prefill", "name: a", "role: decode", "name: b").Replace(disaggregatedYAML)
	inDir(t, serves)
	c := build(t).Config
	assert.Equal(t, []sim.Route{{{Pool: 0}}, {{Pool: 1}}}, c.Routes)
	assert.Equal(t, routers.LeastLoadedRoute{0, 1}, c.Splitter)

	inDir(t, disaggregatedYAML)
	local := build(t, "disaggregation.local_below_tokens=300").Config
	require.Len(t, local.Routes, 2)
	assert.Equal(t, sim.Route{{Pool: 1}}, local.Routes[1])
	assert.Equal(t, routers.ByPrompt{LocalBelow: 300, Pool: 1, Local: 1}, local.Splitter)

	inDir(t, strings.Replace(disaggregatedYAML, "workload:", "  - {gpu: h100-sxm, tensor_parallel: 2}\nworkload:", 1))
	for share, want := range map[string]int64{"0.3": 450, "0.8": 1200} {
		s, err := configs.Load("chat.yaml",
			configs.Options{Set: []string{"disaggregation.serve_share=" + share, "workload.requests=1500",
				"workload.output_tokens.mean=2"}})
		require.NoError(t, err)
		b, err := New(s)
		require.NoError(t, err)
		served := int64(0)
		for id := range int32(1500) {
			if b.Config.Splitter.Split(0, &sim.Request{ID: id}, nil) == 0 {
				served++
			}
		}
		assert.InDelta(t, want, served, 60)
	}
}

// TestAFleetIsWhatItsSectionsSay builds every section once.
func TestAFleetIsWhatItsSectionsSay(t *testing.T) {
	inDir(t, strings.Replace(chat8b, "{gpu: h100-sxm}",
		"{gpu: h100-sxm, replicas: 2, replicas_max: 4, straggler_replicas: 1, straggler_slowdown: 2}", 1)+
		"slo: {ttft_ms: 700}\nadmission: {rate_per_s: 100, burst: 10, queue_limit: 50}\n"+
		"autoscale: [{pool: serve, on: ttft, target: 0.1}]\nfailures: [{pool: serve, replica: 1, at_s: 2}]\n"+
		"random_failures: [{pool: serve, mtbf_s: 1000, mttr_s: 5, in_flight: fail}]\ndrain: [{pool: serve, at_s: 3, "+
		"down_s: 1}]\n")
	b := build(t)
	p := b.Config.Pools[0]
	assert.Equal(t, []int{2, 4}, []int{p.Size, p.SizeMax})
	assert.Equal(t, 700*sim.Millisecond, p.FirstTokenDue)
	assert.IsType(t, &fleet.Straggler{}, p.Noise)
	assert.Equal(t, sim.Second, p.Noise.Stretch(0, 0, 0, sim.Second))
	assert.Zero(t, p.Noise.Stretch(1, 0, 0, sim.Second))
	assert.IsType(t, fleet.Admissions{}, b.Config.Admission)
	assert.IsType(t, &fleet.Controllers{}, b.Config.Controller)
	assert.Nil(t, build(t, "admission=null").Config.Admission)

	set := "autoscale.serve.target=0.2"
	assert.Equal(t, 0.2, build(t, set).Scenario.Autoscale[0].Target, "rows go by the name of their pool")
	a := b.Scenario.Autoscale[0]
	assert.Equal(t, configs.Autoscale{Pool: "serve", On: "ttft", Target: 0.1, Low: 0.8, MinReplicas: 1, IntervalS: 15,
		StabilisationS: 300}, a)
	assert.Equal(t, "retry", b.Scenario.Failures[0].InFlight)
}

// TestStragglersAreOfTheirPool: instances are numbered pool by pool, with room for those that may come.
func TestStragglersAreOfTheirPool(t *testing.T) {
	inDir(t, disaggregatedYAML)
	b := build(t, "pools.prefill.replicas_max=5", "pools.decode.straggler_replicas=2", "pools.decode.straggler_slowdown=3")
	assert.Nil(t, b.Config.Pools[0].Noise)
	var slow []int32
	for id := range int32(9) {
		if b.Config.Pools[1].Noise.Stretch(id, 0, 0, sim.Second) > 0 {
			slow = append(slow, id)
		}
	}
	assert.Equal(t, []int32{5, 6}, slow)
}

func TestAPushBehindAnEncoderIsRefused(t *testing.T) {
	encoded := strings.Replace(disaggregatedYAML, "  - {role: decode", "  - {role: encode, gpu: l40s}\n  - {role: decode",
		1)
	inDir(t, encoded)
	_, err := configs.Load("chat.yaml", configs.Options{Set: []string{"pools.prefill.kv_transfer=push"}})
	assert.EqualError(t, err,
		`--set pools.prefill.kv_transfer=push: "push" behind a pool of role encode: room would be reserved before there is anything to read; expected "pull"`)
}
