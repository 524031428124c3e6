package sizing

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

// preparedFor returns a search as it stands before its first comparison.
func preparedFor(t *testing.T, scenario, study string, set ...string) *sizer {
	t.Helper()
	z := &sizer{ctx: t.Context(), study: studyOf(t, scenario, study, set...)}
	require.NoError(t, z.prepare())
	return z
}

// TestPoolsOfOneDeploymentMayHaveDifferentGPUs: every kind for prompts beside every kind for decodes, each at its own
// price, and names say which.
func TestPoolsOfOneDeploymentMayHaveDifferentGPUs(t *testing.T) {
	z := preparedFor(t, chat, "budget: {usd_per_hour: 9}\nrate: {min: 1, max: 9}\nrequests: 400\n"+
		"search: {topology: [disaggregated], gpu: [h100-sxm, h200-sxm], prefill_gpu: [h100-sxm, h200-sxm]}\n")
	names := map[string]float64{}
	for _, d := range z.all {
		assert.LessOrEqual(t, d.is.USDPerHour, 9.0, d.is.Name)
		assert.InDelta(t, float64(d.replicas[0])*d.pricesUSD[0]+float64(d.replicas[1])*d.pricesUSD[1], d.is.USDPerHour, 1e-9)
		names[d.is.Name] = d.is.USDPerHour
	}
	assert.Contains(t, names, "1P1D tp1 h100-sxm")
	assert.Contains(t, names, "1P1D tp1 h100-sxm/tp1 h200-sxm")
	assert.Contains(t, names, "1P1D tp1 h200-sxm/tp1 h100-sxm")
	assert.Equal(t, "h100-sxm, h200-sxm", z.out.GPU)
}

// TestLayoutsReachThePools, whatever the scenario has, and are named as they are written.
func TestLayoutsReachThePools(t *testing.T) {
	const moe = "budget: {gpus: 16}\nrate: {min: 1, max: 9}\nrequests: 400\n"
	z := preparedFor(t, chat, moe+"search: {parallel: [tp2, tp2-pp2, dp4-ep, tp2-dp2-ep]}\n", "model=deepseek-v2-lite")
	var names []string
	for _, d := range z.all {
		p := d.is.Pools[0]
		assert.Equal(t, d.shape.setting.Layout, configs.Layout{Tensor: p.TensorParallel, Pipeline: p.PipelineParallel,
			Data: p.DataParallel, Expert: p.ExpertParallel, Whole: true})
		names = append(names, d.is.Name)
	}
	assert.Equal(t, []string{"8 × tp2", "4 × tp2-pp2", "4 × dp4-ep", "4 × tp2-dp2-ep"}, names)
}

// TestAutomaticLayoutsAreThoseThatFit: ranks of attention-DP for experts alone, and what does not fit is said once.
func TestAutomaticLayoutsAreThoseThatFit(t *testing.T) {
	const study = "budget: {gpus: 16}\nrate: {min: 0.1, max: 9}\nrequests: 400\nsearch: {parallel: auto}\n"
	layouts := func(model string) (names []string, notes []string) {
		z := preparedFor(t, chat, study, "model="+model)
		for _, d := range z.all {
			names = append(names, d.is.Name)
		}
		return names, z.out.Notes
	}
	dense, notes := layouts("llama-3.1-70b")
	assert.Equal(t, []string{"8 × tp2", "4 × tp4", "2 × tp8", "4 × tp2-pp2", "2 × tp4-pp2"}, dense)
	assert.Contains(t, strings.Join(notes, "\n"), "left out: llama-3.1-70b does not fit: each GPU lacks at least ")
	assert.Equal(t, 1, strings.Count(strings.Join(notes, "\n"), "does not fit"), "for all topologies and limits")
	assert.NotContains(t, strings.Join(notes, "\n"), "pools[0]", "the user has no such file")
	experts, _ := layouts("deepseek-v2-lite")
	assert.Contains(t, experts, "2 × dp8-ep")
	assert.Contains(t, experts, "2 × tp4-dp2-ep")
	assert.NotContains(t, experts, "1 × dp32-ep", "the budget")
}
