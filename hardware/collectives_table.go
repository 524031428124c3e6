package hardware

import "math"

// algorithm is one way to run a collective over g GPUs of a link: T = α + β·log2 g + bytes / (share · g^growth · link).
type algorithm struct {
	latencyS, doublingS float64 // α and β
	share, growth       float64
	whole               bool // every GPU reads the whole message of each other, instead of its part of it
	once                bool // a switch adds up: every GPU sends the message once and receives it once
	name                string
}

// The algorithms of an all-reduce: every GPU reads the message of each other; parts of it are added up and gathered;
// NCCL, which takes over what is large for an engine's own; a ring over PCIe; and a switch that adds up.
const (
	oneShot  = "one-shot"
	twoShot  = "two-shot"
	large    = "NCCL"
	ring     = "ring"
	inSwitch = "NCCL in the switch"
)

// moved returns the part of a message that each of g GPUs sends.
func (a *algorithm) moved(g float64) float64 {
	switch {
	case a.whole:
		return g - 1
	case a.once:
		return 1
	}
	return 2 * (g - 1) / g
}

// scaledMax is the largest group whose bandwidth was measured: beyond it the share stays.
const scaledMax = 8

func (a *algorithm) latency(g float64) float64 { return a.latencyS + float64(a.doublingS*math.Log2(g)) }

func (a *algorithm) achieved(g float64) float64 {
	return min(1, a.share*math.Pow(min(g, scaledMax), a.growth))
}

// sending is a kernel that sends tokens to the GPUs of their experts, or fetches what those yield: its floor, and the
// shares of the link within a domain and of the network between domains that it achieves.
type sending struct {
	floorS, share float64
	leastS        float64   // the kernel never takes less; 0: its floor adds to what moving takes
	far           algorithm // between domains: floor, what doubling the domains adds to it, and the share
}

// linkTable is what collectives achieve on a kind of link, as measured.
type linkTable struct {
	reduce, nccl      []algorithm // all-reduce, by engines and by NCCL alone
	gather            []algorithm // all-gather, and reduce-scatter alike
	dispatch, combine [3]sending  // by kernel: low-latency, normal, one-sided
}

// reduces returns the all-reduces that can be had.
func (t *linkTable) reduces(ncclOnly bool) []algorithm {
	if ncclOnly {
		return t.nccl
	}
	return t.reduce
}

// tableOf returns the table of a link of a GPU. The measurements are those of vLLM 0.24, SGLang 0.5.14, TensorRT-LLM
// 1.3.0rc20 and NCCL 2.29 on H100, H200, B200, B300, GB200 and GB300 and of DeepEP 0.5.12 and, between nodes, 0.5.6,
// as NVIDIA aiconfigurator has them (commit 095f58a5, systems/*/comm). An all-reduce in a graph is within 16 % of them
// in the median on H100, 15 % on B200 and GB200 and, without a fit, 13 to 26 % on the others, for engines differ, see
// reducesOf; NCCL's alone within 6 % and an all-gather within 7 %; dispatch and combine within 4 % by the low-latency
// kernels of H100 and 11 % of Blackwell, and 6 to 9 % by the normal ones.
//
// The one-sided kernels are those of TensorRT-LLM on 8 and 16 GPUs of an NVL72 (its tech blog 18, 1 to 2,048 tokens a
// GPU in 16 bits, to dispatch also in 8 and 4): dispatches within 2 % in the median and 6 % nine times in ten, combines
// within 2 and 9 %. In the switch NCCL 2.18 adds up messages from 256 MiB on within 2 % (Azure benchmarking guide).
//
// On an A100 NCCL's all-reduce is that of the Azure benchmarking guide, and the one of engines that of NVIDIA
// aiconfigurator, as are those over PCIe: cards without peer-to-peer access (Ada) measured 0.12 of it, others 0.42. Of
// links that were not measured, those of Hopper are assumed.
func tableOf(architecture, path string) linkTable {
	switch {
	case path == "pcie_bps" && architecture == "ada":
		return pcieTable(0.12)
	case path == "pcie_bps":
		return pcieTable(0.42)
	case architecture == "blackwell":
		return linkTable{
			reduce: []algorithm{
				{latencyS: 3.5e-6, doublingS: 0.81e-6, share: 0.478, whole: true, name: oneShot},
				{latencyS: 11.6e-6, share: 0.527, name: twoShot},
				{latencyS: 15.9e-6, doublingS: 16.7e-6, share: 0.541, growth: 0.195, name: large},
			},
			nccl: []algorithm{
				{latencyS: 4.0e-6, doublingS: 6.4e-6, share: 0.297, name: large},
				{latencyS: 0.4e-6, doublingS: 24.9e-6, share: 0.544, growth: 0.205, name: large},
			},
			gather: []algorithm{{latencyS: 6e-6, doublingS: 3.2e-6, share: 0.237}, {latencyS: 31e-6, share: 0.634}},
			dispatch: [3]sending{
				{floorS: 18.4e-6, share: 0.494, far: lowLatencyDispatch()}, {floorS: 35.8e-6, share: 0.281, far: normalDispatch()},
				{floorS: 15e-6, leastS: 18.3e-6, share: 0.755, far: normalDispatch()},
			},
			combine: [3]sending{
				{floorS: 17.3e-6, share: 0.638, far: lowLatencyCombine()}, {floorS: 51.2e-6, share: 0.342, far: normalCombine()},
				{floorS: 15e-6, leastS: 31.7e-6, share: 0.735, far: normalCombine()},
			},
		}
	}
	t := linkTable{
		reduce: []algorithm{
			{latencyS: 3.1e-6, doublingS: 0.24e-6, share: 0.54, whole: true, name: oneShot},
			{latencyS: 2.0e-6, doublingS: 2.3e-6, share: 0.544, name: twoShot},
			{latencyS: 48.8e-6, share: 0.589, growth: 0.237, name: large},
		},
		nccl: []algorithm{
			{latencyS: 2.2e-6, doublingS: 4.4e-6, share: 0.353, name: large},
			{latencyS: 11.3e-6, doublingS: 8.6e-6, share: 0.555, growth: 0.246, name: large},
			{latencyS: 100e-6, share: 0.608, once: true, name: inSwitch},
		},
		gather: []algorithm{{latencyS: 3.4e-6, doublingS: 2.3e-6, share: 0.275}, {latencyS: 22.1e-6, share: 0.664}},
		dispatch: [3]sending{
			{floorS: 11.9e-6, share: 0.541, far: lowLatencyDispatch()}, {floorS: 27.9e-6, share: 0.612, far: normalDispatch()},
			{floorS: 15e-6, leastS: 18.3e-6, share: 0.755, far: normalDispatch()},
		},
		combine: [3]sending{
			{floorS: 11.4e-6, share: 0.478, far: lowLatencyCombine()}, {floorS: 47.0e-6, share: 0.647, far: normalCombine()},
			{floorS: 15e-6, leastS: 31.7e-6, share: 0.735, far: normalCombine()},
		},
	}
	if architecture != "hopper" { // no switch that adds up
		t.nccl = t.nccl[:2]
	}
	if architecture == "ampere" {
		t.reduce = []algorithm{
			{latencyS: 4.2e-6, doublingS: 0.75e-6, share: 0.52, whole: true, name: oneShot},
			{latencyS: 5e-6, doublingS: 2.3e-6, share: 0.52, name: twoShot},
			{latencyS: 45e-6, share: 0.65, name: large},
		}
		t.nccl = []algorithm{{latencyS: 43e-6, share: 0.48, name: large}, {latencyS: 160e-6, share: 0.775, name: large}}
	}
	return t
}

// table returns that of the link of n GPUs, with the all-reduces of the engine.
func (d *Deployment) table(n int) linkTable {
	path := d.linkField(n)
	t := tableOf(d.GPU.Architecture, path)
	if own := reducesOf(d.GPU.Architecture, d.Parallel.Engine); own != nil && path == "scale_up_bps" {
		t.reduce = append(own, t.reduce[len(t.reduce)-1])
	}
	return t
}

// reducesOf returns the all-reduces that an engine has by itself, as in the same measurements; nil: its own are not
// known. Engine by engine they are within 2 to 4 % in the median on Hopper and 5 to 10 % on Blackwell, where one table
// for all is within 19 to 25 and 11 to 26 %.
func reducesOf(architecture, engine string) []algorithm {
	switch architecture + " " + engine {
	case "hopper vllm":
		return []algorithm{
			{latencyS: 4.0e-6, doublingS: 0.25e-6, share: 0.572, whole: true, name: oneShot},
			{latencyS: 3.6e-6, doublingS: 1.97e-6, share: 0.385, growth: 0.338, name: twoShot},
		}
	case "hopper sglang":
		return []algorithm{
			{latencyS: 2.1e-6, doublingS: 0.34e-6, share: 0.576, whole: true, name: oneShot},
			{latencyS: 0.5e-6, doublingS: 2.13e-6, share: 0.661, name: twoShot},
		}
	case "hopper tensorrt-llm":
		return []algorithm{
			{latencyS: 2.5e-6, doublingS: 0.25e-6, share: 0.641, whole: true, name: oneShot},
			{latencyS: 0.9e-6, doublingS: 5.95e-6, share: 0.569, name: twoShot},
		}
	case "blackwell vllm":
		return []algorithm{
			{latencyS: 4.7e-6, doublingS: 0.90e-6, share: 0.244, whole: true, name: oneShot},
			{latencyS: 15.0e-6, share: 0.294, growth: 0.4, name: twoShot},
		}
	case "blackwell sglang":
		return []algorithm{
			{latencyS: 3.4e-6, doublingS: 0.50e-6, share: 0.558, whole: true, name: oneShot},
			{latencyS: 4.7e-6, doublingS: 2.37e-6, share: 0.539, growth: 0.084, name: twoShot},
		}
	case "blackwell tensorrt-llm":
		return []algorithm{
			{latencyS: 4.1e-6, doublingS: 0.32e-6, share: 0.634, whole: true, name: oneShot},
			{latencyS: 11.7e-6, doublingS: 4.81e-6, share: 0.484, growth: 0.08, name: twoShot},
		}
	}
	return nil
}

// The kernels between nodes of 8 H100 with a network adapter of 400 Gb/s each, 2 to 8 nodes.
func lowLatencyDispatch() algorithm {
	return algorithm{latencyS: 16.9e-6, doublingS: 3.8e-6, share: 0.956}
}
func lowLatencyCombine() algorithm {
	return algorithm{latencyS: 24.1e-6, doublingS: 0.87e-6, share: 0.927}
}
func normalDispatch() algorithm {
	return algorithm{latencyS: 15.0e-6, doublingS: 13.1e-6, share: 0.763}
}
func normalCombine() algorithm {
	return algorithm{latencyS: 52.0e-6, doublingS: 4.0e-6, share: 0.718}
}

// pcieTable is that of a host without links between its GPUs. What its kernels for experts take is assumed to be the
// normal ones' floor of Hopper: they were not measured.
func pcieTable(share float64) linkTable {
	dispatch := sending{floorS: 27.9e-6, share: share, far: normalDispatch()}
	combine := sending{floorS: 47.0e-6, share: share, far: normalCombine()}
	around := []algorithm{{latencyS: 0.1e-6, doublingS: 6.8e-6, share: share, name: ring}}
	return linkTable{reduce: around, nccl: around, gather: around, dispatch: [3]sending{dispatch, dispatch, dispatch},
		combine: [3]sending{combine, combine, combine}}
}

// span is where the GPUs of a group sit: so many in each domain of a link, and domains that the network joins.
type span struct {
	local, domains float64
	link, network  float64 // bytes/s of a GPU, one way
	table          linkTable
}

// crossing is an all-reduce between domains, beside the one within each: of all its GPUs' adapters it achieves 0.6 (AWS
// p4d, 2 to 4 nodes of 8 A100 with 4 adapters of 100 Gb/s: 0.8, 0.51 and 0.52), with the latency of the low-latency
// kernels, once each way.
func (s *span) crossing() algorithm {
	return algorithm{latencyS: 33.8e-6, doublingS: 7.6e-6, share: 0.6}
}

// span returns where g GPUs sit.
func (d *Deployment) span(g int) span {
	local := min(g, d.domain())
	s := span{local: float64(local), domains: float64(ceilDiv(g, local))}
	if local > 1 {
		s.link = d.link(local)
	}
	s.table = d.table(local)
	if s.domains > 1 {
		s.network = d.link(g)
	}
	return s
}

// domain returns how many GPUs the fastest way that does not leave the host joins: its links, or PCIe where those join
// fewer.
func (d *Deployment) domain() int {
	n := 1
	if d.GPU.ScaleUpBps.Value != 0 {
		n = max(1, int(d.GPU.Domain.Value))
	}
	if n < nodeGPUs && d.GPU.PCIeBps.Known() {
		return nodeGPUs
	}
	return n
}
