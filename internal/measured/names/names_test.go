package names

import (
	"testing"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/stretchr/testify/assert"
)

func TestEqualPrecisionsHaveOneName(t *testing.T) {
	for _, c := range []struct{ model, precision, name, weights string }{
		{"gpt-oss-120b", "fp4", "mxfp4", ""},
		{"gpt-oss-120b", "mxfp4(marlin)", "mxfp4", ""},
		{"gpt-oss-120b", "bf16", "bf16", "bf16"},
		{"deepseek-r1", "fp4", "nvfp4", "nvfp4"},
		{"deepseek-r1", "fp8", "fp8", ""},
		{"llama-2-70b", "FP16", "bf16", ""},
		{"llama-2-70b", "", "bf16", ""},
		{"llama-2-70b", "fp8", "fp8", "fp8"},
		{"", "fp8", "fp8", "fp8"},
	} {
		assert.Equal(t, c.name, catalog.PrecisionOf(c.model, c.precision), "%v", c)
		assert.Equal(t, c.weights, catalog.WeightsOf(c.model, c.precision), "%v", c)
	}
}

func TestClassesAreThoseOfTheSweeps(t *testing.T) {
	for model, class := range map[string]string{
		"llama-2-7b": "dense-mha", "llama-3.1-8b": "dense-gqa", "mixtral-8x7b": "moe-gqa", "deepseek-r1": "moe-mla",
		"glm-5":       "moe-mla-dsa",
		"gpt-oss-20b": "moe-sliding-window", "qwen3.5-397b-a17b": "moe-hybrid-linear-attn", "no-such-model": "",
	} {
		assert.Equal(t, class, ClassOf(model), model)
	}
}

func TestGPUsAreKnownAsDriversAndTablesSpellThem(t *testing.T) {
	for system, want := range map[string]string{
		"h200_sxm": "h200-sxm", " gb200_sxm": "gb200", "NVIDIA GeForce RTX 4090": "rtx-4090", "AMD Instinct MI300X": "mi300x",
		"NVIDIA A100-SXM4-40GB": "a100-sxm-40gb", "l40s": "l40s",
	} {
		name, unknown := CatalogGPU(system)
		assert.Equal(t, want, name)
		assert.Empty(t, unknown)
	}
	_, unknown := CatalogGPU("NVIDIA Z20")
	assert.Equal(t, "GPU NVIDIA Z20 is not in the catalog", unknown)
}
