package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// Stages that do not share a host leave the all-reduces inside each of them on its own link: a second stage adds one
// transfer over the network and nothing else.
func TestAStageKeepsItsOwnLink(t *testing.T) {
	d := deployment(t, "llama-3.1-70b", "h100-sxm", 8)
	const batch = 512 // of each of two microbatches
	communication := func(d hardware.Deployment, n int) float64 {
		require.NoError(t, d.Validate())
		step := hardware.NewRoofline(d, 1).Step(n, 128)
		return step.Part[sim.Communication].A.Seconds()
	}
	one := communication(d, batch)
	d.Parallel.Pipeline = 2
	transferS := d.Efficiency.CollectiveS + batch*float64(d.Model.Hidden)*2/(d.Efficiency.Link*d.GPU.NICBps.Value)
	assert.InEpsilon(t, one+transferS, communication(d, 2*batch), 1e-9)
}

// Tokens of DeepSeek-R1 have 8 experts. Up to 9 GPUs each gets what all others have; on more, only what chose its
// experts, so that four times as many GPUs move a fourth as much. Slices of all experts need every token.
func TestWholeExpertsGetOnlyTheTokensThatChoseThem(t *testing.T) {
	const tokens = 8192 // of all ranks
	perTokenS := func(ranks int, whole bool) float64 {
		d := deployment(t, "deepseek-r1", "gb200", 1)
		d.Parallel.Data, d.Parallel.Expert = ranks, whole
		require.NoError(t, d.Validate())
		communication := func(n int) float64 {
			step := hardware.NewRoofline(d, 1).Step(n, 128)
			return step.Part[sim.Communication].A.Seconds()
		}
		return (communication(2*tokens) - communication(tokens)) / tokens
	}
	assert.InEpsilon(t, perTokenS(8, false), perTokenS(8, true), 1e-6)
	assert.InEpsilon(t, perTokenS(16, true)/2, perTokenS(32, true), 1e-6)
	assert.InEpsilon(t, perTokenS(64, false)*8/63, perTokenS(64, true), 1e-6)
}
