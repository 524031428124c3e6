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

// A GPU's bridge joins two cards; four in one host talk over PCIe, and sixteen over the network.
func TestTheNetworkIsOnlyBeyondTheHost(t *testing.T) {
	communication := func(name string, tensor int) float64 {
		d := deployment(t, "llama-3.1-70b", name, tensor)
		require.NoError(t, d.Validate())
		d.GPU.NICBps.Value /= 10
		slow := hardware.NewRoofline(d, 1).Step(64, 128).Part[sim.Communication].A.Seconds()
		d.GPU.NICBps.Value *= 10
		return slow / hardware.NewRoofline(d, 1).Step(64, 128).Part[sim.Communication].A.Seconds()
	}
	for _, name := range []string{"h100-pcie", "h100-nvl", "l40s"} {
		assert.InDelta(t, 1, communication(name, 4), 0, name)
		assert.InDelta(t, 1, communication(name, 8), 0, name)
		assert.Greater(t, communication(name, 16), 1.1, name)
	}
}

// What was measured of single collectives over NVLink and between hosts of 8 H100 (NVIDIA aiconfigurator, commit
// 095f58a5, H100 tables): all-reduces by bytes, which differ between engines by 15 to 20 %, and dispatch with combine
// of 128 tokens a GPU by the low-latency kernels, which the model is within 5 % of.
func TestCollectivesTakeWhatWasMeasured(t *testing.T) {
	d := deployment(t, "llama-3.1-70b", "h100-sxm", 8)
	d.Efficiency.CollectiveScale, d.Efficiency.CollectiveS = 1, 0
	for rows, measuredUS := range map[int]float64{8: 7.0, 64: 20.5, 512: 65, 8192: 580} {
		step := hardware.NewRoofline(d, 1).Step(rows, 1)
		assert.InEpsilon(t, measuredUS, step.Part[sim.Communication].A.Seconds()*1e6/160, 0.3, "%d rows of 16 KiB", rows)
	}
	d = deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.Efficiency.CollectiveScale, d.Efficiency.CollectiveS = 1, 0
	d.Parallel.Expert, d.Parallel.AllToAll = true, hardware.LowLatency
	for gpus, measuredUS := range map[int]float64{8: 112, 16: 292, 32: 414, 64: 473} {
		d.Parallel.Data = gpus
		step := hardware.NewRoofline(d, 1).Step(128*gpus, 1)
		assert.InEpsilon(t, measuredUS, step.Part[sim.Communication].A.Seconds()*1e6/58, 0.05, "%d GPUs", gpus)
	}
}

// An all-reduce of 134 MB over 8 H100 takes 0.5 to 0.6 ms, and of 16 KiB some microseconds, where tables count: one
// share of the link for both, as it is fitted in steps inside a host, has the large one take more than twice as long.
func TestALargeAllReduceTakesHalfAMillisecond(t *testing.T) {
	d := deployment(t, "llama-3.1-70b", "h100-sxm", 8)
	d.Efficiency = efficiency(t, "vllm-v1")
	reduceUS := func(rows int) float64 {
		return hardware.NewRoofline(d, 1).Step(rows, 1).Part[sim.Communication].A.Seconds() * 1e6 / 160
	}
	assert.Greater(t, reduceUS(8192), 1000.0)
	d.Efficiency.CollectiveScale, d.Efficiency.CollectiveS = 1, 0
	assert.InDelta(t, 550, reduceUS(8192), 50)
	assert.InDelta(t, 5.5, reduceUS(1), 2.5)
}

// A way to run collectives that is asked for by name takes what was measured of it, whatever the efficiencies say of
// links.
func TestAWayThatIsAskedForTakesWhatWasMeasured(t *testing.T) {
	communication := func(d hardware.Deployment, batch int) float64 {
		require.NoError(t, d.Validate())
		return hardware.NewRoofline(d, 1).Step(batch, 1).Part[sim.Communication].A.Seconds() * 1e6
	}
	d := deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.Efficiency = efficiency(t, "vllm-v1")
	d.Efficiency.CollectiveScale = 0
	d.Parallel.Expert, d.Parallel.AllToAll, d.Parallel.Data = true, hardware.LowLatency, 32
	assert.InEpsilon(t, 414, communication(d, 128*32)/58, 0.05)
	d = deployment(t, "llama-3.1-70b", "h100-sxm", 8)
	d.Efficiency = efficiency(t, "vllm-v1")
	d.Efficiency.CollectiveScale, d.Parallel.NCCL = 0, true
	assert.InEpsilon(t, 25.4, communication(d, 64)/160, 0.3, "NCCL 2.29, 1 MiB")
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
