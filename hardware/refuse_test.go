package hardware_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// TestWhatCannotBeDeployedIsRefused, each by what is wrong with it; what is next to it is accepted.
func TestWhatCannotBeDeployedIsRefused(t *testing.T) {
	const dense, experts = "llama-3.1-8b", "mixtral-8x7b"
	type change = func(*hardware.Deployment)
	split := func(p hardware.Parallel) change {
		return func(d *hardware.Deployment) {
			p.Tensor, p.Pipeline = max(1, p.Tensor), max(1, p.Pipeline)
			d.Parallel = p
		}
	}
	adapters := func(slots, rank int, modules ...string) change {
		return func(d *hardware.Deployment) { d.LoRA = hardware.LoRA{Slots: slots, RankMax: rank, Modules: modules} }
	}
	drafts := func(n int, hostS float64) change {
		return func(d *hardware.Deployment) { d.Speculation = &hardware.Speculation{Tokens: n, HostS: hostS} }
	}
	both := func(a, b change) change { return func(d *hardware.Deployment) { a(d); b(d) } }
	for _, c := range []struct {
		model  string
		change change
		says   string // nothing: it is accepted
	}{
		{dense, split(hardware.Parallel{Data: 1}), ""},
		{dense, split(hardware.Parallel{Data: -1}), "data_parallel -1; expected 1 or more"},
		{dense, split(hardware.Parallel{Data: 2}), "data_parallel 2, but llama-3.1-8b has no experts"},
		{dense, split(hardware.Parallel{Expert: true}), "expert_parallel true, but llama-3.1-8b has no experts"},
		{experts, split(hardware.Parallel{Data: 8, Expert: true}), ""},
		{experts, split(hardware.Parallel{Data: 9, Expert: true}), "expert_parallel true over 9 GPUs, but mixtral"},
		{experts, split(hardware.Parallel{Tensor: 2, Data: 2, Expert: true, AllToAll: hardware.LowLatency}), ""},
		{experts, split(hardware.Parallel{Data: 2, AllToAll: hardware.LowLatency}), "sends tokens to whole"},
		{experts, split(hardware.Parallel{Expert: true, Tensor: 2, AllToAll: hardware.Normal}), "sends tokens to whole"},
		{experts, split(hardware.Parallel{Data: 2, AllToAll: hardware.AllGather}), ""},
		{experts, split(hardware.Parallel{Data: 2, Overlap: hardware.TwoBatch}), ""},
		{experts, split(hardware.Parallel{Tensor: 2, Overlap: hardware.TwoBatch}), "hides what data-parallel ranks"},
		{experts, split(hardware.Parallel{Data: 2, Expert: true, AllToAll: "carrier-pigeon"}),
			`all_to_all "carrier-pigeon"; accepted: low-latency, normal, one-sided, all-gather`},
		{experts, split(hardware.Parallel{Data: 2, Overlap: "three-batch"}),
			`batch_overlap "three-batch"; accepted: single-batch, two-batch`},
		{dense, split(hardware.Parallel{Tensor: 3}), "tensor_parallel 3 does not divide the 32 attention heads of " +
			"llama-3.1-8b; 1, 2, 4, 8, 16, 32 would do"},
		{dense, split(hardware.Parallel{Tensor: 16}), ""},
		{dense, func(d *hardware.Deployment) { d.Routing.Skew = 0.1 }, "expert_skew 0.1, but llama-3.1-8b has no experts"},
		{dense, adapters(0, 0), ""}, {dense, adapters(1, 1, llm.ModuleQ), ""}, {dense, adapters(4, 16, llm.ModuleHead), ""},
		{dense, adapters(-1, 1, llm.ModuleQ), "-1 slots of 1 rows"},
		{dense, adapters(1, 0, llm.ModuleQ), "1 slots of 0 rows"},
		{dense, adapters(1, 1), "expected at least 1 of 1, and modules"},
		{dense, adapters(1, 1, "nose"), "has none of the modules"},
		{experts, adapters(1, 1, llm.ModuleUp), "experts of mixtral-8x7b are not modelled"},
		{dense, both(adapters(1, 1, llm.ModuleQ), split(hardware.Parallel{Pipeline: 2})), "not modelled with 2"},
		{dense, both(adapters(1, 1, llm.ModuleHead), func(d *hardware.Deployment) { d.Model.Vocab = 258_048 }), ""},
		{dense, both(adapters(1, 1, llm.ModuleHead), func(d *hardware.Deployment) { d.Model.Vocab = 258_049 }),
			"has a vocabulary of 258049 tokens, and vLLM takes up to 258048"},
		{dense, both(adapters(1, 1, llm.ModuleQ), func(d *hardware.Deployment) { d.Model.Vocab = 258_049 }), ""},
		{dense, drafts(1, 0), ""}, {dense, drafts(0, 0), "num_speculative_tokens 0; expected 1 to"},
		{dense, drafts(1, 3600), ""}, {dense, drafts(1, 3601), "draft_host_s 3601"},
		{dense, drafts(1, -1), "draft_host_s -1"},
	} {
		d := deployment(t, c.model, "h100-sxm", 1)
		c.change(&d)
		err := d.Validate()
		if c.says == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, c.says)
	}
}

// TestARooflineOfAnotherEfficiencyIsAsNew: what does not depend on it is kept, and a step costs what it costs one that
// is made anew.
func TestARooflineOfAnotherEfficiencyIsAsNew(t *testing.T) {
	for _, imbalance := range []float64{0, 0.5, 1} {
		d := deployment(t, "mixtral-8x7b", "h100-sxm", 2)
		d.Parallel.Expert, d.Efficiency.ExpertImbalance = true, 0.5
		old := hardware.NewRoofline(d, 0)
		before := old.Parts(3, 500)
		d.Efficiency.ExpertImbalance, d.Efficiency.Bandwidth, d.Efficiency.ExpertSkew = imbalance, 0.5, 2*imbalance
		require.Equal(t, hardware.NewRoofline(d, 0).Parts(3, 500), old.With(d.Efficiency).Parts(3, 500))
		require.Equal(t, before, old.Parts(3, 500), "the other stays as it is")
	}
}

// TestPeakSharesAreOfWhatAPartWaitsFor: of memory or of arithmetic, never more than all of it, and by a textbook engine
// all of it.
func TestPeakSharesAreOfWhatAPartWaitsFor(t *testing.T) {
	d := deployment(t, "mixtral-8x7b", "h100-sxm", 2)
	shares := func(compute float64, batch int) map[string]hardware.PeakShare {
		d.Efficiency.Compute = compute
		all := map[string]hardware.PeakShare{}
		for _, s := range hardware.NewRoofline(d, 0).PeakShares(batch, 1000) {
			all[s.Part] = s
			require.Greater(t, s.OfPeak, 0.0)
			require.LessOrEqual(t, s.OfPeak, 1+1e-9, s.Part)
			require.Equal(t, s.FLOPS && s.Rows > 256 && s.OfPeak < 0.1, s.Slow, s.Part)
		}
		return all
	}
	few := shares(1, 1)["experts"]
	assert.False(t, few.FLOPS, "of one token weights are what takes long")
	assert.InDelta(t, 1, few.OfPeak, 1e-6)
	assert.Equal(t, 1, few.Rows)
	many := shares(1, 4096)["experts"]
	assert.True(t, many.FLOPS)
	assert.InDelta(t, 1, many.OfPeak, 1e-6)
	assert.Equal(t, 4096, many.Rows)
	assert.False(t, many.Slow)
	slow := shares(0.05, 4096)["experts"]
	assert.InDelta(t, 0.05, slow.OfPeak, 1e-6)
	assert.True(t, slow.Slow)
	assert.False(t, shares(0.05, 256)["experts"].Slow, "few rows never reach the peak")
	assert.False(t, shares(0.1, 4096)["experts"].Slow)
}

// TestExpertsMultiplyTheTokensOfAllRanks: of nine sequences the busiest of eight ranks has two.
func TestExpertsMultiplyTheTokensOfAllRanks(t *testing.T) {
	d := deployment(t, "deepseek-v3", "h200-sxm", 1)
	d.Parallel.Expert, d.Parallel.Data = true, 8
	others := 0
	for _, s := range hardware.NewRoofline(d, 0).PeakShares(9, 1000) {
		if s.Part == "experts" {
			assert.Equal(t, 9, s.Rows)
			continue
		}
		assert.Equal(t, 2, s.Rows, s.Part)
		others++
	}
	assert.Positive(t, others)
}

// TestKVHeadsAreSplitOrCopied evenly: of 24 query heads with 8 of keys and values, 2, 4 and 8 GPUs have some each and
// 24 a copy for three; 3, 6 and 12 neither.
func TestKVHeadsAreSplitOrCopied(t *testing.T) {
	for tensor, fits := range map[int]bool{1: true, 2: true, 3: false, 4: true, 6: false, 8: true, 12: false, 24: true} {
		d := deployment(t, "llama-3.1-70b", "h100-sxm", 1)
		d.Model.Layers = slices.Clone(d.Model.Layers)
		for i := range d.Model.Layers {
			d.Model.Layers[i].Mixer.Attention.Heads, d.Model.Layers[i].Mixer.Attention.KVHeads = 24, 8
		}
		d.Parallel.Tensor = tensor
		if err := d.Validate(); fits {
			assert.NoError(t, err, "%d", tensor)
		} else {
			assert.ErrorContains(t, err, "neither divides the 8 KV heads", "%d", tensor)
		}
	}
}

// TestAMicrobatchIsOneBatchOfAllLayers: what passes through the stages as it is reads the weights and the caches of
// each of them, and no less for there being several.
func TestAMicrobatchIsOneBatchOfAllLayers(t *testing.T) {
	for _, c := range []struct {
		model string
		ranks int
	}{{"llama-3.1-70b", 1}, {"mixtral-8x7b", 1}, {"mixtral-8x7b", 2}} {
		d := deployment(t, c.model, "h200-sxm", 2)
		d.Parallel.Data = c.ranks
		for _, n := range []int{1, 2, 3, 8, 33} {
			d.Parallel.Pipeline, d.Parallel.Microbatch = 1, false
			one := price(hardware.NewRoofline(d, 0), alike(n, 700))
			d.Parallel.Pipeline, d.Parallel.Microbatch = 4, true
			four := price(hardware.NewRoofline(d, 0), alike(n, 700))
			for _, part := range []sim.Part{sim.Weights, sim.KV, sim.Compute} {
				assert.Equal(t, one.Part[part], four.Part[part], "%s, %d sequences", c.model, n)
			}
			assert.Greater(t, four.Part[sim.Communication].A, one.Part[sim.Communication].A)
		}
	}
}
