package huggingface

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware/llm"
)

// sharedDir is the folder of reference data; tests that need it are skipped without it.
func sharedDir(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("DECODESIM_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	if _, err := os.Stat(filepath.Join(dir, "hf_configs")); err != nil {
		t.Skipf("no reference data: set DECODESIM_SHARED to its folder (looked in %s)", dir)
	}
	return dir
}

func readPublished(t *testing.T, file string) llm.Model {
	t.Helper()
	f, err := os.Open(filepath.Join(sharedDir(t), "hf_configs", file+".json"))
	require.NoError(t, err)
	defer f.Close()
	m, err := Read(file, f)
	require.NoError(t, err)
	return m
}

// published is what a config of the reference folder must come to: tables 1 and 3 of its page of models.
var published = []struct {
	file    string
	total   int64
	layers  int
	growing float64 // bytes per token in layers without a window, bf16
	kind    string
	mtp     int
	dtype   string // of the widest linear class
}{
	{"MiniMaxAI--MiniMax-M3", 426_174_572_928, 60, 122_880, "sparse", 1, "bf16"},
	{"deepseek-ai--DeepSeek-V4-Flash", 284_332_240_471, 43, 6_880, "compressed", 1, "mxfp4"},
	{"deepseek-ai--DeepSeek-V4-Pro", 1_572_997_201_763, 61, 9_848, "compressed", 1, "mxfp4"},
	{"google--gemma-4-26B-A4B", 25_233_141_760, 30, 20_480, "sliding window", 0, "bf16"},
	{"moonshotai--Kimi-K3", 2_779_484_476_000, 93, 27_648, "hybrid linear", 0, "mxfp4"},
	{"nvidia--Llama-3_3-Nemotron-Super-49B-v1", 49_867_145_216, 80, 200_704, "GQA", 0, "bf16"},
	{"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", 120_668_707_840, 88, 8_192, "hybrid linear", 1, "bf16"},
	{"nvidia--Nemotron-H-56B-Base-8K", 56_324_350_464, 118, 40_960, "hybrid linear", 0, "bf16"},
	{"stepfun-ai--Step-3.7-Flash", 195_844_508_736, 45, 49_152, "sliding window", 3, "bf16"},
	{"zai-org--GLM-5.2", 743_377_019_904, 78, 89_856, "sparse", 1, "bf16"},
	{"MiniMaxAI--MiniMax-M2.5", 228_689_764_864, 62, 253_952, "GQA", 0, "fp8"},
	{"Qwen--Qwen3-1.7B", 1_720_574_976, 28, 114_688, "GQA", 0, "bf16"},
	{"Qwen--Qwen3-0.6B", 596_049_920, 28, 114_688, "GQA", 0, "bf16"},
	{"Qwen--Qwen3-235B-A22B", 235_093_634_560, 94, 192_512, "GQA", 0, "bf16"},
	{"Qwen--Qwen3-235B-A22B-FP8", 235_093_634_560, 94, 192_512, "GQA", 0, "fp8"},
	{"Qwen--Qwen3-30B-A3B", 30_532_122_624, 48, 98_304, "GQA", 0, "bf16"},
	{"Qwen--Qwen3-32B", 32_762_123_264, 64, 262_144, "GQA", 0, "bf16"},
	{"Qwen--Qwen3-32B-FP8", 32_762_123_264, 64, 262_144, "GQA", 0, "fp8"},
	{"Qwen--Qwen3-8B", 8_190_735_360, 36, 147_456, "GQA", 0, "bf16"},
	{"Qwen--Qwen3-Coder-480B-A35B-Instruct", 480_154_875_392, 62, 253_952, "GQA", 0, "bf16"},
	{"Qwen--Qwen3-VL-8B-Instruct", 8_190_735_360, 36, 147_456, "GQA", 0, "bf16"},
	{"Qwen--Qwen3.5-122B-A10B", 122_111_526_912, 48, 24_576, "hybrid linear", 1, "bf16"},
	{"Qwen--Qwen3.5-27B", 26_895_998_464, 64, 65_536, "hybrid linear", 1, "bf16"},
	{"Qwen--Qwen3.5-397B-A17B", 396_346_350_336, 60, 30_720, "hybrid linear", 1, "bf16"},
	{"XiaomiMiMo--MiMo-7B-Base", 7_622_619_136, 36, 147_456, "GQA", 1, "bf16"},
	{"XiaomiMiMo--MiMo-V2-Flash", 308_778_780_864, 48, 23_040, "sliding window", 0, "fp8"},
	{"codellama-34b-instruct-hf", 33_743_970_304, 48, 196_608, "GQA", 0, "bf16"},
	{"deepseek-ai--DeepSeek-R1", 671_026_419_200, 61, 70_272, "MLA", 1, "fp8"},
	{"deepseek-ai--DeepSeek-V3", 671_026_419_200, 61, 70_272, "MLA", 1, "fp8"},
	{"deepseek-ai--DeepSeek-V3.2", 671_877_944_064, 61, 70_272, "sparse", 1, "fp8"},
	{"deepseek-v2-lite", 15_706_484_224, 27, 31_104, "MLA", 0, "bf16"},
	{"llama-2-7b-hf", 6_738_415_616, 32, 524_288, "MHA", 0, "bf16"},
	{"llama-4-scout-17b-16e-instruct-fp8-dynamic", 107_769_861_120, 48, 49_152, "chunked window", 0, "fp8"},
	{"meta-llama--Llama-4-Maverick-17B-128E-Instruct", 400_711_848_960, 48, 49_152, "chunked window", 0, "bf16"},
	{"meta-llama--Llama-4-Scout-17B-16E-Instruct", 107_769_861_120, 48, 49_152, "chunked window", 0, "bf16"},
	{"meta-llama--Meta-Llama-3.1-405B", 405_853_388_800, 126, 516_096, "GQA", 0, "bf16"},
	{"meta-llama--Meta-Llama-3.1-70B", 70_553_706_496, 80, 327_680, "GQA", 0, "bf16"},
	{"meta-llama--Meta-Llama-3.1-8B", 8_030_261_248, 32, 131_072, "GQA", 0, "bf16"},
	{"mistral-nemo-instruct-2407", 12_247_782_400, 40, 163_840, "GQA", 0, "bf16"},
	{"mistralai--Mixtral-8x22B-v0.1", 140_620_634_112, 56, 229_376, "GQA", 0, "bf16"},
	{"mistralai--Mixtral-8x7B-v0.1", 46_702_792_704, 32, 131_072, "GQA", 0, "bf16"},
	{"moonshotai--Kimi-K2-Instruct", 1_026_408_232_448, 61, 70_272, "MLA", 0, "fp8"},
	{"moonshotai--Kimi-K2.5", 1_026_408_232_448, 61, 70_272, "MLA", 0, "int4"},
	{"nvidia--Llama-3.1-70B-Instruct-FP8", 70_553_706_496, 80, 327_680, "GQA", 0, "bf16"},
	{"nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", 31_577_940_288, 52, 6_144, "hybrid linear", 0, "bf16"},
	{"nvidia--Qwen3-235B-A22B-NVFP4", 235_093_634_560, 94, 192_512, "GQA", 0, "bf16"},
	{"openai--gpt-oss-120b", 116_829_156_672, 36, 36_864, "sliding window", 0, "mxfp4"},
	{"openai--gpt-oss-20b", 20_914_757_184, 24, 24_576, "sliding window", 0, "mxfp4"},
	{"qwen2.5-7b-instruct", 7_615_616_512, 28, 57_344, "GQA", 0, "bf16"},
	{"qwen3-14b", 14_768_307_200, 40, 163_840, "GQA", 0, "bf16"},
	{"yi-34b", 34_388_917_248, 60, 245_760, "GQA", 0, "bf16"},
	{"zai-org--GLM-5-FP8", 743_911_218_432, 78, 89_856, "sparse", 1, "fp8"},
}

func TestPublishedConfigsCountExactly(t *testing.T) {
	for _, want := range published {
		t.Run(want.file, func(t *testing.T) {
			m := readPublished(t, want.file)
			assert.Equal(t, want.total, m.ParamsTotal(), "total")
			assert.Equal(t, want.layers, m.LayerCount(), "layers")
			assert.Equal(t, want.growing, growing(m), "growing KV bytes per token")
			assert.Equal(t, want.kind, m.AttentionKind())
			assert.Equal(t, want.mtp, m.MTP, "MTP modules")
			assert.Equal(t, want.dtype, m.ComputeDtype(widest(m)))
		})
	}
}

// growing sums the cache of layers without a window, and of entries of several tokens.
func growing(m llm.Model) float64 {
	sum := 0.0
	for _, g := range m.Attention() {
		switch {
		case g.Ratio > 0:
			sum += g.EntryBytes(2)/float64(g.Ratio) + g.IndexBytesPerToken(2)
		case g.Window == 0:
			sum += g.KVBytesPerToken(2)
		}
	}
	return sum
}

// widest is the linear class with the most weights.
func widest(m llm.Model) llm.WeightClass {
	best := llm.DenseFFN
	for c, n := range m.Params() {
		if llm.WeightClass(c).Quantizable() && n > m.Params()[best] {
			best = llm.WeightClass(c)
		}
	}
	return best
}

// TestEveryPublishedConfigIsCounted: no config of the reference folder is read without its count being
// checked.
func TestEveryPublishedConfigIsCounted(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(sharedDir(t), "hf_configs", "*.json"))
	require.NoError(t, err)
	var names, listed []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	for _, p := range published {
		listed = append(listed, p.file+".json")
	}
	assert.ElementsMatch(t, names, listed)
}

// The bytes of a checkpoint agree with what publishers and the reference page say, within what the figures round.
func TestCheckpointBytes(t *testing.T) {
	const gib = 1 << 30
	for file, bytes := range map[string]float64{
		"openai--gpt-oss-120b":     60.77 * gib,
		"openai--gpt-oss-20b":      12.82 * gib,
		"deepseek-ai--DeepSeek-V3": 673.2e9,
		"moonshotai--Kimi-K2.5":    594e9,
		"MiniMaxAI--MiniMax-M2.5":  230e9,
	} {
		t.Run(file, func(t *testing.T) {
			m := readPublished(t, file)
			assert.InEpsilon(t, bytes, m.WeightBytes(), 0.002)
		})
	}
}

// What a quantisation keeps is kept: attention of the dynamic Scout, of Kimi and of gpt-oss; all heads here.
func TestQuantizationIsByClass(t *testing.T) {
	for file, unquantized := range map[string][]llm.WeightClass{
		"llama-4-scout-17b-16e-instruct-fp8-dynamic": {llm.Attention, llm.Router, llm.Head, llm.Embedding},
		"moonshotai--Kimi-K2.5": {llm.Attention, llm.AttentionReplicated, llm.SharedExperts, llm.DenseFFN,
			llm.Router, llm.Head},
		"openai--gpt-oss-120b":      {llm.Attention, llm.Router, llm.Head},
		"deepseek-ai--DeepSeek-V3":  {llm.Router, llm.Head, llm.Norms},
		"zai-org--GLM-5-FP8":        {llm.Router, llm.Head, llm.Norms},
		"MiniMaxAI--MiniMax-M2.5":   {llm.Router, llm.Head},
		"Qwen--Qwen3-235B-A22B-FP8": {llm.Router, llm.Head},
	} {
		m := readPublished(t, file)
		for _, c := range unquantized {
			assert.Equal(t, 16.0, m.WeightBits(c), "%s: %s", file, c)
		}
		assert.Less(t, m.WeightBits(widest(m)), 8.1, file)
	}
	scout := readPublished(t, "llama-4-scout-17b-16e-instruct-fp8-dynamic")
	assert.Equal(t, 8.0, scout.WeightBits(llm.SharedExperts))
}
