package hardware_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
)

// A price rests on the formats that the weights are multiplied in, on the sparse rate if they are pruned, and on every
// link that something passes over: NVLink in a group, the network between ranks.
func TestFiguresAreThoseThatThePriceRestsOn(t *testing.T) {
	figures := func(d hardware.Deployment) []string {
		require.NoError(t, d.Validate())
		used := d.Figures()
		slices.Sort(used)
		return slices.Compact(used)
	}
	d := deployment(t, "llama-3.1-8b", "rtx-4090", 1)
	assert.Equal(t, []string{"bandwidth_bps", "flops.bf16", "memory_bytes"}, figures(d))
	var err error
	d.Model, err = d.Model.WithWeights("fp8")
	require.NoError(t, err)
	d.Model, err = d.Model.WithSparsity("2:4")
	require.NoError(t, err)
	d.Parallel.Pipeline = 2
	assert.Equal(t, []string{"bandwidth_bps", "flops.bf16", "flops.fp8", "memory_bytes", "pcie_bps", "sparse_ratio"},
		figures(d))

	d = deployment(t, "deepseek-v3", "h200-sxm", 8)
	d.Parallel.Data = 2
	assert.Equal(t, []string{"bandwidth_bps", "flops.bf16", "flops.fp8", "memory_bytes", "nic_bps", "scale_up_bps"},
		figures(d))

	d = deployment(t, "llama-3.1-70b", "b300-sxm", 1)
	d.Model, err = d.Model.WithWeights("nvfp4")
	require.NoError(t, err)
	d.Model, err = d.Model.WithSparsity("2:4")
	require.NoError(t, err)
	assert.Equal(t, []string{"bandwidth_bps", "flops.bf16", "flops.fp4", "memory_bytes", "sparse_ratio_fp4"}, figures(d))
}
