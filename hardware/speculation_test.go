package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// speculating returns the deployment with drafts by a method.
func speculating(t require.TestingT, d hardware.Deployment, method string, drafts int,
	given *llm.Model) hardware.Deployment {
	drafter, err := hardware.NewDrafter(hardware.DraftMethod(method), d.Model, given, drafts, 0)
	require.NoError(t, err)
	d.Speculation = &hardware.Speculation{Tokens: drafts, Drafter: drafter}
	require.NoError(t, d.Validate())
	return d
}

// drafted is a step spelled out: each decode, with its context before the step, verifies so many drafts; chunks beside
// them.
type drafted struct {
	batch
	drafts int
}

// shape sums it up as an instance would, which keeps no count of windows that grow.
func (b drafted) shape(d *hardware.Deployment) sim.Shape {
	last := b.batch
	last.decodes = nil
	for _, context := range b.decodes {
		last.decodes = append(last.decodes, context+1+b.drafts)
	}
	s := last.shape(d)
	s.Drafts = int64(len(b.decodes) * b.drafts)
	s.DecodeTokens += s.Drafts
	s.Outputs = int(s.DecodeTokens) + b.ends
	s.Capped[0].Growing, s.Capped[1].Growing = 0, 0
	return s
}

// least returns the time of the bytes and of the FLOPs that the step takes at peak, sequence by sequence and row by
// row: the verification and each pass of the drafter. Rows of a sequence read its cache once, the windows of the last
// row alone.
func (b drafted) least(d *hardware.Deployment) (memoryS, computeS float64) {
	memoryS, computeS = b.pass(d, 1+b.drafts, 1+b.drafts, 1+b.drafts, true)
	if d.Speculation == nil || d.Speculation.Drafter == nil {
		return memoryS, computeS
	}
	sub := *d
	sub.Model = d.Speculation.Drafter.Model
	passes := b.drafts
	if d.Speculation.Drafter.Parallel {
		passes = 1
	}
	for j := 1; j <= passes; j++ {
		rows, caches := 1, len(sub.Model.Attention()) > 0
		if j == 1 && caches {
			rows = 1 + b.drafts
		}
		m, c := b.pass(&sub, rows, 1, j, j == 1 && caches)
		memoryS, computeS = memoryS+m, computeS+c
	}
	return memoryS, computeS
}

// pass is one run of d's model: of rows per sequence, some of which yield a token, the last of which attends to so many
// tokens beyond the context.
func (b drafted) pass(d *hardware.Deployment, rows, outputs, beyond int, prompts bool) (memoryS, computeS float64) {
	one := batch{}
	if prompts {
		one.chunks, one.ends = b.chunks, b.ends
	}
	n := len(b.decodes)
	m := busiest(d, one)
	m.rows, m.tokens = m.rows+float64(n*rows), m.tokens+float64(n*rows)
	m.outputs, m.sequences = m.outputs+float64(n*outputs), m.sequences+float64(n)
	for _, p := range twinOf(d, one, m) {
		memoryS, computeS = memoryS+p.memoryS, computeS+p.computeS
	}
	for _, r := range d.Model.Layers {
		if r.Mixer.Attention.Heads == 0 {
			continue
		}
		for _, context := range b.decodes {
			for i := range rows {
				sees := context + beyond - i
				for _, p := range attention(d, r.Mixer.Attention, float64(r.Count), batch{decodes: []int{sees}}) {
					computeS += p.computeS
					if i == 0 {
						memoryS += p.bytes / d.GPU.BandwidthBps.Value
					}
				}
			}
		}
	}
	return memoryS, computeS
}

// targets are models of every kind of attention, with what can draft for them.
var targets = []struct{ model, method, draft string }{
	{"llama-3.1-70b", "draft", "llama-3.2-1b"}, {"llama-3.1-8b", "eagle", ""}, {"gpt-oss-120b", "eagle",
		""}, {"deepseek-r1", "mtp", ""},
	{"deepseek-v3.2", "mtp", ""}, {"mixtral-8x7b", "medusa", ""}, {"gemma-2-27b", "draft",
		"gemma-2-9b"}, {"qwen3.5-35b-a3b", "eagle", ""},
	{"gpt-oss-120b", "draft", "gpt-oss-20b"}, {"llama-2-70b", "ngram", ""},
}

// No step with drafts is shorter than max(bytes / bandwidth, FLOPs / peak), drafts included; it says so; its parts sum
// to it; and more drafts never make it shorter.
func TestNoStepWithDraftsBeatsItsBound(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 26))
	for _, c := range targets {
		for range 25 {
			d := deployment(t, c.model, "h200-sxm", 8)
			if random.IntN(2) == 0 {
				d.Efficiency = randomEfficiency(random)
			}
			var given *llm.Model
			if c.draft != "" {
				m := model(t, c.draft)
				given = &m
			}
			drafts := 1 + random.IntN(8)
			d = speculating(t, d, c.method, drafts, given)
			b := drafted{randomBatch(random, 1<<15), drafts}
			if len(b.decodes) == 0 {
				b.decodes = []int{77}
			}
			for i := range b.decodes {
				b.decodes[i] += drafts // what was verified before stands in the context
			}
			r := hardware.NewRoofline(d, 4)
			var g sim.Segment
			r.Price([]sim.Shape{b.shape(&d)}, &g)
			memoryS, computeS := b.least(&d)
			ideal := max(memoryS, computeS) * 1e12
			what := []any{"%s %s, %d drafts, %+v", c.model, c.method, drafts, b}
			require.GreaterOrEqual(t, float64(g.First), ideal*(1-1e-12), what...)
			require.LessOrEqual(t, g.Bound.A, g.First, what...)
			require.LessOrEqual(t, float64(g.Bound.A), ideal*(1+1e-9), what...)
			// rows of a window that fills see less than is taken off
			require.GreaterOrEqual(t, float64(g.Bound.A), ideal*0.98-10, what...)
			require.Equal(t, 1, g.Steps)
			require.Empty(t, partsBroken(&g), what...)
			fewer := drafted{b.batch, drafts - 1}
			var less sim.Segment
			r.Price([]sim.Shape{fewer.shape(&d)}, &less)
			require.LessOrEqual(t, less.First, g.First, what...)
		}
	}
}

// A step without drafts costs what it costs where nothing drafts; only prompts are read by the drafter too.
func TestNoDraftsCostNothing(t *testing.T) {
	var all []hardware.Deployment
	for _, name := range []string{"llama-3.1-8b", "gpt-oss-120b", "mistral-7b-v0.1"} {
		all = append(all, deployment(t, name, "h200-sxm", 1))
	}
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		d := rapid.SampledFrom(all).Draw(t, "deployment")
		r, plain := hardware.NewRoofline(speculating(t, d, "eagle", 3, nil), 4), hardware.NewRoofline(d, 4)
		b := randomBatch(random, 1<<15)
		with, without := price(r, b), price(plain, b)
		if len(b.chunks) == 0 {
			require.Equal(t, without, with)
			return
		}
		require.Greater(t, with.First, without.First)
		hosted := speculating(t, d, "eagle", 3, nil)
		hosted.Speculation.HostS += 1e-3
		require.Equal(t, with, price(hardware.NewRoofline(hosted, 4), b), "the host prepares no draft")
	})
}

// Drafting takes memory: weights, less what a head shares, and a cache of its own.
func TestDraftersTakeMemory(t *testing.T) {
	budget := func(d hardware.Deployment) hardware.Memory {
		m, err := d.Memory(0.9, 2048, 64, 16)
		require.NoError(t, err)
		return m
	}
	d := deployment(t, "llama-3.1-70b", "h100-sxm", 4)
	small := model(t, "llama-3.2-1b")
	plain := budget(d)
	with := budget(speculating(t, d, "draft", 3, &small))
	assert.InEpsilon(t, small.WeightBytes()/4, with.Weights-plain.Weights, 1e-3)
	assert.InDelta(t, 16*2*2*64*2, with.TokenBytes-plain.TokenBytes, 1,
		"16 layers, keys and values, 2 of 8 heads of 64, bf16")
	assert.Less(t, with.Blocks, plain.Blocks)

	head := budget(speculating(t, d, "eagle", 3, nil))
	const h, f = 8192, 28672
	layer, merge := float64(2*h*h+2*h*1024+3*h*f), float64(2*h*h)
	assert.InEpsilon(t, 2*(layer/4+merge), head.Weights-plain.Weights, 1e-3, "embedding and LM head are the target's")
	assert.InDelta(t, 2*2*128*2, head.TokenBytes-plain.TokenBytes, 1, "one layer of 2 of 8 heads of 128")

	heads := budget(speculating(t, d, "medusa", 4, nil))
	assert.InEpsilon(t, 2*(4*128256*h/4+4*h*h), heads.Weights-plain.Weights, 1e-3, "4 LM heads")
	assert.Equal(t, plain.TokenBytes, heads.TokenBytes)

	v3 := deployment(t, "deepseek-r1", "h200-sxm", 8)
	module := budget(speculating(t, v3, "mtp", 3, nil))
	assert.InDelta(t, 576*2, module.TokenBytes-budget(v3).TokenBytes, 1, "one layer's latent")
	const experts, merge8 = 256 * 3 * 7168 * 2048, 2 * 7168 * 7168
	assert.InEpsilon(t, experts/8.0+merge8, module.Weights-budget(v3).Weights, 0.04,
		"one module, in fp8, of which all GPUs hold the merge")
	three := speculating(t, v3, "mtp", 3, nil)
	three.Speculation.Drafter.Modules = 3
	assert.InDelta(t, 3*576*2, budget(three).TokenBytes-budget(v3).TokenBytes, 1, "one of each of three modules")
}

// Of a hybrid model each draft keeps a state, for the rejected leave none.
func TestDraftsOfRecurrencesKeepStates(t *testing.T) {
	d := deployment(t, "qwen3.5-35b-a3b", "h200-sxm", 1)
	plain, err := d.Memory(0.9, 2048, 64, 16)
	require.NoError(t, err)
	d.Speculation = &hardware.Speculation{Tokens: 3}
	with, err := d.Memory(0.9, 2048, 64, 16)
	require.NoError(t, err)
	assert.InEpsilon(t, 4*plain.FixedBytes, with.FixedBytes, 1e-9)
}

// TestAStageHasItsPartOfACache: of what a token adds and of what a sequence takes whatever its length.
func TestAStageHasItsPartOfACache(t *testing.T) {
	d := deployment(t, "qwen3.5-35b-a3b", "h200-sxm", 1)
	whole, err := d.Memory(0.9, 2048, 64, 16)
	require.NoError(t, err)
	d.Parallel.Pipeline = 2
	half, err := d.Memory(0.9, 2048, 64, 16)
	require.NoError(t, err)
	require.Positive(t, half.FixedBytes)
	assert.InEpsilon(t, whole.FixedBytes/2, half.FixedBytes, 1e-12)
	assert.InEpsilon(t, whole.TokenBytes/2, half.TokenBytes, 1e-12)
}

// TestDraftsTakeLogitsOfTheirOwn: 64 sequences that verify three drafts take what 256 without drafts do.
func TestDraftsTakeLogitsOfTheirOwn(t *testing.T) {
	activations := func(drafts, sequences int) float64 {
		d := deployment(t, "llama-3.1-8b", "h200-sxm", 1)
		if drafts > 0 {
			d.Speculation = &hardware.Speculation{Tokens: drafts}
		}
		m, err := d.Memory(0.9, 8192, sequences, 16)
		require.NoError(t, err)
		return m.Activations
	}
	assert.Equal(t, activations(0, 256), activations(3, 64))
	assert.Greater(t, activations(0, 257), activations(0, 256), "a row of logits each")
}

// TestTheBoundOfDraftsIsExactWithoutWindows: row i of a sequence sees what those before it do and one token more. 400
// sequences of 8 rows and short contexts are bound by FLOPs.
func TestTheBoundOfDraftsIsExactWithoutWindows(t *testing.T) {
	d := speculating(t, deployment(t, "llama-3.1-8b", "h200-sxm", 1), "ngram", 7, nil)
	b := drafted{drafts: 7}
	for i := range 400 {
		b.decodes = append(b.decodes, 8+i%3)
	}
	var g sim.Segment
	hardware.NewRoofline(d, 1).Price([]sim.Shape{b.shape(&d)}, &g)
	memoryS, computeS := b.least(&d)
	require.Greater(t, computeS, memoryS)
	require.InEpsilon(t, computeS*1e12, float64(g.Bound.A), 1e-9)
}

// The cost of drafting: K sequential passes of a layer and an LM head, or one of K heads; the host's time as given.
func TestDraftingCostsItsPasses(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	const bandwidth, head = 3.35e12, 128256 * 4096
	const h, f = 4096, 14336
	layer := float64(2*h*h + 2*h*1024 + 3*h*f + 2*h*h)
	for k := 1; k <= 7; k += 3 {
		_, eagleS := hardware.NewRoofline(speculating(t, d, "eagle", k, nil), 1).StepWithDrafts(1, 1, k)
		assert.InEpsilon(t, float64(k)*2*(layer+head)/bandwidth, eagleS, 1e-3)
		_, medusaS := hardware.NewRoofline(speculating(t, d, "medusa", k, nil), 1).StepWithDrafts(1, 1, k)
		assert.InEpsilon(t, float64(k)*2*(head+h*h)/bandwidth, medusaS, 1e-3, "each has weights of its own")
	}
	d.Speculation = &hardware.Speculation{Tokens: 3, HostS: 2e-3}
	_, host := hardware.NewRoofline(d, 1).StepWithDrafts(5, 100, 3)
	assert.InDelta(t, 2e-3, host, 1e-12)
}

// Verifying reads weights once and multiplies them by 1 + K rows: compute takes over at a 1 + K times smaller batch.
func TestVerificationTurnsComputeBoundSooner(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	from := func(drafts int) int {
		d.Speculation = &hardware.Speculation{Tokens: max(1, drafts)}
		r := hardware.NewRoofline(d, 1)
		for n := 1; ; n++ {
			if g, _ := r.StepWithDrafts(n, 1, drafts); g.ComputeBound {
				return n
			}
		}
	}
	plain := from(0)
	for _, k := range []int{1, 3, 7} {
		assert.InDelta(t, math.Ceil(float64(plain)/float64(1+k)), from(k), 1)
	}
}

func TestDraftersThatCannotBe(t *testing.T) {
	target, other, windowed := model(t, "llama-3.1-8b"), model(t, "qwen3-0.6b"), model(t, "gpt-oss-20b")
	for _, c := range []struct {
		method string
		given  *llm.Model
		vocab  int
		want   string
	}{
		{"draft", nil, 0, "hardware: draft_model missing; expected the model that drafts for llama-3.1-8b"},
		{"draft", &other, 0,
			"hardware: draft_model qwen3-0.6b has a vocabulary of 151936 tokens and llama-3.1-8b one of 128256; " +
				"expected one that shares it"},
		{"eagle", &other, 0,
			"hardware: draft_model qwen3-0.6b is 1024 wide and llama-3.1-8b is 4096; expected a head for the target"},
		{"eagle", nil, 1 << 20,
			"hardware: draft_vocab 1048576; llama-3.1-8b has 128256 tokens, of which a head drafts some or all"},
		{"mtp", nil, 0,
			"hardware: method mtp, but the checkpoint of llama-3.1-8b has no such module; " +
				"accepted: draft, eagle, medusa, ngram"},
		{"eagel", nil, 0, `hardware: speculation method "eagel" not known; valid values: draft, eagle, medusa, mtp, ngram`},
	} {
		_, err := hardware.NewDrafter(hardware.DraftMethod(c.method), target, c.given, 3, c.vocab)
		assert.EqualError(t, err, c.want)
	}
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	windowed.Vocab = d.Model.Vocab
	d.Speculation = &hardware.Speculation{Tokens: 3, Drafter: &hardware.Drafter{Model: windowed}}
	assert.EqualError(t, d.Validate(),
		"hardware: draft_model gpt-oss-20b attends to a window of 128 tokens, which llama-3.1-8b does not have; "+
			"expected one whose windows are among the target's")
	d.Speculation = &hardware.Speculation{}
	assert.EqualError(t, d.Validate(), "hardware: num_speculative_tokens 0; expected 1 to 256")
}

// Choosing a token costs by the vocabulary and the rows, and a grammar by the step.
func TestDecodingCosts(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	step := func(sampling hardware.Sampling, structuredS float64, n int) float64 {
		d.Decoding = hardware.Decoding{Sampling: sampling, StructuredS: structuredS}
		require.NoError(t, d.Validate())
		r := hardware.NewRoofline(d, 4)
		g := r.Step(n, 100)
		require.Empty(t, partsBroken(&g))
		return g.First.Seconds()
	}
	for _, n := range []int{1, 4, 9} {
		greedy := step("", 0, n)
		assert.InDelta(t, greedy, step(hardware.Greedy, 0, n), 0)
		assert.InDelta(t, float64(n)*24*128256/3.35e12, step(hardware.TopK, 0, n)-greedy, 1e-11)
		assert.InDelta(t, float64(n)*100*128256/3.35e12, step(hardware.TopP, 0, n)-greedy, 1e-11)
		assert.InDelta(t, 84e-6+128256*1.78e-9+float64(n)*367*128256/3.35e12, step(hardware.TopPSorted, 0, n)-greedy, 1e-11)
		assert.InDelta(t, 3e-3, step(hardware.Greedy, 3e-3, n)-greedy, 1e-11)
	}
	d.Decoding = hardware.Decoding{Sampling: "beam"}
	assert.EqualError(t, d.Validate(),
		`hardware: sampling "beam" not known; valid values: greedy, top-k, top-p, top-p-sorted`)
}

// A step with drafts is priced once per step, whatever the batch: it allocates nothing.
func BenchmarkPriceDrafts(b *testing.B) {
	r := hardware.NewRoofline(speculating(b, deployment(b, "llama-3.1-70b", "h100-sxm", 4), "eagle", 3, nil), 256)
	ranks := []sim.Shape{r.DraftShape(64, 2048, 3)}
	var g sim.Segment
	b.ReportAllocs()
	for range b.N {
		ranks[0].DecodeCtx += 64
		r.Price(ranks, &g)
	}
}

// TestAHeadReadsTheLMHeadAsItIs: in the target's format where it shares it, and in its own where that is of fewer
// tokens.
func TestAHeadReadsTheLMHeadAsItIs(t *testing.T) {
	target := model(t, "llama-3.1-8b")
	target.Precision.Weights[llm.Head] = llm.Format{Dtype: "fp8", Bits: 8}
	for vocab, want := range map[int]string{0: "fp8", target.Vocab: "fp8", target.Vocab - 1: "bf16"} {
		drafter, err := hardware.NewDrafter(hardware.DraftEAGLE, target, nil, 2, vocab)
		require.NoError(t, err)
		assert.Equal(t, want, drafter.Model.Precision.Weights[llm.Head].Dtype, "%d tokens", vocab)
		assert.Equal(t, want == "fp8", drafter.SharesHead)
	}
}
