package points

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEveryArgumentOfAPoolIsAColumn(t *testing.T) {
	keys := poolColumns()
	assert.Subset(t, keys, []string{"replicas", "tensor_parallel", "expert_parallel", "max_num_seqs",
		"max_running_requests", "max_batch_size", "num_gpu_blocks"})
	assert.ElementsMatch(t, slices.Compact(slices.Sorted(slices.Values(keys))), keys, "each once")
	assert.NotContains(t, keys, "gpu", "which is translated")
}
