package views_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// example is one request of five tokens: sent at 0, chunks at 100 ms (1 token), 140 ms (2) and 180 ms (2).
func example() views.Record { return views.Example() }

// TestOneRequestElevenAnswers is the test vector of the definitions: what each tool says of that one request.
func TestOneRequestElevenAnswers(t *testing.T) {
	for _, c := range []struct {
		tool, measure string
		ms            []float64
		weight        int64
	}{
		{"vllm", "TTFT", []float64{100}, 1}, {"vllm", "ITL", []float64{40, 40}, 1}, {"vllm", "TPOT", []float64{20}, 1},
		{"vllm", "E2EL", []float64{180}, 1},
		{"sglang", "TTFT", []float64{100}, 1}, {"sglang", "ITL", []float64{40, 40}, 1}, {"sglang", "TPOT", []float64{20}, 1},
		{"sglang", "ITL per token", []float64{20, 20, 20, 20}, 1},
		{"aiperf", "time_to_first_token", []float64{100}, 1}, {"aiperf", "inter_token_latency", []float64{20}, 1},
		{"aiperf", "inter_chunk_latency", []float64{40, 40}, 1}, {"aiperf", "time_to_second_token", []float64{40}, 1},
		{"genai-perf", "time_to_first_token", []float64{100}, 1}, {"genai-perf", "inter_token_latency", []float64{20}, 1},
		{"guidellm", "time_to_first_token_ms", []float64{100}, 1}, {"guidellm", "inter_token_latency_ms", []float64{20}, 4},
		{"guidellm", "time_per_output_token_ms", []float64{36}, 5},
		{"inference-perf", "time_to_first_token", []float64{100}, 1},
		{"inference-perf", "inter_token_latency", []float64{40, 40}, 1},
		{"inference-perf", "time_per_output_token", []float64{20}, 1},
		{"inference-perf", "normalized_time_per_output_token", []float64{36}, 1},
		{"llmperf", "ttft_s", []float64{100}, 1}, {"llmperf", "inter_token_latency_s", []float64{36}, 1},
		{"prometheus", "vllm:time_to_first_token_seconds", []float64{100}, 1},
		{"prometheus", "vllm:inter_token_latency_seconds", []float64{40, 40}, 1},
		{"prometheus", "vllm:request_time_per_output_token_seconds", []float64{20}, 1},
		{"vidur", "TPOT", []float64{16}, 1}, {"splitwise-sim", "TPOT", []float64{16}, 1},
		{"simdistserve", "TPOT", []float64{16}, 1},
		{"LLMServingSim", "ITL", []float64{40, 40}, 1}, {"LLMServingSim", "TPOT", []float64{20}, 1},
		{"BLIS", "ITL", []float64{40, 40}, 1}, {"BLIS", "TPOT", []float64{20}, 1},
		{"aiconfigurator", "ITL", []float64{20}, 1}, {"aiconfigurator", "inclusive TPOT", []float64{36}, 1},
	} {
		r := example()
		values, weight := measure(t, c.tool, c.measure).Values(&r)
		require.Len(t, values, len(c.ms), c.tool+" "+c.measure)
		for i := range values {
			assert.InDelta(t, c.ms[i], 1000*values[i], 1e-9, c.tool+" "+c.measure)
		}
		assert.Equal(t, c.weight, weight, c.tool+" "+c.measure)
	}
}

func measure(t *testing.T, tool, key string) *views.Measure {
	for _, candidate := range append(views.Tools(), views.Others()...) {
		for i := range candidate.Measures {
			if m := &candidate.Measures[i]; candidate.Name == tool && m.Key == key {
				return m
			}
		}
	}
	require.Fail(t, "no measure", "%s of %s", key, tool)
	return nil
}

// single is a request of one token after 300 ms.
func single() views.Record {
	at := []views.Chunk{{At: sim.Time(300 * sim.Millisecond), Tokens: 1}}
	return views.Record{ID: 1, Prompt: 5, Steps: at, Chunks: at, Outcome: sim.Completed}
}

func TestARequestOfOneTokenHasNoTimeBetweenTokens(t *testing.T) {
	r := single()
	for _, tool := range append(views.Tools(), views.Others()...) {
		for i := range tool.Measures {
			m := &tool.Measures[i]
			values, _ := m.Values(&r)
			name := tool.Name + " " + m.Key
			switch name {
			case "guidellm time_per_output_token_ms", "inference-perf normalized_time_per_output_token",
				"aiconfigurator inclusive TPOT",
				"llmperf inter_token_latency_s":
				require.Len(t, values, 1, name)
				assert.InDelta(t, 0.3, values[0], 1e-12, "%s is TTFT", name)
			case "vidur TPOT", "splitwise-sim TPOT", "simdistserve TPOT":
				assert.Equal(t, []float64{0}, values, name)
			case "inference-perf time_to_first_token":
				assert.Empty(t, values, name)
			default:
				if m.Kind == views.ITL || m.Kind == views.TPOT {
					assert.Empty(t, values, name)
				}
			}
		}
	}
}

func TestARequestWithoutAnswerHasNoValues(t *testing.T) {
	for _, tool := range views.Tools() {
		for i := range tool.Measures {
			values, _ := tool.Measures[i].Values(&views.Record{Prompt: 1, Outcome: sim.Failed})
			assert.Empty(t, values)
		}
	}
}

// run is a run of which every request is in the sample.
func run(records ...views.Record) *views.Run {
	return &views.Run{Full: &metrics.Full{}, Records: records, Every: 1, DurationS: 2,
		Counts: views.Counts{Completed: int64(len(records))}}
}

// TestToolsWeighRequestsDifferently: of two requests with 20 and 50 ms per token, the first with four gaps and the
// second with one, pooled gaps and tokens weigh the first more, and requests weigh them alike.
func TestToolsWeighRequestsDifferently(t *testing.T) {
	two := []views.Chunk{{At: 0, Tokens: 1}, {At: sim.Time(50 * sim.Millisecond), Tokens: 1}}
	r := run(example(), views.Record{Prompt: 1, Steps: two, Chunks: two, Outcome: sim.Completed})
	for tool, ms := range map[string]float64{
		"vllm": (40 + 40 + 50) / 3.0, "aiperf": (20 + 50) / 2.0, "guidellm": (4*20 + 50) / 5.0, "llmperf": (36 + 25) / 2.0,
	} {
		named, ok := views.Named(tool)
		require.True(t, ok)
		v := views.Of(named, r)
		row := v.Row(views.ITL)
		assert.InDelta(t, ms/1000, row.Mean(), 1e-12, tool)
		assert.False(t, row.Sampled)
	}
	guide, _ := views.Named("guidellm")
	itl := views.Of(guide, r).Row(views.ITL)
	assert.Equal(t, int64(2), itl.Count)
	assert.InDelta(t, .02, itl.Percentile(.8), 1e-12, "four of the five gaps, and a nearest rank")
	for _, m := range guide.Measures {
		assert.True(t, m.Ranked, m.Key)
	}
	assert.InDelta(t, .05, itl.Percentile(.81), 1e-12)
}

// TestServersBucketsAreCoarse: a histogram of a server knows no more of 100, 40, 40, 20 and 180 ms than their buckets.
func TestServersBucketsAreCoarse(t *testing.T) {
	tool, _ := views.Named("prometheus")
	v := views.Of(tool, run(example()))
	itl := v.Keyed("vllm:inter_token_latency_seconds")
	assert.InDelta(t, .04, itl.Mean(), 1e-12, "sum over count")
	assert.InDelta(t, .0375, itl.Percentile(.5), 1e-12, "half way from 25 to 50 ms")
	assert.InDelta(t, .04975, itl.Percentile(.99), 1e-12)
	assert.InDelta(t, .25, v.Row(views.E2E).Percentile(.8333333333333333), .03, "in the first bucket, from 0 to 300 ms")
	last := views.Of(tool, run(record(0, 500_000))).Keyed("vllm:inter_token_latency_seconds")
	assert.InDelta(t, 500, last.Mean(), 1e-9)
	assert.InDelta(t, 80, last.Percentile(.5), 0, "nothing is known of what is longer than the last bucket")
}

// TestAServersBucketsAreThoseOfVLLM: the bounds that vLLM 0.33.0 has in vllm/v1/metrics/buckets.py.
func TestAServersBucketsAreThoseOfVLLM(t *testing.T) {
	tool, _ := views.Named("prometheus")
	v := views.Of(tool, run(example()))
	token := views.Buckets{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
		40.0, 80.0}
	for key, want := range map[string]views.Buckets{
		"vllm:time_to_first_token_seconds": {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5,
			5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0},
		"vllm:inter_token_latency_seconds":           token,
		"vllm:request_time_per_output_token_seconds": token,
		"vllm:e2e_request_latency_seconds": {0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0,
			60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0},
	} {
		assert.Equal(t, want, v.Keyed(key).Buckets, key)
	}
}

// TestRatesAreCountsOverTheRun: 6 requests of 30 tokens in and 50 out within 2 s, whose latencies sum to 5 s. A run
// that takes no time has rates of 0.
func TestRatesAreCountsOverTheRun(t *testing.T) {
	r := run()
	r.Counts = views.Counts{Completed: 6, Prompt: 30, Output: 50, E2ES: 5}
	none := *r
	none.DurationS = 0
	for tool, want := range map[string][]float64{
		"vllm": {3, 25, 40}, "sglang": {3, 15, 25, 40, 2.5}, "aiperf": {3, 25}, "genai-perf": {3, 25},
		"guidellm": {3, 25, 40, 2.5}, "inference-perf": {3, 15, 25, 40}, "llmperf": {25, 180}, "prometheus": {3, 15, 25},
	} {
		named, ok := views.Named(tool)
		require.True(t, ok)
		assert.Equal(t, want, views.Of(named, r).Rates, tool)
		assert.Equal(t, make([]float64, len(want)), views.Of(named, &none).Rates, tool)
	}
}

// TestATokensRateIsOfOneRequest: five tokens within 180 ms, of which four came 20 ms after another on average.
func TestATokensRateIsOfOneRequest(t *testing.T) {
	r := example()
	require.EqualValues(t, 1, r.Prompt)
	for tool, c := range map[string]struct {
		key  string
		want float64
	}{"aiperf": {"output_token_throughput_per_user", 50}, "llmperf": {"request_output_throughput_token_per_s", 5 / .18}} {
		values, weight := measure(t, tool, c.key).Values(&r)
		require.Len(t, values, 1, tool)
		assert.InDelta(t, c.want, values[0], 1e-9, tool)
		assert.Equal(t, int64(1), weight, tool)
	}
}

// TestASampleIsOfEveryFewRequests, although more of them are traced; of all where nothing else is asked.
func TestASampleIsOfEveryFewRequests(t *testing.T) {
	for every, want := range map[int32][]int32{0: {0, 1, 2, 3, 4, 5, 6}, 1: {0, 1, 2, 3, 4, 5, 6}, 3: {0, 3, 6}} {
		f := &metrics.Full{}
		s := views.NewSample(f, every, views.NewWire(views.Stream{}, 1))
		for id := range int32(7) {
			r := &sim.Request{ID: id, Prompt: 1, Output: 1, Traced: true}
			r.First, r.Emitted = ms(5), 1
			s.First(r)
			s.Done(r, ms(5), sim.Completed)
		}
		var got []int32
		for _, r := range s.Records() {
			got = append(got, r.ID)
		}
		assert.Equal(t, want, got, "every %d", every)
	}
}

// TestTheRecorderHasWhatASampleHas: the chunks of a request whose tokens come one by one, in a run of steps and
// together.
func TestTheRecorderHasWhatASampleHas(t *testing.T) {
	f := &metrics.Full{}
	f.Stream = metrics.NewChunks(1)
	s := views.NewSample(f, 1, views.NewWire(views.Stream{}, 1))
	r := &sim.Request{Prompt: 1, Output: 9, Traced: true}
	r.First, r.Last, r.Emitted = ms(5), ms(5), 1
	s.First(r)
	s.Tokens(r, 1, ms(5), &sim.Segment{First: sim.Millisecond, Steps: 4}, 4)
	require.EqualValues(t, 4, f.Stream.Gaps().N())
	s.Delayed(r, 5, ms(9), ms(12))
	require.EqualValues(t, 5, f.Stream.Gaps().N())
	s.Accepted(r, 6, ms(12), 2)
	require.EqualValues(t, 7, f.Stream.TokenGaps().N())
	r.Emitted = 8
	s.Done(r, ms(12), sim.Completed)
	require.EqualValues(t, 1, f.E2E.N())
	assert.Equal(t, []views.Chunk{{At: ms(5), Tokens: 1}, {At: ms(6), Tokens: 1}, {At: ms(7), Tokens: 1},
		{At: ms(8), Tokens: 1}, {At: ms(9), Tokens: 1}, {At: ms(12), Tokens: 3}}, s.Records()[0].Steps)
}

// TestTheGreatestValueIsHiddenByBuckets of a server, which has a time per token of two tokens.
func TestTheGreatestValueIsHiddenByBuckets(t *testing.T) {
	r := run(record(10, 40))
	server, _ := views.Named("prometheus")
	v := views.Of(server, r)
	assert.True(t, math.IsNaN(v.Row(views.TTFT).Max()))
	assert.InDelta(t, .03, v.Row(views.TPOT).Mean(), 1e-12)
	client, _ := views.Named("vllm")
	assert.InDelta(t, .01, views.Of(client, r).Row(views.TTFT).Max(), 1e-12)
}

// TestASampleStandsForAllRequests: of ten that have completed in 2 s one is in the sample, and it is good. So two stand
// for twenty that failed.
func TestASampleStandsForAllRequests(t *testing.T) {
	r := run(example())
	r.Counts.Completed, r.SLO, r.Stream.Jitter = 10, metrics.Limits{TTFT: sim.Second}, 1
	r.Counts.Failed = 20
	vllm, _ := views.Named("vllm")
	good := views.Of(vllm, r).Goodput
	require.NotNil(t, good)
	assert.True(t, good.Sampled)
	assert.InDelta(t, 5, good.PerS, 1e-12)
	guidellm, _ := views.Named("guidellm")
	good = views.Of(guidellm, r).Goodput
	assert.EqualValues(t, 3, good.Judged)
	assert.InDelta(t, 1./3, good.Share, 1e-12)
}

// TestALimitIsKeptByWhatIsAsLong: the example has its first token after 100 ms, the others 20 ms apart on average and
// the last one after 180 ms.
func TestALimitIsKeptByWhatIsAsLong(t *testing.T) {
	const ms = sim.Millisecond
	for _, c := range []struct {
		limits metrics.Limits
		want   float64
	}{
		{metrics.Limits{TTFT: 100 * ms, TPOT: 20 * ms, E2E: 180 * ms}, .5}, {metrics.Limits{TTFT: 100*ms - 1}, 0},
		{metrics.Limits{TPOT: 20*ms - 1}, 0}, {metrics.Limits{E2E: 180*ms - 1}, 0}, {metrics.Limits{E2E: 180 * ms}, .5},
	} {
		r := run(example())
		r.SLO, r.Stream.Jitter = c.limits, 1
		vllm, _ := views.Named("vllm")
		assert.InDelta(t, c.want, views.Of(vllm, r).Goodput.PerS, 1e-12, "%+v", c.limits)
	}
}
