package configs

import (
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// Stream is what lies between the steps of an engine and a client, and what that client bears. What is constant of it
// is in the run; the rest changes what clients see of it: see views.Stream.
type Stream struct {
	StreamInterval   int64   `yaml:"stream_interval" bound:"[1,1048576]" unit:"tokens" doc:"tokens in a chunk, but for the first, which comes at once; vLLM's argument"`
	DetokenizeS      float64 `yaml:"detokenize_s" bound:"[0,60]" doc:"seconds of the API server for each token"`
	FrameS           float64 `yaml:"frame_s" bound:"[0,60]" doc:"seconds of the API server for each chunk"`
	RTTMS            float64 `yaml:"rtt_ms" bound:"[0,1e6]" doc:"milliseconds of the network, there and back"`
	RTTJitterMS      float64 `yaml:"rtt_jitter_ms" bound:"[0,1e5]" doc:"milliseconds beyond that, the mean of an exponential law for each chunk"`
	StallMS          float64 `yaml:"stall_ms" bound:"(0,1e9]" doc:"milliseconds; a longer gap between chunks is a stall"`
	ReaderTokensPerS float64 `yaml:"reader_tokens_per_s" bound:"(0,1e6]" unit:"tokens/s" doc:"pace of a reader"`
}

// defaultStream is no network, a chunk for every step, and a reader of 5 tokens/s, who notices a fifth of a second. The
// last two are choices, not measurements.
func defaultStream() Stream {
	return Stream{StreamInterval: 1, StallMS: 200, ReaderTokensPerS: 5}
}

// View returns the stream in the terms of views.
func (s *Stream) View() views.Stream {
	return views.Stream{
		Interval: int32(s.StreamInterval), Detokenize: sim.Seconds(s.DetokenizeS), Frame: sim.Seconds(s.FrameS),
		RTT: sim.Seconds(s.RTTMS / 1e3), Jitter: sim.Seconds(s.RTTJitterMS / 1e3),
	}
}
