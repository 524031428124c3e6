package hardware_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
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

// An all-reduce over two hosts of 8 H100 is the one in each and one between them, of an eighth of the message over the
// adapter of every GPU; over four cards without links it goes around their PCIe.
func TestAllReducesBeyondAHostAddTheNetwork(t *testing.T) {
	const bytes = 64 * 8192 * 2.0
	of := func(name string, tensor int) float64 {
		d := deployment(t, "llama-3.1-70b", name, tensor)
		d.Efficiency.CollectiveScale, d.Efficiency.CollectiveS = 1, 0
		return partOf(d, 64, hardware.AllReducePart).TimeS / 160
	}
	within, network := of("h100-sxm", 8), 33.8e-6+7.6e-6+bytes/8/(0.6*50e9)
	assert.InEpsilon(t, within+network, of("h100-sxm", 16), 1e-9)
	assert.InEpsilon(t, 0.1e-6+2*6.8e-6+1.5*bytes/(0.42*64e9), of("h100-pcie", 4), 0.02)
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
	for engine, measuredUS := range map[string]map[float64]float64{ // by KiB
		"vllm":         {1: 4.6, 128: 7.9, 1024: 15.0, 8192: 50.7, 131072: 577},
		"tensorrt-llm": {1: 3.2, 128: 6.2, 1024: 26.0, 8192: 79.4, 131072: 575},
	} {
		d.Parallel.Engine = engine
		for kib, us := range measuredUS {
			d.Model.Hidden = int(min(kib, 16) * 512) // 16 bits each
			step := hardware.NewRoofline(d, 1).Step(int(max(1, kib/16)), 1)
			bytes := float64(d.Model.Hidden * 2 * int(max(1, kib/16)))
			require.InDelta(t, kib*1024, bytes, 0)
			assert.InEpsilon(t, us, step.Part[sim.Communication].A.Seconds()*1e6/160, 0.19, "%s, %g KiB", engine, kib)
		}
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
		return partOf(d, rows, hardware.AllReducePart).TimeS * 1e6 / 160
	}
	assert.Greater(t, reduceUS(8192), 1000.0)
	d.Efficiency.CollectiveScale, d.Efficiency.CollectiveS = 1, 0
	assert.InDelta(t, 550, reduceUS(8192), 50)
	assert.InDelta(t, 5.5, reduceUS(1), 2.5)
}

// partOf is that of a decode step by its name.
func partOf(d hardware.Deployment, batch int, name string) hardware.PartCost {
	for _, p := range hardware.NewRoofline(d, 1).Parts(batch, 1) {
		if p.Name == name {
			return p
		}
	}
	return hardware.PartCost{}
}

// Parts tell collectives apart, by which algorithm and how near to the peak of the link; they sum up to what a step
// communicates, and what hides behind computing is beside it.
func TestPartsTellCollectivesApart(t *testing.T) {
	d := deployment(t, "llama-3.1-70b", "h100-sxm", 8)
	d.Efficiency = efficiency(t, "vllm-v1")
	d.Efficiency.CollectiveScale, d.Efficiency.CollectiveS = 1, 0
	for rows, algorithm := range map[int]string{1: "one-shot", 64: "two-shot", 8192: "NCCL"} {
		p := partOf(d, rows, hardware.AllReducePart)
		assert.Equal(t, algorithm, p.Algorithm, rows)
		assert.InEpsilon(t, 160*float64(rows)*8192*2*1.75/450e9, p.LinkPeakS, 1e-9)
		logits := partOf(d, rows, hardware.LogitsPart)
		assert.InEpsilon(t, float64(rows)*128256*2*0.875/450e9, logits.LinkPeakS, 1e-9)
		assert.Greater(t, logits.TimeS, logits.LinkPeakS)
		all := hardware.NewRoofline(d, 1).Step(rows, 1).Part[sim.Communication].A.Seconds()
		assert.InDelta(t, all, p.TimeS+logits.TimeS, 2e-12)
	}
	d = deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.Efficiency = efficiency(t, "vllm-v1")
	d.Parallel.Expert, d.Parallel.Data = true, 32
	plain, dispatch := d, partOf(d, 128*32, hardware.DispatchPart)
	assert.Equal(t, "low-latency", dispatch.Algorithm)
	assert.Zero(t, dispatch.HiddenS)
	d.Parallel.Overlap = hardware.TwoBatch
	hidden := partOf(d, 128*32, hardware.DispatchPart)
	assert.Greater(t, hidden.HiddenS, 0.0)
	assert.InEpsilon(t, dispatch.TimeS, hidden.TimeS+hidden.HiddenS, 1e-12)
	assert.Greater(t, communicationS(t, plain, 128*32), communicationS(t, d, 128*32))
	weights := func(d hardware.Deployment, rows int) float64 {
		return hardware.NewRoofline(d, 1).Step(rows, 1).Part[sim.Weights].A.Seconds()
	}
	assert.InEpsilon(t, 2*weights(plain, 64*32), weights(d, 128*32), 1e-9, "either half reads them")
}

// Over 16 GPUs of an NVL72 that each send 2,048 tokens in 16 bits to 8 of them, a one-sided dispatch was measured to
// take 343 µs and a combine 348, and of 4 tokens 18.5 and 31.6; over 8 GPUs, 312 and 323 (TensorRT-LLM, tech blog 18).
// There every token went to as many GPUs as it could; drawn at random it goes to fewer.
func TestOneSidedKernelsTakeWhatWasMeasured(t *testing.T) {
	for gpus, measuredUS := range map[int][2]float64{8: {311.8, 322.6}, 16: {343.3, 348.4}} {
		d := deployment(t, "deepseek-r1", "gb200", 1)
		d.Efficiency.Link, d.Efficiency.CollectiveScale = 0.5, 1
		d.Model.Precision = llm.UniformPrecision()
		d.Parallel.Expert, d.Parallel.AllToAll, d.Parallel.Data = true, hardware.OneSided, gpus
		require.NoError(t, d.Validate())
		tokens := int(math.Round(2048 * 8 / d.Reached(gpus)))
		for i, name := range []string{hardware.DispatchPart, hardware.CombinePart} {
			assert.InEpsilon(t, measuredUS[i], partOf(d, tokens*gpus, name).TimeS/58*1e6, 0.03, "%d GPUs, %s", gpus, name)
			assert.InEpsilon(t, []float64{18.5, 31.6}[i], partOf(d, 4*gpus, name).TimeS/58*1e6, 0.03, "%d GPUs, %s", gpus, name)
		}
	}
	d := deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.Parallel.Expert, d.Parallel.AllToAll, d.Parallel.Data = true, hardware.OneSided, 16
	assert.ErrorContains(t, d.Validate(), `all_to_all "one-sided" writes into the memory of GPUs of one scale-up domain, `+
		"which has 8 of the 16; accepted: low-latency, normal or all-gather")
}

// A way to run collectives that is asked for by name takes what was measured of it, whatever the efficiencies say of
// links.
func TestAWayThatIsAskedForTakesWhatWasMeasured(t *testing.T) {
	communication := func(d hardware.Deployment, batch int) float64 {
		require.NoError(t, d.Validate())
		return 1e6 * (partOf(d, batch, hardware.AllReducePart).TimeS + partOf(d, batch, hardware.DispatchPart).TimeS +
			partOf(d, batch, hardware.CombinePart).TimeS)
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

// TestNCCLAloneMakesNothingQuicker: engines leave large messages to NCCL too, and take the quicker for small ones.
func TestNCCLAloneMakesNothingQuicker(t *testing.T) {
	for _, gpu := range []string{"a100-sxm-80gb", "h100-sxm", "h800-sxm", "b200-sxm", "l40s"} {
		for _, engine := range []string{"vllm-v1", "sglang"} {
			reduces := func(nccl bool, tokens int) float64 {
				d := deployment(t, "llama-3.1-8b", gpu, 8)
				d.Efficiency, d.Parallel.NCCL = efficiency(t, engine), nccl
				require.NoError(t, d.Validate())
				return partOf(d, tokens, hardware.AllReducePart).TimeS
			}
			for tokens := 1; tokens <= 1<<14; tokens *= 4 {
				assert.LessOrEqual(t, reduces(false, tokens), reduces(true, tokens), "%s %s %d", gpu, engine, tokens)
			}
			assert.Greater(t, reduces(true, 1<<14), 0., gpu)
		}
	}
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

// Under vLLM tensor-parallel ranks gather what experts yield for the parts of their rows: 61 layers less three dense
// ones, 7,168 values of 2 bytes, a half of them over the link to the other GPU. Other engines, experts in slices and
// ranks of one GPU do not.
func TestGroupsGatherWhatExpertsYield(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h200-sxm", 2)
	d.Efficiency = efficiency(t, "vllm-v1")
	d.Parallel.Engine, d.Parallel.Expert, d.Parallel.Data = "vllm", true, 4
	p := partOf(d, 64*4, hardware.YieldsPart)
	assert.InEpsilon(t, 58*64*7168.0/450e9, p.LinkPeakS, 1e-9)
	assert.Greater(t, p.TimeS, 58*d.Efficiency.CollectiveS)
	before := communicationS(t, d, 64*4)
	without := func(change func(*hardware.Deployment)) {
		other := d
		change(&other)
		assert.Zero(t, partOf(other, 64*4, hardware.YieldsPart))
	}
	without(func(d *hardware.Deployment) { d.Parallel.Engine = "sglang" })
	without(func(d *hardware.Deployment) { d.Parallel.Expert = false })
	without(func(d *hardware.Deployment) { d.Parallel.Tensor, d.Parallel.Data = 1, 8 })
	without(func(d *hardware.Deployment) { d.Parallel.Tensor, d.Parallel.Data = 8, 1 })
	d.Parallel.Engine = ""
	assert.InDelta(t, p.TimeS, before-communicationS(t, d, 64*4), 2e-12)
}

// What a collective takes in a model is a multiple of what its kernel takes alone, and as much more for each: where the
// least time of a kernel that sends decides, as of few rows within a host by the normal ones, as of many.
func TestACollectiveInAModelIsAMultipleOfItsKernel(t *testing.T) {
	ways := []hardware.AllToAll{hardware.LowLatency, hardware.Normal, hardware.OneSided, hardware.AllGather}
	least := 0
	for mode, way := range ways {
		for _, ranks := range []int{8, 16} {
			d := deployment(t, "deepseek-r1", "h100-sxm", 1)
			d.Parallel.Expert, d.Parallel.AllToAll, d.Parallel.Data = true, way, ranks
			if d.Validate() != nil {
				continue // they write to no other host
			}
			for _, rows := range []int{1, 4, 64, 512} {
				for i, name := range []string{hardware.DispatchPart, hardware.CombinePart} {
					d.Efficiency.CollectiveScale, d.Efficiency.CollectiveS = 1, 0
					single := partOf(d, rows*ranks, name).TimeS / 58
					if way != hardware.AllGather {
						near, _ := hardware.Sends(&d, 8, mode)
						require.GreaterOrEqual(t, single, near[i].LeastS*(1-1e-9))
						if single <= near[i].LeastS*(1+1e-9) {
							least++
						}
					}
					d.Efficiency.CollectiveScale, d.Efficiency.CollectiveS = 1.5, 20e-6
					assert.InEpsilon(t, 1.5*single+20e-6, partOf(d, rows*ranks, name).TimeS/58, 1e-9, "%s of %d rows by %s", name,
						rows, way)
				}
			}
		}
	}
	assert.Positive(t, least, "the least time of a kernel decides")
}

// At the peaks of its links, what each GPU gathers of 16 in two hosts comes from seven of its own eight over theirs,
// and half of all over the adapters of eight.
func TestAGatherAtThePeakOfItsLinks(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.Parallel.Expert, d.Parallel.AllToAll = true, hardware.AllGather
	const bytes = 58 * 512 * 7168 * 2.0
	for hosts, networkS := range map[float64]float64{1: 0, 2: 1. / 2 / 8 / 50e9, 4: 3. / 4 / 8 / 50e9} {
		d.Parallel.Data = int(8 * hosts)
		for _, name := range []string{hardware.DispatchPart, hardware.CombinePart} {
			p := partOf(d, 512, name)
			assert.InEpsilon(t, bytes*(7./8/450e9+networkS), p.LinkPeakS, 1e-9, "%s over %g hosts", name, hosts)
			assert.Greater(t, p.TimeS, p.LinkPeakS)
		}
	}
}

// At the peaks of its links, what a GPU sends of 32 tokens to experts on 16 takes as long as the busier of both: copies
// to each expert in its half of the experts and in the other, or one to each GPU and host that has some of a token's.
func TestTokensAtThePeakOfTheirLinks(t *testing.T) {
	for way, copies := range map[hardware.AllToAll]func(*hardware.Deployment) (near, far float64){
		hardware.LowLatency: func(*hardware.Deployment) (near, far float64) { return 8. / 2, 8 },
		hardware.Normal:     func(d *hardware.Deployment) (near, far float64) { return d.Reached(8), d.Reached(2) },
	} {
		for _, networkBps := range []float64{50e9, 5e12} {
			d := deployment(t, "deepseek-r1", "h100-sxm", 1)
			d.Parallel.Expert, d.Parallel.AllToAll, d.Parallel.Data = true, way, 16
			d.GPU.NICBps.Value = networkBps
			near, far := copies(&d)
			each := max(near*7/8/450e9, far/2/networkBps)
			const elements = 58 * 32 * 7168
			assert.InEpsilon(t, elements*(1+4./128)*each, partOf(d, 16*32, hardware.DispatchPart).LinkPeakS, 1e-9, way)
			assert.InEpsilon(t, elements*2*each, partOf(d, 16*32, hardware.CombinePart).LinkPeakS, 1e-9, way)
		}
	}
}

// Logits are gathered so too, of 64 rows of a vocabulary.
func TestLogitsAtThePeakOfTheirLinks(t *testing.T) {
	for tensor, networkS := range map[int]float64{8: 0, 16: 1. / 2 / 8 / 50e9} {
		d := deployment(t, "llama-3.1-70b", "h100-sxm", tensor)
		d.Efficiency.CollectiveScale = 1
		assert.InEpsilon(t, 64*128256*2*(7./8/450e9+networkS), partOf(d, 64, hardware.LogitsPart).LinkPeakS, 1e-9, tensor)
	}
}

// Infinity Fabric joins each pair of eight by a link of its own: two GPUs have a seventh of what eight have, so that an
// all-reduce over two takes 7 times as long as over links that a switch shares out, and a stage passes its rows on over
// one link. No GPU sends faster than its links.
func TestTheLinksOfAMeshLeadToOneGPUEach(t *testing.T) {
	reduce := func(gpu string, tensor int) float64 {
		d := deployment(t, "llama-3.1-70b", gpu, tensor)
		d.Efficiency.CollectiveS = 0
		return partOf(d, 512, hardware.AllReducePart).TimeS / 160
	}
	const bytes = 512 * 8192 * 2.0
	share := deployment(t, "llama-3.1-70b", "mi300x", 2).Efficiency.Link
	assert.InEpsilon(t, bytes/share/64e9, reduce("mi300x", 2), 1e-6)
	assert.InEpsilon(t, 1.5*bytes/share/(3*64e9), reduce("mi300x", 4), 1e-6)
	assert.InEpsilon(t, 1.75*bytes/share/448e9, reduce("mi300x", 8), 1e-6)

	d := deployment(t, "llama-3.1-70b", "mi300x", 4)
	one := hardware.NewRoofline(d, 1).Step(64, 128).Part[sim.Communication].A.Seconds()
	d.Parallel.Pipeline = 2
	two := hardware.NewRoofline(d, 1).Step(2*64, 128).Part[sim.Communication].A.Seconds()
	assert.InEpsilon(t, d.Efficiency.CollectiveS+64*8192*2/(share*64e9), two-one, 1e-6)

	d.Parallel.Pipeline, d.Parallel.NCCL, d.Efficiency.CollectiveScale = 1, true, 1
	for _, tensor := range []int{2, 4, 8} {
		d.Parallel.Tensor = tensor
		takenS := partOf(d, 1<<16, hardware.AllReducePart).TimeS / 160
		moved := (1 << 17) * 8192 * 2 * float64(tensor-1) / float64(tensor)
		assert.Less(t, moved/takenS, float64(tensor-1)*64e9, "%d GPUs", tensor)
	}
	d.GPU.Domain.Value = 1
	require.NoError(t, d.GPU.Validate(), "a planner whose GPUs have no such links")
	d.GPU.Domain = hardware.Quantity{}
	assert.ErrorContains(t, d.GPU.Validate(), "mesh is true without a domain")
}
