package groundtruth

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

func TestALongRunOfMoreRequestsThanAScenarioListsIsSkipped(t *testing.T) {
	run := measured.Run{Scenario: "workload:\n  requests: 3\n"}
	recordedLengths(&run, make([][2]int, setup.RecordedMax+1))
	assert.Equal(t, measured.Run{Skip: "more than 100000 requests, which no scenario lists"}, run)
}

func TestRecipesSayHowManySequencesARankTakes(t *testing.T) {
	for recipe, maxNumSeqs := range map[string]int{
		"recipes/trtllm/gb200-fp4/8k1k/stp/ctx10_gen1_dep16_batch256_eplb256_mtp0.yaml": 256,
		"recipes/trtllm/h200/8k1k/stp/c128_ctx1_gen1_dep8_batch64_eplb0_mtp0.yaml":      64,
		"recipes/trtllm/b300-fp8/1k1k/stp/ctx1_gen2_dp8_batch128_eplb0_mtp0_3072.yaml":  128,
		"recipes/h200/1k1k/bs256-1p6d-dep.yaml":                                         0,
		"recipes/gb200-fp8/1k1k/max-tpt.yaml":                                           0,
		"":                                                                              0,
	} {
		assert.Equal(t, maxNumSeqs, recipeMaxNumSeqs(recipe), recipe)
	}
}
