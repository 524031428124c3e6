package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestWhatGapsAreMadeOfSumsToThem, at the quantiles of the latencies, for decodes that are mixed with prompts, held up
// by them, preempted, swapped out, and in bursts.
func TestWhatGapsAreMadeOfSumsToThem(t *testing.T) {
	inDir(t, small)
	tight := []string{"--set", "pools.serve.num_gpu_blocks=150", "--set", "pools.serve.max_model_len=2048"}
	for name, run := range map[string]struct {
		args []string
		has  func(p metrics.Parts) float64
	}{
		"mixed":      {nil, func(p metrics.Parts) float64 { return p.Prefill }},
		"held":       {[]string{"--set", "pools.serve.engine=vllm-v0"}, func(p metrics.Parts) float64 { return p.Prefill }},
		"recomputed": {tight, func(p metrics.Parts) float64 { return p.Recomputing }},
		"swapped": {append(tight, "--set", "pools.serve.engine=vllm-v0", "--set", "pools.serve.preemption_mode=swap"),
			func(p metrics.Parts) float64 { return p.Copying }},
		"warm": {[]string{"--set", "workload.warmup_s=5"}, func(p metrics.Parts) float64 { return p.Weights }},
		"speculated": {[]string{"--set", "speculation.method=ngram", "--set", "speculation.num_speculative_tokens=3", "--set",
			"speculation.acceptance.rate=0.6"},
			func(p metrics.Parts) float64 { return p.Speculation }},
	} {
		t.Run(name, func(t *testing.T) {
			s := summaryOf(t, append([]string{"chat.yaml"}, run.args...)...)
			require.Len(t, s.Gaps, 6)
			q := s.Latency.ITLChunk
			for i, length := range []float64{q.Mean, q.P50, q.P90, q.P95, q.P99, q.P999} {
				g, sum := s.Gaps[i], 0.0
				for p, v := 0, reflect.ValueOf(g.Parts); p < v.NumField(); p++ {
					require.GreaterOrEqual(t, v.Field(p).Float(), 0.0)
					sum += v.Field(p).Float()
				}
				require.InEpsilon(t, g.GapS, sum, 1e-9, g.At)
				require.InEpsilon(t, length, g.GapS, 1e-9, g.At)
			}
			require.Positive(t, run.has(s.Gaps[0].Parts))
		})
	}
}

// TestGapsAreTakenApartOnlyIfAsked: without, nothing tells of them, and everything else is the same to the byte.
func TestGapsAreTakenApartOnlyIfAsked(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, small)
	for _, out := range []string{"true", "false"} {
		status, _, errOut := try("run", "chat.yaml", "--set", "output.attribution="+out, "--out", out)
		require.Equal(t, exitOK, status, errOut)
	}
	require.NoFileExists(t, "false/itl_parts.svg")
	for _, name := range entries(t, "false") {
		with, err := os.ReadFile(filepath.Join("true", name))
		require.NoError(t, err)
		without, err := os.ReadFile(filepath.Join("false", name))
		require.NoError(t, err)
		switch name {
		case "summary.json":
			var a, b map[string]any
			require.NoError(t, json.Unmarshal(with, &a))
			require.NoError(t, json.Unmarshal(without, &b))
			require.Contains(t, a, "itl_parts")
			delete(a, "itl_parts")
			require.Equal(t, b, a)
		case "scenario.yaml":
			require.Contains(t, string(without), "  attribution: false ")
			require.Equal(t, string(with), strings.Replace(string(without), "attribution: false", "attribution: true ", 1))
		case "report.html":
			require.Contains(t, string(with), "What a late token is made of")
			require.NotContains(t, string(without), "What a late token is made of")
		default:
			require.Equal(t, string(with), string(without), name)
		}
	}
}
