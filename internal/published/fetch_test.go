package published

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
)

// fetched is a prefix, of which tools/kernels/fetch.py timed on an H100 SXM what it takes to have the first of 512 new
// tokens after it, in seconds, and what that takes here.
type fetched struct {
	prefix int

	recompute, suffix, copies, first, layers float64
	priced                                   struct{ recompute, suffix, copies, layers, sync, async float64 }
}

// The new tokens after a prefix, and the layers of the model.
const newTokens, modelLayers = 512, 32

// TestWhatIsFetchedTakesAsLongAsWeTimed: the cache of a prefix from pinned host memory, layer by layer beside a step of
// 512 more tokens and before it, against all of it computed, with nothing fitted to it. No engine was timed: what its
// host does is left out here too.
func TestWhatIsFetchedTakesAsLongAsWeTimed(t *testing.T) {
	all := fetchesTimed(t)
	priceFetches(t, all)
	for _, x := range all {
		p := &x.priced
		off := func(name string, priced, timed, most float64) {
			t.Logf("%d tokens: %s %.2f ms, timed %.2f, %+.1f %%", x.prefix, name, 1e3*priced, 1e3*timed, 100*(priced/timed-1))
			assert.InEpsilon(t, timed, priced, most, "%s of %d tokens", name, x.prefix)
		}
		off("copies", p.copies, x.copies, 0.05)
		off("fetch", p.layers, x.layers, 0.15)
		off("fetch before the step", p.sync, x.first, 0.08)
		assert.InDelta(t, p.sync, p.async, 1e-7, "beside steps, of which there is none")
		off("recompute", p.recompute, x.recompute, 0.17)
		// What the price of copies beside a step says of this step and these copies.
		c, s := x.copies, x.suffix
		off("formula", max(s+c/modelLayers, c+s/modelLayers), x.layers, 0.1)
		off("one after the other", s+c, x.first, 0.08)
	}
	table := fetchTable(all)
	path := filepath.Join("..", "..", "docs", "kv-tiers.md")
	page, err := os.ReadFile(path)
	require.NoError(t, err)
	if *update {
		from := strings.Index(string(page), "| prefix, tokens |")
		require.NotEqual(t, -1, from)
		length := strings.Index(string(page[from:]), "\n\n") + 1
		page = []byte(string(page[:from]) + table + string(page[from+length:]))
		require.NoError(t, os.WriteFile(path, page, 0o644))
	}
	assert.True(t, strings.Contains(string(page), table), "docs/kv-tiers.md is to have\n%s", table)
}

// fetchesTimed reads what was timed.
func fetchesTimed(t *testing.T) (all []*fetched) {
	f, err := os.Open("testdata/fetch-h100-sxm.csv")
	require.NoError(t, err)
	defer f.Close()
	r := csv.NewReader(f)
	r.Comment = '#'
	rows, err := r.ReadAll()
	require.NoError(t, err)
	of := map[int]*fetched{}
	for _, row := range rows[1:] {
		tokens, err := strconv.Atoi(row[2])
		require.NoError(t, err)
		us, err := strconv.ParseFloat(row[6], 64)
		require.NoError(t, err)
		x := of[tokens]
		if x == nil {
			x = &fetched{prefix: tokens}
			of[tokens] = x
		}
		for name, to := range map[string]*float64{"recompute one graph": &x.recompute, "suffix one graph": &x.suffix,
			"load layers": &x.copies, "fetch layers": &x.first, "overlap layers": &x.layers} {
			if row[0]+" "+row[1] == name {
				*to = us * 1e-6
			}
		}
	}
	for n := 1024; n <= 32768; n *= 2 {
		require.NotNil(t, of[n])
		all = append(all, of[n])
	}
	return all
}

// fetching is a pool whose prefixes come back that way, by the constants of vLLM but for what its host adds.
func fetching(t *testing.T, kvLoad string) *sim.PoolSpec {
	s, err := configs.Load("-", configs.Options{Stdin: []byte(`{name: fetch, model: llama-3.1-8b, pools: [{name: serve,
  gpu: h100-sxm, engine: vllm-v1, kv_offloading_size: 64, kv_load: ` + kvLoad + `, efficiency: {base: vllm, step_s: 0,
  sequence_s: 0, sequence_host_s: 0, eager_layer_s: 0}}], workload: {arrivals: {process: poisson, rate: 1}, requests: 1,
  prompt_tokens: {distribution: fixed, mean: 1000}, output_tokens: {distribution: fixed, mean: 1}}}`)})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b.Config.Pools[0]
}

// priceFetches prices the same.
func priceFetches(t *testing.T, all []*fetched) {
	layers, before, beside := fetching(t, "layerwise"), fetching(t, "sync"), fetching(t, "async")
	price := func(p *sim.PoolSpec, before, tokens, copied int) float64 {
		x, g := sim.Shape{SwapBlocks: int64(copied), Outputs: 1}, sim.Segment{}
		x.AddChunk(p.Windows, int64(before), int64(tokens), 1)
		p.Model.Price([]sim.Shape{x}, &g)
		return g.First.Seconds()
	}
	const step = 8192
	for _, x := range all {
		for at := 0; at < x.prefix+newTokens; at += step {
			x.priced.recompute += price(layers, at, min(step, x.prefix+newTokens-at), 0)
		}
		blocks := x.prefix / int(layers.BlockSize)
		x.priced.suffix = price(layers, x.prefix, newTokens, 0)
		x.priced.layers = price(layers, x.prefix, newTokens, blocks)
		x.priced.sync = price(before, x.prefix, newTokens, blocks)
		x.priced.async = beside.LoadLink.Work(int32(x.prefix)).Seconds() + price(beside, x.prefix, newTokens, 0)
		// Of very many copies nearly all is beside no layer.
		const many = 1000
		x.priced.copies = price(layers, x.prefix, newTokens, many*blocks) / many
	}
}

// fetchTable is how the page shows it.
func fetchTable(all []*fetched) string {
	head, line := "| prefix, tokens |", "|---|"
	for _, x := range all {
		head, line = head+" "+text.Count(int64(x.prefix))+" |", line+"--:|"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", head, line)
	for _, of := range []struct {
		name  string
		value func(*fetched) string
	}{
		{"all computed, timed, ms", func(x *fetched) string { return ms(x.recompute) }},
		{"simulated, ms", func(x *fetched) string { return ms(x.priced.recompute) }},
		{"error, %", func(x *fetched) string { return percent(x.priced.recompute, x.recompute) }},
		{"fetched layer by layer, timed, ms", func(x *fetched) string { return ms(x.layers) }},
		{"simulated, layerwise, ms", func(x *fetched) string { return ms(x.priced.layers) }},
		{"error, %", func(x *fetched) string { return percent(x.priced.layers, x.layers) }},
		{"fetched before the step, timed, ms", func(x *fetched) string { return ms(x.first) }},
		{"simulated, sync and async, ms", func(x *fetched) string { return ms(x.priced.sync) }},
		{"error, %", func(x *fetched) string { return percent(x.priced.sync, x.first) }},
		{"copies alone, timed, ms", func(x *fetched) string { return ms(x.copies) }},
		{"simulated, ms", func(x *fetched) string { return ms(x.priced.copies) }},
		{"fetched over computed, timed", func(x *fetched) string { return text.Significant(x.layers / x.recompute) }},
		{"simulated", func(x *fetched) string { return text.Significant(x.priced.layers / x.priced.recompute) }},
	} {
		fmt.Fprintf(&b, "| %s |", of.name)
		for _, x := range all {
			fmt.Fprintf(&b, " %s |", of.value(x))
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

func ms(seconds float64) string { return text.Significant(1e3 * seconds) }

func percent(priced, timed float64) string {
	x := math.Round(1000*(priced/timed-1)) / 10
	sign := "+"
	if x < 0 {
		sign = "−"
	}
	return fmt.Sprintf("%s%.1f", sign, math.Abs(x))
}
