package hardware_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// Stages that do not share a host leave the all-reduces inside each of them on its own link: a second stage adds one
// hand-over over the network and nothing else.
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
	handOverS := d.Efficiency.CollectiveS + batch*float64(d.Model.Hidden)*2/(d.Efficiency.Link*d.GPU.NICBps.Value)
	assert.InEpsilon(t, one+handOverS, communication(d, 2*batch), 1e-9)
}
