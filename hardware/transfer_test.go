package hardware_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/sim"
)

// unshared is how long a transfer of n tokens takes that shares no link.
func unshared(l sim.Link, n int) sim.Duration { return l.Latency + l.Work(int32(n)) }

// TestACacheIsTransferredByTheBusiestLink: times worked out by hand. Llama 3.1 70B in fp8 keeps 80 layers · 2 · 8 heads
// · 128 = 163,840 bytes of a token; DeepSeek V3 in bf16 61 layers · (512 + 64) · 2 bytes = 70,272, and every rank all
// of it.
func TestACacheIsTransferredByTheBusiestLink(t *testing.T) {
	for _, c := range []struct {
		model    string
		from, to int // tensor-parallel sizes
		bytes    float64
	}{
		{"llama-3.1-70b", 2, 2, 163840 / 2},
		{"llama-3.1-70b", 2, 4, 163840 / 2}, // two links send what four receive
		{"llama-3.1-70b", 4, 2, 163840 / 2},
		{"llama-3.1-70b", 8, 16, 163840 / 4}, // 16 ranks receive the 8 heads twice
		{"llama-3.1-70b", 16, 8, 163840 / 8},
		{"deepseek-v3", 8, 8, 70272},
		{"deepseek-v3", 8, 16, 2 * 70272},
		{"deepseek-v3", 16, 8, 70272},
	} {
		from, to := deployment(t, c.model, "h100-sxm", c.from), deployment(t, c.model, "h100-sxm", c.to)
		from.KVDtype = map[string]string{"llama-3.1-70b": "fp8", "deepseek-v3": "bf16"}[c.model]
		to.KVDtype = from.KVDtype
		h := hardware.Transfer{From: &from, To: &to, FromBps: 50e9, ToBps: 50e9, LatencyS: 1e-5}
		require.NoError(t, h.Validate())
		l := h.KVLink()
		assert.Equal(t, sim.Link{Latency: 10 * sim.Microsecond, Token: sim.SecondsUp(c.bytes / 50e9),
			Layers: int32(from.Model.LayerCount())}, l,
			"%s, %d to %d", c.model, c.from, c.to)
	}
}

// TestWindowsAreTransferredNoLongerThanTheyAre: gemma-3-27b keeps 52 layers of a window of 1,024 tokens and 10 of the
// whole context, each 2 · 16 heads · 128 in bf16. Where a cache has no groups for windows, all of it is transferred.
func TestWindowsAreTransferredNoLongerThanTheyAre(t *testing.T) {
	const layer = 2 * 16 * 128 * 2
	from, to := deployment(t, "gemma-3-27b", "h100-sxm", 2), deployment(t, "gemma-3-27b", "h100-sxm", 2)
	h := hardware.Transfer{From: &from, To: &to, FromBps: 1e9, ToBps: 1e9}
	from.KVDtype, to.KVDtype = "bf16", "bf16"
	for _, hybrid := range []bool{false, true} {
		from.HybridKV, to.HybridKV = hybrid, hybrid
		for _, n := range []int{1, 1000, 1024, 1025, 32768} {
			bytes := 62 * n * layer
			if hybrid {
				bytes = 10*n*layer + 52*min(n, 1024)*layer
			}
			assert.InEpsilon(t, float64(bytes)/2/1e9, unshared(h.KVLink(), n).Seconds(), 1e-6, "%d tokens", n)
		}
	}
	from.HybridKV = false
	assert.InEpsilon(t, 62*32768*layer/2/1e9, unshared(h.KVLink(), 32768).Seconds(), 1e-6, "the source has all of it")
}

// TestOverAMeshACacheTakesTheLinksToItsHolders: two of eight MI300X are joined by a seventh of the links of each. A
// rank that sends to two has two sevenths, for as much as each of these receives; through a switch all lead everywhere.
func TestOverAMeshACacheTakesTheLinksToItsHolders(t *testing.T) {
	const token, bps = 80 * 2 * 8 * 128 * 2, 448e9 // bytes in bf16
	from, to := deployment(t, "llama-3.1-70b", "mi300x", 2), deployment(t, "llama-3.1-70b", "mi300x", 2)
	from.KVDtype, to.KVDtype = "bf16", "bf16"
	h := hardware.Transfer{From: &from, To: &to, FromBps: bps, ToBps: bps, ScaleUp: true}
	for _, c := range []struct {
		from, fromStages, to, toStages int
		of                             float64 // of the token over one link
	}{
		{2, 1, 2, 1, 1. / 2},
		{2, 1, 4, 1, 1. / 4},
		{4, 1, 2, 1, 1. / 4},
		{2, 2, 2, 2, 1. / 4},
		{2, 1, 2, 2, 1. / 4},
		{2, 2, 2, 1, 1. / 4},
		{1, 1, 4, 1, 1. / 4},
	} {
		from.Parallel.Tensor, from.Parallel.Pipeline = c.from, c.fromStages
		to.Parallel.Tensor, to.Parallel.Pipeline = c.to, c.toStages
		assert.InDelta(t, token*c.of/(bps/7)*1e12, float64(h.KVLink().Token), 1, "%+v", c)
	}
	from.Parallel, to.Parallel = hardware.Parallel{Tensor: 1, Pipeline: 1}, hardware.Parallel{Tensor: 4, Pipeline: 2}
	assert.InDelta(t, 2*float64(to.Model.Hidden)/(bps/7)*1e12, float64(h.EmbeddingsLink().Token), 1)
	from.Parallel = to.Parallel
	h.ScaleUp = false
	assert.InDelta(t, token/8/bps*1e12, float64(h.KVLink().Token), 1, "another link is a GPU's own")
	h.ScaleUp, from.GPU.Mesh, to.GPU.Mesh = true, false, false
	assert.InDelta(t, token/8/bps*1e12, float64(h.KVLink().Token), 1, "through a switch")
}

// TestStagesSendAtOnce: each pipeline stage has links of its own, and the largest of unequal stages the most layers.
func TestStagesSendAtOnce(t *testing.T) {
	from, to := deployment(t, "llama-3.1-70b", "h100-sxm", 2), deployment(t, "llama-3.1-70b", "h100-sxm", 2)
	h := hardware.Transfer{From: &from, To: &to, FromBps: 1e9, ToBps: 1e9}
	one := h.KVLink().Token
	from.Parallel.Pipeline, to.Parallel.Pipeline = 4, 4
	assert.Equal(t, one/4, h.KVLink().Token)
	to.Parallel.Pipeline = 1
	assert.Equal(t, one, h.KVLink().Token, "the destination has two links")
	from.Parallel.Pipeline, to.Parallel.Pipeline = 3, 3
	assert.InDelta(t, float64(one)*27/80, float64(h.KVLink().Token), 1)
}

// TestNoTransferBeatsItsLinks: whatever the model and the split, all that must be known at the destination passes the
// links of either side, and more bandwidth never takes longer.
func TestNoTransferBeatsItsLinks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		d := randomDeployment(t, r, someGPUs, someModels)
		d.KVDtype, d.Speculation, d.HybridKV = "bf16", nil, r.IntN(2) == 0
		from, to := d, d
		from.Parallel, to.Parallel = hardware.Parallel{Tensor: d.Parallel.Tensor,
			Pipeline: 1 + r.IntN(3)}, hardware.Parallel{Tensor: d.Parallel.Tensor, Pipeline: 1 + r.IntN(3)}
		if wider := 2 * to.Parallel.Tensor; r.IntN(2) == 0 {
			to.Parallel.Tensor = wider
			if to.Validate() != nil {
				continue
			}
		}
		h := hardware.Transfer{From: &from, To: &to, FromBps: 1e9 * (1 + 99*r.Float64()),
			ToBps: 1e9 * (1 + 99*r.Float64()), LatencyS: 1e-3 * r.Float64()}
		require.NoError(t, h.Validate())
		n, bytes := 1+r.IntN(20000), d.Model.StateBytes()
		for _, g := range d.Model.Attention() {
			seen := n
			if g.Window > 0 {
				seen = min(n, g.Window)
			}
			bytes += float64(seen) * (g.KVBytesPerToken(2) + g.IndexBytesPerToken(2))
		}
		link := min(h.FromBps*float64(from.Parallel.GPUs()), h.ToBps*float64(to.Parallel.GPUs()))
		took := unshared(h.KVLink(), n)
		require.GreaterOrEqual(t, took.Seconds()*(1+1e-12), h.LatencyS+bytes/link, "%s, %+v to %+v, %d tokens",
			d.Model.Name, from.Parallel, to.Parallel, n)

		h.FromBps *= 1 + r.Float64()
		h.ToBps *= 1 + r.Float64()
		require.LessOrEqual(t, unshared(h.KVLink(), n), took)
		rows := float64(n*2*d.Model.Hidden) / (h.ToBps * float64(to.Parallel.GPUs()))
		require.GreaterOrEqual(t, unshared(h.EmbeddingsLink(), n).Seconds(), rows)
	}
}

// TestEmbeddingsAreRowsOfTheHiddenSize: a row of Llama 3.1 70B is 8,192 numbers of 16 bits. Each of the ranks that
// share the first layer receives it whole, so that fewer links at the source send more.
func TestEmbeddingsAreRowsOfTheHiddenSize(t *testing.T) {
	for _, c := range []struct {
		from, to       int
		fromBps, toBps float64
		bytes          float64 // over a link of 1 GB/s
	}{
		{1, 1, 1e9, 1e9, 16384},
		{1, 4, 1e9, 1e9, 4 * 16384}, // one link sends what four receive
		{4, 1, 1e9, 1e9, 16384},     // and one receives it, however many send
		{1, 4, 1e9, 1e8, 10 * 16384},
		{2, 4, 1e10, 1e9, 16384},
	} {
		const model, gpu = "llama-3.1-70b", "b200-sxm"
		from, to := deployment(t, model, gpu, c.from), deployment(t, model, gpu, c.to)
		h := hardware.Transfer{From: &from, To: &to, FromBps: c.fromBps, ToBps: c.toBps, LatencyS: 1e-5}
		assert.Equal(t, sim.Link{Latency: 10 * sim.Microsecond, Token: sim.SecondsUp(c.bytes / 1e9)}, h.EmbeddingsLink(),
			"%d to %d", c.from, c.to)
	}
}

// TestDraftersAreTransferred: a drafter's layers have a cache of their own, which the destination goes on with.
func TestDraftersAreTransferred(t *testing.T) {
	from, to := deployment(t, "deepseek-v3", "h200-sxm", 8), deployment(t, "deepseek-v3", "h200-sxm", 8)
	h := hardware.Transfer{From: &from, To: &to, FromBps: 1e9, ToBps: 1e9}
	plain := h.KVLink().Token
	drafter, err := hardware.NewDrafter(hardware.DraftMTP, to.Model, nil, 1, 0)
	require.NoError(t, err)
	to.Speculation = &hardware.Speculation{Tokens: 1, Drafter: drafter}
	assert.InEpsilon(t, float64(plain)*62/61, float64(h.KVLink().Token), 1e-6, "one layer more than the 61 of the model")
}

// TestLinksAreThoseOfTheCatalogOrOfALineRate: and a device without one says so.
func TestLinksAreThoseOfTheCatalogOrOfALineRate(t *testing.T) {
	h100, l4 := gpu(t, "h100-sxm"), gpu(t, "l4")
	for link, want := range map[string]float64{"nvlink": 450e9, "pcie": 64e9, "nic": 50e9, "nic-100g": 12.5e9,
		"nic-200g": 25e9, "nic-400g": 50e9, "nic-800g": 100e9} {
		bps, err := h100.LinkBps(link)
		require.NoError(t, err)
		assert.Equal(t, want, bps, link)
		assert.Contains(t, hardware.Links(), link)
	}
	for _, link := range []string{"nvlink", "nic", "carrier-pigeon"} {
		_, err := l4.LinkBps(link)
		require.Error(t, err, link)
	}
	d := deployment(t, "llama-3.1-8b", "h100-sxm", 1)
	for _, h := range []hardware.Transfer{{FromBps: 0, ToBps: 1}, {FromBps: 1e9, ToBps: -1},
		{FromBps: 1e9, ToBps: 1e9, LatencyS: -1}, {FromBps: 1, ToBps: 1}} {
		h.From, h.To = &d, &d
		require.Error(t, h.Validate())
	}
}
