package build

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// simulate runs s once.
func simulate(t require.TestingT, s *configs.Scenario) (*metrics.Full, *metrics.Summary) {
	b, err := New(s)
	require.NoError(t, err)
	defer b.Close()
	f := &metrics.Full{}
	f.Warmup, f.SLO = b.Warmup, b.SLO
	b.Config.Sink = f
	c, err := sim.New(b.Config)
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	require.NoError(t, b.SourceErr())
	return f, f.Summary(b.Describe("test", c.Totals().Arrived))
}

// writeTrace writes a trace of n chat requests.
func writeTrace(t testing.TB, file string, n int) {
	var text bytes.Buffer
	text.WriteString("arrival_s,input_tokens,output_tokens\n")
	r, at := rand.New(rand.NewPCG(1, 2)), 0.0
	for range n {
		at += r.ExpFloat64() / 8
		fmt.Fprintf(&text, "%.6f,%.0f,%.0f\n", at, 1+1000*r.ExpFloat64(), 1+210*r.ExpFloat64())
	}
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
}

// BenchmarkTraceRun is all of a run but the table: the scenario, the check and the replay of 100,000 rows, the summary.
func BenchmarkTraceRun(b *testing.B) {
	const rows = 100_000
	b.Chdir(b.TempDir())
	writeTrace(b, "trace.csv", rows)
	text := "model: llama-3.1-70b\nweights: fp8\nkv_cache: fp8\npools: [{gpu: h100-sxm, replicas: 2, tensor_parallel: " +
		"4}]\n" +
		"workload: {trace: {file: trace.csv}}\nslo: {ttft_ms: 1000, tpot_ms: 50}\n"
	require.NoError(b, os.WriteFile("s.yaml", []byte(text), 0o600))
	b.ReportAllocs()
	tokens := int64(0)
	for b.Loop() {
		s, err := configs.Load("s.yaml", configs.Options{})
		require.NoError(b, err)
		_, summary := simulate(b, s)
		require.EqualValues(b, rows, summary.Requests.Completed)
		tokens += summary.Tokens.Output
	}
	b.ReportMetric(float64(tokens)/1e6/b.Elapsed().Seconds(), "Mtok/s")
	b.ReportMetric(float64(b.N)*rows/1e3/b.Elapsed().Seconds(), "kreq/s")
}
