package configs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

func TestAssumedAreTheValuesThatNobodyGave(t *testing.T) {
	s, err := configs.Load("chat-70b", configs.Options{Set: []string{"pools.serve.block_size=32"},
		Env: []string{"DECODESIM_ROUTER=round-robin"}})
	require.NoError(t, err)
	values := map[string]string{}
	for _, a := range s.Assumed() {
		values[a.Key] = a.Value
		assert.NotEmpty(t, a.Value, a.Key)
	}
	for _, given := range []string{"name", "model", "weights", "pools[0].gpu", "pools[0].block_size", "router",
		"workload.arrivals.rate", "workload.prompt_tokens.cv", "slo.ttft_ms", "seed"} {
		assert.NotContains(t, values, given)
	}
	assert.Equal(t, "1024", values["pools[0].max_num_seqs"], "a default of the engine")
	assert.Equal(t, "1", values["pools[0].pipeline_parallel"], "a default of decodesim")
	assert.NotContains(t, values, "split", "what is absent is not assumed")
}
