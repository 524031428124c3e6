package groundtruth

import (
	"regexp"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// asksForTopP is the names of checkpoints whose generation_config.json has a top_p, which vLLM takes for requests that
// say none (--generation-config auto, vllm/config/model.py: get_diff_sampling_param). Llama and the instruction-tuned
// Qwen have one, CodeLlama, Mistral and Mixtral have none (from memory: unverified).
var asksForTopP = regexp.MustCompile(`^(meta-llama|RedHatAI)/(Meta-)?Llama-|^Qwen/Qwen2\.5-.*-Instruct$|^Qwen/Qwen3-`)

// sortsNoMore is the first release of vLLM that finds the likeliest tokens without sorting all of them.
const sortsNoMore = strict.Release("0.17")

// samplingOf says how vLLM chooses tokens for requests that say nothing of it; empty: in a time not worth a mention.
func samplingOf(model, version string) string {
	switch {
	case !asksForTopP.MatchString(model):
		return ""
	case version != "" && catalog.CompareReleases(strict.Release(version), sortsNoMore) < 0:
		return string(hardware.TopPSorted)
	}
	return string(hardware.TopP)
}
