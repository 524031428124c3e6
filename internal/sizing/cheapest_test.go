package sizing

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// TestWhatIsDearNeedsNotEverySeed: the answer, its margins, and the cheapest of each kind of GPU are those of a search
// that confirms every row under every seed. Runs are short, so that seeds differ in what they sustain.
func TestWhatIsDearNeedsNotEverySeed(t *testing.T) {
	kinds := []string{
		rowsStudy, both + "budget: {gpus: 12}\nrate: {at: 40}\n", twoPools + "rate: {at: 40}\n",
		"search: {topology: [colocated], tensor_parallel: [1, 2, 4], gpu: [h100-sxm, h200-sxm, l40s]}\nrate: {at: 40}\n",
		"search: {gpu: [h100-sxm, l40s]}\nbudget: {usd_per_hour: 40}\nrate: {at: 40}\n",
		both + "rate: {at: 40}\nslo: ['ttft p95 <= 200ms', 'itl p95 <= 20ms']\n",
	}
	fewer := 0
	for i := range soak.Cases(soak.Part(len(kinds)), 40) {
		at := []int{23, 40, 61, 95}[(i+i/len(kinds))%4]
		text := kinds[i%len(kinds)]
		t.Run(fmt.Sprint(i, " at ", at), func(t *testing.T) {
			study := studyOf(t, chat, text, fmt.Sprint("rate.at=", at), "requests=400", "seeds=4")
			lazy, best, err := Search(t.Context(), study, Options{})
			require.NoError(t, err)
			every, want, err := Search(t.Context(), study, Options{anyRow: true})
			require.NoError(t, err)
			require.Equal(t, want, best)
			assert.Equal(t, jsonOf(t, every.Best), jsonOf(t, lazy.Best))
			assert.Equal(t, jsonOf(t, every.Finalists), jsonOf(t, lazy.Finalists))
			assert.Equal(t, jsonOf(t, every.Lead), jsonOf(t, lazy.Lead))
			assert.Equal(t, jsonOf(t, every.Replay), jsonOf(t, lazy.Replay))
			require.Len(t, lazy.Rows, len(every.Rows))
			for i := range lazy.Rows {
				a, b := &every.Rows[i], &lazy.Rows[i]
				assert.Equal(t, 0 < b.Seeds && b.Seeds < len(lazy.Seeds), slices.Contains(b.Warnings,
					"confirmed under seed 1 alone; under further seeds it may take more replicas, or fail with any number"), b.Name)
				if b.Seeds == len(lazy.Seeds) {
					assert.Equal(t, jsonOf(t, a), jsonOf(t, b))
				} else if b.Name != "" {
					assert.Equal(t, 1, b.Seeds, b.Name)
					assert.True(t, a.Name == "" || cheaperRow(b, a) <= 0, "%s and not %s", b.Name, a.Name)
				}
				if b.CheapestOfGPU {
					assert.Equal(t, len(lazy.Seeds), b.Seeds, b.Name)
				}
			}
			if lazy.Simulations < every.Simulations {
				fewer++
			}
		})
	}
	assert.Positive(t, fewer)
}

// jsonOf is how size.json has something: numbers that are not known are equal there.
func jsonOf(t *testing.T, of any) string {
	t.Helper()
	text, err := json.Marshal(of)
	require.NoError(t, err)
	return string(text)
}
