package report

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		{Name: "batch", Requests: metrics.Requests{Arrived: 3, Completed: 3}, // in the warm-up
			SLO:     &metrics.SLO{E2ES: 9},
			Latency: metrics.Latency{TTFT: none, ITL: none, ITLChunk: none, TPOT: none, E2E: none, Queue: none}},
	}}
	out := text.NewPage(false)
	classes(out, s)
	assert.Equal(t, strings.Join([]string{
		"class        requests  completed  SLO met  goodput",
		"chat               10          9   90.0 %   1.25/s",
		"batch               3          3        –        –",
		"(SLO: chat TTFT ≤ 200 ms and TPOT ≤ 50 ms and E2E ≤ 4 s; batch E2E ≤ 9 s)", "",
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

// TestTheSLOOfAClassByTime: shares of requests with limits on them, windows with percentiles only.
func TestTheSLOOfAClassByTime(t *testing.T) {
	batch := byWindow(600, "++++.-++++")
	for i := range batch.Windows {
		batch.Windows[i].Attainment = nil
	}
	chat := byWindow(600, "+--+++++++")
	*chat.Windows[1].Attainment = 0
	all := []metrics.ClassResult{{Name: "chat", OverTime: chat}, {Name: "free", OverTime: &metrics.OverTime{}},
		{Name: "batch", OverTime: batch}}
	out := text.NewPage(false)
	classesOverTime(out, all)
	assert.Equal(t, strings.Join([]string{
		"SLO met from          chat          batch",
		"0:00 to 20:00       37.5 %            met",
		"20:00 to 40:00      75.0 %            met",
		"40:00 to 1:00:00    75.0 %  0 of 1 window",
		"1:00:00 to 1:20:00  75.0 %            met",
		"1:20:00 to 1:40:00  75.0 %            met",
		"chat: SLO broken from 10:00 to 30:00 (windows of 10 min)",
		"batch: SLO broken from 50:00 to 1:00:00 (windows of 10 min)", "", "",
	}, "\n"), out.String())
	var csv strings.Builder
	require.NoError(t, WriteClassTimeline(&csv, all))
	lines := strings.Split(csv.String(), "\n")
	assert.Len(t, lines, 1+10+10+1)
	assert.True(t, strings.HasPrefix(lines[0], "class,from_s,to_s,arrived,"))
	assert.True(t, strings.HasSuffix(lines[0], ",attainment,slo_met,missed"))
	assert.True(t, strings.HasPrefix(lines[2], "chat,600,1200,9,8,0,0,9,0.1,0.2,0.3,1.4,"), lines[2])
	assert.True(t, strings.HasSuffix(lines[2], ",0,false,ttft p95 <= 1s; itl p95 <= 50ms"), lines[2])
	assert.True(t, strings.HasPrefix(lines[11], "batch,0,600,"), lines[11])
}

// TestARuleOfAClassIsAmongAllRules: what asks whether an SLO was kept sees those of the run and of its classes.
func TestARuleOfAClassIsAmongAllRules(t *testing.T) {
	s := &metrics.Summary{Rules: []metrics.Verdict{{Rule: "e2e p95 <= 9s", Met: true}},
		Classes: []metrics.ClassResult{{Name: "agents"},
			{Name: "chat", Rules: []metrics.Verdict{{Rule: "ttfo p90 <= 8s"}}}}}
	var names []string
	for _, v := range Verdicts(s) {
		names = append(names, v.Rule)
	}
	assert.Equal(t, []string{"e2e p95 <= 9s", "chat: ttfo p90 <= 8s"}, names)
	assert.Equal(t, "ttfo p90 <= 8s", s.Classes[1].Rules[0].Rule, "the summary stays as it is")
}
