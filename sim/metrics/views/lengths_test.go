package views_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// TestLengthsAreThoseOfCompletedRequests, as clients received their tokens; of none there is no value.
func TestLengthsAreThoseOfCompletedRequests(t *testing.T) {
	var records []views.Record
	for _, r := range []struct {
		prompt, tokens int32
		outcome        sim.Outcome
	}{
		{5, 3, sim.Completed}, {9, 3, sim.Completed}, {9, 1, sim.Completed}, {1000, 1000, sim.Failed},
		{5, 4, sim.Completed},
	} {
		records = append(records, views.Record{Prompt: r.prompt, Outcome: r.outcome, Chunks: at(r.tokens)})
	}
	prompts, outputs := views.Tokens(records)
	assert.Equal(t, []float64{4, 7, 2, 5, 9}, []float64{float64(prompts.Weight()), prompts.Mean(), prompts.Std(),
		prompts.Min(), prompts.Max()})
	assert.EqualValues(t, 5, prompts.Mode(), "the least of two that are as frequent")
	assert.EqualValues(t, 3, outputs.Mode())
	assert.Equal(t, []float64{1, 3, 3, 4}, []float64{outputs.NearestRank(0), outputs.NearestRank(.5),
		outputs.NearestRank(.75), outputs.NearestRank(.76)})
	none, _ := views.Tokens(records[3:4])
	assert.Zero(t, none.Weight())
	for _, x := range []float64{none.Mode(), none.Max(), none.Quantile(.5), none.NearestRank(.5)} {
		assert.True(t, x != x, "not a number")
	}
}

// TestAStreamIsPlainIfEveryTokenTakesAsLong: a network does not change that, chunks of several tokens, an API server's
// work and jitter do.
func TestAStreamIsPlainIfEveryTokenTakesAsLong(t *testing.T) {
	for want, streams := range map[bool][]views.Stream{
		true:  {{}, {Interval: 1}, {RTT: sim.Second}},
		false: {{Interval: 2}, {Detokenize: 1}, {Frame: 1}, {Jitter: 1}},
	} {
		for _, s := range streams {
			assert.Equal(t, want, s.Plain(), "%+v", s)
		}
	}
	odd := views.Stream{RTT: 7, Detokenize: 10, Frame: 100}
	assert.EqualValues(t, 7, odd.Up()+odd.Down())
	assert.EqualValues(t, 114, odd.Egress())
}

// TestToolsAreFoundByTheirNames, and rows by their kinds and keys.
func TestToolsAreFoundByTheirNames(t *testing.T) {
	for _, name := range views.Names() {
		tool, ok := views.Named(name)
		assert.True(t, ok)
		assert.Equal(t, name, tool.Name)
	}
	assert.Contains(t, views.Names(), "vllm")
	_, ok := views.Named("stopwatch")
	assert.False(t, ok)
	var v views.View
	assert.Nil(t, v.Row(0))
	assert.Nil(t, v.Keyed("ttft"))
}

// TestClientsSeeWhatAStreamDelays: of one request alone, an interval of 4 tokens and an RTT of 10 ms. Every chunk comes
// 5 ms after the last of its tokens. Of nine tokens the first comes alone, and those of two chunks wait for three, two,
// one and no more.
func TestClientsSeeWhatAStreamDelays(t *testing.T) {
	s, _ := sampled(t, 1, `name: alone
model: llama-3.1-8b
pools: [{gpu: h100-sxm, engine: vllm-v1}]
stream: {rtt_ms: 10, stream_interval: 4}
workload:
  arrivals: {process: constant, rate: 1}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 9}
  requests: 1
`)
	streamed := s.Streamed()
	assert.EqualValues(t, 1, streamed.Requests)
	assert.InDelta(t, 0.005, streamed.Delay.DeliveryS, 1e-9)
	assert.InEpsilon(t, 12./9*s.ITL.MeanS(), streamed.Delay.ChunkS, 0.001)
}
