package traffic

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/workloads/traces"
)

// presetTraces are the traces whose statistics presets have.
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
		_, published := presetTraces[name]
		require.Equal(t, published, p.Published != nil, name)
		if p.Published == nil {
			require.Contains(t, p.Head, "every number is assumed")
			continue
		}
		require.Contains(t, p.Text(), "# Statistics are of", name)
		is, want := p.Drawn, p.published()
		near := func(what string, want, got, by float64) {
			if !math.IsNaN(want) {
				assert.InEpsilon(t, want, got, by, "%s: %s", name, what)
			}
		}
		near("rate", float64(want.RatePerS), float64(is.RatePerS), 0.15)
		near("cv of gaps", float64(want.GapCV), float64(is.GapCV), 0.15)
		near("dispersion in seconds", float64(want.Dispersion[0].Index), float64(is.Dispersion[0].Index), 0.15)
		near("shared", float64(want.SharedShare), float64(is.SharedShare), 0.05)
		for _, l := range []struct{ want, got *Lengths }{{&want.Prompt, &is.Prompt}, {&want.Output, &is.Output}} {
			near("mean", l.want.Mean, l.got.Mean, 0.05)
			near("p50", float64(l.want.P50), float64(l.got.P50), 0.15)
			near("p99", float64(l.want.P99), float64(l.got.P99), 0.15)
		}
	}
	_, err := ReadPreset("chta")
	require.ErrorContains(t, err, `"chta" not found`)
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
