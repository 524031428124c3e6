package hardware_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// communicationS is what the collectives of a decode step take.
func communicationS(t *testing.T, d hardware.Deployment, batch int) float64 {
	require.NoError(t, d.Validate())
	return hardware.NewRoofline(d, 1).Step(batch, 1).Part[sim.Communication].A.Seconds()
}

// What efficiencies say of a link was fitted inside one host: between hosts the tables count, whatever they say, and
// inside one they do not.
func TestBetweenHostsTheTablesCount(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.Efficiency = efficiency(t, "vllm-v1")
	d.Efficiency.CollectiveScale = 0
	d.Parallel.Expert, d.Parallel.Data = true, 32
	far := communicationS(t, d, 128*32)
	assert.InEpsilon(t, 414e-6, far/58, 0.05, "dispatch and combine of 128 tokens a GPU over 32 H100, as measured")
	d.Efficiency.Link /= 2
	assert.Equal(t, far, communicationS(t, d, 128*32))
	d.Parallel.Data = 8
	near := communicationS(t, d, 128*8)
	d.Efficiency.Link *= 2
	assert.Less(t, communicationS(t, d, 128*8), 0.7*near)
}

// Where the links of a host are slower than the network, as of no card that is sold, they decide what a dispatch takes,
// and what goes to another host passes none of them: with twice the hosts, the same copies from each are in half as
// many of its own GPUs.
func TestCopiesToAnotherHostPassNoLinkOfThisOne(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.GPU.ScaleUpBps.Value /= 100
	d.Efficiency.CollectiveScale = 1
	d.Parallel.Expert, d.Parallel.AllToAll = true, hardware.LowLatency
	for _, hosts := range []int{1, 2, 3, 4} {
		d.Parallel.Data = 8 * hosts
		movingS := func(name string) float64 {
			return partOf(d, 256*8*hosts, name).TimeS - partOf(d, 128*8*hosts, name).TimeS
		}
		near, _ := hardware.Sends(&d, 8, 0)
		for i, bytes := range []float64{7168 * (1 + 4.0/128), 7168 * 2} {
			name := []string{hardware.DispatchPart, hardware.CombinePart}[i]
			wantS := 58 * 128 * bytes * 8 / float64(hosts) * 7 / 8 / (near[i].Share * 4.5e9)
			assert.InEpsilon(t, wantS, movingS(name), 1e-6, "%s over %d hosts", name, hosts)
		}
	}
}

// Drawn at random, the experts of a token of DeepSeek-R1 are in so many of n places, for 8 of 256 experts are in 4 of 8
// groups; those of GLM-5, in no groups, are in more.
func TestTokensReachTheirExpertsHosts(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for _, c := range []struct {
		model       string
		groups, top int
	}{{"deepseek-r1", 8, 4}, {"glm-5", 1, 1}} {
		m := model(t, c.model)
		d := hardware.Deployment{Model: m}
		groups, top := m.ExpertGroups()
		require.Equal(t, []int{c.groups, c.top}, []int{groups, top})
		for _, places := range []int{1, 2, 4, 8, 16, 32, 64} {
			const tokens = 20_000
			sum := 0
			for range tokens {
				sum += visited(random, m.Experts(), m.TopK(), c.groups, c.top, places)
			}
			assert.InEpsilon(t, float64(sum)/tokens, d.Reached(places), 0.03, "%s, %d places", c.model, places)
		}
	}
}

// visited draws the groups of a token and its experts of them, and counts the places that hold any.
func visited(r *rand.Rand, experts, k, groups, top, places int) int {
	each := experts / groups
	allowed := r.Perm(groups)[:top]
	hit := map[int]bool{}
	for _, i := range r.Perm(top * each)[:k] {
		hit[(allowed[i/each]*each+i%each)*places/experts] = true
	}
	return len(hit)
}

// Over 72 H100 a copy of a token of DeepSeek-R1 goes in fp8 with a scale for each 128 elements and comes back in 16
// bits; its 8 experts, of 4 of 8 groups, are on no more than 4 hosts. An all-gather sends none.
func TestWhatIsSentToExpertsIsSaid(t *testing.T) {
	d := deployment(t, "deepseek-r1", "h100-sxm", 1)
	d.Efficiency.CollectiveScale = 1
	d.Parallel.Data, d.Parallel.Expert = 72, true
	sent := hardware.NewRoofline(d, 0).Sent(72*128, 2000)
	require.NotNil(t, sent)
	assert.InDelta(t, 7168*(1+4.0/128), sent.DispatchBytes, 0)
	assert.InDelta(t, 7168*2, sent.CombineBytes, 0)
	assert.Equal(t, []int{72, 9}, []int{sent.GPUs, sent.Domains})
	assert.InDelta(t, d.Reached(72), sent.GPUsReached, 0)
	assert.Less(t, sent.DomainsReached, 4.0)
	assert.Greater(t, sent.DomainsReached, 3.5)
	d.Parallel.AllToAll = hardware.AllGather
	assert.Nil(t, hardware.NewRoofline(d, 0).Sent(72*128, 2000))
	d.Parallel = hardware.Parallel{Tensor: 8, Pipeline: 1}
	assert.Nil(t, hardware.NewRoofline(d, 0).Sent(64, 2000), "a tensor-parallel group sends no tokens")
}

// TestOneSidedKernelsAreOfDomainsOfSeveralHosts: where tokens go to half as many GPUs as there are, in large batches,
// those of NVL72 write them one-sided, which is quickest, and 8 GPUs of one host do not unless they are asked to.
func TestOneSidedKernelsAreOfDomainsOfSeveralHosts(t *testing.T) {
	for gpu, want := range map[string]hardware.AllToAll{"h200-sxm": hardware.Normal, "gb200": hardware.OneSided} {
		d := deployment(t, "gpt-oss-120b", gpu, 1)
		d.Parallel.Data, d.Parallel.Expert, d.Efficiency.CollectiveScale = 8, true, 1
		takes := map[hardware.AllToAll]float64{}
		for _, way := range []hardware.AllToAll{hardware.AutoAllToAll, hardware.LowLatency, hardware.Normal,
			hardware.OneSided} {
			d.Parallel.AllToAll = way
			require.NoError(t, d.Validate())
			takes[way] = partOf(d, 8*4096, hardware.DispatchPart).TimeS
		}
		assert.Less(t, takes[hardware.OneSided], takes[hardware.Normal], gpu)
		assert.Less(t, takes[hardware.OneSided], takes[hardware.LowLatency], gpu)
		assert.InDelta(t, takes[want], takes[hardware.AutoAllToAll], 0, gpu)
	}
}
