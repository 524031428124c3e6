package calibration

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration/fittest"
)

// writePrior writes a changed prior to a file, and returns its path.
func writePrior(t *testing.T, change func(*hardware.Efficiency)) string {
	e := fittest.PriorOf(t)
	change(&e)
	return written(t, t.TempDir(), &e)
}

func written(t require.TestingT, dir string, e *hardware.Efficiency) string {
	var b bytes.Buffer
	require.NoError(t, WriteEfficiency(&b, e, nil, "One line.\nAnother."))
	assert.True(t, strings.HasPrefix(b.String(), "# One line.\n# Another.\nbandwidth: "))
	path := filepath.Join(dir, "efficiency.yaml")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

func TestAFileGivesBackWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		share, span := rapid.Float64Range(1e-6, 1), rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-9, 10))
		e := hardware.Efficiency{
			Bandwidth: share.Draw(t, "bandwidth"), Compute: share.Draw(t, "compute"), MoECompute: share.Draw(t, "moe_compute"),
			MoERows:          rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 1e3)).Draw(t, "moe_rows"),
			ExpertImbalance:  rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "expert_imbalance"),
			LaunchOverlap:    rapid.SampledFrom([]float64{0, 2}).Draw(t, "launch_overlap"),
			ExpertSkew:       rapid.SampledFrom([]float64{0, 1}).Draw(t, "expert_skew"),
			MoETileRows:      rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 1e3)).Draw(t, "moe_tile_rows"),
			MoECopyBytes:     rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1, 1e3)).Draw(t, "moe_copy_bytes"),
			QuantizedCompute: rapid.OneOf(rapid.Just(0.0), share).Draw(t, "quantized_compute"),
			KVBandwidth:      share.Draw(t, "kv_bandwidth"), MixedKV: rapid.OneOf(rapid.Just(0.0),
				rapid.Float64Range(1, 9)).Draw(t, "mixed_kv"),
			LatentCompute:    rapid.OneOf(rapid.Just(0.0), share).Draw(t, "latent_compute"),
			AttentionCompute: share.Draw(t, "attention_compute"), Link: share.Draw(t, "link"),
			CollectiveScale: rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(1e-3, 9)).Draw(t, "collective_scale"),
			LayerS:          span.Draw(t, "layer_s"),
			MoELayerS:       span.Draw(t, "moe_layer_s"), MixerLayerS: span.Draw(t, "mixer_layer_s"),
			EagerLayerS: span.Draw(t, "eager_layer_s"), PromptLayerS: span.Draw(t, "prompt_layer_s"),
			PromptLaunch: span.Draw(t, "prompt_launch"), EagerLaunch: span.Draw(t, "eager_launch"),
			RankS: span.Draw(t, "rank_s"), SequenceHostS: span.Draw(t, "sequence_host_s"),
			QuantizedLayerS: span.Draw(t, "quantized_layer_s"), StepS: span.Draw(t, "step_s"),
			SequenceS: span.Draw(t, "sequence_s"), CollectiveS: span.Draw(t, "collective_s"),
			FirstTokenS: span.Draw(t, "first_token_s"),
			Overlap:     rapid.OneOf(rapid.Just(math.Inf(1)), rapid.Float64Range(1, 9)).Draw(t, "overlap"),
			Source:      rapid.StringMatching(`[a-z "':#\\%µ]{0,10}[a-z"':#\\%µ][a-z "':#\\%µ]{0,9}`).Draw(t, "source"),
		}
		got, err := catalog.LoadEfficiency(written(t, dir, &e))
		require.NoError(t, err)
		assert.Equal(t, e, got)
	})
}

func TestRoundedConstantsHaveThreeDigits(t *testing.T) {
	e := fittest.PriorOf(t)
	e.Bandwidth, e.SequenceS, e.PromptLayerS = 0.74868, 1.23456e-5, 1.23456e-5
	got := Rounded(e)
	assert.Equal(t, []float64{0.749, 1.23e-5, 1.23456e-5}, []float64{got.Bandwidth, got.SequenceS, got.PromptLayerS},
		"what prompts add to a layer is not fitted")
}

// TestAGPUThatWasMeasuredElsewhereIsWrittenAsOne: and is read as one again.
func TestAGPUThatWasMeasuredElsewhereIsWrittenAsOne(t *testing.T) {
	e := catalog.Efficiencies{Name: "mine", Describes: "two GPUs", Default: fittest.PriorOf(t)}
	e.GPUs = []catalog.GPUEfficiency{{GPU: "h100-sxm", Efficiency: e.Default},
		{GPU: "l40s", Efficiency: e.Default, Elsewhere: true}}
	var b bytes.Buffer
	require.NoError(t, WriteEfficiencies(&b, &e, "Two GPUs."))
	path := filepath.Join(t.TempDir(), "mine.yaml")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	got, err := catalog.EfficienciesAt(path)
	require.NoError(t, err)
	assert.Equal(t, e, got)
}
