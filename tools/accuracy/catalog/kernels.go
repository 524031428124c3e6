package catalog

import (
	"slices"

	"github.com/decodesim/decodesim/configs/catalog"
)

// fromKernels returns by what models that no server was fitted to differ under an engine, where tables of its kernels
// say so.
//
// Experts in fp8 have a scale for each block of 128 weights (DeepSeek, Qwen3: all in fp8 that servers of TensorRT-LLM
// were fitted to) or one for each matrix (Mixtral as NVIDIA quantised it). On Hopper, whose tensor cores know of no
// scales, products of the former take twice as long: 1.99 times in the median of 68 shapes of four models on H100 and
// H200 with more than 128 rows to an expert, 1.62 to 2.34 times eight times in ten (NVIDIA aiconfigurator, commit
// 095f58a5, systems/*/moe, TensorRT-LLM 1.3.0rc20). On Blackwell both take the same time, and of other GPUs nothing is
// known.
func fromKernels(engine string, fitted []catalog.ModelEfficiency) []catalog.ModelEfficiency {
	if engine != "tensorrt-llm" {
		return nil
	}
	mixtral := catalog.ModelEfficiency{Model: "mixtral-8x7b", Weights: "fp8", Architecture: "hopper",
		Scales: []catalog.Scale{{Constant: "moe_compute", Times: scaledByMatrix}},
		Source: "kernels with one scale for each matrix against those with one for each block: NVIDIA aiconfigurator, " +
			"commit 095f58a5, systems/h100_sxm and h200_sxm, moe"}
	if slices.ContainsFunc(fitted, func(m catalog.ModelEfficiency) bool {
		return m.Model == mixtral.Model && m.Weights == mixtral.Weights
	}) {
		return nil
	}
	return []catalog.ModelEfficiency{mixtral}
}

// scaledByMatrix is how many times the share of the peak of block-scaled products in fp8 those with one scale for each
// matrix achieve on Hopper.
const scaledByMatrix = 2
