package sizing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/load"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
)

// bursts is a recording of requests that come thirty at a time, at 6 requests/s in the mean.
func bursts(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("arrival_s,input_tokens,output_tokens\n")
	for i := range 1200 {
		fmt.Fprintf(&b, "%g,1024,40\n", float64(i/30)*5+float64(i%30)/100)
	}
	path := filepath.Join(t.TempDir(), "bursts.csv")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	return path
}

// A planner who sizes by the lengths of a trace and Poisson arrivals buys too little for bursts. Sized by the trace
// itself, the answer is one that a replay of it confirms, and one GPU fewer is not.
func TestTheAnswerForATraceIsThatOfItsReplay(t *testing.T) {
	path := bursts(t)
	const sixteen = "budget: {gpus: 16}\nrate: {at: 40}\nslo: {ttft_ms: 250}\nattainment: 0.95\nrequests: 1200\nseeds: 2\n"
	const pools = "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\n"
	smooth := size(t, studyOf(t, pools+"workload:\n  arrivals: {process: poisson, rate: 1}\n  lengths: {file: "+path+"}\n",
		sixteen))
	study := studyOf(t, pools+"workload:\n  trace: {file: "+path+"}\n", sixteen)
	answer, best, err := Search(context.Background(), study, Options{Version: "test"})
	require.NoError(t, err)
	require.NotNil(t, best)
	require.Greater(t, answer.Best.GPUs, smooth.Best.GPUs, "bursts need more than the mean says")
	require.Nil(t, answer.Best.Interval, "one recording is no sample")
	require.Contains(t, answer.Notes, (&load.Load{Kind: load.Trace}).Covers())

	attained := func(replicas int) float64 {
		best.Pools[0].Replicas = replicas
		summary, err := load.Replay(t.Context(), best, "test")
		require.NoError(t, err)
		require.EqualValues(t, 1200, summary.Latency.TTFT.N)
		require.InDelta(t, 40, summary.Load.OfferedPerS, 0.1)
		return summary.SLO.Attainment
	}
	require.GreaterOrEqual(t, attained(answer.Best.GPUs), 0.95)
	require.Less(t, attained(answer.Best.GPUs-1), 0.95)
}

// A day is offered whole, whatever the length of a run: what sustains its mean rate does not sustain its peak.
func TestADayIsSizedForItsPeak(t *testing.T) {
	const day = "  prompt_tokens: {distribution: fixed, mean: 1024}\n  output_tokens: {distribution: fixed, mean: 40}\n"
	const study = "budget: {gpus: 16}\nrate: {at: 20}\nslo: {ttft_ms: 400}\nattainment: 0.99\nrequests: 400\nseeds: 2\n"
	const pools = "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n  requests: 400\n"
	flat := size(t, studyOf(t, pools+"  arrivals: {process: poisson, rate: 1}\n"+day, study))
	const rush = "[{at_s: 0, rate: 1}, {at_s: 60, rate: 1}, {at_s: 60, rate: 7}, {at_s: 90, rate: 7}, " +
		"{at_s: 90, rate: 1}, {at_s: 120, rate: 1}]"
	peaked := size(t, studyOf(t, pools+"  arrivals: {process: piecewise, points: "+rush+"}\n"+day, study))
	require.Greater(t, peaked.Best.GPUs, flat.Best.GPUs)
	require.Contains(t, peaked.Notes, (&load.Load{Kind: load.Day}).Covers())
}

// The scenario of the answer offers the asked rate of the very trace.
func TestTheBestScenarioReplaysTheTrace(t *testing.T) {
	path := bursts(t)
	study := studyOf(t, "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n  trace: {file: "+path+"}\n",
		"budget: {gpus: 4}\nrate: {min: 1, max: 20}\nslo: {ttft_ms: 2000}\nrequests: 1200\nseeds: 1\n")
	answer, best, err := Search(context.Background(), study, Options{Version: "test"})
	require.NoError(t, err)
	reread, err := configs.Read("best.yaml", best.YAML(), configs.Options{})
	require.NoError(t, err)
	require.Equal(t, answer.Best.CapacityPerS, reread.Workload.Trace.Rate)
	require.Nil(t, reread.Workload.Arrivals)
}

// What a deployment sustains of long sessions must not depend on how many requests a study asks for: a run that ends
// before its sessions are all there offers a fraction of what they come to, and would sustain any rate.
func TestTheCapacityForSessionsDoesNotDependOnTheLengthOfRuns(t *testing.T) {
	soak.TakesLong(t)
	const agents = `
model: llama-3.1-8b
pools: [{gpu: h100-sxm, max_num_seqs: 16}]
workload:
  arrivals: {process: poisson, rate: 1}
  sessions: {turns: {distribution: fixed, mean: 20}, think_time_s: {distribution: exponential, mean: 4}}
  prompt_tokens: {distribution: fixed, mean: 200}
  output_tokens: {distribution: fixed, mean: 100}
  requests: 1000
`
	const study = "budget: {gpus: 1}\nrate: {min: 0.1, max: 20}\nslo: {ttft_ms: 500}\nseeds: 1\nrequests: "
	short, long := size(t, studyOf(t, agents, study+"400\n")), size(t, studyOf(t, agents, study+"40000\n"))
	require.Equal(t, "sessions/s", short.Unit)
	require.False(t, short.Best.AtLeast)
	require.InEpsilon(t, long.Best.CapacityPerS, short.Best.CapacityPerS, 0.15)
	require.Contains(t, strings.Join(short.Notes, "\n"), "measured until its last session begins")

	// A session takes 76 s of thinking: in the 20 s in which twenty of them begin, hardly one comes to its second turn.
	require.Greater(t, 6*75*short.Best.CapacityPerS*20, 400., "such a run would be too short")
}

// A rate at which the requests under way grow is not sustained, whatever share of the requests was in time so far.
func TestARateIsNotSustainedWhereTheRequestsUnderWayGrow(t *testing.T) {
	k := &growth{marks: [2]int64{1000, 1999}, under: [2]int64{20, 60}, seen: 2}
	k.at[1] = sim.Time(10 * sim.Second)
	require.True(t, k.sustained(0), "forty more of a thousand may be chance")
	k.under[1] = 300
	require.False(t, k.sustained(0))
	k.under[1] = 20
	require.True(t, k.sustained(9500*sim.Millisecond))
	require.False(t, k.sustained(5*sim.Second), "sessions that send half of what they would send are not all there")
	require.True(t, (*growth)(nil).sustained(sim.Second))
}

// TestFewSessionsOfASeedTakeNoMoreGPUs: a run of some hundred requests has a tenth fewer sessions than usual in one of
// a few seeds, which is no fault of the deployment.
func TestFewSessionsOfASeedTakeNoMoreGPUs(t *testing.T) {
	const talks = `
model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  arrivals: {process: poisson, rate: 1}
  sessions:
    turns: {distribution: lognormal, mean: 6, cv: 0.5}
    think_time_s: {distribution: exponential, mean: 2}
  prompt_tokens: {distribution: fixed, mean: 200}
  output_tokens: {distribution: fixed, mean: 20}
  requests: 1000
`
	z := size(t, studyOf(t, talks, "budget: {gpus: 8}\nrate: {at: 1}\nslo: {ttft_ms: 2000}\nseeds: 6\nrequests: 400\n"))
	require.NotNil(t, z.Best)
	require.Equal(t, 1, z.Best.GPUs, "one GPU is nearly idle")
}
