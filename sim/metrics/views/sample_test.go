package views_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

const crowded = `name: crowded
model: llama-3.1-8b
pools: [{gpu: h100-sxm, engine: %s, %s}]
workload:
  %s
  prompt_tokens: {distribution: lognormal, mean: 300, cv: 1, max: 900}
  output_tokens: {distribution: lognormal, mean: 80, cv: 1, max: 600}
  requests: 300
%s`

// sampled runs a scenario under a sample.
func sampled(t *testing.T, every int32, text string) (*views.Sample, *sim.Cluster) {
	s, err := configs.Read("s.yaml", []byte(text), configs.Options{})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	f := &metrics.Full{}
	f.SLO = b.SLO
	f.Warmup, f.Ingress, f.Egress = b.Warmup, b.Config.Ingress, b.Config.Egress
	config := b.Config
	if every > 0 {
		config.TraceEvery = every
	}
	sample := views.NewSample(f, config.TraceEvery, b.Wire())
	config.Sink = sample
	c, err := sim.New(config)
	require.NoError(t, err)
	f.Watch(c)
	c.Run()
	return sample, c
}

// TestASampleOfAllIsTheRun: the records of every request, token by token, add up to what the recorder counted of the
// run, to the picosecond, whatever delays a token.
func TestASampleOfAllIsTheRun(t *testing.T) {
	const open, closed = "arrivals: {process: poisson, rate: 60}", "closed_loop: {concurrency: 40}"
	for _, c := range []struct{ engine, arguments, load, more string }{
		{"vllm-v1", "num_gpu_blocks: 400, max_model_len: 1600", open, ""},
		{"vllm-v1", "max_num_seqs: 16", closed, ""},
		{"vllm-v0", "num_gpu_blocks: 300, max_model_len: 1600", open, ""},
		{"sglang", "max_running_requests: 24", open, ""},
		{"static", "max_num_seqs: 8, max_model_len: 1600", closed, ""},
		{"vllm-v1", "max_num_seqs: 16", closed,
			"speculation: {method: ngram, num_speculative_tokens: 3, acceptance: {process: iid, rate: 0.6}}\n"},
	} {
		name := fmt.Sprintf("%s %s %s %s", c.engine, c.arguments, c.load, c.more)
		s, cluster := sampled(t, 1, fmt.Sprintf(crowded, c.engine, c.arguments, c.load, c.more))
		var ttft, itl, e2e metrics.Hist
		tokens := int64(0)
		for _, r := range s.Records() {
			require.Equal(t, r.Steps, r.Chunks, name)
			tokens += int64(r.Tokens())
			ttft.One(r.Chunks[0].At.Sub(r.Send))
			e2e.One(r.Chunks[len(r.Chunks)-1].At.Sub(r.Send))
			for j, chunk := range r.Chunks {
				if chunk.Tokens > 1 {
					itl.Add(0, uint64(chunk.Tokens-1))
				}
				if j > 0 {
					itl.One(chunk.At.Sub(r.Chunks[j-1].At))
				}
			}
		}
		require.Len(t, s.Records(), 300, name)
		require.Equal(t, cluster.Totals().OutputTokens, tokens, name)
		require.Equal(t, s.TTFT.Counts(), ttft.Counts(), name)
		require.Equal(t, s.ITL.Counts(), itl.Counts(), name)
		require.Equal(t, s.E2E.Counts(), e2e.Counts(), name)
		counts := s.Counts()
		require.Equal(t, []int64{300, 0, cluster.Totals().PromptTokens, tokens},
			[]int64{counts.Completed, counts.Failed, counts.Prompt, counts.Output}, name)
	}
}

// TestTheRunAndItsSampleAgree: where the recorder of the whole run answers for a tool, the records would have said the
// same.
func TestTheRunAndItsSampleAgree(t *testing.T) {
	const rate = "arrivals: {process: poisson, rate: 30}"
	s, _ := sampled(t, 1, fmt.Sprintf(crowded, "vllm-v1", "max_num_seqs: 16", rate, "slo: {tpot_ms: 9}\n"))
	all := s.Seen(10)
	agree(t, all)
	bursts, _ := sampled(t, 1, fmt.Sprintf(crowded, "vllm-v1", "max_num_seqs: 16", rate,
		"speculation: {method: ngram, num_speculative_tokens: 3, acceptance: {process: iid, rate: 0.6}}\n"))
	agree(t, bursts.Seen(10))
	wired, _ := sampled(t, 1,
		fmt.Sprintf(crowded, "vllm-v1", "max_num_seqs: 16", rate, "stream: {stream_interval: 4, rtt_ms: 30}\n"))
	agree(t, wired.Seen(10))
	server, _ := views.Named("prometheus")
	assert.Equal(t, views.Of(server, all).Row(views.TTFT).Mean(),
		views.Of(server, wired.Seen(10)).Row(views.TTFT).Mean(), "a server sees no network")
	jittered := *all
	jittered.Stream.Jitter = 1 // nothing of the recorder is a client's time any more
	vllm, _ := views.Named("vllm")
	a, b := views.Of(vllm, all).Goodput, views.Of(vllm, &jittered).Goodput
	require.NotNil(t, a)
	assert.Less(t, a.PerS, 30.0)
	assert.Equal(t, a.PerS, b.PerS)
	assert.True(t, b.Sampled && !a.Sampled)
}

// agree compares the rows of every tool with those that it takes from the recorder.
func agree(t *testing.T, all *views.Run) {
	whole := *all
	whole.Records = nil
	for _, tool := range views.Tools() {
		own, recorded := views.Of(tool, all), views.Of(tool, &whole)
		for i := range own.Rows {
			if recorded.Rows[i].Sampled {
				continue // only the sample has this measure
			}
			require.Equal(t, own.Rows[i].Count, recorded.Rows[i].Count, own.Rows[i].Key)
			assert.InEpsilon(t, own.Rows[i].Mean(), recorded.Rows[i].Mean(), 1e-9, own.Rows[i].Key)
			near := 2e-3
			if own.Rows[i].Buckets != nil {
				near = 1e-2 // a value at the edge of a bucket is on either side of it
			}
			assert.InEpsilon(t, own.Rows[i].Percentile(.9), recorded.Rows[i].Percentile(.9), near, own.Rows[i].Key)
			assert.InEpsilon(t, own.Rows[i].Std(), recorded.Rows[i].Std(), 2e-3, own.Rows[i].Key)
		}
	}
}

// TestRequestsOutsideTheMeasurementAreLeftOut: of a warm-up, of a run that ends, and of clients that cancel.
func TestRequestsOutsideTheMeasurementAreLeftOut(t *testing.T) {
	s, c := sampled(t, 2, fmt.Sprintf(crowded, "vllm-v1", "max_num_seqs: 16", "arrivals: {process: poisson, rate: 30}",
		"  warmup_s: 2\n  timeout_s: 1.2\n  duration_s: 9\n"))
	counts, failed := s.Counts(), 0
	assert.Equal(t, s.Recorded, counts.Completed)
	assert.Equal(t, s.Unserved, counts.Failed)
	assert.Positive(t, counts.Failed)
	assert.Positive(t, counts.Unfinished)
	assert.Less(t, counts.Completed+counts.Failed+counts.Unfinished, c.Totals().Arrived)
	for _, r := range s.Records() {
		assert.Zero(t, r.ID%2)
		assert.GreaterOrEqual(t, r.Send, s.Warmup)
		if r.Outcome != sim.Completed {
			failed++
		}
	}
	assert.Positive(t, failed)
	v, _ := views.Named("vllm")
	row := views.Of(v, s.Seen(7)).Row(views.TTFT)
	assert.True(t, row.Sampled, "the recorder counts first tokens of requests that failed later")
	assert.Equal(t, int64(len(s.Records())-failed), row.Count)
}

// TestALongSampleIsThinned: every other record goes, and what stays is what a sparser sample holds.
func TestALongSampleIsThinned(t *testing.T) {
	play := func(every int32) *views.Sample {
		s := views.NewSample(&metrics.Full{}, every, views.NewWire(views.Stream{}, 1))
		for id := range int32(9001) {
			r := &sim.Request{ID: id, Prompt: 1 + id%7, Output: 3, Traced: id%every == 0, Arrival: sim.Time(id)}
			r.Record = sim.Record{First: r.Arrival + 5, Last: r.Arrival + 5, Emitted: 1}
			s.First(r)
			if r.Traced {
				s.Tokens(r, 1, r.First, &sim.Segment{First: 10, Growth: sim.Duration(id % 3), Steps: 2}, 2)
			}
			r.Emitted = 3
			s.Done(r, r.First+25, sim.Completed)
		}
		return s
	}
	dense, sparse := play(1), play(4)
	require.Equal(t, int32(4), dense.Every())
	require.Len(t, dense.Records(), 2251)
	require.Equal(t, sparse.Records(), dense.Records())
	require.Equal(t, sparse.Counts(), dense.Counts())
}
