package names

import (
	"fmt"
	"strings"
	"sync"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware/llm"
)

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

// CatalogModel returns the catalog's name of a published checkpoint, or what is unknown about it.
func CatalogModel(repository string) (name, unknown string) {
	if name, ok := catalog.ModelNamed(repository); ok {
		return name, ""
	}
	return "", "model " + repository + " is not in the catalog"
}

// ShapeOf returns the model under which runs of one shape are counted together: a fit that leaves out one of them knows
// the others, and what was measured of one is to be expected of all.
func ShapeOf(model string) string {
	if first, ok := sameShape[model]; ok {
		return first
	}
	return model
}

// sameShape are models of the catalog that differ from another in what they learnt alone.
var sameShape = map[string]string{"llama-3.3-70b": "llama-3.1-70b"}

// CatalogGPU returns the catalog's name of an accelerator, or what is unknown about it.
func CatalogGPU(system string) (name, unknown string) {
	if name, ok := catalog.GPUNamed(system); ok {
		return name, ""
	}
	return "", "GPU " + system + " is not in the catalog"
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
