package build

import (
	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// Wire returns what delivers the tokens of the run to its clients.
func (b *Built) Wire() *views.Wire { return views.NewWire(b.Scenario.Stream.View(), b.Scenario.Seed) }

// Pace returns what the readers of the run bear.
func (b *Built) Pace() views.Pace {
	s := b.Scenario
	return views.Pace{StallS: s.Stream.StallMS / 1e3, ReaderTokensPerS: s.Stream.ReaderTokensPerS,
		ITLP99S: s.SLO.ITLP99MS / 1e3}
}

// noteStream says what of the summary the stream does not reach.
func noteStream(s *configs.Scenario) (notes []string) {
	if stream := s.Stream.View(); !stream.Constant() {
		notes = append(
			notes, "stream: what differs from token to token is known of the traced requests only; latencies and clients of "+
				"the run have its constant part and its chunks")
	}
	if s.SLO.ITLP99MS > 0 {
		notes = append(
			notes, "slo.itl_p99_ms is judged in --view, on the traced requests; the attainment of the summary leaves it out")
	}
	return notes
}
