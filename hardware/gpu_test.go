package hardware

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sheet(v float64) Quantity { return Quantity{Value: v, Source: "sheet"} }

// hopper has every field a GPU of that generation has; no fp4, no int4.
func hopper() GPU {
	return GPU{
		Name: "toy", Vendor: "Maker", Year: sheet(2022),
		MemoryBytes: sheet(80e9), BandwidthBps: sheet(3e12), OnChipBytes: sheet(50e6),
		FLOPS:      Peaks{FP32: sheet(6e13), TF32: sheet(5e14), BF16: sheet(1e15), FP8: sheet(2e15), INT8: sheet(2e15)},
		ScaleUpBps: sheet(4.5e11), Domain: sheet(8), PCIeBps: sheet(6.4e10), NICBps: sheet(5e10), TDPW: sheet(700),
		Price: Price{USDPerHour: 4, Provider: "Cloud", Date: "2026-09", Source: "list"},
	}
}

func TestWeightsAreComputedInTheirFormatOnlyWhereThereIsAUnit(t *testing.T) {
	ampere, blackwell := hopper(), hopper()
	ampere.FLOPS.FP8 = Quantity{}
	ampere.FLOPS.INT4 = sheet(4e15)
	blackwell.FLOPS.FP4 = sheet(4e15)
	h := hopper()
	for _, c := range []struct {
		gpu    GPU
		weight string
		flops  float64
		dtype  string
	}{
		{h, "bf16", 1e15, "bf16"},
		{h, "fp16", 1e15, "bf16"},
		{h, "fp32", 6e13, "fp32"},
		{h, "fp8", 2e15, "fp8"},
		{ampere, "fp8", 1e15, "bf16"},
		{ampere, "int8", 2e15, "int8"},
		{ampere, "int4", 1e15, "bf16"},
		{h, "mxfp4", 1e15, "bf16"},
		{h, "nvfp4", 1e15, "bf16"},
		{blackwell, "mxfp4", 4e15, "fp4"},
		{blackwell, "nvfp4", 4e15, "fp4"},
		{h, "q4_k", 0, ""},
	} {
		flops, dtype := c.gpu.ComputeFLOPS(c.weight)
		assert.Equal(t, c.flops, flops, c.weight)
		assert.Equal(t, c.dtype, dtype, c.weight)
	}
}

func TestAnAbsentFieldIsAnErrorThatNamesIt(t *testing.T) {
	g := hopper()
	g.NICBps = Quantity{}
	_, err := g.Need("nic_bps")
	require.EqualError(t, err, `hardware: gpu "toy" has no nic_bps: no source states it`)
	v, err := g.Need("tdp_w")
	require.NoError(t, err)
	assert.Equal(t, 700.0, v)
	assert.Panics(t, func() { _, _ = g.Need("colour") })
}

func TestValidateNamesWhatIsWrong(t *testing.T) {
	g := hopper()
	require.NoError(t, g.Validate())
	for _, c := range []struct {
		want  string
		spoil func(*GPU)
	}{
		{"no name", func(g *GPU) { g.Name = "" }},
		{"vendor", func(g *GPU) { g.Vendor = "" }},
		{"has no memory_bytes", func(g *GPU) { g.MemoryBytes = Quantity{} }},
		{`kind is "gpu", want one of`, func(g *GPU) { g.Kind = "gpu" }},
		{`grade of tdp_w is "D", want A, B or C`, func(g *GPU) { g.TDPW.Grade = "D" }},
		{"flops.fp8 is 2e+15 without a source", func(g *GPU) { g.FLOPS.FP8.Source = "" }},
		{"tdp_w is -1", func(g *GPU) { g.TDPW.Value = -1 }},
		{"nic_bps is 0, want a positive", func(g *GPU) { g.NICBps.Value = 0 }},
		{"domain is 1.5, want a whole", func(g *GPU) { g.Domain.Value = 1.5 }},
		{"domain is 8, but scale_up_bps is 0", func(g *GPU) { g.ScaleUpBps.Value = 0 }},
		{"price.usd_per_hour is 0", func(g *GPU) { g.Price.USDPerHour = 0 }},
		{"price needs provider", func(g *GPU) { g.Price.Date = "" }},
	} {
		g := hopper()
		c.spoil(&g)
		assert.ErrorContains(t, g.Validate(), c.want)
	}
}
