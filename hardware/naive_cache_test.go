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

// kept is what one layer keeps of a sequence on a rank: bytes of an entry, and of an index key for so many tokens.
type kept struct {
	llm.SelfAttention
	entry, whole, key float64 // whole: each head once
	keyed             int     // tokens of a key
}

// keeps walks over the layers that attend.
func keeps(d *hardware.Deployment) (all []kept) {
	for _, r := range d.Model.Layers {
		a := r.Mixer.Attention
		if a.Heads == 0 {
			continue
		}
		k := cost(d, a)
		l := kept{SelfAttention: a, entry: k.bytes, whole: k.bytes, keyed: max(1, a.Compression.Ratio, a.Index.Pool)}
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
func (l *kept) slides(d *hardware.Deployment) bool {
	return d.HybridKV && sees(d) && l.Window > 0 && !l.Chunked && l.Compression.Ratio == 0
}

// TestCachesAreThoseOfTheirLayers: what a token, a sequence and a window take, on a GPU of the largest stage and over
// the whole model, of models of any kinds of layers, while windows free what they have passed and while they do not.
func TestCachesAreThoseOfTheirLayers(t *testing.T) {
	random := rand.New(rand.NewPCG(61, 62))
	met := map[string]int{}
	for range 1500 {
		d := smallDeployment(t, random)
		d.GPU.MemoryBytes.Value, d.LoRA = 1e18, hardware.LoRA{}
		var token, fixed, sliding, short, charged, passing float64
		window, longest, counted := 0, 0, false
		layers, size := keeps(&d), 1+random.IntN(40)
		for _, l := range layers {
			counted = counted || l.Window == 0 || l.Window > 512 || l.Compression.Ratio > 0
		}
		for _, l := range layers {
			key, w := l.key/float64(l.keyed), float64(l.Window)
			switch few := l.Window > 0 && l.Window <= 512; {
			case l.Compression.Ratio > 0:
				token, fixed = token+l.entry/float64(l.Compression.Ratio)+key, fixed+l.entry*w
			case few && counted:
				fixed, short = fixed+l.entry*w, short+1
			case !few && l.slides(&d):
				sliding, window = sliding+l.entry, max(window, l.Window)
			default:
				token += l.entry + key
			}
			if l.slides(&d) {
				passing, longest = passing+l.entry, max(longest, l.Window)
				if l.Window <= 512 {
					charged += l.entry * w
				}
			}
		}
		states := 0.0
		for _, r := range d.Model.Layers {
			a, x := r.Mixer.Attention, r.Mixer.Recurrence
			dims := a.KeyDim + min(1, a.Index.Heads)*a.Index.Dim
			entries := 1
			if a.Compression.Overlap {
				entries = 2
			}
			fixed += float64(r.Count * a.Compression.Ratio * entries * entries * 2 * dims * 4)
			states += float64(r.Count) * float64(x.ValueHeads*x.ValueDim*x.KeyDim*x.StateBytes+
				max(0, x.Kernel-1)*(2*x.KeyHeads*x.KeyDim+x.ValueHeads*x.ValueDim)*2)
		}
		fixed += states / float64(d.Parallel.Tensor)
		n := float64(d.Model.LayerCount())
		stage := math.Ceil(n/float64(d.Parallel.Pipeline)) / n
		m, err := d.Memory(0.9, 100, 10, size)
		require.NoError(t, err)
		require.InEpsilon(t, token*stage, m.TokenBytes, 1e-9, "%+v", d.Model.Layers)
		require.InDelta(t, fixed*stage, m.FixedBytes, 1e-9*fixed, "%+v", d.Model.Layers)
		require.InEpsilon(t, token*stage*float64(size), m.BlockBytes, 1e-9)
		require.EqualValues(t, math.Ceil(m.FixedBytes/m.BlockBytes), m.SequenceBlocks)
		blocks := func(bytes float64) int32 { return int32(math.Ceil(bytes / token * (1 - 1e-12))) }
		want := sim.Windowed{Blocks: blocks(sliding)}
		if sliding > 0 {
			want.BlocksMax = int32((window+size-1)/size + 1)
		}
		require.Equal(t, want, m.Windowed, "%+v", d.Model.Layers)

		plain := m
		m.PassWindows(&d, 77, size, true)
		if passing == 0 {
			require.Equal(t, plain, m)
		} else {
			require.Equal(t, sim.Passing{Blocks: blocks(passing), Window: int32(longest), TokensMax: 77, Lags: true}, m.Passing)
			require.Equal(t, sim.Windowed{Blocks: blocks(passing), BlocksMax: int32((longest+size-1)/size + 1)}, m.Windowed)
			require.InDelta(t, (fixed-charged)*stage, m.FixedBytes, 1e-9*fixed)
			require.EqualValues(t, math.Ceil(m.FixedBytes/m.BlockBytes), m.SequenceBlocks)
		}
		sequences(t, &d, layers, 1+random.IntN(2000))
		for name, on := range map[string]bool{
			"short windows alone": !counted, "short": short > 0, "slides": sliding > 0, "passes": passing > 0 && charged > 0,
			"states": states > 0, "stages": stage < 1, "one": d.Model.Layers[0].Mixer.Attention.Latent.Rank == 1,
		} {
			if on {
				met[name]++
			}
		}
	}
	require.Len(t, met, 7, "every kind was met: %v", met)
}

// sequences compares what a sequence of so many tokens has over the whole model, and what one more adds at first, when
// all windows are full, and on all ranks.
func sequences(t *testing.T, d *hardware.Deployment, layers []kept, tokens int) {
	cache, grown, once, replica := 0.0, 0.0, 0.0, 0.0
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
