package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware/llm"
)

// cachesByContext are caches of one sequence by token of its context, and what a decode step reads of them, at 4k, 32k,
// 128k and 1M tokens: figures of the reference page of models of 2026, and of the formulas that it states.
var cachesByContext = []struct {
	model    string
	element  float64
	perToken [4]float64 // bytes; of what it tabulates, rounded to whole ones
	readMB   [4]float64 // 0: it states none
}{
	{"deepseek-v4-flash", 2, [4]float64{8256, 7052, 6923, 6885}, [4]float64{}},
	{"deepseek-v4-flash", 1, [4]float64{4635, 3948, 3875, 3853}, [4]float64{12.7, 35.2, 112.3, 831.8}},
	{"deepseek-v4-pro", 2, [4]float64{11800, 10092, 9909, 9856}, [4]float64{}},
	{"deepseek-v4-pro", 1, [4]float64{6625, 5651, 5546, 5516}, [4]float64{27.1, 59.6, 170.8, 1208.9}},
	{"glm-5.2", 2, flat(89_856 + 2_772), byContext(2_772, 78*1152, 2048)},
	{"glm-5.2", 1, flat(51_168 + 2_772), byContext(2_772, 78*656, 2048)},
	{"kimi-k3", 2, flat(27_648), byContext(27_648, 0, 1)},
	{"minimax-m3", 2, flat(122_880 + 14_592), byContext(3*2048+57*256, 57*2048, 2048)},
	{"gemma-4-26b-a4b", 2, capped(20_480, 204_800, 1024), byContext(20_480, 204_800, 1024)},
	{"nemotron-3-super-120b-a12b", 2, flat(8_192), byContext(8_192, 0, 1)},
	{"nemotron-h-56b", 2, flat(40_960), byContext(40_960, 0, 1)},
	{"llama-3.3-nemotron-super-49b", 2, flat(200_704), byContext(200_704, 0, 1)},
	{"step-3.7-flash", 2, capped(49_152, 33*4096, 512), byContext(49_152, 33*4096, 512)},
}

var contexts = [4]int{4096, 32768, 131072, 1 << 20}

func flat(bytes float64) [4]float64 { return [4]float64{bytes, bytes, bytes, bytes} }

// capped is what grows with the context, and what grows up to a window.
func capped(growing, windowed float64, window int) (out [4]float64) {
	for i, n := range contexts {
		out[i] = growing + windowed*float64(min(n, window))/float64(n)
	}
	return out
}

// byContext is that in megabytes of a whole context.
func byContext(growing, windowed float64, window int) (out [4]float64) {
	for i, n := range contexts {
		out[i] = (growing*float64(n) + windowed*float64(min(n, window))) / 1e6
	}
	return out
}

func TestCachesAtEveryContext(t *testing.T) {
	for _, want := range cachesByContext {
		m, err := Model(want.model)
		require.NoError(t, err)
		for i, n := range contexts {
			assert.InDelta(t, want.perToken[i], m.CacheBytes(n, want.element)/float64(n), 0.5, "%s at %d", want.model, n)
			if want.readMB[i] > 0 {
				read := m.CacheReadBytes(n, want.element) / 1e6
				assert.InDelta(t, want.readMB[i], read, 0.05+1e-9*read, "%s reads at %d", want.model, n)
			}
		}
	}
	pro, err := Model("deepseek-v4-pro")
	require.NoError(t, err)
	assert.InDelta(t, 9.62, pro.CacheBytes(1<<20, 2)/(1<<30), 0.005, "GiB, as vLLM publishes it")
}

// What a sequence has whatever its length is that of the reference page: recurrent states to the byte, compressors and
// windows to what it rounds.
func TestStatesOfSequences(t *testing.T) {
	for name, bytes := range map[string]float64{"kimi-k3": 449_372_160, "nemotron-3-super-120b-a12b": 170_229_760,
		"nemotron-h-56b": 459_620_352, "deepseek-v4-flash": 12.2e6, "deepseek-v4-pro": 18.7e6} {
		m, err := Model(name)
		require.NoError(t, err)
		assert.InEpsilon(t, bytes, m.StateBytes(), 0.001, name)
		assert.Equal(t, m.CompressorBytes() > 0, m.RecurrentBytes() == 0, name)
	}
}

// The parts of a model are those of the reference page, exactly.
func TestPartsOfModels(t *testing.T) {
	for name, want := range map[string]llm.Counts{
		"deepseek-v4-flash": {llm.Embedding: 529_530_880, llm.Head: 529_530_880, llm.Attention: 4_328_524_480,
			llm.AttentionReplicated: 270_532_608, llm.Compressor: 261_464_576, llm.Indexer: 225_730_176,
			llm.Router: 45_099_008, llm.SharedExperts: 1_082_130_432, llm.RoutedExperts: 277_025_390_592,
			llm.Norms: 34_306_839},
		"deepseek-v4-pro": {llm.Embedding: 926_679_040, llm.Head: 926_679_040, llm.Attention: 17_397_980_800,
			llm.AttentionReplicated: 895_483_904, llm.Compressor: 670_128_640, llm.Indexer: 501_384_960,
			llm.Router: 167_925_504, llm.SharedExperts: 4_029_677_568, llm.RoutedExperts: 1_547_396_186_112,
			llm.Norms: 85_076_195},
		"glm-5.2": {llm.Embedding: 951_582_720, llm.Head: 951_582_720, llm.Attention: 11_614_027_776,
			llm.AttentionReplicated: 1_257_504_768, llm.Indexer: 196_804_608, llm.Router: 117_984_000,
			llm.SharedExperts: 2_831_155_200, llm.DenseFFN: 679_477_248, llm.RoutedExperts: 724_775_731_200,
			llm.Norms: 1_169_664},
		"kimi-k3": {llm.Embedding: 1_174_405_120, llm.Head: 1_174_405_120, llm.Attention: 5_209_325_568,
			llm.AttentionReplicated: 363_331_584, llm.Recurrent: 30_618_077_664 + 69*128, llm.Router: 590_955_008,
			llm.ExpertProjections: 4_726_980_608, llm.SharedExperts: 12_155_092_992, llm.DenseFFN: 726_663_168,
			llm.RoutedExperts: 2_722_740_830_208, llm.Norms: 4_408_960 - 69*128}, // the page counts norms of KDA there
		"minimax-m3": {llm.Embedding: 1_229_193_216, llm.Head: 1_229_193_216, llm.Attention: 6_417_285_120,
			llm.Indexer: 224_133_120, llm.Router: 44_833_920, llm.SharedExperts: 3_227_516_928, llm.DenseFFN: 679_477_248,
			llm.RoutedExperts: 413_122_166_784, llm.Norms: 773_376},
		"nemotron-3-super-120b-a12b": {llm.Embedding: 536_870_912, llm.Head: 536_870_912, llm.Recurrent: 4_385_438_720,
			llm.Attention: 285_212_672, llm.Router: 83_906_560, llm.SharedExperts: 1_761_607_680,
			llm.RoutedExperts: 112_742_891_520, llm.ExpertProjections: 335_544_320, llm.Norms: 364_544},
	} {
		m, err := Model(name)
		require.NoError(t, err)
		assert.Equal(t, want, m.Params(), name)
	}
	gemma, err := Model("gemma-4-26b-a4b")
	require.NoError(t, err)
	c := gemma.Params()
	assert.EqualValues(t, 738_197_504, c[llm.Head])
	assert.EqualValues(t, 865_075_200+245_104_640, c[llm.Attention])
	assert.EqualValues(t, 535_265_280, c[llm.DenseFFN])
	assert.EqualValues(t, 22_837_985_280, c[llm.RoutedExperts])
	assert.EqualValues(t, 10_901_760+612_126-30, c[llm.Router]+c[llm.Norms], "without a scalar in each layer")
}
