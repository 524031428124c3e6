package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// run simulates a small scenario with a timeline.
func run(t *testing.T, set ...string) (*metrics.Full, *metrics.Summary, []metrics.Sample) {
	return record(t, &metrics.Full{}, set...)
}

// record simulates it into f.
func record(t *testing.T, f *metrics.Full, set ...string) (*metrics.Full, *metrics.Summary, []metrics.Sample) {
	file := filepath.Join(t.TempDir(), "chat.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  arrivals: {process: constant, rate: 4}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 50}
  requests: 200
slo: {ttft_ms: 500}
`), 0o600))
	s, err := configs.Load(file, configs.Options{Set: set})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	line := metrics.NewTimeline(0)
	f.SLO, f.Warmup = b.SLO, b.Warmup
	b.Config.Sink, b.Config.Observe = f, line.Observe
	c, err := sim.New(b.Config)
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	return f, f.Summary(b.Describe("v", c.Totals().Arrived)), line.Samples(c)
}

func TestASummaryCountsWhatWasSent(t *testing.T) {
	_, s, _ := run(t)
	assert.Equal(t, metrics.Requests{Arrived: 200, Completed: 200}, s.Requests)
	assert.Equal(t, metrics.Tokens{Prompt: 20000, Output: 10000}, s.Tokens)
	assert.EqualValues(t, 200, s.Latency.TTFT.N)
	assert.EqualValues(t, 200*49, s.Latency.ITL.N)
	assert.InEpsilon(t, 4, s.Load.OfferedPerS, 1e-9)
	assert.InEpsilon(t, 199/4.0+s.Latency.E2E.P50, s.DurationS, 0.01, "from the first send to the last token")
	assert.InEpsilon(t, 10000/s.DurationS, s.Throughput.OutputTokensPerS, 1e-12)
	assert.Equal(t, &metrics.SLO{TTFTS: 0.5, Attainment: 1, GoodputPerS: 200 / s.DurationS}, s.SLO)
	assert.InEpsilon(t, s.Bound.ITLFloorS/s.Bound.StepS, s.Bound.FractionOfBound, 1e-12)
	assert.InEpsilon(t, s.Latency.ITL.Mean, s.Bound.StepS, 1e-9, "without preemption a gap is a step")
	assert.Equal(t, "only 200 measured requests: no more than 3 of them are at or above p99", s.Warnings[0])
}

// TestOneRequestHasNoRate: it takes as long as the run. Nor have requests that all come at once.
func TestOneRequestHasNoRate(t *testing.T) {
	_, s, _ := run(t, "workload.requests=1")
	assert.InEpsilon(t, s.Latency.E2E.Mean, s.DurationS, 1e-9)
	assert.Less(t, s.DurationS, 1.0)
	assert.Equal(t, [2]float64{0, 0}, [2]float64{s.Load.OfferedPerS, s.Load.ServedPerS})
	_, s, _ = run(t, "workload.arrivals=null", "workload.closed_loop={concurrency: 5}", "workload.requests=5")
	assert.EqualValues(t, 5, s.Requests.Completed)
	assert.Equal(t, [2]float64{0, 0}, [2]float64{s.Load.OfferedPerS, s.Load.ServedPerS})
}

func TestASummaryOfNothingIsJSON(t *testing.T) {
	_, s, _ := run(t, "pools.serve.max_model_len=120")
	assert.Equal(t, metrics.Requests{Arrived: 200, Rejected: 200}, s.Requests)
	assert.Nil(t, s.Cost)
	assert.Equal(t, "200 of 200 requests were rejected: longer than max_model_len, 120 tokens", s.Warnings[0])
	assert.Equal(t, "no request was measured from its arrival to its completion", s.Warnings[1])
	text, err := json.Marshal(s)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"ttft_s":{"n":0,"mean":null`)
}

// TestWindowsThatBecameWiderAreAWarning: 50 s are no more than 4,096 windows of a second, and take 50,000 of a
// millisecond, which double four times.
func TestWindowsThatBecameWiderAreAWarning(t *testing.T) {
	for width, wider := range map[sim.Duration]string{
		sim.Second: "", sim.Millisecond: "windows of 0.001 s became windows of 0.016 s: a run has at most 4096 of them",
	} {
		f := &metrics.Full{}
		f.Windows = metrics.NewWindows(metrics.WindowArguments{Width: width})
		_, s, _ := record(t, f)
		if wider == "" {
			assert.NotContains(t, strings.Join(s.Warnings, "; "), "windows of")
			continue
		}
		assert.Contains(t, s.Warnings, wider)
	}
}

func TestManyPreemptionsAreAWarning(t *testing.T) {
	_, s, _ := run(t, "workload.arrivals.rate=1000", "pools.serve.num_gpu_blocks=80", "workload.output_tokens.mean=300")
	require.Greater(t, s.Requests.Preemptions, int64(4))
	const growing = "the queue is still growing: offered 1000/s, served 0/s; latencies depend on the length of the run"
	assert.Equal(t, growing, s.Warnings[0])
	assert.Contains(t, s.Warnings[1], " preemptions of 200 requests: the KV cache is too small for this load")
}

// TestWarningsCountInThousands: as the lines beside them do.
func TestWarningsCountInThousands(t *testing.T) {
	_, s, _ := run(t, "workload.arrivals.rate=100000", "workload.requests=1200", "pools.serve.max_num_seqs=4",
		"workload.timeout_s=2")
	require.GreaterOrEqual(t, s.Requests.Failed, int64(1000))
	assert.Regexp(t, `^1,\d\d\d of 1,200 requests failed, `, s.Warnings[1])
}

// Requests that their clients cancel leave the quick ones behind, and all requests arrive before the first ends: the
// summary must warn of both.
func TestAFloodHasTwoWarnings(t *testing.T) {
	_, s, _ := run(t, "workload.arrivals.rate=100000", "pools.serve.max_num_seqs=4", "workload.timeout_s=2")
	require.Greater(t, s.Requests.Failed, int64(100))
	assert.Contains(t, s.Warnings[0], "the queue is still growing: offered 100000/s, served 0/s")
	assert.Contains(t, s.Warnings[1], " of 200 requests failed, for their clients disconnected; ")
	assert.Contains(t, s.Warnings[1], "; waits without a token are beside the queue's: ")
	assert.Equal(t, s.Requests.Failed+s.Requests.Completed, s.Latency.Queue.N+s.Latency.Unanswered.N,
		"every wait is in one of the two")
	_, s, _ = run(t, "workload.requests=1")
	assert.Equal(t, "only 1 measured request: no more than 1 of them are at or above p99", s.Warnings[0])
}

// TestRequestsThatThinkUntilTheyAreCutAreWarnedOf: TTFO is of requests that showed something, and looks well without
// the others.
func TestRequestsThatThinkUntilTheyAreCutAreWarnedOf(t *testing.T) {
	thinks := func() *metrics.Full {
		f := new(metrics.Full)
		f.Thinks = true
		return f
	}
	thinking := []string{"workload.output_tokens=null", "workload.output_tokens={distribution: uniform, min: 10, max: 90}",
		"workload.reasoning={tokens: {distribution: fixed, mean: 40}}"}
	_, s, _ := record(t, thinks(), thinking...)
	require.Equal(t, s.Requests.Completed, s.Latency.TTFO.N)
	assert.NotContains(t, strings.Join(s.Warnings, " "), "reasoning")
	_, s, _ = record(t, thinks(), append(thinking, "workload.max_tokens=40")...)
	assert.Contains(t, s.Warnings[0], "200 of 200 measured requests were cut within their reasoning and showed nothing")
	_, s, _ = record(t, thinks(), append(thinking[:2:2], "workload.reasoning={share: 0.5}", "workload.max_tokens=30")...)
	require.Greater(t, s.Latency.TTFO.N, int64(0))
	cut := s.Requests.Completed - s.Latency.TTFO.N
	require.Greater(t, cut, int64(0))
	assert.Contains(t, s.Warnings[0], fmt.Sprintf("%d of 200 measured requests were cut within their reasoning", cut))
}

// TestAFewTasksAreWarnedOf, of however many requests they are.
func TestAFewTasksAreWarnedOf(t *testing.T) {
	f := new(metrics.Full)
	for i := range 150 {
		f.Task(&metrics.Task{Ended: sim.Time(i+1) * sim.Time(sim.Second), Requests: 8, Agents: 1})
	}
	_, s, _ := record(t, f, "workload.requests=1200")
	assert.Equal(t, "only 150 measured tasks: no more than 2 of them are at or above p99", s.Warnings[0])
}

func TestATimelineIsEvenAndNeverLong(t *testing.T) {
	for _, requests := range []string{"10", "200", "5000"} {
		f, s, samples := run(t, "workload.requests="+requests)
		require.LessOrEqual(t, len(samples), 2049)
		require.Greater(t, len(samples), 1000)
		every := samples[1].At.Sub(samples[0].At)
		for i, x := range samples[:len(samples)-1] {
			require.EqualValues(t, i, x.At.Sub(0)/every, "sample %d", i)
			require.Equal(t, x.At, samples[0].At.Add(every*sim.Duration(i)))
			require.Equal(t, x.Arrived-x.Ended, x.Running+x.Waiting, "sample %d: the requests in the system", i)
			require.LessOrEqual(t, x.Tokens, samples[i+1].Tokens)
		}
		last := samples[len(samples)-1]
		require.Equal(t, s.Requests.Arrived, last.Ended)
		require.Equal(t, f.Output(), last.Tokens)
		require.Zero(t, last.KVUsed)
	}
}

// TestAQueueGrowsByMoreThanChance: one request runs and all others wait. As the last of 19 requests comes, 9 of the 18
// before it have come since half of them had: those are three standard deviations of a Poisson count of 9. Of 21 they
// are 10, and three standard deviations of that are 9.5.
func TestAQueueGrowsByMoreThanChance(t *testing.T) {
	for requests, grows := range map[string]bool{"19": false, "20": false, "21": true} {
		_, s, _ := run(t, "workload.requests="+requests, "workload.arrivals.rate=100000", "pools.serve.max_num_seqs=1",
			"pools.serve.efficiency={base: vllm, tokenize_s: 0}")
		require.Less(t, s.Load.ServedPerS, 0.1*s.Load.OfferedPerS)
		warned := strings.Contains(strings.Join(s.Warnings, "; "), "the queue is still growing")
		assert.Equal(t, grows, warned, "%s requests", requests)
	}
}

// TestATimelineHasItsEndOnce: a run of 1 s that is sampled each millisecond ends with a sample, which is as counts are
// then.
func TestATimelineHasItsEndOnce(t *testing.T) {
	f, _, samples := run(t, "workload.requests=null", "workload.duration_s=1", "workload.arrivals.rate=50")
	require.Len(t, samples, 1001)
	for i, x := range samples {
		require.Equal(t, sim.Time(i)*sim.Time(sim.Millisecond), x.At)
	}
	require.Equal(t, f.Output(), samples[1000].Tokens)
}

func TestATimelineEndsAtTheHorizon(t *testing.T) {
	f, s, samples := run(t, "workload.requests=null", "workload.duration_s=10.3", "workload.arrivals.rate=50")
	last := samples[len(samples)-1]
	require.InEpsilon(t, 10.3, last.At.Seconds(), 1e-12)
	require.Equal(t, f.Output(), last.Tokens)
	require.Equal(t, s.Requests.Unfinished, last.Running+last.Waiting)
	require.Equal(t, s.Requests.Unfinished, last.Arrived-last.Ended)
	require.Positive(t, last.Running)
}

// TestASeriesHasEveryGapOfARun, of steps in a row and of steps that something came between, and every request: the
// number of the whole run and its sum.
func TestASeriesHasEveryGapOfARun(t *testing.T) {
	for _, set := range [][]string{
		nil, {"workload.arrivals.rate=1000", "pools.serve.num_gpu_blocks=80", "workload.output_tokens.mean=300"},
		{"pools.serve.replicas=3", "workload.arrivals.rate=100"},
	} {
		f := &metrics.Full{}
		f.Series = metrics.NewSeries()
		_, s, _ := record(t, f, set...)
		var n [metrics.NumSeries]uint64
		var sum [metrics.NumSeries]float64
		arrived := int64(0)
		for _, slot := range f.Series.Slots() {
			arrived += slot.Arrived
			for of := range n {
				n[of] += slot.Sum[of].N
				sum[of] += slot.Sum[of].Sum.Float() * 1e-12
			}
		}
		require.EqualValues(t, 200, arrived)
		for of, d := range map[metrics.Of]metrics.Quantiles{metrics.OfTTFT: s.Latency.TTFT, metrics.OfITL: s.Latency.ITL,
			metrics.OfE2E: s.Latency.E2E, metrics.OfTPOT: s.Latency.TPOT} {
			require.EqualValues(t, d.N, n[of], of)
			require.InEpsilon(t, float64(d.Mean)*float64(d.N), sum[of], 1e-9, of)
		}
	}
}

// TestAReplicaIsBusyWhileItHasRequests: one at a time, each for as long as it takes but for what is beside its steps.
// All steps but the one of its prompt are of one decode.
func TestAReplicaIsBusyWhileItHasRequests(t *testing.T) {
	_, s, _ := run(t, "workload.arrivals.rate=1")
	assert.InEpsilon(t, 200*float64(s.Latency.E2E.Mean), s.Pools[0].Utilization*s.DurationS, 0.05)
	assert.InDelta(t, 49./50, float64(s.Pools[0].BatchMean), 1e-9)
}

// TestARentIsOfPromptsAndOutputs, and for the time in which no step runs: what a million tokens of each cost is the
// rent of the run, and what idles is the rest of what is busy.
func TestARentIsOfPromptsAndOutputs(t *testing.T) {
	for _, set := range [][]string{nil, {"pools.serve.replicas=3"}, {"workload.arrivals.rate=100"}} {
		_, s, _ := run(t, set...)
		c := s.Cost
		require.NotNil(t, c)
		require.Positive(t, c.USDPerHour)
		hours := s.DurationS / 3600
		assert.InEpsilon(t, c.USDPerHour*hours, 1e-6*c.USDPerMillionOutputTokens*10_000, 1e-9)
		assert.InDelta(t, c.USDPerHour*(1-s.Pools[0].Utilization), c.IdleUSDPerHour, 1e-12)
		require.NotNil(t, c.Split)
		input, output := 1e-6*c.Split.USDPerMillionInputTokens*20_000, 1e-6*c.Split.USDPerMillionOutputTokens*10_000
		assert.InEpsilon(t, c.USDPerHour*hours, input+output, 0.01)
		assert.InDelta(t, c.Split.InputShare, input/(input+output), 1e-9)
		assert.Greater(t, output, input, "50 steps of decodes and one of a prompt")
		assert.Zero(t, c.PeakUSDPerHour, "there are no windows")
	}
}

// TestWhatTheBusiestWindowNeedsHasAPrice: four arrive in a second, the first after a quarter of one, so
// that the first 5 s have 19 arrivals and all others that are whole have 20.
func TestWhatTheBusiestWindowNeedsHasAPrice(t *testing.T) {
	f := &metrics.Full{}
	f.Windows = metrics.NewWindows(metrics.WindowArguments{Width: 5 * sim.Second})
	_, s, _ := record(t, f, "workload.requests=201")
	require.EqualValues(t, 19, s.OverTime.Windows[0].Arrived)
	assert.InEpsilon(t, s.Cost.USDPerHour*(1-19.9/20), s.Cost.PeakUSDPerHour, 1e-9)
}

// TestRentsAreByPurchase: of three replicas one is reserved and one a spot one, and all are always up. The third costs
// as much as each does where none is.
func TestRentsAreByPurchase(t *testing.T) {
	of := func(set ...string) (*metrics.Cost, float64) {
		_, s, _ := run(t, append(set, "pools.serve.replicas=3")...)
		return s.Cost, s.Pools[0].Utilization
	}
	plain, _ := of()
	assert.Zero(t, plain.ReservedUSDPerHour)
	assert.Zero(t, plain.SpotUSDPerHour)
	c, busy := of("pools.serve.reserved_replicas=1", "pools.serve.reserved_price_per_hour=1",
		"pools.serve.spot_replicas=1", "pools.serve.spot_price_per_hour=0.5")
	assert.InDelta(t, 1, c.ReservedUSDPerHour, 1e-9)
	assert.InDelta(t, .5, c.SpotUSDPerHour, 1e-9)
	assert.InDelta(t, 1.5+plain.USDPerHour/3, c.USDPerHour, 1e-9)
	assert.InDelta(t, c.USDPerHour*(1-busy), c.IdleUSDPerHour, 1e-9)
}

// TestOneTokenHasAPrice: the time of a prompt of one token is that token's.
func TestOneTokenHasAPrice(t *testing.T) {
	_, s, _ := run(t, "workload.prompt_tokens.mean=1", "workload.output_tokens.mean=2", "workload.requests=1")
	require.NotNil(t, s.Cost)
	require.NotNil(t, s.Cost.Split)
	input, output := s.Cost.Split.USDPerMillionInputTokens, 2*s.Cost.Split.USDPerMillionOutputTokens
	assert.InEpsilon(t, s.Cost.Split.InputShare, input/(input+output), 1e-9)
}
