package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
)

// figure2026 is a figure of the reference page of accelerators of 2026: its value, its grade, and whether sources
// disagree on it. One without a grade stands in no source that was read.
type figure2026 struct {
	value    float64
	grade    string
	disputed bool
}

func (f figure2026) not() figure2026 { f.disputed = true; return f }

// gpus2026 are the rows of the reference page: memory, bandwidth, bf16, fp8, fp4, scale-up links of one direction,
// their domain, network and power.
func gpus2026() map[string][9]figure2026 {
	a := func(value float64) figure2026 { return figure2026{value, "A", false} }
	b := func(value float64) figure2026 { return figure2026{value, "B", false} }
	c := func(value float64) figure2026 { return figure2026{value, "C", false} }
	return map[string][9]figure2026{
		"vr200": {b(298013687808), a(22e12), a(4e15).not(), a(17.5e15), a(35e15).not(), a(1.8e12), a(72), a(200e9),
			b(2300).not()},
		"mi455x": {a(432 << 30), a(23.3e12).not(), b(5.03e15).not(), a(20.13e15), a(40.26e15), a(1.8e12), a(72),
			b(200e9).not(), b(2500)},
		"mi350x":    {a(288 << 30), a(8e12), c(2.3e15), a(4.6e15), a(9.2e15), a(7 * 76.8e9), a(8), a(50e9), a(1000)},
		"rtx-5090":  {a(32 << 30), a(1.792e12), c(2.095e14), c(4.19e14), c(1.676e15), a(0), a(1), {}, a(575)},
		"gb10":      {a(128e9), a(273e9), c(1.25e14), c(2.5e14), c(0.5e15), a(25e9), a(2), {}, a(240).not()},
		"m5-ultra":  {a(512e9), a(1.2e12), {}, {}, {}, a(10e9), c(2), {}, {}},
		"m3-ultra":  {a(512e9), a(819e9)},
		"m5-max":    {a(128e9), a(614e9)},
		"trainium2": {a(96 << 30), a(2.9e12).not(), a(667e12), a(1299e12), {}, c(0.64e12), c(16), {}, {}},
		"trainium3": {a(144 << 30), a(4.9e12), a(671e12), a(2517e12), a(2517e12), c(1.28e12), c(144), {}, {}},
		"tpu-8i":    {a(288e9), a(8.601e12), {}, {}, a(10.1e15), c(1.2e12), a(1152), {}, {}},
		"tpu-8t":    {a(216e9), a(6.5e12), {}, {}, a(12.6e15)},
		"maia-200":  {a(216e9), a(7e12), {}, a(5e15), a(10e15), a(1.4e12), a(6144), {}, a(750)},
		"jetson-thor": {b(128e9), b(273e9), c(2.5875e14), c(5.175e14), b(1.035e15), b(0), b(1), b(12.5e9),
			b(130).not()},
		"groq-3-lpu":  {b(0.5e9), b(150e12), {}, b(1.23e15), {}, b(2.5e12), b(256), {}, {}},
		"gh200-144gb": {b(144e9), b(4.9e12), b(9.894e14), b(1.9789e15), {}, b(450e9), c(32), c(50e9), c(1000)},
		"gh200-96gb": {c(97871 << 20).not(), b(4e12), b(9.894e14), b(1.9789e15), {}, b(450e9), c(1), c(50e9),
			c(1000)},
		"h20": {c(97871 << 20), c(4e12), c(148e12), c(296e12), {}, c(450e9), c(8), c(50e9), c(400)},
	}
}

// What is derived is unverified too, as is the part of a VR200's memory that software can use.
func TestGPUsOf2026EqualTheReferencePage(t *testing.T) {
	for name, want := range gpus2026() {
		g, err := GPU(name)
		require.NoError(t, err)
		for i, got := range []hardware.Quantity{g.MemoryBytes, g.BandwidthBps, g.FLOPS.BF16, g.FLOPS.FP8, g.FLOPS.FP4,
			g.ScaleUpBps, g.Domain, g.NICBps, g.TDPW} {
			assert.Equal(t, want[i], figure2026{got.Value, got.Grade, got.Conflict != ""}, "%s, figure %d", name, i)
			assert.Equal(t, want[i].grade == "C" || name == "vr200" && i == 0, got.Unverified, "%s, figure %d", name, i)
		}
	}
	grace, err := GPU("gh200-96gb")
	require.NoError(t, err)
	assert.InDelta(t, 6.5, grace.Price.USDPerHour, 0)
}
