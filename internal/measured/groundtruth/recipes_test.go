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

// A sweep whose recipe is not named has the greatest power of two on each rank that its most clients fill, or their
// even share where that is a multiple of 16.
func TestMostClientsSayWhatRecipesWithoutANameDo(t *testing.T) {
	for _, c := range []struct{ most, ranks, maxNumSeqs int }{
		{395, 5, 64}, {6, 4, 1}, {589, 16, 32}, {2048, 8, 256}, {1920, 40, 48}, {3, 8, 1},
	} {
		assert.Equal(t, c.maxNumSeqs, unnamedMaxNumSeqs(c.most, c.ranks), "%+v", c)
	}
}
