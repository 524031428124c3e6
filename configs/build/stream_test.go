package build

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

const streamed = `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload: {%s, prompt_tokens: {distribution: fixed, mean: 9}, output_tokens: {distribution: fixed, mean: 9}, requests: 9}
`

func TestAStreamIsWhatItsKeysSay(t *testing.T) {
	open := fmt.Sprintf(streamed, "arrivals: {process: poisson, rate: 2}")
	build := func(text string) *Built {
		s, err := configs.Read("s.yaml", []byte(text), configs.Options{})
		require.NoError(t, err)
		again, err := configs.Read("s.yaml", s.YAML(), configs.Options{})
		require.NoError(t, err)
		assert.Equal(t, s.Stream, again.Stream)
		assert.Equal(t, s.SLO, again.SLO)
		b, err := New(s)
		require.NoError(t, err)
		return b
	}
	b := build(open)
	assert.Equal(t, views.Stream{Interval: 1}, b.Wire().Stream())
	assert.Equal(t, views.Pace{StallS: .2, ReaderTokensPerS: 5}, b.Pace())
	assert.NotContains(t, strings.Join(b.Describe("", 0).Warnings, "\n"), "--view")

	const more = "stream: {stream_interval: 10, detokenize_s: 2e-5, frame_s: 1e-4, rtt_ms: 20, rtt_jitter_ms: 5, " +
		"stall_ms: 300, reader_tokens_per_s: 8}\n" +
		"slo: {e2e_ms: 900, itl_p99_ms: 40}\n"
	b = build(open + more)
	assert.Equal(t, views.Stream{
		Interval: 10, Detokenize: 20 * sim.Microsecond, Frame: 100 * sim.Microsecond, RTT: 20 * sim.Millisecond,
		Jitter: 5 * sim.Millisecond,
	}, b.Wire().Stream())
	assert.Equal(t, views.Pace{StallS: .3, ReaderTokensPerS: 8, ITLP99S: .04}, b.Pace())
	assert.Equal(t, metrics.Limits{E2E: 900 * sim.Millisecond}, b.SLO)
	warnings := b.Describe("", 0).Warnings
	assert.Contains(t, strings.Join(warnings, "\n"),
		"its constant part and its chunks\nslo.itl_p99_ms is judged in --view")
	assert.Equal(t, 10*sim.Millisecond+120*sim.Microsecond, b.Config.Egress, "half the round trip, a token and a frame")
	assert.Equal(t, 10*sim.Millisecond, b.Config.Ingress-build(open).Config.Ingress)
	closed := fmt.Sprintf(streamed, "closed_loop: {concurrency: 3}")
	assert.Equal(t, b.Config.Egress, build(closed+more).Config.Egress, "whose clients feel it")
	assert.NotContains(t, strings.Join(build(closed+"stream: {rtt_ms: 20}\n").Describe("", 0).Warnings, "\n"), "stream:",
		"the latencies say it all")
}

func TestAStreamThatCannotBeIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"stream: {stream_interval: 0}": "s.yaml:4:10: stream.stream_interval: 0 is out of range; expected a whole " +
			"number from 1 to 1048576",
		"stream: {stream_interval: 1.5}": "s.yaml:4:10: stream.stream_interval: expected an integer, got 1.5",
		"stream: {detokenize_s: -1e-9}": "s.yaml:4:10: stream.detokenize_s: -1e-09 is out of range; expected a number " +
			"from 0 to 60",
		"stream: {frame_s: 61}":  "s.yaml:4:10: stream.frame_s: 61 is out of range; expected a number from 0 to 60",
		"stream: {rtt_ms: .nan}": "s.yaml:4:",
		"stream: {rtt_jitter_ms: 1e9}": "s.yaml:4:10: stream.rtt_jitter_ms: 1e+09 is out of range; expected a number " +
			"from 0 to 100000",
		"stream: {stall_ms: 0}": "s.yaml:4:10: stream.stall_ms: 0 is out of range; expected a number above 0",
		"stream: {reader_tokens_per_s: 0}": "s.yaml:4:10: stream.reader_tokens_per_s: 0 is out of range; expected a " +
			"number above 0",
		"stream: {reader_token_per_s: 4}":   `s.yaml:4:10: stream.reader_token_per_s: unknown key; did you mean "reader_tokens_per_s"?`,
		"slo: {itl_p99_ms: -3}":             "s.yaml:4:7: slo.itl_p99_ms: -3 is out of range",
		"slo: {e2e_ms: 0}":                  "s.yaml:4:7: slo.e2e_ms: 0 is out of range",
		"stream: {rtt_ms: 20, rtt_ms: 30}":  "s.yaml:4:",
		"stream: {stream_interval: [1, 2]}": "s.yaml:4:",
	} {
		_, err := configs.Read("s.yaml", []byte(fmt.Sprintf(streamed, "arrivals: {process: poisson, rate: 2}")+line+"\n"),
			configs.Options{})
		require.Error(t, err, line)
		assert.Truef(t, strings.HasPrefix(err.Error(), want), "%s: %v", line, err)
	}
}
