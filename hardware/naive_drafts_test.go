package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// verified is a step spelled out: decode i, with its context before the step, verifies so many drafts.
type verified struct {
	batch
	drafts []int
}

// all is how many drafts are verified.
func (b verified) all() (n int) {
	for _, k := range b.drafts {
		n += k
	}
	return n
}

// shape sums it up as an instance would.
func (b verified) shape(d *hardware.Deployment) sim.Shape {
	last := b.batch
	last.decodes = b.seen(1)
	s := last.shape(d)
	s.Drafts = int64(b.all())
	s.DecodeTokens += s.Drafts
	s.Outputs = int(s.DecodeTokens) + b.ends
	s.Capped[0].Growing, s.Capped[1].Growing = 0, 0
	return s
}

// seen is what the last row of each decode attends to, itself and so much of its drafts included.
func (b verified) seen(part float64) (contexts []int) {
	for i, context := range b.decodes {
		contexts = append(contexts, context+1+int(part*float64(b.drafts[i])))
	}
	return contexts
}

// decodesS is what the decodes of a pass attend for, each of so many rows, view by view: they read the cache of a
// sequence once, but for rows that choose for themselves; a window slides on with its rows. What a layer sees whole is
// given as the mean of a sequence, the windows are those of the last row of the step.
func decodesS(d *hardware.Deployment, windows []int, whole, rows float64, prompts bool) (allS, readS float64) {
	e, n := &d.Efficiency, float64(len(windows))
	for _, r := range d.Model.Layers {
		a, layers := r.Mixer.Attention, float64(r.Count)
		if a.Heads == 0 {
			continue
		}
		for _, v := range views(d, a) {
			sees := n * whole
			if v.w.Tokens > 0 {
				sees = 0
				for _, context := range windows {
					sees += float64(seen(v.w, context))
				}
			}
			reads, pairs := sees, sees*rows
			switch {
			case v.chosen:
				reads = pairs
			case v.w.Tokens > 0:
				reads += n * (rows - 1)
			}
			cacheS := max(v.k.bytes/(e.KVBandwidth*d.GPU.BandwidthBps.Value), v.k.perHead/4.5e12)
			readingS := layers * (reads*cacheS + pairs*v.k.scores/(e.KVBandwidth*d.GPU.BandwidthBps.Value))
			if prompts {
				readingS *= max(1, e.MixedKV)
			}
			achieved, peak, overlap := e.AttentionCompute, attentionPeak(d), e.Overlap
			if a.Latent.Rank > 0 && !v.index && e.LatentCompute > 0 {
				achieved, overlap = e.LatentCompute, math.Inf(1)
				if d.GPU.Architecture == "blackwell" && d.KVDtype == "fp8" {
					peak = d.GPU.FLOPS.FP8.Value
				}
			}
			padding := 1.0
			if p := latents(d, a, []part{{}})[0].padding; p > 0 && !v.index && !ideal(d) {
				padding = p
			}
			readS += readingS
			allS += powers(readingS, layers*pairs*v.k.decode/(peak*achieved)*padding, overlap)
		}
	}
	return allS, readS
}

// stateS is writing the recurrent states of n sequences after each of their rows but the first.
func stateS(d *hardware.Deployment, n, rows float64) float64 {
	return n * (rows - 1) * d.Model.RecurrentBytes() / float64(d.Parallel.Tensor) /
		(d.Efficiency.KVBandwidth * d.GPU.BandwidthBps.Value)
}

// pass is one run of a model: what the busiest GPU has of it, its time and that of reading caches, and how long the
// host takes to launch it.
type pass struct {
	m                    mine
	gpuS, readS, launchS float64
}

// passOf is a run of d's model over the decodes and the chunks of a step: so many rows and outputs a decode on average.
func passOf(d *hardware.Deployment, chunks batch, windows []int, whole, rows, outputs float64) pass {
	n, m := float64(len(windows)), busiest(d, chunks)
	m.decodes, m.sequences = len(windows), m.sequences+n
	m.rows, m.tokens, m.outputs = m.rows+n*rows, m.tokens+n*rows, m.outputs+n*outputs
	eager := pad(d, &m)
	p := pass{m: m}
	p.gpuS, p.launchS = naivePass(d, chunks, m, eager)
	attendS, readS := decodesS(d, windows, whole, rows, len(chunks.chunks) > 0)
	written := stateS(d, n, rows)
	p.gpuS += attendS + written + n*(rows-1)*d.Efficiency.SequenceS
	p.readS = readS + written + 2*n*stateS(d, 1, 2)
	return p
}

// naiveDrafts is the length of a step with drafts and how much of it is reading caches, as the comment of speculate
// has it: verifying them, one pass of the drafter over all that was verified and what is left of one a draft.
func naiveDrafts(d *hardware.Deployment, b verified) (stepS, readS float64) {
	n, all := float64(len(b.decodes)), float64(b.all())
	chunks := batch{chunks: b.chunks, ends: b.ends}
	mean := func(contexts []int) (sum float64) {
		for _, c := range contexts {
			sum += float64(c) / n
		}
		return sum
	}
	last, first := b.seen(1), b.seen(0)
	rows := 1.0
	if n > 0 {
		rows = 1 + all/n
	}
	verify := passOf(d, chunks, last, mean(last), rows, rows)
	if d.Speculation != nil && all > 0 {
		verify.gpuS += d.Speculation.HostS
	}
	if d.Speculation != nil && d.Speculation.Drafter != nil {
		draftS, readDraftS := draftingS(d, chunks, last, mean(first), rows)
		verify.gpuS, readS = verify.gpuS+draftS, readDraftS
	}
	return withHost(d, besideLaunch(d, b.batch, verify.gpuS, verify.launchS), verify.m), verify.readS + readS
}

// draftingS is all passes of the drafter. Drafts are spread evenly over the sequences and rounded up.
func draftingS(d *hardware.Deployment, chunks batch, last []int, known, rows float64) (sumS, readS float64) {
	sub, drafter := *d, d.Speculation.Drafter
	sub.Model, sub.Speculation, sub.Decoding = drafter.Model, nil, hardware.Decoding{}
	sub.Efficiency.StepS, sub.Efficiency.SequenceS, sub.Efficiency.SequenceHostS = 0, 0, 0
	caches := len(sub.Model.Attention()) > 0
	if !caches {
		chunks = batch{}
	}
	drafts := int(math.Ceil(rows - 1))
	if drafts == 0 {
		last = nil // what decodes without drafts is not known to the drafter
	}
	pass := func(chunks batch, whole, rows float64) {
		p := passOf(&sub, chunks, last, whole, rows, 1)
		sumS, readS = sumS+besideLaunch(&sub, chunks, p.gpuS, p.launchS), readS+p.readS
	}
	switch {
	case !caches && drafts > 0:
		pass(batch{}, known, 1)
	case drafts > 0 || len(chunks.chunks) > 0:
		pass(chunks, known, rows)
	}
	if drafter.Parallel {
		return sumS, readS
	}
	for range drafts - 1 { // each at the mean of the contexts of all
		pass(batch{}, known+float64(drafts)/2, 1)
	}
	return sumS, readS
}

// drafter draws a deployment of one of the targets with what drafts for it.
func drafter(t *testing.T, random *rand.Rand) hardware.Deployment {
	c := targets[random.IntN(len(targets))]
	d := deployment(t, c.model, []string{"h200-sxm", "b200-sxm"}[random.IntN(2)], 8)
	if random.IntN(4) > 0 {
		d.Efficiency = randomEfficiency(random)
	}
	d.KVDtype = []string{"bf16", "fp8"}[random.IntN(2)]
	d.Launch.Eager, d.Launch.Async, d.Materialized = random.IntN(3) == 0, random.IntN(2) == 0, random.IntN(4) == 0
	d.PerHead = !d.Materialized && random.IntN(3) == 0
	if random.IntN(3) == 0 {
		d.Launch.Graphs = hardware.CaptureSizes(1 + random.IntN(100))
	}
	var given *llm.Model
	if c.draft != "" {
		m := model(t, c.draft)
		given = &m
	}
	d = speculating(t, d, c.method, 1+random.IntN(8), given)
	if random.IntN(2) == 0 {
		d.Speculation.HostS = 1e-3 * random.Float64()
	}
	return d
}

// randomDrafts draws a step of which each decode verifies as many drafts as it may, or fewer, or none does.
func randomDrafts(random *rand.Rand, d *hardware.Deployment) verified {
	b := verified{batch: randomBatch(random, 1<<15)}
	none := random.IntN(5) == 0
	for i := range b.decodes {
		b.decodes[i] += 8
		k := 0
		if !none {
			k = d.Speculation.Tokens - random.IntN(2)*random.IntN(d.Speculation.Tokens+1)
		}
		b.drafts = append(b.drafts, k)
	}
	return b
}

// compareDrafts compares the price of a step, and what it says of reading caches, with the naive sum.
func compareDrafts(t *testing.T, random *rand.Rand, d *hardware.Deployment, b verified) {
	var g sim.Segment
	r := hardware.NewRoofline(*d, random.IntN(30))
	s := b.shape(d)
	r.Price([]sim.Shape{s}, &g)
	wantS, readS := naiveDrafts(d, b)
	what := []any{"%s %+v %+v %+v, %+v %v", d.Model.Name, d.Parallel, d.Launch, d.Efficiency, b.batch, b.drafts}
	rounding := 20 * float64(1+d.Speculation.Tokens+len(b.decodes))
	if s.Drafts == 0 {
		rounding += roundingPS(s)
	}
	require.InDelta(t, wantS*1e12, float64(g.First), rounding+1e-9*wantS*1e12, what...)
	require.Empty(t, partsBroken(&g), what...)
	if len(b.chunks) == 0 {
		require.InDelta(t, readS*1e12, float64(g.Part[sim.KV].A), rounding+1e-9*readS*1e12, what...)
	}
}

// TestAStepWithDraftsIsTheNaiveSum of verifying them and of the passes that draft, with real losses and with none, of
// as many drafts in each sequence or of fewer in some, beside prompts or not; so is what it says of reading caches.
func TestAStepWithDraftsIsTheNaiveSum(t *testing.T) {
	random := rand.New(rand.NewPCG(51, 52))
	met := map[string]int{}
	for range 600 {
		d := drafter(t, random)
		b := randomDrafts(random, &d)
		compareDrafts(t, random, &d, b)
		none := b.all() == 0
		for name, on := range map[string]bool{
			"even": b.all() > 0 && b.all()%len(b.decodes) == 0, "uneven": b.all() > 0 && b.all()%len(b.decodes) > 0,
			"prompts": b.all() > 0 && len(b.chunks) > 0, "none": none && len(b.decodes) > 0,
			"eager": d.Launch.Eager && b.all() > 0,
			"host":  d.Speculation.HostS > 0 && b.all() > 0,
		} {
			if on {
				met[name]++
			}
		}
	}
	assert.Len(t, met, 6, "every feature was met: %v", met)
}

// TestAStepWithDraftsOfASmallModelIsTheNaiveSum, where numbers of heads, experts, elements and tokens are down to one.
func TestAStepWithDraftsOfASmallModelIsTheNaiveSum(t *testing.T) {
	random := rand.New(rand.NewPCG(53, 54))
	for range 300 {
		d := smallDeployment(t, random)
		d.Parallel.Pipeline, d.Parallel.Data, d.Parallel.Expert = 1, 0, false
		d.Parallel.AllToAll, d.Parallel.Overlap, d.Routing = "", "", hardware.Routing{}
		method := []string{"eagle", "medusa", "ngram"}[random.IntN(3)]
		d = speculating(t, d, method, 1+random.IntN(3), nil)
		compareDrafts(t, random, &d, randomDrafts(random, &d))
	}
}

// TestAGivenHeadIsAHead: one that is given is the same whether or not its checkpoint says that its LM head is its
// embedding, for it shares the target's or has one of fewer tokens.
func TestAGivenHeadIsAHead(t *testing.T) {
	tied := model(t, "llama-3.2-1b")
	require.True(t, tied.TiedEmbeddings)
	untied := tied
	untied.TiedEmbeddings = false
	target := tied
	for _, vocab := range []int{0, 1000} {
		var all []hardware.Drafter
		for _, given := range []llm.Model{tied, untied} {
			drafter, err := hardware.NewDrafter(hardware.DraftEAGLE, target, &given, 2, vocab)
			require.NoError(t, err)
			all = append(all, *drafter)
		}
		assert.Equal(t, all[1], all[0])
	}
}
