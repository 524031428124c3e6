package main

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// handed is a scenario that hands requests over.
const handed = `name: handed
model: llama-3.1-8b
pools:
  - {name: prefill, role: prefill, gpu: h100-sxm}
  - {name: decode, role: decode, gpu: h100-sxm, replicas: 2}
workload:
  arrivals: {process: poisson, rate: 20}
  prompt_tokens: {distribution: lognormal, mean: 500, cv: 1}
  output_tokens: {distribution: lognormal, mean: 60, cv: 1}
  requests: 200
`

// traced is an event, as the Trace Event Format has it.
type traced struct {
	Ph, Name, Cat string
	Ts, Dur       *float64
	Pid, Tid, ID  *int
	Args          map[string]any
}

func readTrace(t *testing.T, name string) (events []traced, about map[string]string) {
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var file struct {
		TraceEvents     []traced
		OtherData       map[string]string
		DisplayTimeUnit string
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.Equal(t, "ms", file.DisplayTimeUnit)
	return file.TraceEvents, file.OtherData
}

// TestATraceIsCompressedAsItsNameSays, with what it would be otherwise.
func TestATraceIsCompressedAsItsNameSays(t *testing.T) {
	inDir(t, handed)
	for _, name := range []string{"trace.json", "trace.json.gz"} {
		status, _, errOut := try("run", "chat.yaml", "--trace", name, "--trace-window", "2s:5s")
		require.Equal(t, exitOK, status, errOut)
	}
	file, err := os.Open("trace.json.gz")
	require.NoError(t, err)
	defer file.Close()
	r, err := gzip.NewReader(file)
	require.NoError(t, err)
	unpacked, err := io.ReadAll(r)
	require.NoError(t, err)
	plain, err := os.ReadFile("trace.json")
	require.NoError(t, err)
	assert.Equal(t, string(plain), string(unpacked))
}

// TestATraceIsOfTheFormat: every event has what its phase needs, slices of a replica follow each other, arrows and
// spans have both their ends, and the run is as without.
func TestATraceIsOfTheFormat(t *testing.T) {
	inDir(t, handed)
	_, plain, _ := try("run", "chat.yaml")
	status, table, errOut := try("run", "chat.yaml", "--trace", "trace.json", "--trace-window", "2s:5s")
	require.Equal(t, exitOK, status, errOut)
	require.Equal(t, plain, table, "who looks on changes nothing")
	require.Regexp(t, `^trace: [0-9]+ events from 2 s to 5 s in trace.json; open it at ui.perfetto.dev\n$`, errOut)
	require.Equal(t, []string{"chat.yaml", "trace.json"}, entries(t, "."))
	events, about := readTrace(t, "trace.json")
	require.Equal(t, "handed", about["scenario"])
	seen, ends, pools := map[string]int{}, map[int]float64{}, []string(nil)
	open := map[string]int{}
	for _, e := range events {
		require.NotNil(t, e.Ts, "%+v", e)
		require.NotNil(t, e.Pid)
		require.NotNil(t, e.Tid)
		seen[e.Ph+" "+e.Cat]++
		switch e.Ph {
		case "M":
			if e.Name == "process_name" {
				pools = append(pools, e.Args["name"].(string))
			}
			continue
		case "X":
			require.GreaterOrEqual(t, *e.Ts, ends[*e.Tid]-1e-3, "steps of a replica follow each other: %+v", e)
			ends[*e.Tid] = *e.Ts + *e.Dur
			require.GreaterOrEqual(t, ends[*e.Tid], 2e6)
			parts := 0.0
			for key, x := range e.Args {
				if strings.HasSuffix(key, "_ms") {
					parts += x.(float64)
				}
			}
			require.InEpsilon(t, *e.Dur/1e3, parts, 1e-4)
			if *e.Pid == 1 {
				require.Equal(t, "prefill", e.Name)
			}
		case "b", "s":
			open[e.Cat+e.Name+string(rune(*e.ID))]++
		case "e", "f":
			open[e.Cat+e.Name+string(rune(*e.ID))]--
		}
		require.Less(t, *e.Ts, 6e6)
	}
	for name, n := range open {
		require.Zero(t, n, name)
	}
	require.Equal(t, []string{"pool prefill", "pool decode"}, pools)
	for _, kind := range []string{"X step", "b transfer", "s transfer", "f transfer", "b stall", "i arrival", "C state"} {
		require.Positive(t, seen[kind], kind)
	}
}

// TestATraceEndsWhereItIsFull, and says so.
func TestATraceEndsWhereItIsFull(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, strings.Replace(handed, "requests: 200", "requests: 40000", 1))
	status, _, errOut := try("run", "chat.yaml", "--headroom", "off", "--trace", "trace.json",
		"--trace-window", "0s:4000s")
	require.Equal(t, exitOK, status, errOut)
	require.Contains(t, errOut, "trace: it holds no more than 200000 events, and ends at ")
	events, _ := readTrace(t, "trace.json")
	require.InDelta(t, 200_000, len(events), 10)
}

func TestATraceThatCannotBeIsRefused(t *testing.T) {
	inDir(t, handed)
	for want, args := range map[string][]string{
		`--trace-window "5s" is no stretch of a run; expected its start and its end, such as 10s:12s`: {"--trace", "t.json",
			"--trace-window", "5s"},
		`--trace-window "5s:2s" is no stretch`:               {"--trace", "t.json", "--trace-window", "5s:2s"},
		`--trace-window has no effect without --trace`:       {"--trace-window", "1s:2s"},
		`--trace ".": it is a directory; expected a file`:    {"--trace", "."},
		`--trace "none/t.json": cannot be written in "none"`: {"--trace", "none/t.json"},
	} {
		status, _, errOut := try(append([]string{"run", "chat.yaml"}, args...)...)
		assert.Equal(t, exitBadInput, status)
		assert.Contains(t, errOut, want)
		assert.Equal(t, []string{"chat.yaml"}, entries(t, "."))
	}
}

// TestATraceOfNothingSaysSo, for a file without events looks like a mistake of the program.
func TestATraceOfNothingSaysSo(t *testing.T) {
	inDir(t, handed)
	for window, silent := range map[string]bool{"0s:1s": false, "100000s:100001s": true} {
		status, _, errOut := try("run", "chat.yaml", "--trace", "t.json", "--trace-window", window)
		require.Equal(t, exitOK, status, errOut)
		require.Equal(t, silent, strings.Contains(errOut, "nothing happens in that window"), errOut)
	}
}

// TestARunOfSeveralPoolsNamesThem in its table, its summary and its requests; and a KV cache that is slow to come is
// why tokens are late.
func TestARunOfSeveralPoolsNamesThem(t *testing.T) {
	inDir(t, handed)
	slow := []string{"--set", "pools.prefill.kv_link_bps=5e9", "--set", "pools.prefill.kv_link_latency_s=0.01", "--set",
		"workload.output_tokens.mean=20"}
	status, table, errOut := try(append([]string{"run", "chat.yaml", "--out", "out"}, slow...)...)
	require.Equal(t, exitOK, status, errOut)
	for _, want := range []string{"pool prefill 1 × h100-sxm in 1 replica: ", "pool decode  2 × h100-sxm in 2 replicas: ",
		"KV transfer  pull over ", "KV transfers 198",
		"is the KV cache on its way to another instance and ", "; a faster link would shorten it."} {
		require.Contains(t, table, want)
	}
	s := summaryOf(t, append([]string{"chat.yaml"}, slow...)...)
	require.Len(t, s.Pools, 2)
	require.Equal(t, "prefill", s.Pools[0].Role)
	require.EqualValues(t, s.Transfers.N, s.Pools[1].Received)
	require.Positive(t, s.Transfers.Time.P50)
	require.Greater(t, s.Tail.Share.Transferred, .9)
	require.Equal(t, "p99", s.Gaps[4].At)
	require.Greater(t, s.Gaps[4].Parts.KVTransfer, .5*s.Gaps[4].GapS)
	rows, err := os.ReadFile("out/requests.csv")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(rows)), "\n")
	require.True(t, strings.HasSuffix(lines[0], ",outcome,route"))
	require.True(t, slices.ContainsFunc(lines,
		func(l string) bool { return strings.HasSuffix(l, ",decode,1,completed,prefill/0 decode/1") }))
}

// TestClientsFarAwayWaitLonger: a round trip is in the latencies of the run, its requests, and in when a client of a
// closed loop asks again; chunks and jitter are known of the sample.
func TestClientsFarAwayWaitLonger(t *testing.T) {
	inDir(t, strings.Replace(small, "arrivals: {process: poisson, rate: 20}", "closed_loop: {concurrency: 8}", 1))
	near, far := summaryOf(t, "chat.yaml"), summaryOf(t, "chat.yaml", "--set", "stream.rtt_ms=1000")
	require.Greater(t, far.Latency.TTFT.P50, near.Latency.TTFT.P50+.98)
	require.InDelta(t, near.Latency.ITL.P50, far.Latency.ITL.P50, .003)
	require.Greater(t, far.DurationS, near.DurationS+40, "50 turns of each client, a second longer each")
	require.Nil(t, far.Stream, "the latencies say it all")
	s := summaryOf(t, "chat.yaml", "--set", "stream.stream_interval=5", "--set", "stream.rtt_jitter_ms=2")
	require.EqualValues(t, 400, s.Stream.Requests)
	require.Equal(t, s.Latency.ITL.N, s.Stream.ITL.N)
	require.Less(t, s.Stream.ITLChunk.N, s.Stream.ITL.N/4)
	require.InDelta(t, .002, s.Stream.Delay.DeliveryS, .0005)
	require.InDelta(t, s.Stream.Delay.MeanS, s.Stream.Delay.ChunkS+s.Stream.Delay.DeliveryS, 1e-12)
	require.Positive(t, s.Stream.Delay.ChunkS)
}
