package run

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
)

// TestARunSaysWhatItsStepsAchieveOfThePeaks: every part that reads or multiplies, none above its peak, and a warning of
// arithmetic that a constant keeps below a tenth of it at more than 256 rows, not at fewer.
func TestARunSaysWhatItsStepsAchieveOfThePeaks(t *testing.T) {
	for clients, slow := range map[string]bool{"600": true, "200": false} {
		s, err := configs.Read("peak", []byte("model: mixtral-8x7b\nweights: fp8\npools: [{gpu: h200-sxm, "+
			"max_num_seqs: 1024, efficiency: {bandwidth: 0.9, compute: 0.7, moe_compute: 0.05, kv_bandwidth: 0.9, "+
			"attention_compute: 0.5, link: 0.5, overlap: 2}}]\nworkload: {closed_loop: {concurrency: "+clients+"}, "+
			"requests: "+clients+", prompt_tokens: {distribution: fixed, mean: 20}, output_tokens: {distribution: fixed, "+
			"mean: 40}}\n"), configs.Options{})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		defer b.Close()
		r, err := Simulate(context.Background(), b, Options{})
		require.NoError(t, err)
		require.Len(t, r.Summary.OfPeak, 1)
		x := r.Summary.OfPeak[0]
		assert.Equal(t, 40, x.Context)
		names := map[string]bool{}
		for _, p := range x.Parts {
			names[p.Part] = true
			assert.Greater(t, p.OfPeak, 0.0, p.Part)
			assert.LessOrEqual(t, p.OfPeak, 1.0, p.Part)
			assert.False(t, p.Limit == "compute" && p.OfPeak < 0.1, "%s waits for kernels, and not for FLOP/s", p.Part)
		}
		assert.True(t, names["experts"] && names["attention projections"] && names["LM head"], "%v", names)
		warned := false
		for _, w := range r.Summary.Warnings {
			warned = warned || strings.HasPrefix(w, "experts: ")
		}
		assert.Equal(t, slow, warned, "%s clients: %v", clients, r.Summary.Warnings)
	}
}
