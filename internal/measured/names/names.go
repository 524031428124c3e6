package names

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware/llm"
)

// CatalogModel returns the catalog's name of a published checkpoint, or what is unknown about it. Repositories spell
// the owner, the precision and the fine-tuning that change neither size nor shape.
func CatalogModel(repository string) (name, unknown string) {
	if name, ok := shortModel(repository); ok {
		return name, ""
	}
	return "", "model " + repository + " is not in the catalog"
}

// shortModel returns a checkpoint's name without what repositories add to it; ok: it is the catalog's.
func shortModel(repository string) (name string, ok bool) {
	name = strings.ToLower(repository[strings.LastIndex(repository, "/")+1:])
	have := catalog.ModelNames()
	for {
		if known, ok := modelAliases[name]; ok {
			name = known
		}
		if slices.Contains(have, name) {
			return name, true
		}
		shorter := name
		for _, suffix := range modelSuffixes { // one at a time: the rest may be a name already
			shorter = strings.TrimSuffix(name, suffix)
			if shorter != name {
				break
			}
		}
		if shorter == name {
			return name, false
		}
		name = shorter
	}
}

// modelSuffixes are what repositories add to a name without changing what a step costs; precision is a column.
var modelSuffixes = []string{
	"-hf", "-instruct", "-chat", "-it", "-fp8", "-nvfp4", "-fp4", "-bf16", "-awq", "-int4", "-dynamic", "-v0.1", "-0528",
	"-0324", "-2407", "-2507",
	"-gptq", "-quantized.w8a8", "-quantized.w4a16", "-preview", "-thinking", "-nvfp4-v2", "-base", "-mxfp4",
	"-fp8-kv", "-fp4-v2", "-terminus", "-0905",
}

// modelAliases are names that differ by more than what is added.
var modelAliases = map[string]string{
	"mistral-nemo":                   "mistral-nemo-12b",
	"mistral-nemo-base":              "mistral-nemo-12b",
	"llama-4-scout-17b-16e":          "llama-4-scout",
	"mistral-large":                  "mistral-large-2",
	"mistral-7b":                     "mistral-7b-v0.1",
	"mistral-7b-instruct":            "mistral-7b-v0.1",
	"deepseek-v3.1":                  "deepseek-v3",
	"deepseek-v3.2-exp":              "deepseek-v3.2",
	"mistral-7b-instruct-v0.3":       "mistral-7b-v0.3",
	"nvidia-nemotron-3-nano-30b-a3b": "nemotron-3-nano-30b-a3b",
	"bloom":                          "bloom-176b",
	"meta-llama-3.1-8b":              "llama-3.1-8b",
	"meta-llama-3.1-70b":             "llama-3.1-70b",
	"meta-llama-3.1-405b":            "llama-3.1-405b",
	"meta-llama-3-8b":                "llama-3-8b",
	"meta-llama-3-70b":               "llama-3-70b",
	"llama-3.3-70b":                  "llama-3.1-70b",
	"kimi-k2":                        "kimi-k2.5",
	"llama2-70b":                     "llama-2-70b",
	"qwen3-235b-a22b-2507":           "qwen3-235b-a22b",
	"qwen3-30b-a3b-2507":             "qwen3-30b-a3b",
	"kimi-k2-thinking":               "kimi-k2.5",
	"deepseek-r1-0528-fp4":           "deepseek-r1",
	"deepseek-r1-0528-nvfp4":         "deepseek-r1",
	"qwen3.6-35b-a3b":                "qwen3.5-35b-a3b", // of one shape, as is 27B
	"qwen3.6-27b":                    "qwen3.5-27b",
}

// CatalogGPU returns the catalog's name of an accelerator, or what is unknown about it. An A100 of unstated memory is
// taken for the 80 GB one.
func CatalogGPU(system string) (name, unknown string) {
	name = shortGPU(system)
	if known, ok := gpuAliases[name]; ok {
		name = known
	}
	if !slices.Contains(catalog.GPUNames(), name) {
		return "", "GPU " + system + " is not in the catalog"
	}
	return name, ""
}

// shortGPU returns an accelerator's name without its maker, spelt like those of the catalog.
func shortGPU(system string) string {
	name := strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(strings.TrimSpace(system)))
	for _, maker := range []string{"nvidia-", "geforce-", "amd-", "instinct-"} {
		name = strings.TrimPrefix(name, maker)
	}
	return name
}

var gpuAliases = map[string]string{
	"a100-sxm": "a100-sxm-80gb", "a100": "a100-sxm-80gb", "a100-80gb": "a100-sxm-80gb", "a100-80g-sxm": "a100-sxm-80gb",
	"a100-40gb": "a100-sxm-40gb", "a100-sxm4-80gb": "a100-sxm-80gb", "a100-sxm4-40gb": "a100-sxm-40gb",
	"h100": "h100-sxm", "h100-80gb": "h100-sxm", "h100-80gb-hbm3": "h100-sxm", "h200": "h200-sxm", "b200": "b200-sxm",
	"b300":      "b300-sxm",
	"h100-sxm5": "h100-sxm", "h100-sxm5-80gb": "h100-sxm", "gb200-nvl72": "gb200", "gb300-nvl72": "gb300",
	"h200-sxm-cts": "h200-sxm", // a board with cooling of its own
	"gb200-sxm":    "gb200", "gb300-sxm": "gb300", "gaudi3": "gaudi-3", "mi300x-oam": "mi300x",
	"rtx4090": "rtx-4090", "rtxpro6000": "rtx-pro-6000-server", "rtx-pro-6000": "rtx-pro-6000-server",
	"rtx-pro-6000-blackwell-server-edition":      "rtx-pro-6000-server",
	"rtx-pro-6000-blackwell-workstation-edition": "rtx-pro-6000-ws",
}

// WeightsOf returns the precision of a model's weights as scenarios spell it; empty: the checkpoint's own, as for a
// model that is published in it. Else "fp4" is NVIDIA's nvfp4. fp16 costs what bf16 does. What follows in parentheses
// names a kernel.
func WeightsOf(model, precision string) string {
	own, name := PublishedPrecision(model), PrecisionOf(model, precision)
	if name == own {
		return ""
	}
	return name
}

// PrecisionOf returns the precision of a model's weights by one name however it is spelt, so that equal deployments
// have equal labels; empty: unknown.
func PrecisionOf(model, precision string) string {
	own := PublishedPrecision(model)
	precision, _, _ = strings.Cut(strings.ToLower(precision), "(")
	switch {
	case precision == "", precision == "fp4" && own == "mxfp4":
		return own
	case precision == "fp4":
		return "nvfp4"
	case precision == "fp16", precision == "bf16/fp16", precision == "float16", precision == "bfloat16":
		return "bf16"
	}
	return precision
}

// Models are the catalog's, read once, for a table names the same few in every row.
var Models = sync.OnceValue(func() map[string]llm.Model {
	all := map[string]llm.Model{}
	for _, name := range catalog.ModelNames() {
		if m, err := catalog.Model(name); err == nil {
			all[name] = m
		}
	}
	return all
})

// PublishedPrecision is what the weights of a catalog model are published in, by most of them; empty: no such model.
func PublishedPrecision(model string) string {
	m, ok := Models()[model]
	if !ok {
		return ""
	}
	return m.FFNDtype()
}

// ClassOf returns the class of a catalog model by what its steps cost most like; empty: no such model.
func ClassOf(model string) string {
	m, ok := Models()[model]
	if !ok {
		return ""
	}
	ffn := "dense"
	if m.Experts() > 0 {
		ffn = "moe"
	}
	switch kind := m.AttentionKind(); kind {
	case "sparse":
		return ffn + "-mla-dsa"
	case "hybrid linear":
		return ffn + "-hybrid-linear-attn"
	case "sliding window", "chunked window":
		return ffn + "-" + strings.ReplaceAll(kind, " ", "-")
	default:
		return ffn + "-" + strings.ToLower(kind)
	}
}

// LayoutOf names how a model is split: the GPUs of an attention rank, the ranks if there are several, and whether whole
// experts lie on GPUs.
func LayoutOf(tensor, ranks int, experts bool) string {
	name := fmt.Sprintf("tp%d", tensor)
	if ranks > 1 {
		name += fmt.Sprintf("-dp%d", ranks)
	}
	if experts {
		name += "-ep"
	}
	return name
}

// PrecisionInName returns the precision that a repository's name speaks of; empty: none. dtype does not say: it is what
// the engine computes in, whatever the weights are stored in.
func PrecisionInName(repository string) string {
	name := strings.ToLower(repository)
	for _, p := range []struct{ word, precision string }{
		{"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"fp4", "fp4"}, {"fp8", "fp8"}, {"w8a8", "int8"}, {"int8", "int8"},
		{"awq", "int4"}, {"gptq", "int4"}, {"int4", "int4"}, {"w4a16", "int4"},
	} {
		if strings.Contains(name, p.word) {
			return p.precision
		}
	}
	return ""
}

// EngineOf returns the engine that a backend is.
func EngineOf(backend string) string {
	switch b := strings.ToLower(backend); b {
	case "trtllm", "trt", "trt-llm", "tensorrt_llm":
		return "tensorrt-llm"
	default:
		return b
	}
}

// EnginesModelled are the engines whose runs are simulated, by their labels.
var EnginesModelled = []string{"vllm", "sglang", "tensorrt-llm"}
