package explain

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stepOf builds the step of a deployment, whose keys are written as flags of the command.
func stepOf(t *testing.T, args string) *Step {
	keys := map[string]string{
		"--model": "model", "--gpu": "pools.0.gpu", "--kv-cache": "kv_cache", "--tensor-parallel": "pools.0.tensor_parallel",
		"--speculation": "speculation.method", "--num-speculative-tokens": "speculation.num_speculative_tokens",
		"--acceptance": "speculation.acceptance.rate",
	}
	var q Question
	words := strings.Fields(args)
	for i := 0; i < len(words); i += 2 {
		n, _ := strconv.Atoi(words[i+1])
		switch words[i] {
		case "--batch":
			q.Batch = &n
		case "--context":
			q.Context = &n
		default:
			require.Contains(t, keys, words[i])
			q.Set = append(q.Set, keys[words[i]]+"="+words[i+1])
		}
	}
	s, err := New(t.Context(), q)
	require.NoError(t, err)
	return s
}

// Where something is said to take over it does: not one sequence and not one token before.
func TestExplainedSwitchesAreSwitches(t *testing.T) {
	batches, contexts := 0, 0
	for _, args := range []string{
		"--model llama-3.1-8b --gpu h100-sxm --context 16 --kv-cache fp8",
		"--model llama-3.1-8b --gpu h100-sxm --batch 64",
		"--model gpt-oss-120b --gpu h200-sxm --batch 16",
		"--model llama-4-scout --gpu h200-sxm --tensor-parallel 4 --batch 3",
		"--model gemma-3-27b --gpu h100-sxm --batch 32 --context 100",
		"--model deepseek-v3.2 --gpu h200-sxm --tensor-parallel 8 --batch 400 --context 50",
		"--model mistral-7b-v0.1 --gpu h100-sxm --context 10",
	} {
		s := stepOf(t, args)
		if n := s.computeFrom(); n > 1 {
			before, after := s.Price(n-1), s.Price(n)
			assert.False(t, before.ComputeBound, args)
			assert.True(t, after.ComputeBound, args)
			batches++
		} else {
			for m := 1; m < 5000; m *= 3 {
				g := s.Price(m)
				assert.Equal(t, n == 1, g.ComputeBound, "never or always: %s", args)
			}
		}
		outweighs := func(context int) bool { weights, cache := s.reads(s.batch, context); return cache > weights }
		if c := s.cacheFrom(); c > 1 {
			assert.False(t, outweighs(c-1), args)
			assert.True(t, outweighs(c), args)
			contexts++
		} else {
			assert.False(t, outweighs(s.Deployment.Model.ContextMax), args)
		}
	}
	assert.Greater(t, batches, 2)
	assert.Greater(t, contexts, 2)
}

// Verification turns compute-bound at the batch said and not one before.
func TestExplainedRidgeIsWhereComputeBinds(t *testing.T) {
	s := stepOf(
		t, "--model llama-3.1-70b --gpu h100-sxm --tensor-parallel 4 --speculation eagle --num-speculative-tokens 3 "+
			"--acceptance 0.8")
	v, err := s.ExplainSpeculation()
	require.NoError(t, err)
	require.NotNil(t, v.SwitchBatch)
	before, _ := s.Model.StepWithDrafts(*v.SwitchBatch-1, s.Context, 3)
	from, _ := s.Model.StepWithDrafts(*v.SwitchBatch, s.Context, 3)
	assert.False(t, before.ComputeBound)
	assert.True(t, from.ComputeBound)
	require.NotNil(t, v.LinearSwitchBatch)
	assert.GreaterOrEqual(t, 4*(*v.LinearSwitchBatch), s.LinearFrom())
	assert.Less(t, 4*(*v.LinearSwitchBatch-1), s.LinearFrom())
}
