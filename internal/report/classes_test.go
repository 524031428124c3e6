package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

func TestSeveralClassesHaveRows(t *testing.T) {
	q := metrics.Quantiles{N: 9, P50: .0142, P99: .31}
	nan := metrics.Quantiles{P50: math.NaN(), P99: math.NaN()}
	s := &metrics.Summary{Classes: []metrics.ClassResult{
		{Name: "chat", Requests: metrics.Requests{Arrived: 10, Completed: 9},
			Latency: metrics.Latency{TTFT: q, ITL: q, E2E: q},
			SLO:     &metrics.SLO{TTFTS: .2, TPOTS: .05, E2ES: 4, Attainment: .9, GoodputPerS: 1.25}},
		{Name: "overnight-batch", Requests: metrics.Requests{Arrived: 3},
			Latency: metrics.Latency{TTFT: nan, ITL: nan, E2E: nan}},
	}}
	out := text.NewPage(false)
	classes(out, s)
	assert.Equal(t, strings.Join([]string{
		"class            requests  completed  TTFT p50     p99  ITL p50     p99  E2E p50     p99  SLO met  goodput",
		"chat                   10          9   14.2 ms  310 ms  14.2 ms  310 ms  14.2 ms  310 ms   90.0 %   1.25/s",
		"overnight-batch         3          0         –       –        –       –        –       –        –        –",
		"(SLO: chat TTFT ≤ 200 ms and TPOT ≤ 50 ms and E2E ≤ 4 s)", "", "",
	}, "\n"), out.String())
	single := text.NewPage(false)
	classes(single, &metrics.Summary{Classes: s.Classes[:1]})
	assert.Empty(t, single.String(), "one class is the whole run")
}
