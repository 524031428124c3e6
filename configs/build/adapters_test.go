package build

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
)

// adaptedScenario is a server with slots for adapters, and what its workload says of these.
func adaptedScenario(pool, workload string) string {
	return "model: llama-3.1-8b\npools: [{gpu: h100-sxm, enable_lora: true" + pool + "}]\nworkload:\n  " + workload + "\n"
}

const drawnLengths = "arrivals: {process: poisson, rate: 9}\n  requests: 40\n" +
	"  prompt_tokens: {distribution: fixed, mean: 9}\n  output_tokens: {distribution: fixed, mean: 9}\n"

// TestAdaptersThatNoPoolCanServeAreRefused: in one line that says where, and what would do.
func TestAdaptersThatNoPoolCanServeAreRefused(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{strings.Replace(adaptedScenario("", drawnLengths+"  adapters: {count: 2}"), "true", "false", 1),
			"names adapters, but pools[0] serves the model alone; expected pools[0].enable_lora: true, a key of vllm-v1"},
		{adaptedScenario("", drawnLengths+"  adapters: {}"), "adapters.count: missing; expected a number of adapters"},
		{adaptedScenario("", drawnLengths+"  adapters: {count: 0}"), "adapters.count: 0 is out of range"},
		{adaptedScenario("", drawnLengths+"  adapters: {count: 2, zipf: -1}"), "adapters.zipf: -1 is out of range"},
		{adaptedScenario("", drawnLengths+"  adapters: {count: 2, weights: [1]}"), "adapters.weights: "},
		{adaptedScenario("", drawnLengths+"  adapters: {count: 2, base_share: 2}"), "base_share: 2 is out of range"},
		{adaptedScenario("", drawnLengths+"  adapters: {count: 2, rank: 32}"),
			"adapters.rank: 32 is above max_lora_rank of pools[0], 16; expected at most that"},
		{adaptedScenario("", drawnLengths+"  adapters: {count: 2}"),
			"max_cpu_loras: 1 does not hold all of the 2 adapters in host memory, and nothing says how fast the others " +
				"come from storage; expected lora_load_bps, or at least 2"},
		{adaptedScenario(", max_loras: 4, max_cpu_loras: 2", drawnLengths), "max_cpu_loras: 2 is below max_loras, 4"},
		{adaptedScenario(", max_lora_rank: 9", drawnLengths), "max_lora_rank: 9 is none that vLLM takes"},
		{adaptedScenario(", lora_target_modules: [q]", drawnLengths), `lora_target_modules: "q"`},
		{adaptedScenario(", lora_target_modules: []", drawnLengths), "lora_target_modules: is empty"},
		{adaptedScenario(", pipeline_parallel: 2", drawnLengths), "not modelled with 2 pipeline stages; accepted: 1"},
	} {
		inDir(t, c.yaml)
		s, err := configs.Load("chat.yaml", configs.Options{})
		if err == nil {
			_, err = New(s)
		}
		require.ErrorContains(t, err, c.want, c.yaml)
		require.NotContains(t, err.Error(), "\n", "one line")
	}
}

// TestATraceNamesTheAdaptersOfItsRequests: they are those of its column, and nothing is drawn.
func TestATraceNamesTheAdaptersOfItsRequests(t *testing.T) {
	const trace = "arrival_s,input_tokens,output_tokens,adapter_id\n0,10,5,2\n1,20,5,\n2,30,5,1\n"
	pool := ", max_loras: 2, max_cpu_loras: 3"
	begin := func(adapters string) (*Built, error) {
		inDir(t, adaptedScenario(pool, "trace: {file: t.csv}\n  "+adapters))
		require.NoError(t, os.WriteFile("t.csv", []byte(trace), 0o600))
		s, err := configs.Load("chat.yaml", configs.Options{})
		require.NoError(t, err)
		return New(s)
	}
	b, err := begin("adapters: {count: 3}")
	require.NoError(t, err)
	var list []uint16
	for r := (sim.Request{}); b.Config.Source.Next(&r); {
		list = append(list, r.Adapter)
	}
	require.NoError(t, b.Close())
	require.Equal(t, []uint16{2, 0, 1}, list)
	require.Len(t, b.Config.Pools[0].Adapters.Copies, 3)

	b, err = begin("")
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(b.Replica.notes), "adapter_id of the trace is not read")
	require.NoError(t, b.Close())
	for adapters, want := range map[string]string{
		"adapters: {count: 1}":                  `t.csv:2: adapter_id is "2"; accepted: the number of an adapter, 1 to 1`,
		"adapters: {count: 3, zipf: 1}":         "t.csv names the adapter of each request by adapter_id, so nothing is drawn",
		"adapters: {count: 3, base_share: 0.1}": "expected count and rank alone",
	} {
		_, err = begin(adapters)
		require.ErrorContains(t, err, want)
	}
}
