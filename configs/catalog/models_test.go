package catalog

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/huggingface"
	"github.com/decodesim/decodesim/hardware/llm"
)

const mib = 1 << 20

// catalogSizes is what each model must come to: the reference tables of sizes and caches. Active counts are in units of
// 10^9 to the two digits given there; caches are of one sequence in bf16.
var catalogSizes = []struct {
	name                      string
	total                     int64
	all, noEmbedding, nothing float64 // active counts; all 0: every parameter is active
	mtp                       float64
	growing                   float64 // bytes per token, layers without a window
	cappedMiB                 float64 // layers with one, filled
	stateMiB                  float64
	kind                      string
}{
	{"llama-2-7b", 6_738_415_616, 0, 6.61, 6.48, 0, 524_288, 0, 0, "MHA"},
	{"llama-2-13b", 13_015_864_320, 0, 12.85, 12.69, 0, 819_200, 0, 0, "MHA"},
	{"llama-2-70b", 68_976_648_192, 0, 68.71, 68.45, 0, 327_680, 0, 0, "GQA"},
	{"codellama-34b", 33_743_970_304, 0, 33.48, 33.22, 0, 196_608, 0, 0, "GQA"},
	{"llama-3-8b", 8_030_261_248, 0, 7.50, 6.98, 0, 131_072, 0, 0, "GQA"},
	{"llama-3.1-8b", 8_030_261_248, 0, 7.50, 6.98, 0, 131_072, 0, 0, "GQA"},
	{"llama-3-70b", 70_553_706_496, 0, 69.50, 68.45, 0, 327_680, 0, 0, "GQA"},
	{"llama-3.1-70b", 70_553_706_496, 0, 69.50, 68.45, 0, 327_680, 0, 0, "GQA"},
	{"llama-3.1-405b", 405_853_388_800, 0, 403.75, 401.65, 0, 516_096, 0, 0, "GQA"},
	{"llama-3.2-1b", 1_235_814_400, 0, 1.24, 0.97, 0, 32_768, 0, 0, "GQA"},
	{"llama-3.2-3b", 3_212_749_824, 0, 3.21, 2.82, 0, 114_688, 0, 0, "GQA"},
	{"llama-4-scout", 107_769_861_120, 17.17, 16.14, 15.10, 0, 49_152, 1152, 0, "chunked window"},
	{"mistral-7b-v0.1", 7_241_732_096, 0, 7.11, 6.98, 0, 0, 512, 0, "sliding window"},
	{"mistral-7b-v0.3", 7_248_023_552, 0, 7.11, 6.98, 0, 131_072, 0, 0, "GQA"},
	{"mistral-nemo-12b", 12_247_782_400, 0, 11.58, 10.91, 0, 163_840, 0, 0, "GQA"},
	{"mistral-large-2", 122_610_069_504, 0, 122.21, 121.80, 0, 360_448, 0, 0, "GQA"},
	{"mixtral-8x7b", 46_702_792_704, 12.88, 12.75, 12.62, 0, 131_072, 0, 0, "GQA"},
	{"mixtral-8x22b", 140_620_634_112, 39.15, 38.96, 38.76, 0, 229_376, 0, 0, "GQA"},
	{"qwen2.5-7b", 7_615_616_512, 0, 7.07, 6.53, 0, 57_344, 0, 0, "GQA"},
	{"qwen2.5-14b", 14_770_033_664, 0, 13.99, 13.21, 0, 196_608, 0, 0, "GQA"},
	{"qwen2.5-32b", 32_763_876_352, 0, 31.99, 31.21, 0, 262_144, 0, 0, "GQA"},
	{"qwen2.5-72b", 72_706_203_648, 0, 71.46, 70.21, 0, 327_680, 0, 0, "GQA"},
	{"qwen3-0.6b", 596_049_920, 0, 0.60, 0.44, 0, 114_688, 0, 0, "GQA"},
	{"qwen3-8b", 8_190_735_360, 0, 7.57, 6.95, 0, 147_456, 0, 0, "GQA"},
	{"qwen3-14b", 14_768_307_200, 0, 13.99, 13.21, 0, 163_840, 0, 0, "GQA"},
	{"qwen3-32b", 32_762_123_264, 0, 31.98, 31.21, 0, 262_144, 0, 0, "GQA"},
	{"qwen3-30b-a3b", 30_532_122_624, 3.35, 3.04, 2.73, 0, 98_304, 0, 0, "GQA"},
	{"qwen3-235b-a22b", 235_093_634_560, 22.19, 21.57, 20.95, 0, 192_512, 0, 0, "GQA"},
	{"qwen3.5-27b", 26_895_998_464, 0, 25.62, 24.35, 0.42, 65_536, 0, 146.8, "hybrid linear"},
	{"qwen3.5-35b-a3b", 34_660_610_688, 3.45, 2.95, 2.44, 0.84, 20_480, 0, 61.4, "hybrid linear"},
	{"qwen3.5-397b-a17b", 396_346_350_336, 17.35, 16.33, 15.31, 6.60, 30_720, 0, 183.2, "hybrid linear"},
	{"gemma-2-9b", 9_241_705_984, 0, 9.24, 8.32, 0, 172_032, 672, 0, "sliding window"},
	{"gemma-2-27b", 27_227_128_320, 0, 27.23, 26.05, 0, 188_416, 736, 0, "sliding window"},
	{"gemma-3-27b", 27_009_346_304, 0, 27.01, 25.60, 0, 81_920, 416, 0, "sliding window"},
	{"phi-3-mini-128k", 3_821_079_552, 0, 3.72, 3.62, 0, 393_216, 0, 0, "MHA"},
	{"phi-3-mini-4k", 3_821_079_552, 0, 3.72, 3.62, 0, 0, 767.6, 0, "sliding window"},
	{"phi-4", 14_659_507_200, 0, 14.15, 13.63, 0, 204_800, 0, 0, "GQA"},
	{"yi-34b", 34_388_917_248, 0, 33.93, 33.47, 0, 245_760, 0, 0, "GQA"},
	{"gpt-oss-20b", 20_914_757_184, 4.19, 3.61, 3.03, 0, 24_576, 3, 0, "sliding window"},
	{"gpt-oss-120b", 116_829_156_672, 5.71, 5.13, 4.55, 0, 36_864, 4.5, 0, "sliding window"},
	{"deepseek-v2-lite", 15_706_484_224, 2.66, 2.45, 2.24, 0, 31_104, 0, 0, "MLA"},
	{"deepseek-v3", 671_026_419_200, 37.55, 36.63, 35.70, 11.61, 70_272, 0, 0, "MLA"},
	{"deepseek-r1", 671_026_419_200, 37.55, 36.63, 35.70, 11.61, 70_272, 0, 0, "MLA"},
	{"deepseek-v3.2", 671_877_944_064, 38.40, 37.48, 36.55, 11.62, 70_272, 0, 0, "sparse"},
	{"kimi-k2.5", 1_026_408_232_448, 32.86, 31.69, 30.51, 0, 70_272, 0, 0, "MLA"},
	{"minimax-m2.5", 228_689_764_864, 11.03, 10.42, 9.80, 0, 253_952, 0, 0, "GQA"},
	{"minimax-m2.7", 228_689_764_864, 11.03, 10.42, 9.80, 0, 253_952, 0, 0, "GQA"},
	{"glm-4.5", 352_797_829_024, 33.63, 32.86, 32.08, 3.99, 376_832, 0, 0, "GQA"},
	{"glm-4.5-air", 106_852_251_264, 13.42, 12.80, 12.18, 2.38, 188_416, 0, 0, "GQA"},
	{"glm-5", 743_911_218_432, 41.78, 40.83, 39.88, 9.95, 89_856, 0, 0, "sparse"},
	{"mimo-v2-flash", 308_778_780_864, 15.45, 14.82, 14.20, 0.99, 23_040, 24.4, 0, "sliding window"},
	{"nemotron-3-nano-30b-a3b", 31_577_940_288, 3.58, 3.23, 2.88, 0, 6_144, 0, 46.8, "hybrid linear"},
	{"qwen3.5-122b-a10b", 122_111_526_912, 9.77, 9.01, 8.25, 2.53, 24_576, 0, 146.5, "hybrid linear"},
	{"qwen3-coder-480b-a35b", 480_154_875_392, 35.47, 34.54, 33.61, 0, 253_952, 0, 0, "GQA"},
	{"kimi-k2", 1_026_408_232_448, 32.86, 31.69, 30.51, 0, 70_272, 0, 0, "MLA"},
	{"llama-4-maverick", 400_711_848_960, 17.18, 16.15, 15.12, 0, 49_152, 1152, 0, "chunked window"},
	{"llama-3.3-70b", 70_553_706_496, 0, 69.50, 68.45, 0, 327_680, 0, 0, "GQA"},
	{"qwen3-1.7b", 1_720_574_976, 0, 1.72, 1.41, 0, 114_688, 0, 0, "GQA"},
	{"nemotron-3-super-120b-a12b", 120_668_707_840, 12.77, 12.23, 11.70, 2.94, 8_192, 0, 162.3, "hybrid linear"},
	{"nemotron-3-ultra-550b-a55b", 549_308_993_536, 56.06, 54.99, 53.91, 0, 12_288, 0, 389.1, "hybrid linear"},
	{"nemotron-h-56b", 56_324_350_464, 0, 55.25, 54.18, 0, 40_960, 0, 438.3, "hybrid linear"},
	{"llama-3.3-nemotron-super-49b", 49_867_145_216, 0, 48.82, 47.77, 0, 200_704, 0, 0, "GQA"},
	{"deepseek-v4-flash", 284_332_240_471, 13.80, 13.27, 12.74, 6.61, 6_880, 5.375, 11.64, "compressed"},
	{"deepseek-v4-pro", 1_572_997_201_763, 49.78, 48.85, 47.93, 25.84, 9_848, 7.625, 17.84, "compressed"},
	{"glm-5.2", 743_377_019_904, 41.25, 40.30, 39.35, 9.95, 89_856, 0, 0, "sparse"},
	{"kimi-k3", 2_779_484_476_000, 105.36, 104.19, 103.02, 0, 27_648, 0, 428.6, "hybrid linear"},
	{"minimax-m3", 426_174_572_928, 25.96, 24.73, 23.50, 7.49, 122_880, 0, 0, "sparse"},
	{"gemma-4-26b-a4b", 25_233_141_760, 3.82, 3.82, 3.08, 0, 20_480, 200, 0, "sliding window"},
	{"step-3.7-flash", 196_956_130_368, 11.99, 11.46, 10.93, 0.84, 49_152, 66, 0, "sliding window"},
	{"opt-13b", 12_853_473_280, 0, 12.85, 12.59, 0, 819_200, 0, 0, "MHA"},
	{"opt-66b", 65_719_701_504, 0, 65.72, 65.24, 0, 2_359_296, 0, 0, "MHA"},
	{"bloom-176b", 176_247_271_424, 0, 176.25, 172.65, 0, 4_014_080, 0, 0, "MHA"},
	{"falcon-40b", 41_303_293_952, 0, 41.30, 40.77, 0, 122_880, 0, 0, "GQA"},
	{"falcon-180b", 178_557_088_768, 0, 178.56, 177.59, 0, 163_840, 0, 0, "GQA"},
	{"gptj-6b", 6_050_832_384, 0, 5.84, 5.64, 0, 458_752, 0, 0, "MHA"},
	{"codellama-13b", 13_016_028_160, 0, 12.85, 12.69, 0, 819_200, 0, 0, "MHA"},
	{"mistral-7b-v0.2", 7_241_732_096, 0, 7.11, 6.98, 0, 131_072, 0, 0, "GQA"},
}

func TestCatalogModelsComeToTheirSizes(t *testing.T) {
	var listed []string
	for _, want := range catalogSizes {
		listed = append(listed, want.name)
		t.Run(want.name, func(t *testing.T) {
			m, err := Model(want.name)
			require.NoError(t, err)
			assert.Equal(t, want.total, m.ParamsTotal(), "total")
			all := want.all
			if all == 0 {
				assert.Equal(t, want.total, m.ActiveAll(), "active")
				all = float64(want.total) / 1e9
			}
			const rounding = 0.0051
			assert.InDelta(t, all, float64(m.ActiveAll())/1e9, rounding, "active")
			assert.InDelta(t, want.noEmbedding, float64(m.ActiveNoEmbedding())/1e9, rounding, "active without embedding")
			assert.InDelta(t, want.nothing, float64(m.ActiveNoEmbeddingNoHead())/1e9, rounding, "active without both")
			assert.InDelta(t, want.mtp, float64(m.MTPParams())/1e9, 0.011, "MTP")
			growing, capped := caches(m)
			assert.Equal(t, want.growing, growing, "growing KV bytes per token")
			assert.InDelta(t, want.cappedMiB, capped/mib, 0.05, "capped KV")
			assert.InDelta(t, want.stateMiB, m.StateBytes()/mib, 0.05, "state")
			assert.Equal(t, want.kind, m.AttentionKind())
		})
	}
	assert.ElementsMatch(t, ModelNames(), listed, "every model of the catalog stands in the table")
}

// caches are bytes per token in layers without a window, and per sequence in layers whose window is full. Where the
// context is compressed, its index is part of what grows, since both are cached by entry.
func caches(m llm.Model) (growing, capped float64) {
	for _, g := range m.Attention() {
		switch {
		case g.Ratio > 0:
			growing += g.EntryBytes(2)/float64(g.Ratio) + g.IndexBytesPerToken(2)
			capped += g.EntryBytes(2) * float64(g.Window)
		case g.Window == 0:
			growing += g.KVBytesPerToken(2)
		default:
			capped += g.KVBytesPerToken(2) * float64(g.Window)
		}
	}
	return growing, capped
}

// A published size differs by more than 2 % only where the file says why; the active count by the rounding of its
// publisher under the convention that the file records.
func TestCatalogModelsAgreeWithTheirPublishers(t *testing.T) {
	for _, name := range ModelNames() {
		file, text, ok := Lookup("models", name)
		require.True(t, ok)
		spec, err := readModel(file, text)
		require.NoError(t, err)
		m, err := spec.model(file)
		require.NoError(t, err)
		assert.NotEmpty(t, m.Source, name)
		p := spec.Published
		require.Positive(t, p.Total, name)
		totalOff := math.Abs(float64(m.ParamsTotal())/p.Total - 1)
		activeOff := 0.0
		if p.Active > 0 {
			counts := map[string]int64{"nothing": m.ActiveAll(), "embedding": m.ActiveNoEmbedding(),
				"embedding-and-head": m.ActiveNoEmbeddingNoHead()}
			require.Contains(t, counts, p.Without, name)
			activeOff = math.Abs(float64(counts[p.Without])/p.Active - 1)
		}
		if p.Note == "" {
			assert.Less(t, totalOff, 0.02, "%s: total", name)
			assert.Less(t, activeOff, 0.02, "%s: active", name)
		}
		assert.Less(t, totalOff+activeOff, 0.06, name)
	}
}

// The catalog and the reader are two roads to the same shape.
func TestCatalogAgreesWithPublishedConfigs(t *testing.T) {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	for name, config := range map[string]string{
		"codellama-34b": "codellama-34b-instruct-hf", "deepseek-r1": "deepseek-ai--DeepSeek-R1",
		"deepseek-v2-lite": "deepseek-v2-lite", "deepseek-v3": "deepseek-ai--DeepSeek-V3",
		"deepseek-v3.2": "deepseek-ai--DeepSeek-V3.2", "gpt-oss-120b": "openai--gpt-oss-120b",
		"gpt-oss-20b": "openai--gpt-oss-20b",
		"kimi-k2.5":   "moonshotai--Kimi-K2.5", "llama-2-7b": "llama-2-7b-hf",
		"llama-3.1-405b": "meta-llama--Meta-Llama-3.1-405B",
		"llama-3.1-70b":  "meta-llama--Meta-Llama-3.1-70B", "llama-3.1-8b": "meta-llama--Meta-Llama-3.1-8B",
		"llama-4-scout": "meta-llama--Llama-4-Scout-17B-16E-Instruct", "minimax-m2.5": "MiniMaxAI--MiniMax-M2.5",
		"mistral-nemo-12b": "mistral-nemo-instruct-2407", "mixtral-8x22b": "mistralai--Mixtral-8x22B-v0.1",
		"mixtral-8x7b":            "mistralai--Mixtral-8x7B-v0.1",
		"nemotron-3-nano-30b-a3b": "nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3-0.6b": "Qwen--Qwen3-0.6B",
		"qwen3-14b": "qwen3-14b", "qwen3-235b-a22b": "Qwen--Qwen3-235B-A22B", "qwen3-30b-a3b": "Qwen--Qwen3-30B-A3B",
		"qwen3-32b": "Qwen--Qwen3-32B", "qwen3-8b": "Qwen--Qwen3-8B", "qwen3.5-27b": "Qwen--Qwen3.5-27B",
		"qwen3.5-122b-a10b": "Qwen--Qwen3.5-122B-A10B", "kimi-k2": "moonshotai--Kimi-K2-Instruct",
		"qwen3-coder-480b-a35b": "Qwen--Qwen3-Coder-480B-A35B-Instruct", "qwen3-1.7b": "Qwen--Qwen3-1.7B",
		"llama-4-maverick":  "meta-llama--Llama-4-Maverick-17B-128E-Instruct",
		"deepseek-v4-flash": "deepseek-ai--DeepSeek-V4-Flash", "deepseek-v4-pro": "deepseek-ai--DeepSeek-V4-Pro",
		"glm-5.2": "zai-org--GLM-5.2", "kimi-k3": "moonshotai--Kimi-K3", "minimax-m3": "MiniMaxAI--MiniMax-M3",
		"gemma-4-26b-a4b":              "google--gemma-4-26B-A4B",
		"nemotron-3-super-120b-a12b":   "nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8",
		"nemotron-h-56b":               "nvidia--Nemotron-H-56B-Base-8K",
		"llama-3.3-nemotron-super-49b": "nvidia--Llama-3_3-Nemotron-Super-49B-v1",
		"qwen3.5-397b-a17b":            "Qwen--Qwen3.5-397B-A17B",
		"yi-34b":                       "yi-34b", "mimo-v2-flash": "XiaomiMiMo--MiMo-V2-Flash",
	} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join(shared, "hf_configs", config+".json"))
			if err != nil {
				t.Skipf("no reference data: set DECODESIM_SHARED to its folder: %v", err)
			}
			defer f.Close()
			want, err := huggingface.Read(name, f)
			require.NoError(t, err)
			m, err := Model(name)
			require.NoError(t, err)
			assert.Equal(t, layerByLayer(want), layerByLayer(m))
			assert.Equal(t, want.Params(), m.Params())
			assert.Equal(t, want.ContextMax, m.ContextMax)
			assert.InEpsilon(t, want.WeightBytes(), m.WeightBytes(), 0.002)
			for c := range llm.NumClasses {
				assert.Equal(t, want.ComputeDtype(c), m.ComputeDtype(c), c.String())
			}
		})
	}
}

func layerByLayer(m llm.Model) []llm.LayerRun {
	var out []llm.LayerRun
	for _, r := range m.Layers {
		for n := r.Count; n > 0; n-- {
			r.Count = 1
			out = append(out, r)
		}
	}
	return out
}

// A repository goes by the model of the catalog that has the shape and the weights of its file.
func TestRepositoriesGoByTheModelOfTheirFile(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(os.Getenv("DECODESIM_SHARED"), "hf_configs", "*--*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no reference data: set DECODESIM_SHARED to its folder")
	}
	absent := []string{"Qwen/Qwen3-VL-8B-Instruct", "XiaomiMiMo/MiMo-7B-Base"} // loaded by file; the catalog has neither
	for _, file := range files {
		repository := strings.Replace(strings.TrimSuffix(filepath.Base(file), ".json"), "--", "/", 1)
		name, ok := ModelNamed(repository)
		if slices.Contains(absent, repository) {
			assert.False(t, ok, repository)
			continue
		}
		require.True(t, ok, repository)
		f, err := os.Open(file)
		require.NoError(t, err)
		want, err := huggingface.Read(repository, f)
		require.NoError(t, f.Close())
		require.NoError(t, err)
		m, err := Model(name)
		require.NoError(t, err)
		if name != "step-3.7-flash" { // the file is a simplification: of one number of heads
			assert.Equal(t, want.Params(), m.Params(), repository)
		}
		own := PrecisionInName(repository) // of a release in other weights, which the name says
		if own == "" {
			assert.Equal(t, want.ComputeDtype(llm.RoutedExperts), m.ComputeDtype(llm.RoutedExperts), repository)
		}
	}
}

// What names add is left out one by one, and a name of the catalog stands above what names are of one shape with.
func TestRepositoriesAreReadAsPeopleWriteThem(t *testing.T) {
	for written, want := range map[string]string{
		"meta-llama/Llama-3.3-70B-Instruct": "llama-3.3-70b", "nvidia/Llama-3.3-70B-Instruct-FP4": "llama-3.3-70b",
		"meta-llama/Meta-Llama-3-8B-Instruct": "llama-3-8b", "moonshotai/Kimi-K2-Instruct-0905": "kimi-k2",
		"moonshotai/Kimi-K2-Thinking": "kimi-k2.5", "mistralai/Mistral-7B-Instruct-v0.1": "mistral-7b-v0.1",
		"deepseek-ai/DeepSeek-V4-Pro-0813": "deepseek-v4-pro", "zai-org/GLM-5.3": "glm-5.2",
		"meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8": "llama-4-maverick", "Llama 3.1 8B": "llama-3.1-8b",
		"https://huggingface.co/zai-org/GLM-5.2": "glm-5.2", "hf:qwen/QWEN3-235B-A22B-fp8": "qwen3-235b-a22b",
	} {
		name, ok := ModelNamed(written)
		assert.True(t, ok, written)
		assert.False(t, IsModelPath(written), written)
		assert.Equal(t, want, name, written)
	}
	for _, name := range ModelNames() {
		itself, ok := ModelNamed(name)
		assert.True(t, ok)
		assert.Equal(t, name, itself)
	}
}

func TestUnknownModelNamesTheNearest(t *testing.T) {
	_, err := Model("llama-3.1-8")
	require.ErrorContains(t, err, `did you mean "llama-3.1-8b"?`)
	_, err = Model("zephyr")
	require.ErrorContains(t, err, `"deepseek-r1"`)
}
