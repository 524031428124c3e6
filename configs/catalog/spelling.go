package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
)

// ModelNamed returns a published checkpoint's name without what repositories add to it: the owner, the precision and
// the fine-tuning that change neither size nor shape; ok: it is the catalog's.
func ModelNamed(repository string) (name string, ok bool) {
	name = strings.ToLower(repository[strings.LastIndex(repository, "/")+1:])
	name = undashed.ReplaceAllString(strings.ReplaceAll(strings.TrimSpace(name), " ", "-"), "$1-$2")
	have := ModelNames()
	if len(name) > strict.TextMax {
		return name, false
	}
	for {
		if slices.Contains(have, name) {
			return name, true
		}
		if known, ok := modelAliases[name]; ok {
			return known, true
		}
		shorter := name
		for _, maker := range modelMakers {
			shorter = strings.TrimPrefix(shorter, maker)
		}
		for _, suffix := range modelSuffixes { // one at a time: the rest may be a name already
			if shorter != name {
				break
			}
			shorter = strings.TrimSuffix(name, suffix)
		}
		if shorter == name {
			return name, false
		}
		name = shorter
	}
}

// undashed is a maker's word with its version behind it, as some write it: llama3.3-70b.
var undashed = regexp.MustCompile(`^((?:meta-)?(?:code)?(?:llama|gemma|mixtral|deepseek|glm))(\d)`)

// modelSuffixes are what repositories add to a name without changing what a step costs; precision is a column.
var modelSuffixes = []string{
	"-hf", "-instruct", "-chat", "-it", "-fp8", "-nvfp4", "-fp4", "-bf16", "-awq", "-int4", "-dynamic", "-v0.1", "-0528",
	"-0324", "-2407", "-2507",
	"-gptq", "-quantized.w8a8", "-quantized.w4a16", "-preview", "-thinking", "-nvfp4-v2", "-base", "-mxfp4",
	"-fp8-kv", "-fp4-v2", "-terminus", "-0905", "-0731", "-0813", "-mxfp8", "-base-8k",
}

// modelMakers are what some repositories put before a name.
var modelMakers = []string{"meta-", "nvidia-"}

// modelAliases are names that differ by more than what is added.
var modelAliases = map[string]string{
	"mistral-nemo":                    "mistral-nemo-12b",
	"mistral-nemo-base":               "mistral-nemo-12b",
	"llama-4-scout-17b-16e":           "llama-4-scout",
	"mistral-large":                   "mistral-large-2",
	"mistral-7b":                      "mistral-7b-v0.1",
	"mistral-7b-instruct":             "mistral-7b-v0.1",
	"llama-4-maverick-17b-128e":       "llama-4-maverick",
	"llama-3_3-nemotron-super-49b-v1": "llama-3.3-nemotron-super-49b",
	"deepseek-v3.1":                   "deepseek-v3",
	"deepseek-v3.2-exp":               "deepseek-v3.2",
	"mistral-7b-instruct-v0.2":        "mistral-7b-v0.2",
	"mistral-7b-instruct-v0.3":        "mistral-7b-v0.3",
	"gpt-j-6b":                        "gptj-6b",
	"bloom":                           "bloom-176b",
	"llama2-70b":                      "llama-2-70b",
	"qwen3-235b-a22b-2507":            "qwen3-235b-a22b",
	"qwen3-30b-a3b-2507":              "qwen3-30b-a3b",
	"kimi-k2-thinking":                "kimi-k2.5",
	"kimi-k2.6":                       "kimi-k2.5", // of one shape, as is K2.7
	"kimi-k2.7":                       "kimi-k2.5",
	"kimi-k2.7-code":                  "kimi-k2.5",
	"glm-5.3":                         "glm-5.2",
	"glm-5.1":                         "glm-5", // an index in every layer
	"mistral-large-instruct-2411":     "mistral-large-2",
	"deepseek-r1-distill-llama-70b":   "llama-3.3-70b",
	"deepseek-r1-distill-llama-8b":    "llama-3.1-8b",
	"deepseek-r1-distill-qwen-7b":     "qwen2.5-7b",
	"deepseek-r1-distill-qwen-14b":    "qwen2.5-14b",
	"deepseek-r1-distill-qwen-32b":    "qwen2.5-32b",

	"llama-3_3-nemotron-super-49b-v1_5": "llama-3.3-nemotron-super-49b",
	"deepseek-r1-0528-fp4":              "deepseek-r1",
	"deepseek-r1-0528-nvfp4":            "deepseek-r1",
	"qwen3.6-35b-a3b":                   "qwen3.5-35b-a3b", // of one shape, as is 27B
	"qwen3.6-27b":                       "qwen3.5-27b",
}

// GPUNamed returns the catalog's name of an accelerator however drivers and tables spell it; ok: it is one. An A100
// of unstated memory is taken for the 80 GB one.
func GPUNamed(system string) (name string, ok bool) {
	name = shortGPU(system)
	if known, ok := gpuAliases[name]; ok {
		name = known
	}
	return name, slices.Contains(GPUNames(), name)
}

// countedGPU is several accelerators as people write them: 8xH100, 8 x H100, 8×H100.
var countedGPU = regexp.MustCompile(`^\s*([1-9][0-9]{0,3})\s*[xX×*]\s*(\S.*)$`)

// CountedGPU splits 8xH100 into the accelerator and how many; 0: no number stands before it.
func CountedGPU(written string) (gpu string, count int) {
	m := countedGPU.FindStringSubmatch(written)
	if m == nil {
		return written, 0
	}
	count, _ = strconv.Atoi(m[1])
	return m[2], count
}

// shortGPU returns an accelerator's name without its maker, spelt like those of the catalog.
func shortGPU(system string) string {
	name := strings.ToLower(strings.NewReplacer("_", "-", " ", "-").Replace(strings.TrimSpace(system)))
	for _, maker := range []string{"nvidia-", "geforce-", "amd-", "instinct-", "google-", "aws-", "intel-",
		"microsoft-", "azure-", "apple-", "mac-studio-", "openai-", "huawei-"} {
		name = strings.TrimPrefix(name, maker)
	}
	return name
}

var gpuAliases = map[string]string{
	"a100-sxm": "a100-sxm-80gb", "a100": "a100-sxm-80gb", "a100-80gb": "a100-sxm-80gb", "a100-80g-sxm": "a100-sxm-80gb",
	"a100-40gb": "a100-sxm-40gb", "a100-sxm4-80gb": "a100-sxm-80gb", "a100-sxm4-40gb": "a100-sxm-40gb",
	"a100-80gb-pcie": "a100-pcie-80gb", "a100-pcie": "a100-pcie-80gb", // the first is what its driver reports
	"h100": "h100-sxm", "h100-80gb": "h100-sxm", "h100-80gb-hbm3": "h100-sxm", "h200": "h200-sxm", "b200": "b200-sxm",
	"b300":      "b300-sxm",
	"h800":      "h800-sxm",
	"h100-sxm5": "h100-sxm", "h100-sxm5-80gb": "h100-sxm", "gb200-nvl72": "gb200", "gb300-nvl72": "gb300",
	"h200-sxm-cts": "h200-sxm", // a board with cooling of its own
	"gb200-sxm":    "gb200", "gb300-sxm": "gb300", "gaudi3": "gaudi-3", "mi300x-oam": "mi300x",
	"rtx4090": "rtx-4090", "rtxpro6000": "rtx-pro-6000-server", "rtx-pro-6000": "rtx-pro-6000-server",
	"rtx-pro-6000-blackwell-server-edition":      "rtx-pro-6000-server",
	"rtx-pro-6000-blackwell-workstation-edition": "rtx-pro-6000-ws",

	"rubin": "vr200", "vera-rubin": "vr200", "vr200-nvl72": "vr200", "dgx-spark": "gb10", "gh200": "gh200-96gb",
	"trn2": "trainium2", "trn3": "trainium3", "ironwood": "tpu-v7", "tpu-v7x": "tpu-v7", "trillium": "tpu-v6e",
	"wse-3": "cerebras-wse-3", "wse3": "cerebras-wse-3", "cs-3": "cerebras-wse-3", "cerebras": "cerebras-wse-3",
	"groq": "groq-lpu", "lpu": "groq-lpu", "groq-3": "groq-3-lpu", "lp30": "groq-3-lpu", "jetson-agx-thor": "jetson-thor",
	"maia": "maia-200", "4090": "rtx-4090", "5090": "rtx-5090", "spark": "gb10",
}

// unpriced are accelerators that planners ask for and that no entry can be made of, and why.
var unpriced = map[string]string{
	"jalapeno":        "no source that was read states its memory (OpenAI, 15.4 TB/s, not for sale)",
	"jalapeño":        "no source that was read states its memory (OpenAI, 15.4 TB/s, not for sale)",
	"cs-4":            "neither its memory nor its bandwidth is published (Cerebras, Aug 2026)",
	"crescent-island": "its bandwidth and its peaks are not published (Intel, 160 GB)",
	"mi440x":          "its figures are not disclosed (AMD)",
	"mi430x":          "its figures for inference are not published (AMD)",
	"rubin-cpx":       "it was taken off NVIDIA's roadmap in Mar 2026",
	"rubin-ultra":     "its figures are not published (NVIDIA, 2027)",
	"ascend-910c":     "no source that was read states its figures (Huawei)",
	"ascend-950":      "no source that was read states its figures (Huawei)",
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
	if experts, _, mixed := strings.Cut(precision, "-experts+"); mixed && experts == own {
		return own // whose experts are stored otherwise than the rest
	}
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

// PublishedPrecision is what the weights of a catalog model are published in, by most of them; empty: no such model.
func PublishedPrecision(model string) string {
	if !slices.Contains(ModelNames(), model) {
		return ""
	}
	m, err := modelNamed(model)
	if err != nil {
		return ""
	}
	return m.FFNDtype()
}

// NearestModel returns the name of the catalog that comes closest to what was written, itself or by another name of the
// same model: by its beginning before its letters; empty: none does.
func NearestModel(written string) string {
	short, _ := ModelNamed(written)
	near := strict.Nearest(short, slices.Concat(ModelNames(), slices.Sorted(maps.Keys(modelAliases))))
	return cmp.Or(modelAliases[near], near)
}

// NearestGPU is NearestModel of an accelerator.
func NearestGPU(written string) string {
	gpu, _ := CountedGPU(written)
	short, _ := GPUNamed(gpu)
	return strict.Nearest(short, slices.Concat(GPUNames(), slices.Sorted(maps.Keys(gpuAliases))))
}

// unknownModel says that the catalog has no model of that name, and what to write instead.
func unknownModel(written string) error {
	why, path := "not found", ""
	if strings.Contains(written, "/") {
		why, path = "is not in the catalog", " or give the path of its config.json"
	}
	if near := NearestModel(written); near != "" {
		return fmt.Errorf("model %q %s; did you mean %q?%s", written, why, near, path)
	}
	return fmt.Errorf("model %q %s; valid names: %s", written, why, strict.Quoted(ModelNames()))
}

// UnknownGPU says that the catalog has no accelerator of that name, and why or which one was perhaps meant.
func UnknownGPU(written string) error {
	gpu, _ := CountedGPU(written)
	if why, ok := unpriced[shortGPU(gpu)]; ok {
		return fmt.Errorf("gpu %q cannot be priced: %s; accepted: a file like those of the catalog with figures of your own",
			written, why)
	}
	if near := NearestGPU(written); near != "" {
		return fmt.Errorf("gpu %q not found; did you mean %q?", written, near)
	}
	return fmt.Errorf("gpu %q not found; valid names: %s", written, strict.Quoted(GPUNames()))
}
