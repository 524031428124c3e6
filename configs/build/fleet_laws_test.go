package build

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/routers"
)

// drawPool draws a pool of a role, small enough that its cache fills up.
func drawPool(t *rapid.T, name, role string) string {
	engines := catalog.EngineNames()
	if role != configs.RoleServe {
		engines = catalog.Dividing()
	}
	engine := rapid.SampledFrom(engines).Draw(t, name+" engine")
	b := fmt.Sprintf("  - name: %s\n    role: %s\n    gpu: %s\n    engine: %s\n", name, role,
		rapid.SampledFrom([]string{"h100-sxm", "a100-sxm-80gb"}).Draw(t, name+" gpu"), engine)
	b += fmt.Sprintf("    replicas: %d\n    replicas_max: 3\n    tensor_parallel: %d\n",
		rapid.IntRange(1, 3).Draw(t, name+" replicas"), rapid.SampledFrom([]int{1, 2}).Draw(t, name+" tp"))
	if e, _ := catalog.Engine(engine); rapid.Bool().Draw(t, name+" tight") {
		size := e.Arguments.BlockSize
		b += fmt.Sprintf("    num_gpu_blocks: %d\n    max_model_len: 4000\n",
			1+rapid.IntRange(4000, 12000).Draw(t, name+" tokens")/size)
	}
	if engine == "vllm-v1" && rapid.IntRange(0, 2).Draw(t, name+" order") == 0 {
		b += "    scheduling_policy: priority\n"
	}
	if rapid.Bool().Draw(t, name+" router") {
		b += "    router: " + rapid.SampledFrom(routers.Names()).Draw(t, name+" routed") + "\n"
	}
	if rapid.IntRange(0, 4).Draw(t, name+" straggler") == 0 {
		b += "    straggler_replicas: 1\n    straggler_slowdown: 1.5\n"
	}
	if rapid.IntRange(0, 4).Draw(t, name+" cold") == 0 {
		b += fmt.Sprintf("    cold_start_s: 2\n    starts_cold: %t\n", rapid.Bool().Draw(t, name+" begins"))
	}
	if rapid.IntRange(0, 3).Draw(t, name+" reserved") == 0 {
		b += "    reserved_replicas: 1\n    reserved_price_per_hour: 1.5\n"
	}
	if role == configs.RolePrefill {
		b += fmt.Sprintf("    kv_transfer: %s\n    first_token: %s\n",
			rapid.SampledFrom([]string{"pull", "push"}).Draw(t, "transfer"),
			rapid.SampledFrom([]string{"prefill", "decode"}).Draw(t, "first"))
	}
	if role == configs.RolePrefill || role == configs.RoleEncode {
		links := slices.DeleteFunc(hardware.Links(), func(link string) bool { return link == "nvlink" })
		b += fmt.Sprintf("    kv_link: %s\n    kv_link_latency_s: %s\n    kv_link_efficiency: %s\n",
			rapid.SampledFrom(links).Draw(t, "link"),
			rapid.SampledFrom([]string{"0", "1e-5", "0.02"}).Draw(t, "latency"),
			rapid.SampledFrom([]string{"1", "0.5", "0.001"}).Draw(t, "efficiency"))
	}
	return b
}

// drawFleet draws a scenario with several pools, and what may happen to them.
func drawFleet(t *rapid.T) string {
	b := "model: llama-3.1-8b\npools:\n"
	names := []string{"serve"}
	switch kind := rapid.SampledFrom([]string{"pd", "pd", "epd", "serve", "beside", "es"}).Draw(t, "kind"); kind {
	case "pd", "epd", "beside":
		names = []string{"prefill", "decode"}
		if kind == "epd" {
			names = append(names, "encode")
		}
		if kind == "beside" {
			names = append(names, "serve")
		}
	case "es":
		names = append(names, "encode")
	}
	for _, name := range names {
		b += drawPool(t, name, name)
	}
	if len(names) == 1 && rapid.Bool().Draw(t, "more") {
		b += drawPool(t, "more", configs.RoleServe)
	}
	if len(names) == 2 && names[1] == "decode" && rapid.Bool().Draw(t, "local") {
		b += "disaggregation: {local_below_tokens: 200}\n"
	}
	if slices.Contains(names, "decode") && slices.Contains(names, "serve") && rapid.Bool().Draw(t, "shares") {
		b += "disaggregation: {serve_share: 0.5}\n"
	}
	if slices.Contains(names, "encode") {
		b = strings.Replace(b, "kv_transfer: push", "kv_transfer: pull", 1)
	}
	return b + "energy: {grid_gco2_per_kwh: 400, pue: 1.2, host_w: 50}\n" + drawEvents(t, names) + drawLoad(t)
}

// drawEvents draws what happens to the pools.
func drawEvents(t *rapid.T, names []string) (b string) {
	name := rapid.SampledFrom(names).Draw(t, "of")
	inFlight := rapid.SampledFrom([]string{"retry", "fail"}).Draw(t, "in flight")
	if rapid.IntRange(0, 2).Draw(t, "failures") == 0 {
		b += fmt.Sprintf("failures: [{pool: %s, replica: 0, at_s: 3, down_s: 1, in_flight: %s}]\n", name, inFlight)
	}
	if rapid.IntRange(0, 3).Draw(t, "random") == 0 {
		b += fmt.Sprintf("random_failures: [{pool: %s, mtbf_s: 10, mttr_s: 2, in_flight: %s}]\n", name, inFlight)
	}
	if rapid.IntRange(0, 3).Draw(t, "drain") == 0 {
		b += fmt.Sprintf("drain: [{pool: %s, replica: 0, at_s: 2, down_s: 3}]\n", name)
	}
	if rapid.IntRange(0, 2).Draw(t, "autoscale") == 0 {
		on := rapid.SampledFrom([]string{"on: queue, target: 2", "on: requests, target: 8", "on: kv, target: 0.5",
			"on: schedule, schedule: [{at_s: 1, replicas: 3}, {at_s: 6, replicas: 1}]"}).Draw(t, "on")
		b += fmt.Sprintf("autoscale: [{pool: %s, min_replicas: %d, interval_s: 1, stabilisation_s: 2, "+
			"provision_s: 0.5, %s}]\n", name, rapid.IntRange(0, 1).Draw(t, "least"), on)
	}
	if rapid.IntRange(0, 3).Draw(t, "admission") == 0 {
		b += "admission: {rate_per_s: 20, burst: 10, queue_limit: 8}\n"
	}
	return b
}

// drawLoad draws what is asked of them.
func drawLoad(t *rapid.T) string {
	b := fmt.Sprintf("router: %s\nrouting: {staleness_s: %s}\nseed: %d\n",
		rapid.SampledFrom(routers.Names()).Draw(t, "router"),
		rapid.SampledFrom([]string{"0", "0.5"}).Draw(t, "staleness"), rapid.IntRange(0, 1000).Draw(t, "seed"))
	b += "workload:\n  prompt_tokens: {distribution: lognormal, mean: 400, cv: 1}\n  output_tokens: {distribution: " +
		"lognormal, mean: 60, cv: 1}\n  requests: 120\n"
	if rapid.Bool().Draw(t, "classes") {
		b += "  classes: [{name: a, share: 0.5, priority: 0}, {name: b, share: 0.5, priority: 2}]\n"
	}
	if rapid.Bool().Draw(t, "closed") {
		b += "  closed_loop: {concurrency: 20}\n"
	} else {
		b += fmt.Sprintf("  arrivals: {process: gamma, cv: 2, rate: %d}\n", rapid.IntRange(5, 60).Draw(t, "rate"))
	}
	if rapid.Bool().Draw(t, "sessions") {
		b += "  sessions: {turns: {distribution: uniform, min: 1, max: 6}}\n"
	} else if rapid.Bool().Draw(t, "prefix") {
		b += "  prefix: {groups: 3, tokens: 200}\n"
	}
	if rapid.IntRange(0, 2).Draw(t, "patience") == 0 {
		b += "  timeout_s: 2\n"
	}
	if rapid.IntRange(0, 3).Draw(t, "horizon") == 0 {
		b += "  duration_s: 4\n"
	}
	return b
}

// TestEveryRequestOfAFleetEndsOnce draws fleets: whatever is transferred, fails, starts and stops, every request ends
// once and every token is reported once, the resolved scenario says all of it, and says the same again.
func TestEveryRequestOfAFleetEndsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawFleet(t)
		s, err := configs.Read("fleet", []byte(text), configs.Options{})
		require.NoError(t, err, text)
		f, summary := simulate(t, s)
		r := summary.Requests
		require.Equal(t, r.Arrived, r.Completed+r.Rejected+r.Failed+r.Unfinished, text)
		require.Equal(t, summary.Tokens.Output, f.Output(), text)
		require.Equal(t, f.Output(), f.TTFT.N()+f.ITL.N(), text)
		require.LessOrEqual(t, summary.Bound.FractionOfBound, 1.0, text)
		drawsWhatItMay(t, summary, text)

		b, err := New(s)
		require.NoError(t, err)
		again, err := configs.Read("again", b.Scenario.YAML(), configs.Options{})
		require.NoError(t, err, text)
		require.Equal(t, string(b.Scenario.YAML()), string(again.YAML()))
		g, _ := simulate(t, again)
		require.Equal(t, f.Output(), g.Output(), text)
		require.Equal(t, f.Outcomes, g.Outcomes, text)
	})
}

// TestARestartedRequestWaitsBesideLoads: a replica of a decode pool that reads short prompts itself fails, and what it
// had begun to answer waits elsewhere, behind prompts that are new, while caches are loaded ahead of the next step.
func TestARestartedRequestWaitsBesideLoads(t *testing.T) {
	const text = "model: llama-3.1-8b\npools:\n  - {name: prefill, role: prefill, gpu: h100-sxm}\n" +
		"  - {name: decode, role: decode, gpu: a100-sxm-80gb, replicas: 2, num_gpu_blocks: 400, ORDER}\n" +
		"disaggregation: {local_below_tokens: 400}\n" +
		"failures: [{pool: decode, replica: 0, at_s: 3, down_s: 1}, {pool: decode, replica: 1, at_s: 6, down_s: 1}]\n" +
		"workload:\n  prompt_tokens: {distribution: lognormal, mean: 400, cv: 1, max: 1500}\n" +
		"  output_tokens: {distribution: lognormal, mean: 100, cv: 1, max: 1500}\n  requests: 400\n" +
		"  classes: [{name: a, share: 0.5, priority: 0}, {name: b, share: 0.5, priority: 2}]\n" +
		"  arrivals: {process: gamma, cv: 2, rate: 30}\n"
	for _, order := range []string{"fcfs", "priority"} {
		for _, seed := range []string{"1", "2", "3"} {
			s, err := configs.Read("fleet", []byte(strings.Replace(text, "ORDER", "scheduling_policy: "+order, 1)),
				configs.Options{Set: []string{"seed=" + seed}})
			require.NoError(t, err)
			_, summary := simulate(t, s)
			require.Equal(t, int64(400), int64(summary.Requests.Completed), order)
		}
	}
}
