package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
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
	d := deployment(t, "deepseek-r1", "h20", 1)
	d.KVDtype = "fp8"
	plain := cache(d, 96, 4864)
	d.AttentionFP8 = true
	assert.NoError(t, d.Validate())
	assert.InEpsilon(t, plain.ComputeS/2, cache(d, 96, 4864).ComputeS, 1e-12, "kernels for fp8 multiply twice as fast")
	assert.Equal(t, plain.Bytes, cache(d, 96, 4864).Bytes)
	d.KVDtype = "bf16"
	assert.ErrorContains(t, d.Validate(), "attention flash-fp8 multiplies a cache in fp8 on units for it, and has one in "+
		"bf16 on h20; accepted: flash, or kv_cache fp8 on a GPU with flops.fp8")
	d = deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	before := cache(d, 64, 1000)
	d.Efficiency.LatentCompute = 0.5
	assert.Equal(t, before, cache(d, 64, 1000), "there are no latents")
}

// With a cache in fp8, SGLang and TensorRT-LLM multiply the queries and keys of prompts as fp8 on Blackwell, at twice
// the peak: DeepSeek-R1 on eight B200, by what grows with the square of the tokens. vLLM does not, nor is it done on
// Hopper, or for GLM-5, whose prompts stay on latents.
func TestPromptsOfLatentsAreMultipliedInFP8(t *testing.T) {
	pairsS := func(model, gpu, engine, dtype string) float64 {
		d := deployment(t, model, gpu, 8)
		d.KVDtype, d.Parallel.Engine = dtype, engine
		d.Efficiency.LatentCompute, d.Efficiency.AttentionCompute = 0.55, 0.5
		of := func(tokens int) float64 { return step(d, batch{chunks: []chunk{{0, tokens}}}) }
		return of(3*8192) - 2*of(2*8192) + of(8192) // neither what is fixed nor what grows with tokens
	}
	for _, c := range []struct {
		model, gpu, engine string
		times              float64
	}{
		{"deepseek-r1", "b200-sxm", "sglang", 2}, {"deepseek-r1", "b200-sxm", "tensorrt-llm", 2},
		{"deepseek-r1", "b200-sxm", "vllm", 1}, {"deepseek-r1", "h200-sxm", "sglang", 1}, {"glm-5", "b200-sxm", "sglang", 1},
	} {
		wide, narrow := pairsS(c.model, c.gpu, c.engine, "bf16"), pairsS(c.model, c.gpu, c.engine, "fp8")
		assert.InEpsilon(t, c.times, wide/narrow, 0.05, "%s, %s, %s", c.model, c.gpu, c.engine)
	}
}

// A prompt that is read in two chunks of 2,048 tokens expands the latents of the first one again: DeepSeek-R1 on 8
// H100, by 2 · 512 · 16 · 256 FLOPs in fp8 a token and layer, where arithmetic binds, beside what the second half of
// the prompt multiplies more than the first. GLM-5, whose attention is sparse, stays on its latents.
func TestEarlierChunksAreExpandedAgain(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h100-sxm", 8)
	d.Efficiency.KVBandwidth = 0.8
	d.Efficiency.Compute = 0.5
	again := step(d, batch{chunks: []chunk{{2048, 2048}}})
	first := step(d, batch{chunks: []chunk{{0, 2048}}})
	more := 61 * 2048 * 2048 * 2 * 16 * 320 / 989.4e12 // pairs with the first chunk
	assert.InEpsilon(t, 61*2048*max(2*512*16*256/(0.5*1978.9e12), 16*320*4/(0.8*3.35e12))+more, again-first, 0.03)
	last := step(d, batch{chunks: []chunk{{8191, 1}}}) - step(d, batch{chunks: []chunk{{0, 1}}})
	assert.Less(t, last, (again-first)/10, "a single token attends to the latents themselves")
	d = deployment(t, "glm-5", "h200-sxm", 8)
	b := batch{chunks: []chunk{{2048, 2048}}}
	assert.Zero(t, expandedS(&d, b, busiest(&d, b)))
}

// expandedS is expanding the latents of all context before each chunk, layer by layer, where attention is not sparse;
// or what absorbed products of all chunks take longer, if that is less.
func expandedS(d *hardware.Deployment, b batch, m mine) float64 {
	before, sum := 0.0, 0.0
	for _, c := range b.chunks {
		before += float64(c.computed) * m.prompt
	}
	one := linear(d, 1, 1, llm.Attention)
	if one.computeS == 0 {
		return 0
	}
	e, losses := &d.Efficiency, 1.0
	if e.QuantizedCompute > 0 && one.quantizedS > 0 {
		losses = e.QuantizedCompute
	}
	parameters := float64(d.Model.Params()[llm.Attention]) / float64(d.Parallel.Tensor)
	each := one.computeS / parameters // 2 FLOPs
	pairs := 0.0
	for _, c := range b.chunks {
		pairs += float64(c.tokens) * (float64(c.computed) + float64(c.tokens+1)/2) * m.prompt
	}
	for _, r := range d.Model.Layers {
		a := r.Mixer.Attention
		if a.Latent.Rank == 0 || a.Latent.Direct || a.Index.TopK > 0 {
			continue
		}
		heads := float64(r.Count) * float64(a.Heads) / float64(d.Parallel.Tensor) * before
		bytes := heads * float64(a.KeyDim+a.Latent.RopeDim+a.ValueDim) * 2 * 2
		multiplied := heads * float64(a.Latent.Rank*(a.KeyDim+a.ValueDim))
		expanding := powers(bytes/(e.KVBandwidth*d.GPU.BandwidthBps.Value), multiplied*each/(e.Compute*losses), e.Overlap)
		k, achieved, peak := cost(d, a), e.AttentionCompute, promptPeak(d, a)
		absorbed, peakLatent := achieved, attentionPeak(d)
		if e.LatentCompute > 0 {
			absorbed = e.LatentCompute
			if d.KVDtype == "fp8" && d.GPU.Architecture == "blackwell" {
				peakLatent = d.GPU.FLOPS.FP8.Value
			}
		}
		longer := k.decode/(absorbed*peakLatent) - k.pair/(achieved*peak)
		sum += min(expanding, float64(r.Count)*pairs*max(0, longer))
	}
	return sum
}
