package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// byWindow is windows of a width, each of which met the SLO (+), broke it (-) or had nothing to judge it by (.).
func byWindow(widthS float64, met string) *metrics.OverTime {
	o := &metrics.OverTime{WidthS: widthS, SLO: true}
	for i, c := range met {
		x := metrics.WindowResult{FromS: float64(i) * widthS, ToS: float64(i+1) * widthS, Arrived: 9, Completed: 8,
			TTFT: metrics.WindowLatency{N: 9, P50: .1, P90: .2, P95: .3, P99: .4 + float64(i%7)},
			ITL:  metrics.WindowLatency{N: 99, P50: .01, P90: .02, P95: .03, P99: .04}}
		if c == '.' {
			x.TTFT = metrics.WindowLatency{}
		} else {
			good, attained := c == '+', .75
			x.Met, x.Attainment = &good, &attained
			if !good {
				x.Missed = []string{"ttft p95 <= 1s", "itl p95 <= 50ms"}
			}
		}
		o.Windows = append(o.Windows, x)
	}
	for i := 0; i < len(met); i++ {
		if met[i] == '-' {
			from := i
			for i+1 < len(met) && met[i+1] == '-' {
				i++
			}
			o.Broken = append(o.Broken, metrics.Span{FromS: float64(from) * widthS, ToS: float64(i+1) * widthS})
		}
	}
	return o
}

func seconds(s float64) *float64 { return &s }

func TestASentenceSaysWhenTheSLOWasBroken(t *testing.T) {
	day := byWindow(310, "+---++")
	day.Backlog = &metrics.Backlog{Requests: 1234, PeakS: 620, EndS: seconds(1280)}
	stuck := byWindow(60, "+-")
	stuck.Backlog = &metrics.Backlog{Requests: 1, PeakS: 120}
	for want, o := range map[string]*metrics.OverTime{
		"SLO met in each of 3 windows of 10 s": byWindow(10, "+.++"),
		"SLO met in the only window (10 s)":    byWindow(10, "+"),
		"":                                     byWindow(10, ".."),
		"SLO broken from 0:00 to 0:20, all the time":                           byWindow(10, "--"),
		"SLO broken from 0:10 to 0:20 and from 0:30 to 0:40 (windows of 10 s)": byWindow(10, "+-+-+"),
		"SLO broken in 6 of 10 windows of 10 s, first from 0:00 to 0:10, " +
			"longest from 0:40 to 1:10": byWindow(10, "-+-+---+-+"),
		"SLO broken in 4 of 7 windows of 10 s, first and longest from 0:00 to 0:10": byWindow(10, "-+-+-+-"),
		"SLO broken from 5:10 to 20:40 (windows of 5 min); backlog gone 11 min after the peak " +
			"(1,234 requests without a first token at 10:20)": day,
		"SLO broken from 1:00 to 2:00 (windows of 60 s); the backlog was not gone at the end " +
			"(1 request without a first token at 2:00)": stuck,
	} {
		assert.Equal(t, want, OverTimeSentence(o))
	}
}

func TestAlertsAreListedWithTheirTimes(t *testing.T) {
	o := byWindow(10, "+--+")
	o.Alerts = []metrics.AlertResult{
		{Rule: "ttft p95 <= 1s", OverS: 10, Fired: []metrics.Firing{{AtS: 20, ResolvedS: seconds(40)}}},
		{Rule: "itl p95 <= 50ms", OverS: 10, Fired: []metrics.Firing{}},
		{Rule: "tpot p95 <= 50ms", OverS: 20, ForS: 120, Fired: []metrics.Firing{}},
		{Rule: "e2e p95 <= 50s", OverS: 300, Fired: []metrics.Firing{{AtS: 30, ResolvedS: seconds(40)}, {AtS: 50}}},
		{Rule: "e2e max <= 50s", OverS: 300, Fired: []metrics.Firing{
			{AtS: 1, ResolvedS: seconds(2)}, {AtS: 3, ResolvedS: seconds(4)},
			{AtS: 5, ResolvedS: seconds(9)}, {AtS: 11, ResolvedS: seconds(12)}}},
	}
	page := text.NewPage(false)
	overTime(page, o)
	assert.Equal(t, `over time    SLO broken from 0:10 to 0:30 (windows of 10 s)
alert        ttft p95 <= 1s: fired 0:20, resolved 0:40
alert        tpot p95 <= 50ms over 20 s for 2 min: never fired
alert        e2e p95 <= 50s over 5 min: fired 0:30, resolved 0:40; 0:50, not resolved at the end
alert        e2e max <= 50s over 5 min: fired 4 times, first 0:01, resolved 0:02; longest 0:05, resolved 0:09
`, page.String())

	o.Alerts = o.Alerts[:1]
	page = text.NewPage(false)
	overTime(page, o)
	assert.NotContains(t, page.String(), "alert", "the only rule of the SLO is what the line above is about")
}

func TestTheTimelineForProgramsHasALinePerWindow(t *testing.T) {
	o, samples := byWindow(10, "+-."), []metrics.Sample{
		{At: sim.Time(4 * sim.Second), Running: 3, Waiting: 1, KVUsed: 1, KVTotal: 4, Pools: []metrics.PoolSample{{Live: 2}}},
		{At: sim.Time(14 * sim.Second), Running: 2, Waiting: 7, KVUsed: 2, KVTotal: 4,
			Pools: []metrics.PoolSample{{Live: 1}}},
	}
	var b strings.Builder
	require.NoError(t, WriteTimeline(&b, o, samples))
	lines := strings.Split(b.String(), "\n")
	require.Len(t, lines, 5)
	for _, line := range lines[1:4] {
		assert.Equal(t, strings.Count(lines[0], ","), strings.Count(line, ","), line)
	}
	assert.Equal(t, "0,10,9,8,0,0,9,0.1,0.2,0.3,0.4,99,0.01,0.02,0.03,0.04,99,0.01,0.02,0.03,0.04,"+
		"0.75,true,,3,1,0.25,2", lines[1])
	assert.Equal(t, "10,20,9,8,0,0,9,0.1,0.2,0.3,1.4,99,0.01,0.02,0.03,0.04,99,0.01,0.02,0.03,0.04,0.75,false,"+
		"ttft p95 <= 1s; itl p95 <= 50ms,3,7,0.5,2", lines[2])
	assert.Contains(t, lines[3], "20,30,9,8,0,0,0,,,,,99")
}
