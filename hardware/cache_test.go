package hardware_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/kv"
)

// TestTokensAddUpToASequence: what a token is said to add to the cache, while no window is full and when all are, is by
// how much a sequence grows, over a span that completes every entry of several tokens.
func TestTokensAddUpToASequence(t *testing.T) {
	const longest = 512 // tokens of a window that is kept whole, of which no sequence is charged less
	for _, name := range catalog.ModelNames() {
		for dtype, element := range map[string]float64{"bf16": 2, "fp8": 1, "int8": 1, "int4": 4.5 / 8} {
			d := hardware.Deployment{Model: model(t, name), KVDtype: dtype, Parallel: hardware.Parallel{Tensor: 4, Pipeline: 1}}
			span, hybrid := 1, true
			least, most := math.MaxInt, 0
			for _, g := range d.Model.Attention() {
				span *= max(1, g.Ratio) * max(1, g.IndexPool)
				if g.Window > 0 {
					least, most = min(least, g.Window), max(most, g.Window)
					hybrid = hybrid && !g.Chunked
				}
			}
			full, _ := d.SequenceBytes(0)
			require.Zero(t, full, name)
			once, replica := d.KVBytesPerToken()
			if span <= least {
				grown, _ := d.SequenceBytes(span)
				require.InEpsilon(t, grown/float64(span)+1, once+1, 1e-9, "%s %s, its first tokens", name, dtype)
			}
			require.GreaterOrEqual(t, replica, once*(1-1e-12), name)
			taken := 0.0 // by ranks, each a whole number of heads or all of a latent and of an index
			for _, g := range d.Model.Attention() {
				heads := 4.0
				if g.Latent == 0 {
					heads = 4 * float64((g.KVHeads+3)/4) / float64(g.KVHeads)
				}
				entry := element * float64(g.Layers*g.Elements())
				if dtype == "fp8" {
					entry = g.EntryBytes(element) // some have a layout of their own
				}
				if g.Ratio > 0 {
					entry *= 1 + 1/float64(g.Ratio)
				}
				taken += heads*entry + 4*g.IndexBytesPerToken(element)
			}
			require.InEpsilon(t, taken+1, replica+1, 1e-9, "%s %s, on all ranks", name, dtype)
			for _, d.HybridKV = range []bool{false, true} {
				if d.HybridKV && !(hybrid && sees(&d)) {
					continue // no group of the cache keeps less than the context
				}
				from := span * (1 + max(most, longest)/span)
				before, state := d.SequenceBytes(from)
				after, still := d.SequenceBytes(from + 4*span)
				require.Equal(t, state, still)
				require.Equal(t, d.Model.StateBytes(), state)
				require.InEpsilon(t, (after-before)/float64(4*span)+1, d.KVBytesGrown()+1, 1e-9,
					"%s %s, hybrid %t, its later tokens", name, dtype, d.HybridKV)
			}
		}
	}
}

// sees reports whether some layer sees the whole context.
func sees(d *hardware.Deployment) bool {
	for _, g := range d.Model.Attention() {
		if g.Window == 0 {
			return true
		}
	}
	return false
}

// TestTheLongestSequenceIsTheLongest: it fits, and one that is a block longer does not, of whatever its length takes
// beside its own blocks.
func TestTheLongestSequenceIsTheLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := func(what string, least, most int) int { return rapid.IntRange(least, most).Draw(t, what) }
		size := int64(whole("block size", 1, 64))
		m := hardware.Memory{SequenceBlocks: int32(whole("sequence blocks", 0, 5))}
		if rapid.Bool().Draw(t, "windowed") {
			m.Windowed = sim.Windowed{Blocks: int32(whole("of windows", 1, 4)), BlocksMax: int32(whole("up to", 1, 20))}
		}
		if rapid.Bool().Draw(t, "passing") {
			m.Passing = sim.Passing{Blocks: int32(whole("passing", 1, 4)), Window: int32(whole("window", 1, 600)),
				TokensMax: int32(whole("chunk", 1, 900))}
		}
		of := func(tokens int64) int64 { // a block for each size tokens begun, and more where the window is
			blocks := int64(m.SequenceBlocks)
			for at := int64(0); at < tokens; at += size {
				blocks++
				if at/size < int64(m.Windowed.BlocksMax) {
					blocks += int64(m.Windowed.Blocks)
				}
			}
			return blocks
		}
		chunk := func(tokens int64) int64 { // the blocks that a chunk and its window touch beyond those of the window
			if m.Passing.Blocks == 0 {
				return 0
			}
			touched := func(n int64) int64 { return 1 + int64(math.Ceil(float64(n)/float64(size))) }
			window := int64(m.Passing.Window)
			taken := min(tokens/size, touched(window-1+int64(m.Passing.TokensMax)))
			return int64(m.Passing.Blocks) * max(0, taken-touched(window))
		}
		blocks := int64(whole("blocks", 0, 300))
		computed, prompt := int64(0), int64(0)
		for n := int64(1); n <= blocks; n++ {
			require.Equal(t, of(n*size), m.BlocksOf(n*size, size))
			require.Equal(t, of(n*size), m.BlocksOf(n*size-size+1, size))
			if of(n*size) <= blocks {
				computed = n * size
				if of(n*size)+chunk(n*size) <= blocks {
					prompt = n * size
				}
			}
		}
		require.Equal(t, computed, m.TokensIn(blocks, size))
		require.Equal(t, prompt, m.LongestIn(blocks, size))
	})
}

// TestAPromptInChunksFitsWhereTheCacheSaysSo: the blocks that a model of a cache gives to a sequence whose windows free
// what they have passed are those by which the longest one is found, for every small window, chunk and block.
func TestAPromptInChunksFitsWhereTheCacheSaysSo(t *testing.T) {
	for _, size := range []int64{1, 3, 4, 16} {
		for window := int32(1); window <= 33; window += 4 {
			for chunk := int32(1); chunk <= 33; chunk += 4 {
				passing := sim.Passing{Blocks: 1 + window/4%3, Window: window, TokensMax: chunk}
				m := hardware.Memory{SequenceBlocks: 2, Passing: passing}
				m.Windowed = sim.Windowed{Blocks: passing.Blocks, BlocksMax: int32((int64(window)+size-1)/size + 1)}
				cache := kv.New(kv.Config{Blocks: 1 << 20, BlockSize: int32(size), SequenceBlocks: m.SequenceBlocks,
					Windowed: m.Windowed, Passing: m.Passing})
				for tokens := size; tokens <= 90*size && tokens <= 240; tokens += size {
					need := cache.BlocksMax(int32(tokens))
					require.Equal(t, tokens, m.LongestIn(need, size), "window %d, chunk %d, blocks of %d", window, chunk, size)
					require.Equal(t, tokens-size, m.LongestIn(need-1, size))
				}
			}
		}
	}
}

// TestMemoryIsDividedAsTheShareSays: of all memory, of what is beside activations and context, or of what is left. What
// does not fit says what would, and a GPU of so much memory holds it.
func TestMemoryIsDividedAsTheShareSays(t *testing.T) {
	least := regexp.MustCompile(`a GPU of at least (\d+) GB`)
	for name, tensor := range map[string]int{
		"llama-3.1-8b": 32, "llama-3.1-70b": 64, "gpt-oss-120b": 64, "deepseek-v3": 64} {
		for _, of := range []hardware.ShareOf{hardware.OfTotal, hardware.OfStatic, hardware.OfFree} {
			for tokens, size := range map[int]int{512: 16, 16384: 1 << 16} { // the latter blocks take gigabytes
				d := deployment(t, name, "h100-sxm", tensor) // no more GPUs can share it
				d.GPU.MemoryBytes.Value = 4e12
				if strings.HasPrefix(name, "llama") { // those without experts may have adapters
					d.LoRA = hardware.LoRA{Slots: 8, RankMax: 64, Modules: []string{llm.ModuleQ, llm.ModuleDown}}
				}
				share := hardware.MemoryShare{Of: of, Share: 0.8}
				m, err := d.MemoryOf(share, tokens, 64, size)
				require.NoError(t, err)
				require.Equal(t, d.LoRA.Slots > 0, m.Adapters > 0)
				fixed := m.Weights + m.Adapters
				beside := m.Activations + m.Context
				want := map[hardware.ShareOf]float64{hardware.OfTotal: 0.8*4e12 - fixed - beside,
					hardware.OfStatic: 0.8*4e12 - fixed, hardware.OfFree: 0.8 * (4e12 - fixed - beside)}[of]
				require.InEpsilon(t, want, m.KV, 1e-12)
				require.InEpsilon(t, fixed+beside+m.KV, m.Usable, 1e-12)
				require.Equal(t, int64(m.KV/m.BlockBytes), m.Blocks)
				require.InEpsilon(t, float64(size)*m.TokenBytes, m.BlockBytes, 1e-12)

				d.GPU.MemoryBytes.Value = fixed
				m, err = d.MemoryOf(share, tokens, 64, size)
				var small *hardware.MemoryError
				require.ErrorAs(t, err, &small)
				needs, gives := fixed+beside+m.BlockBytes, m.Usable
				switch of {
				case hardware.OfStatic:
					needs, gives = fixed+m.BlockBytes, 0.8*fixed
				case hardware.OfFree:
					gives = fixed
				}
				require.InEpsilon(t, needs-gives, small.MissBytes, 1e-12)
				require.Equal(t, d.LoRA.Slots > 0, strings.Contains(err.Error(), "adapter slots"))
				said := least.FindStringSubmatch(small.Hint)
				require.Len(t, said, 2, small.Hint)
				gb, err := strconv.ParseFloat(said[1], 64)
				require.NoError(t, err)
				for more, fits := range map[float64]bool{-1e9: false, 1e9: true} {
					d.GPU.MemoryBytes.Value = gb*1e9 + more
					_, err = d.MemoryOf(share, tokens, 64, size)
					assert.Equal(t, fits, err == nil, "%s, a share of %s, %d tokens: %v", name, of, tokens, err)
				}
			}
		}
	}
}

// TestActivationsAreThoseOfTheWidestLayer: two bytes for each token's input and residual stream, for two halves and the
// product of the network that it meets and for what each of its experts yields; and logits in fp32.
func TestActivationsAreThoseOfTheWidestLayer(t *testing.T) {
	for _, c := range []struct {
		model                        string
		hidden, met, experts, vocabs float64
	}{
		{"llama-3.1-8b", 4096, 14336, 0, 128256}, {"mixtral-8x7b", 4096, 2 * 14336, 2, 32000},
	} {
		for _, tensor := range []int{1, 4} {
			for _, streams := range []float64{1, 4} {
				d := deployment(t, c.model, "h100-sxm", tensor)
				d.GPU.MemoryBytes.Value = 1e12
				if streams > 1 {
					d.Model.Residual.Streams = int(streams)
				}
				m, err := d.Memory(0.9, 5000, 300, 16)
				require.NoError(t, err)
				split := float64(tensor)
				want := 5000*((1+streams+c.experts)*c.hidden+3*c.met/split)*2 + 300*c.vocabs/split*4
				require.InEpsilon(t, want, m.Activations, 1e-12, "%s on %d GPUs", c.model, tensor)
			}
		}
	}
}

// TestABlockThatJustFitsIsEnough, and a byte less of memory is not: the error says that a byte is missing.
func TestABlockThatJustFitsIsEnough(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	share := hardware.MemoryShare{Of: hardware.OfStatic, Share: 1}
	m, err := d.MemoryOf(share, 2048, 64, 16)
	require.NoError(t, err)
	require.InDelta(t, 16*131_072, m.BlockBytes, 0)
	d.GPU.MemoryBytes.Value = m.Weights + m.BlockBytes
	m, err = d.MemoryOf(share, 2048, 64, 16)
	require.NoError(t, err)
	assert.EqualValues(t, 1, m.Blocks)
	d.GPU.MemoryBytes.Value--
	_, err = d.MemoryOf(share, 2048, 64, 16)
	var small *hardware.MemoryError
	require.ErrorAs(t, err, &small)
	assert.InDelta(t, 1, small.MissBytes, 0)
}

// TestWhatWouldHoldAModelIsSaid: a larger GPU, where neither more nor shorter steps do; and where a model was to
// be spread over chips with SRAM alone, nothing but fewer bits.
func TestWhatWouldHoldAModelIsSaid(t *testing.T) {
	for _, c := range []struct {
		gpu, hint string
		tensor    int
	}{
		{"h100-sxm", "lower weights precision, a GPU of at least", 1},
		{"h100-sxm", "lower weights precision, a GPU of at least", 32},
		{"groq-lpu", "no stages of layers, each over up to", 1},
		{"groq-lpu", "lower weights precision, a GPU of at least", 32},
	} {
		d := deployment(t, "llama-3.1-8b", c.gpu, c.tensor)
		d.GPU.MemoryBytes.Value = 1e7
		_, err := d.Memory(0.9, 1, 1, 16)
		var small *hardware.MemoryError
		require.ErrorAs(t, err, &small)
		assert.Contains(t, small.Hint, c.hint, "%d of %s", c.tensor, c.gpu)
	}
}

// TestAHintNamesWhatHolds: more GPUs, where they leave 2 % of what is usable to the cache, steps of fewer tokens, or
// either.
func TestAHintNamesWhatHolds(t *testing.T) {
	hint := func(tensor, tokens int, memory float64) string {
		d := deployment(t, "llama-3.1-70b", "h200-sxm", tensor)
		d.GPU.NICBps = d.GPU.BandwidthBps
		d.GPU.MemoryBytes.Value = memory
		_, err := d.MemoryOf(hardware.MemoryShare{Of: hardware.OfTotal, Share: 1}, tokens, 1, 16)
		var small *hardware.MemoryError
		require.ErrorAs(t, err, &small)
		return small.Hint
	}
	takes := func(tensor int) float64 { // all but the cache
		d := deployment(t, "llama-3.1-70b", "h200-sxm", tensor)
		d.GPU.MemoryBytes.Value = 1e12
		m, err := d.Memory(1, 1000, 1, 16)
		require.NoError(t, err)
		return m.Usable - m.KV
	}
	assert.Equal(t, "tensor_parallel 2 would do", hint(1, 1000, takes(2)/0.979))
	assert.Equal(t, "tensor_parallel 4 would do", hint(1, 1000, takes(2)/0.981), "two would leave less")
	network := " would do, over the network beyond a domain of 8"
	assert.Equal(t, "tensor_parallel 64"+network, hint(16, 1000, takes(64)*1.05))
	assert.Contains(t, hint(64, 1000, takes(64)), "lower weights precision")
	assert.Equal(t, "steps of far fewer than 1000000 tokens would do", hint(64, 1_000_000, takes(64)*1.5))
	assert.Equal(t, "tensor_parallel 8 would do, or steps of far fewer than 300000 tokens",
		hint(4, 300_000, takes(4)*1.05))
}
