package compare

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPoolsThatReplaceAnotherAreNamedByTheirDifferences: of pools that only one scenario has, keys on which all of them
// agree are left out; of a pool that both have, none is.
func TestPoolsThatReplaceAnotherAreNamedByTheirDifferences(t *testing.T) {
	agreed := alike([]KeyDiff{
		{Key: "weights", Values: []string{"fp8", "bf16"}},
		{Key: "pools.serve.name", Values: []string{"serve", ""}},
		{Key: "pools.serve.engine", Values: []string{"vllm-v1", ""}},
		{Key: "pools.serve.replicas", Values: []string{"4", ""}},
		{Key: "pools.decode.name", Values: []string{"", "decode"}},
		{Key: "pools.decode.engine", Values: []string{"", "vllm-v1"}},
		{Key: "pools.decode.replicas", Values: []string{"", "3"}},
		{Key: "pools.decode.kv_link", Values: []string{"", "nic"}},
		{Key: "pools.both.engine", Values: []string{"vllm-v1", "sglang"}},
	})
	assert.Equal(t, map[string]bool{
		"pools.serve.name": true, "pools.decode.name": true, "pools.serve.engine": true, "pools.decode.engine": true,
	}, agreed)
}
