package hardware_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
)

// constants returns the numbers of an efficiency by their YAML keys.
func constants(e *hardware.Efficiency) map[string]*float64 {
	all := map[string]*float64{}
	v := reflect.ValueOf(e).Elem()
	for i := range v.NumField() {
		if x, ok := v.Field(i).Addr().Interface().(*float64); ok {
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			all[key] = x
		}
	}
	return all
}

// TestRangesOfConstantsEndWhereTheySay: the ends are accepted, but for a share of 0 where one is needed, and what is
// next to them is not. A share or a factor that counts as absent at 0 may be 0.
func TestRangesOfConstantsEndWhereTheySay(t *testing.T) {
	const least = math.SmallestNonzeroFloat64
	inf := math.Inf(1)
	type ends struct{ low, high, below float64 }
	shares, optional := ends{least, 1, 0}, ends{0, 1, -least}
	seconds, launches := ends{0, 3600, -least}, ends{0, 1e4, -least}
	rows := ends{0, 1e6, -least}
	want := map[string]ends{
		"bandwidth": shares, "compute": shares, "moe_compute": shares, "kv_bandwidth": shares, "attention_compute": shares,
		"link": shares, "latent_compute": optional, "quantized_compute": optional, "expert_imbalance": optional,
		"launch_overlap": {1, 1000, math.Nextafter(1, 0)}, "expert_skew": {0, 10, -least},
		"moe_rows": rows, "moe_tile_rows": rows, "moe_copy_bytes": {0, 1e4, -least},
		"collective_scale": {0, 100, -least}, "mixed_kv": {1, 1000, math.Nextafter(1, 0)},
		"overlap": {1, inf, math.Nextafter(1, 0)}, "prompt_launch": launches, "eager_launch": launches,
		"tokenize_s": {0, 1e-3, -least},
	}
	e := efficiency(t, "vllm-v1")
	for key, x := range constants(&e) {
		r, ok := want[key]
		if !ok {
			require.True(t, strings.HasSuffix(key, "_s"), "%s is no time", key)
			r = seconds
		}
		was := *x
		for _, good := range []float64{r.low, r.high} {
			*x = good
			assert.NoError(t, e.Validate(), key)
		}
		for _, bad := range []float64{r.below, math.Nextafter(r.high, inf), math.NaN(), -1} {
			if bad == inf {
				continue
			}
			*x = bad
			var wrong *hardware.RangeError
			if assert.ErrorAs(t, e.Validate(), &wrong, "%s of %g", key, bad) {
				assert.Equal(t, key, wrong.Key)
			}
		}
		*x = was
	}
	e.MixedKV = 0
	require.NoError(t, e.Validate())
	e.Source = ""
	assert.ErrorContains(t, e.Validate(), "source: missing")
}

// TestAConstantIsScaledAlone, by its key, and a share up to 1.
func TestAConstantIsScaledAlone(t *testing.T) {
	whole := []string{"bandwidth", "compute", "moe_compute", "quantized_compute", "kv_bandwidth", "attention_compute",
		"latent_compute", "link", "expert_imbalance"}
	e := hardware.Efficiency{}
	for key := range constants(&e) {
		scaled := hardware.Efficiency{}
		for _, x := range constants(&scaled) {
			*x = 0.5
		}
		ok := scaled.Scale(key, 4)
		assert.Equal(t, key != "overlap", ok, key)
		for other, x := range constants(&scaled) {
			want := 0.5
			if other == key && ok {
				want = 2
				for _, share := range whole {
					if share == key {
						want = 1
					}
				}
			}
			assert.Equal(t, want, *x, "%s, when %s is scaled", other, key)
		}
	}
	assert.False(t, e.Scale("speed", 2))
}

// TestLimitsOfDeploymentsBelongToThem: of what an engine captures, decodes and places.
func TestLimitsOfDeploymentsBelongToThem(t *testing.T) {
	above := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	type change = func(*hardware.Deployment)
	graphs := func(rows ...int) change { return func(d *hardware.Deployment) { d.Launch.Graphs = rows } }
	grammar := func(s float64) change { return func(d *hardware.Deployment) { d.Decoding.StructuredS = s } }
	routing := func(r hardware.Routing) change { return func(d *hardware.Deployment) { d.Routing = r } }
	copies := func(ranks, n int) change {
		return func(d *hardware.Deployment) {
			d.Parallel.Tensor, d.Parallel.Data = 1, ranks
			d.Routing = hardware.Routing{Balanced: true, Redundant: n}
		}
	}
	split := func(tensor, pipeline int) change {
		return func(d *hardware.Deployment) { d.Parallel.Tensor, d.Parallel.Pipeline = tensor, pipeline }
	}
	layers := deployment(t, "mixtral-8x7b", "h100-sxm", 8).Model.LayerCount()
	for i, c := range []struct {
		ok     bool
		change change
	}{
		{true, graphs(1, 2, 65_536)}, {false, graphs(0, 2)}, {false, graphs(1, 65_537)}, {false, graphs(2, 2)},
		{true, grammar(0)}, {true, grammar(3600)}, {false, grammar(above(3600))}, {false, grammar(-1e-300)},
		{false, grammar(math.NaN())},
		{true, routing(hardware.Routing{Skew: 10})}, {false, routing(hardware.Routing{Skew: above(10)})},
		{false, routing(hardware.Routing{Skew: -1e-300})}, {false, routing(hardware.Routing{Redundant: -1})},
		{true, routing(hardware.Routing{Balanced: true})},
		{true, routing(hardware.Routing{Balanced: true, Redundant: 8})},
		{true, routing(hardware.Routing{Balanced: true, Redundant: 4096})},
		{false, routing(hardware.Routing{Balanced: true, Redundant: 4104})},
		{false, routing(hardware.Routing{Balanced: true, Redundant: 4})},
		{false, routing(hardware.Routing{Redundant: 8})}, {false, routing(hardware.Routing{Redundant: 1})},
		{false, routing(hardware.Routing{Balanced: true, Redundant: 1})}, {true, copies(2, 0)}, {true, copies(3, 1)},
		{true, copies(6, 4)}, {false, copies(7, 1)}, {false, copies(7, 2)}, {false, copies(1, 0)},
		{false, func(d *hardware.Deployment) { d.Routing.Balanced, d.Parallel.Expert = true, false }},
		{false, func(d *hardware.Deployment) { d.Routing.Balanced, d.Parallel.Tensor = true, 1 }},
		{true, split(8, 1)}, {false, split(0, 1)}, {false, split(8, 0)}, {false, split(3, 1)},
		{false, split(1, layers+1)},
		{true, func(d *hardware.Deployment) { d.Decoding.Sampling = hardware.TopP }},
		{false, func(d *hardware.Deployment) { d.Decoding.Sampling = "beam" }},
		{false, func(d *hardware.Deployment) { d.KVDtype = "fp6" }},
		{false, func(d *hardware.Deployment) { d.Parallel.AllToAll = "carrier-pigeon" }},
		{false, func(d *hardware.Deployment) { d.Parallel.Overlap = "three-batch" }},
		{true, func(d *hardware.Deployment) { d.KVDtype, d.AttentionFP8 = "fp8", true }},
		{false, func(d *hardware.Deployment) { d.AttentionFP8 = true }},
		{false, func(d *hardware.Deployment) { d.Parallel.Data = 2 }}, // 16 GPUs for 8 experts
		{true, func(d *hardware.Deployment) { d.Parallel.Data, d.Parallel.Expert = 2, false }},
	} {
		d := deployment(t, "mixtral-8x7b", "h100-sxm", 8)
		d.Parallel.Expert = true
		c.change(&d)
		err := d.Validate()
		assert.Equal(t, c.ok, err == nil, "%d: %v", i, err)
	}
}

// TestStagesHaveAllLayers, as many each but for one more, which the last stage never has beside others that lack it.
func TestStagesHaveAllLayers(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1) // of 32 layers
	for stages, want := range map[int][]int32{
		1: {32}, 2: {16, 16}, 3: {11, 11, 10}, 5: {6, 6, 7, 7, 6}, 7: {4, 4, 5, 5, 5, 5, 4},
	} {
		d.Parallel.Pipeline = stages
		got := d.Stages()
		sum, least := int32(0), got[0]
		for _, n := range got {
			sum, least = sum+n, min(least, n)
		}
		assert.EqualValues(t, 32, sum)
		assert.Equal(t, least, got[stages-1])
		assert.Equal(t, want, got)
	}
}
