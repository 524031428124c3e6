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
	q := metrics.Quantiles{N: 9, Mean: .02, P50: .0142, P90: .1, P95: .2, P99: .31, Max: .4}
	nan := math.NaN()
	none := metrics.Quantiles{Mean: nan, P50: nan, P90: nan, P95: nan, P99: nan, Max: nan}
	s := &metrics.Summary{Classes: []metrics.ClassResult{
		{Name: "chat", Requests: metrics.Requests{Arrived: 10, Completed: 9},
			Latency: metrics.Latency{TTFT: q, ITL: q, ITLChunk: q, TPOT: q, E2E: q, Queue: q},
			SLO:     &metrics.SLO{TTFTS: .2, TPOTS: .05, E2ES: 4, Attainment: .9, GoodputPerS: 1.25},
			Rules:   []metrics.Verdict{{Rule: "ttft p95 <= 100ms", Value: .2, Limit: .1, Margin: -1}}},
		{Name: "batch", Requests: metrics.Requests{Arrived: 3},
			Latency: metrics.Latency{TTFT: none, ITL: none, ITLChunk: none, TPOT: none, E2E: none, Queue: none}},
	}}
	out := text.NewPage(false)
	classes(out, s)
	assert.Equal(t, strings.Join([]string{
		"class        requests  completed  SLO met  goodput",
		"chat               10          9   90.0 %   1.25/s",
		"batch               3          0        –        –",
		"(SLO: chat TTFT ≤ 200 ms and TPOT ≤ 50 ms and E2E ≤ 4 s)", "",
		"by class     mean   p50  p90  p95  p99  max      n",
		"chat TTFT    20.0  14.2  100  200  310  400  ms  9",
		"chat ITL     20.0  14.2  100  200  310  400  ms  9",
		"chat TPOT    20.0  14.2  100  200  310  400  ms  9",
		"chat E2E     20.0  14.2  100  200  310  400  ms  9",
		"chat queue   20.0  14.2  100  200  310  400  ms  9",
		"batch TTFT      –     –    –    –    –    –      0",
		"batch ITL       –     –    –    –    –    –      0",
		"batch TPOT      –     –    –    –    –    –      0",
		"batch E2E       –     –    –    –    –    –      0",
		"batch queue     –     –    –    –    –    –      0", "",
		"SLO                       value   limit  met  margin",
		"chat: ttft p95 <= 100ms  200 ms  100 ms   no  -100 %", "", "",
	}, "\n"), out.String())
	single := text.NewPage(false)
	classes(single, &metrics.Summary{Classes: s.Classes[:1]})
	assert.Empty(t, single.String(), "one class is the whole run")
}
