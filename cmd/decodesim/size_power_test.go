package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/sizing"
)

// powerCapped is the built-in study with a power cap in place of its GPUs.
var powerCapped = []string{"size", "size-70b-64gpu", "--set", "budget.gpus=null", "--set", "requests=400", "--set",
	"seeds=1", "--json"}

// TestAPowerCapIsABudget: 4 kW take five H100s of 700 W, so that no deployment has more, nor one of another size that
// draws more.
func TestAPowerCapIsABudget(t *testing.T) {
	status, out, errOut := try(append(powerCapped, "--budget-power-w", "4000")...)
	require.Equal(t, exitOK, status, errOut)
	var answer sizing.Sizing
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	assert.Equal(t, 5, answer.GPUsMax)
	require.NotEmpty(t, answer.Candidates)
	for _, c := range answer.Candidates {
		assert.InDelta(t, 700*float64(c.GPUs), c.TDPW, 1e-9, c.Name)
		assert.LessOrEqual(t, c.TDPW, 4000.0, c.Name)
	}
}

func TestAPowerCapNeedsPowersThatAreKnown(t *testing.T) {
	status, _, errOut := try(append(powerCapped, "--set", "budget.power_w=9000", "--set", "search.gpu=[tpu-v6e]")...)
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, "no source states the power of tpu-v6e; expected gpus instead")
}

// TestASearchHasNoMixOfPrices: how many replicas are reserved depends on how many there are, which is what it finds.
func TestASearchHasNoMixOfPrices(t *testing.T) {
	mixed := strings.Replace(small, "replicas: 2", "replicas: 2, spot_replicas: 1, spot_price_per_hour: 1", 1)
	require.NotEqual(t, small, mixed)
	inDir(t, mixed)
	study := "scenario: chat.yaml\nrate: {at: 5}\nslo: {ttft_ms: 500}\n"
	require.NoError(t, os.WriteFile("study.yaml", []byte(study), 0o600))
	status, _, errOut := try("size", "study.yaml")
	require.Equal(t, exitBadInput, status)
	require.Contains(t, errOut, "has reserved or spot replicas in pool")
	require.Contains(t, errOut, "expected reserved_replicas and spot_replicas null")
}
