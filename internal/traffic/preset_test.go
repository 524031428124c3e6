package traffic

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/workloads/traces"
)

// presetTraces are the traces whose statistics presets have; agentic-coding has those of a table.
var presetTraces = map[string]string{
	"chat": "azure2023_conv.csv.gz", "code": "azure2023_code.csv.gz", "reasoning": "servegen_reason_r1_30min.csv.gz",
	"rag": "mooncake_fast25_synthetic.jsonl.gz", "summarization": "arxiv_summarization_lengths.csv.gz",
}

// TestPresetsAreAsTheirSourcesSay: what a preset sends has the rate, the burstiness by gaps and in seconds, and the
// lengths that were published; every one says where its numbers are from, and which it assumes.
func TestPresetsAreAsTheirSourcesSay(t *testing.T) {
	for _, name := range PresetNames() {
		p, err := ReadPreset(name)
		require.NoError(t, err)
		require.Equal(t, name, p.Name)
		require.NoError(t, p.Draw(context.Background(), 1))
		require.NotNil(t, p.Published, name)
		require.Contains(t, p.Text(), "# Statistics are of", name)
		is, want := p.Drawn, p.published()
		near := func(what string, want, got, by float64) {
			if !math.IsNaN(want) {
				assert.InEpsilon(t, want, got, by, "%s: %s", name, what)
			}
		}
		near("rate", float64(want.RatePerS), float64(is.RatePerS), 0.15)
		near("cv of gaps", float64(want.GapCV), float64(is.GapCV), 0.15)
		for i, by := range []float64{0.15, 0.2, 0.3} { // over a minute it differs from seed to seed
			near("dispersion", float64(want.Dispersion[i].Index), float64(is.Dispersion[i].Index), by)
		}
		near("shared", float64(want.SharedShare), float64(is.SharedShare), 0.05)
		for _, l := range []struct{ want, got *Lengths }{{&want.Prompt, &is.Prompt}, {&want.Output, &is.Output}} {
			near("mean", l.want.Mean, l.got.Mean, 0.05)
			if l.want.P99 > 0 {
				near("p50", float64(l.want.P50), float64(l.got.P50), 0.06)
				near("p99", float64(l.want.P99), float64(l.got.P99), 0.15)
			}
		}
	}
	_, err := ReadPreset("chta")
	require.ErrorContains(t, err, `"chta" not found`)
}

// TestTheStatisticsOfAgentsAreThoseOfTheirTable: of the run that the preset names, in data H.
func TestTheStatisticsOfAgentsAreThoseOfTheirTable(t *testing.T) {
	shared := cmp.Or(os.Getenv("DECODESIM_SHARED"), filepath.Join("..", "..", "..", "shared"))
	file, err := os.Open(filepath.Join(shared, "groundtruth", "H_serving.csv"))
	if err != nil {
		t.Skip("no tables of published runs: set DECODESIM_SHARED to the data folder")
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	at := slices.IndexFunc(rows, func(r []string) bool { return r[0] == "V-dsv4pro-b200-agentx" })
	cell := func(column string) string { return rows[at][slices.Index(rows[0], column)] }
	number := func(column string) float64 {
		x, err := strconv.ParseFloat(cell(column), 64)
		require.NoError(t, err)
		return x
	}
	p, err := ReadPreset("agentic-coding")
	require.NoError(t, err)
	assert.EqualValues(t, number("requests"), p.Published.Requests)
	assert.Equal(t, number("isl"), p.Published.Prompt.Mean)
	assert.Equal(t, number("osl"), p.Published.Output.Mean)
	assert.Contains(t, cell("prefix"), "94-97% prompt tokens cached")
	waited := number("load")/number("req_s") - number("e2e_mean_ms")/1000
	assert.Contains(t, p.Block, fmt.Sprintf("tool_time_s: {distribution: lognormal, mean: %.1f,", waited))
}

// TestPublishedStatisticsAreThoseOfTheTraces: what presets say was published is what the traces themselves give.
func TestPublishedStatisticsAreThoseOfTheTraces(t *testing.T) {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	for name, file := range presetTraces {
		path := filepath.Join(shared, "workloads", file)
		if _, err := os.Stat(path); err != nil {
			t.Skip("no recorded traces: set DECODESIM_SHARED to the data folder")
		}
		s, err := Describe(path, traces.Options{})
		require.NoError(t, err)
		p, err := ReadPreset(name)
		require.NoError(t, err)
		want := p.published()
		require.Equal(t, want.Requests, s.Requests, name)
		for i := range likeness("", "", want, s)[1:] {
			row := likeness("", "", want, s)[1+i]
			if row[1] != "–" && !strings.Contains(row[0], "mean") {
				assert.Equal(t, row[1], row[2], "%s: %s", name, row[0])
			}
		}
		assert.InDelta(t, want.Prompt.Mean, s.Prompt.Mean, 0.06, name)
		assert.InDelta(t, want.Output.Mean, s.Output.Mean, 0.06, name)
	}
}
