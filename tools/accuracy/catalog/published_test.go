package catalog

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/calibration/fittest"
	"github.com/decodesim/decodesim/internal/measured"
)

// TestPublishedThroughputsArePredictedWithoutTheirDeployment: a deployment of published throughputs is far slower than
// all others. The fit gives in to it a little, and its predictions on the page know nothing of it.
func TestPublishedThroughputsArePredictedWithoutTheirDeployment(t *testing.T) {
	served, list := fittest.Dense().Grid(1, 2, 4, 8), fittest.Dense().Grid(4, 8)
	fittest.Measure(t, served, fittest.Truth(t))
	slow := fittest.Truth(t)
	slow.Bandwidth /= 2
	fittest.Measure(t, list, slow)
	for i := range served {
		served[i].Labels.Precision = "bf16"
	}
	for i := range list {
		list[i].Labels.Precision = "bf16"
		list[i].ID = "list " + list[i].ID
		list[i].Labels.Kind, list[i].Labels.Own = throughputOfLists, "list"
	}
	other := list[0]
	other.ID, other.Labels.Kind = "server", "server"
	published := append(list, other)
	c, err := FitCatalog(context.Background(), []*measured.File{{Runs: served}, {Runs: published}}, nil)
	require.NoError(t, err)
	assert.Len(t, c.Runs, len(served)+len(list), "a server's figure is not fitted to")

	leftOut, err := c.PredictPublished(context.Background(), published)
	require.NoError(t, err)
	inSample, err := Sets(c.Efficiencies()).Predict(context.Background(), published)
	require.NoError(t, err)
	seen, unseen := 0.0, 0.0
	for i := range leftOut {
		if leftOut[i].Run.ID == other.ID {
			assert.InDelta(t, inSample[i].Predicted, leftOut[i].Predicted, 0)
			continue
		}
		seen, unseen = seen+math.Abs(inSample[i].Error()), unseen+math.Abs(leftOut[i].Error())
	}
	assert.Greater(t, unseen, 1.01*seen)
}

func TestARacksGPUIsThatOfAHostWithTheSameChip(t *testing.T) {
	assert.Equal(t, groups("vllm", "b200-sxm"), groups("vllm", "gb200"))
	assert.NotEqual(t, groups("vllm", "b200-sxm"), groups("vllm", "b300-sxm"))
}
