package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/hardware"
)

// cache returns what a decode step says of reading the cache and attending to it.
func cache(d hardware.Deployment, batch, context int) hardware.PartCost {
	for _, p := range hardware.NewRoofline(d, 0).Parts(batch, context) {
		if p.Name == "KV cache, attention" {
			return p
		}
	}
	return hardware.PartCost{}
}

// 128 heads on one latent of 576 elements, 256 sequences of 16,384 tokens: of the tables of such modules the 1,072 µs
// that SGLang's kernel takes on a B200 and the 2,004 on an H200, and with a cache in fp8 619 on a B200, each within
// 20 %. A kernel hides the shorter of reading and multiplying behind the longer.
func TestLatentsTakeWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		gpu, dtype string
		measuredUS float64
	}{{"b200-sxm", "bf16", 1072}, {"h200-sxm", "bf16", 2004}, {"b200-sxm", "fp8", 619}} {
		d := deployment(t, "deepseek-r1", c.gpu, 1)
		d.KVDtype = c.dtype
		d.Efficiency.KVBandwidth, d.Efficiency.LatentCompute = 0.8, 0.52
		d.Efficiency.Overlap = 2
		p := cache(d, 256, 16384)
		assert.InEpsilon(t, c.measuredUS, p.TimeS/61*1e6, 0.2, "%s, %s", c.gpu, c.dtype)
		assert.Equal(t, max(p.MemoryS, p.ComputeS), p.TimeS)
		assert.InEpsilon(t, p.TimeS, step(d, alike(256, 16384))-step(d, alike(256, 0)), 1e-4)
	}
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	before := cache(d, 64, 1000)
	d.Efficiency.LatentCompute = 0.5
	assert.Equal(t, before, cache(d, 64, 1000), "there are no latents")
}
