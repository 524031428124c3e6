package configs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryModelServes runs each model of the catalog on the fewest B300s that hold it, and demands what holds for any:
// all requests end, and no step beats its bound.
func TestEveryModelServes(t *testing.T) {
	inDir(t, `model: m
pools: [{gpu: b300-sxm}]
workload:
  closed_loop: {concurrency: 20}
  prompt_tokens: {distribution: lognormal, mean: 600, cv: 1, max: 900}
  output_tokens: {distribution: lognormal, mean: 200, cv: 1, max: 900}
  requests: 60
`)
	for _, name := range ModelNames() {
		var err error
		for _, gpus := range []int{1, 2, 4, 8} {
			s, loadErr := Load("chat.yaml", Options{Set: []string{"model=" + name, fmt.Sprintf("pools.serve.tensor_parallel=%d", gpus)}})
			require.NoError(t, loadErr)
			if _, err = s.Replica(); err != nil {
				continue
			}
			_, summary := simulate(t, s)
			assert.EqualValues(t, 60, summary.Requests.Completed, name)
			assert.Less(t, summary.Bound.FractionOfBound, 1.0, name)
			assert.LessOrEqual(t, summary.Pools[0].KVPeakFraction, 1.0, name)
			break
		}
		assert.NoError(t, err, name)
	}
}

// TestEveryGPUServes runs the smallest model on each accelerator that holds it.
func TestEveryGPUServes(t *testing.T) {
	inDir(t, chat8b)
	for _, name := range GPUNames() {
		s, err := Load("chat.yaml", Options{Set: []string{"pools.serve.gpu=" + name, "model=qwen3-0.6b", "pools.serve.max_model_len=1000"}})
		require.NoError(t, err)
		if name == "groq-lpu" {
			_, err = s.Build()
			require.ErrorContains(t, err, "qwen3-0.6b does not fit on 1 × groq-lpu")
			continue
		}
		_, summary := simulate(t, s)
		assert.EqualValues(t, 50, summary.Requests.Completed, name)
	}
}
