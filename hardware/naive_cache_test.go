package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// cached is what one layer caches of a sequence on a rank: bytes of an entry, and of an index key for so many tokens.
type cached struct {
	llm.SelfAttention
	entry, whole, key float64 // whole: each head once
	keyed             int     // tokens of a key
}

// caches walks over the layers that attend.
func caches(d *hardware.Deployment) (all []cached) {
	for _, r := range d.Model.Layers {
		a := r.Mixer.Attention
		if a.Heads == 0 {
			continue
		}
		k := cost(d, a)
		l := cached{SelfAttention: a, entry: k.bytes, whole: k.bytes, keyed: max(1, a.Compression.Ratio, a.Index.Pool)}
		if a.Latent.Rank == 0 {
			l.whole = float64(a.KVHeads*(a.KeyDim+a.ValueDim)) * elementBytes(d)
		}
		if a.Index.Heads > 0 {
			l.key = index(d, a).bytes * float64(l.keyed)
		}
		for range r.Count {
			all = append(all, l)
		}
	}
	return all
}

// slides reports whether a layer has blocks of its own for its window, in a cache that has groups for such.
func (l *cached) slides(d *hardware.Deployment) bool {
	return d.HybridKV && sees(d) && l.Window > 0 && !l.Chunked && l.Compression.Ratio == 0
}

// TestCachesAreThoseOfTheirLayers: what a token, a sequence and a window take, on a GPU of the largest stage and over
// the whole model, of models of any kinds of layers, while windows free what they have passed and while they do not.
func TestCachesAreThoseOfTheirLayers(t *testing.T) {
	random := rand.New(rand.NewPCG(61, 62))
	met := map[string]int{}
	for range 1500 {
		d := smallDeployment(t, random)
		d.GPU.MemoryBytes.Value = 1e18
		if random.IntN(4) == 0 {
			d.GPU.Kind = hardware.LPU
		}
		w, size := caching(&d), 1+random.IntN(40)
		n := float64(d.Model.LayerCount())
		stage := math.Ceil(n/float64(d.Parallel.Pipeline)) / n
		m, err := d.Memory(0.9, 100, 10, size)
		require.NoError(t, err)
		require.InEpsilon(t, w.token*stage, m.TokenBytes, 1e-9, "%+v", d.Model.Layers)
		require.InDelta(t, w.fixed*stage, m.FixedBytes, 1e-9*w.fixed, "%+v", d.Model.Layers)
		require.InEpsilon(t, w.token*stage*float64(size), m.BlockBytes, 1e-9)
		require.EqualValues(t, math.Ceil(m.FixedBytes/m.BlockBytes), m.SequenceBlocks)
		blocks := func(bytes float64) int32 { return int32(math.Ceil(bytes / w.token * (1 - 1e-12))) }
		want := sim.Windowed{Blocks: blocks(w.sliding)}
		if w.sliding > 0 {
			want.BlocksMax = int32((w.window+size-1)/size + 1)
		}
		require.Equal(t, want, m.Windowed, "%+v", d.Model.Layers)
		require.InEpsilon(t, weightBytes(&d, stage), m.Weights, 1e-9, "%+v", d.Model.Layers)
		require.InEpsilon(t, activations(&d, 100, 10), m.Activations, 1e-9, "%+v", d.Model.Layers)

		plain := m
		m.PassWindows(&d, 77, size, true)
		if w.passing == 0 {
			require.Equal(t, plain, m)
		} else {
			p := blocks(w.passing)
			require.Equal(t, sim.Passing{Blocks: p, Window: int32(w.longest), TokensMax: 77, Lags: true}, m.Passing)
			require.Equal(t, sim.Windowed{Blocks: p, BlocksMax: int32((w.longest+size-1)/size + 1)}, m.Windowed)
			require.InDelta(t, (w.fixed-w.charged)*stage, m.FixedBytes, 1e-9*w.fixed)
			require.EqualValues(t, math.Ceil(m.FixedBytes/m.BlockBytes), m.SequenceBlocks)
		}
		sequences(t, &d, caches(&d), 1+random.IntN(2000))
		for name, on := range map[string]bool{
			"short windows alone": !w.counted, "slides": w.sliding > 0, "passes": w.passing > 0 && w.charged > 0,
			"states": w.states > 0, "stages": stage < 1, "one": d.Model.Layers[0].Mixer.Attention.Latent.Rank == 1,
		} {
			if on {
				met[name]++
			}
		}
	}
	require.Len(t, met, 6, "every kind was met: %v", met)
}

// cachedBytes is what all layers have of a token, and of a sequence whatever its length.
type cachedBytes struct {
	token, fixed     float64
	counted          bool    // some layer has more than a short window
	sliding, passing float64 // of it, in groups of windows: of long ones, and of all
	window, longest  int     // tokens of them
	charged, states  float64 // of fixed, for short windows that could pass, and recurrent states
}

// caching walks over the layers.
func caching(d *hardware.Deployment) (w cachedBytes) {
	layers := caches(d)
	for _, l := range layers {
		w.counted = w.counted || l.Window == 0 || l.Window > 512 || l.Compression.Ratio > 0
	}
	for _, l := range layers {
		key, window := l.key/float64(l.keyed), float64(l.Window)
		switch few := l.Window > 0 && l.Window <= 512; {
		case l.Compression.Ratio > 0:
			w.token, w.fixed = w.token+l.entry/float64(l.Compression.Ratio)+key, w.fixed+l.entry*window
		case few && w.counted:
			w.fixed += l.entry * window
		case !few && l.slides(d):
			w.sliding, w.window = w.sliding+l.entry, max(w.window, l.Window)
		default:
			w.token += l.entry + key
		}
		if l.slides(d) {
			w.passing, w.longest = w.passing+l.entry, max(w.longest, l.Window)
			if l.Window <= 512 {
				w.charged += l.entry * window
			}
		}
	}
	for _, r := range d.Model.Layers {
		a, x := r.Mixer.Attention, r.Mixer.Recurrence
		dims := a.KeyDim + min(1, a.Index.Heads)*a.Index.Dim
		entries := 1
		if a.Compression.Overlap {
			entries = 2
		}
		w.fixed += float64(r.Count * a.Compression.Ratio * entries * entries * 2 * dims * 4)
		w.states += float64(r.Count) * float64(x.ValueHeads*x.ValueDim*x.KeyDim*x.StateBytes+
			max(0, x.Kernel-1)*(2*x.KeyHeads*x.KeyDim+x.ValueHeads*x.ValueDim)*2)
	}
	w.fixed += w.states / float64(d.Parallel.Tensor)
	return w
}

// sequences compares what a sequence of so many tokens has over the whole model, and what one more adds at first, when
// all windows are full, and on all ranks.
func sequences(t *testing.T, d *hardware.Deployment, layers []cached, tokens int) {
	var cache, grown, once, replica float64
	for _, l := range layers {
		key, entries := l.key/float64(l.keyed), tokens
		each := float64(l.Compression.Ratio)
		if l.Window > 0 && (l.Window <= 512 || d.HybridKV || each > 0) {
			entries = min(tokens, l.Window)
		}
		first := 1.0
		switch {
		case each > 0:
			entries += tokens / l.Compression.Ratio
			first, grown = 1+1/each, grown+l.whole/each+key
		case l.Window == 0 || l.Window > 512 && !l.slides(d):
			grown += l.whole + key
		}
		cache += l.whole*float64(entries) + l.key*float64(tokens/l.keyed)
		once += l.whole*first + key
		replica += float64(d.Parallel.Tensor) * (l.entry*first + key)
	}
	got, state := d.SequenceBytes(tokens)
	require.InDelta(t, cache, got, 1e-9*cache, "%d tokens, %+v", tokens, d.Model.Layers)
	require.Equal(t, d.Model.StateBytes(), state)
	require.InDelta(t, grown, d.KVBytesGrown(), 1e-9*once)
	gotOnce, gotReplica := d.KVBytesPerToken()
	require.InEpsilon(t, once, gotOnce, 1e-9)
	require.InEpsilon(t, replica, gotReplica, 1e-9)
}

// weightBytes are those of the largest stage of layers, and of the tables before and behind them, which chips with SRAM
// alone divide too.
func weightBytes(d *hardware.Deployment, stage float64) (sum float64) {
	for c := range llm.NumClasses {
		part := stage
		if (c == llm.Embedding || c == llm.Head) && d.GPU.Kind == "" {
			part = 1
		}
		sum += part * linear(d, 1, 1, c).bytes
	}
	return sum
}

// activations are those of a step of so many tokens on a rank, of which some yield another.
func activations(d *hardware.Deployment, tokens, outputs float64) float64 {
	t, h, k := float64(d.Parallel.Tensor), float64(d.Model.Hidden), float64(d.Model.TopK())
	widest := 0.0
	for _, r := range d.Model.Layers {
		widest = max(widest, float64(r.FFN.Width+r.FFN.TopK*r.FFN.ExpertWidth+r.FFN.SharedWidth))
	}
	sum := tokens*2*(h+float64(max(1, d.Model.Residual.Streams))*h+3*widest/t+k*h) + outputs*float64(d.Model.Vocab)/t*4
	gpus := d.Parallel.Tensor * d.Parallel.Ranks()
	_, hosts := inHost(d, gpus)
	few := !d.Parallel.Expert || float64(gpus) <= k+1 && hosts == 1
	if d.Parallel.AllToAll == hardware.AllGather || d.Parallel.AllToAll == "" && few {
		sum += tokens * float64(d.Parallel.Ranks()-1) * 2 * 2 * float64(d.Model.ExpertHidden())
	}
	return sum
}
