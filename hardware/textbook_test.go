package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// textbook returns the sum over parts of max(bytes / bandwidth, FLOPs / peak) in seconds, of what residual streams
// move, and of what links take: a ring moves 2(g−1)/g of the activations, two bytes each, after every mixer and every
// feed-forward network.
func textbook(d *hardware.Deployment, b batch) float64 {
	sum := float64(b.rows()) * streamBytes(d) / d.GPU.BandwidthBps.Value
	for _, p := range twin(d, b) {
		sum += max(p.memoryS, p.computeS)
	}
	if g := float64(d.Parallel.Tensor); g > 1 {
		reduces := 0
		for _, r := range d.Model.Layers {
			if r.Mixer.Attention.Heads > 0 || r.Mixer.Recurrence.ValueHeads > 0 {
				reduces += r.Count
			}
			if r.FFN.Width > 0 || r.FFN.Experts > 0 {
				reduces += r.Count
			}
		}
		bytes := float64(b.rows()*d.Model.Hidden) * 2 * 2 * (g - 1) / g
		sum += float64(reduces) * bytes / d.GPU.ScaleUpBps.Value
		logits := float64(len(b.decodes)+b.ends) * float64(d.Model.Vocab) * 2 * (g - 1) / g
		sum += logits / d.GPU.ScaleUpBps.Value
	}
	return sum + expandedS(d, b, mine{prompt: 1})
}

// roundingPS is how far integers may raise a step above its formula: a picosecond per context token and window, and
// two.
func roundingPS(s sim.Shape) float64 {
	return 2 + float64(s.DecodeCtx+s.Capped[0].Ctx+s.Capped[1].Ctx)
}

// The textbook engine is the roofline: the parts of a step one after the other, each at its own bound. So a step is
// never below the bound of the whole, which overlaps the parts, and they are equal where one resource binds all parts.
func TestTextbookIsTheSumOfItsParts(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	for _, name := range someModels {
		for _, weights := range []string{"bf16", "fp8", "int4"} {
			d := hardware.Deployment{GPU: gpu(t, "h100-sxm"), Model: model(t, name), KVDtype: "fp8",
				Efficiency: efficiency(t, "textbook")}
			var err error
			d.Model, err = d.Model.WithWeights(weights)
			require.NoError(t, err)
			if !fitting(&d) || d.Parallel.Tensor > 8 {
				continue
			}
			r := hardware.NewRoofline(d, 8)
			for range 40 {
				b := randomBatch(random, min(d.Model.ContextMax, 1<<18))
				want, got := textbook(&d, b)*1e12, float64(price(r, b).First)
				assert.GreaterOrEqual(t, got, want*(1-1e-12), "%s %s %+v", name, weights, b)
				assert.LessOrEqual(t, got, want*(1+1e-12)+roundingPS(b.shape(&d)), "%s %s %+v", name, weights, b)
			}
		}
	}
}

// one is a source of a single request, and a sink that keeps when its tokens came.
type one struct {
	sim.Request
	sent  bool
	ttft  sim.Duration
	gaps  []sim.Duration
	ended sim.Outcome
}

func (o *one) Next(r *sim.Request) bool {
	if o.sent {
		return false
	}
	o.sent = true
	*r = o.Request
	return true
}

func (o *one) First(r *sim.Request) { o.ttft = r.First.Sub(r.Arrival) }

func (o *one) Run(_ *sim.Instance, _ sim.Time, g *sim.Segment, n, tokens int) {
	for i := range n * tokens {
		o.gaps = append(o.gaps, g.Step(i))
	}
}

func (o *one) Gap(*sim.Instance, *sim.Request, sim.Time, sim.Cause) {
	panic("nothing holds up a request that is alone")
}

func (o *one) Burst(*sim.Instance, sim.Time, int) {}

func (o *one) Paused(*sim.Instance, sim.Time, sim.Time, *sim.Segment, int) {
	panic("a single request is never held up")
}

func (o *one) Done(_ *sim.Request, _ sim.Time, outcome sim.Outcome) { o.ended = outcome }

// A request that is alone has the latencies of the closed formula: the prompt in chunks, then each token after the
// context before it. The windowed prompts fit their windows and outgrow them while they decode.
func TestARequestAloneHasTheLatencyOfTheFormula(t *testing.T) {
	const budget = 2048
	for _, c := range []struct {
		model          string
		tensor         int
		prompt, output int
	}{
		{"llama-3.1-8b", 1, 1000, 3000},
		{"llama-3.1-8b", 1, 5000, 300},    // three chunks
		{"mistral-7b-v0.1", 1, 4000, 300}, // outgrows its window
		{"gemma-3-27b", 2, 900, 400},
		{"llama-4-scout", 8, 8000, 500}, // begins another chunk of attention
		{"gpt-oss-120b", 1, 100, 100},
		{"qwen3.5-35b-a3b", 2, 700, 100},
		{"deepseek-v2-lite", 1, 2048, 100},
	} {
		d := deployment(t, c.model, "h100-sxm", c.tensor)
		o := &one{Request: sim.Request{Prompt: int32(c.prompt), Output: int32(c.output), Arrival: 12345}}
		run, err := sim.New(sim.Config{Source: o, Sink: o, Pools: []*sim.PoolSpec{{
			Size: 1, KVBlocks: 1 << 20, BlockSize: 16, MaxModelLen: 1 << 20, Windows: d.Windows(),
			Model: hardware.NewRoofline(d, 4), Router: routers.LeastLoaded{},
			Scheduler: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: budget},
		}}})
		require.NoError(t, err)
		run.Run()
		require.Equal(t, sim.Completed, o.ended, c.model)
		require.Len(t, o.gaps, c.output-1, c.model)

		ttft := 0.0
		for done := 0; done < c.prompt; done += budget {
			b := batch{chunks: []chunk{{done, min(budget, c.prompt-done)}}}
			if done+budget >= c.prompt {
				b.ends = 1
			}
			ttft += math.Ceil(textbook(&d, b) * 1e12)
		}
		assert.InDelta(t, ttft, float64(o.ttft), 4, "TTFT of %s", c.model)
		for i, gap := range o.gaps {
			b := batch{decodes: []int{c.prompt + i + 1}}
			want := textbook(&d, b) * 1e12
			require.InDelta(t, want, float64(gap), roundingPS(b.shape(&d)), "token %d of %s", i+1, c.model)
			require.GreaterOrEqual(t, float64(gap), want*(1-1e-12), "token %d of %s", i+1, c.model)
		}
	}
}

// On Blackwell 148 multiprocessors each multiply 256 rows of the 8 heads of a rank at a time: any chunk of up to 4,736
// tokens takes as much longer for what comes before it, and one of twice as many twice that. Where kernels divide the
// keys, which Hopper's do, a chunk of half the tokens takes half.
func TestChunksWaitForTheirLongestTile(t *testing.T) {
	const before, after = 100_000, 120_000
	more := func(gpu string, tokens, others int) float64 {
		d := deployment(t, "qwen3-32b", gpu, 8)
		d.Efficiency.Link, d.Efficiency.AttentionCompute = 0.9, 0.8
		r := hardware.NewRoofline(d, 0)
		at := func(computed int) float64 {
			b := batch{chunks: []chunk{{computed, tokens}}}
			for range others {
				b.chunks = append(b.chunks, chunk{0, 64})
			}
			return price(r, b).First.Seconds()
		}
		return at(after) - at(before)
	}
	const layers, rowFLOPs = 64, (after - before) * 2 * (128 + 128)
	tile := layers * 256 * rowFLOPs / (0.8 * 2.25e15 / 148)
	for _, tokens := range []int{1, 64, 1000, 4000} {
		assert.InEpsilon(t, tile, more("b300-sxm", tokens, 0), 1e-6, "%d tokens", tokens)
		assert.InEpsilon(t, tile, more("b300-sxm", tokens, 3), 1e-6, "%d tokens beside new prompts", tokens)
	}
	assert.InEpsilon(t, 2*tile, more("b300-sxm", 2*4736, 0), 1e-6)
	assert.InEpsilon(t, 0.5*more("h100-sxm", 4096, 0), more("h100-sxm", 2048, 0), 1e-6)
}
