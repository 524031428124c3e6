package compare

import (
	"bytes"
	"encoding/csv"
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// comparisonOf returns a comparison of that many scenarios, each a tenth slower than the one before.
func comparisonOf(n int, seeds ...uint64) *Comparison {
	c := &Comparison{Seeds: seeds, Seedable: true}
	names := []string{"vllm-v0", "sarathi", "vllm-v1", "sglang", "static"}[:n]
	for _, name := range names {
		c.Scenarios = append(c.Scenarios,
			Candidate{Name: name, Source: "chat-70b", Is: "llama-3.1-70b · 2 replicas of 4 × h100-sxm"})
	}
	row := func(key string, values ...string) {
		c.Diff = append(c.Diff, KeyDiff{Key: key, Values: append(values, slices.Repeat(values[1:], 5)...)[:n]})
	}
	row("pools.serve.engine", names...)
	row("pools.serve.swap_space", "4", "")
	row("pools.serve.host_link_bps", "null", "")
	for range seeds {
		var trials []Trial
		for i := range n {
			s := summary()
			slower := math.Pow(1.1, float64(i))
			s.Latency.TTFT.Mean, s.Latency.TTFT.P50 = 0.2*slower, 0.15*slower
			s.Latency.ITL.P99, s.Latency.E2E.Mean = 0.3/slower, 3+0.2*slower
			s.Tail = &metrics.Tail{P99S: s.Latency.ITL.P99,
				Share: metrics.TailShare{Paused: 0.93, Mixed: 0.002, Preempted: 0.04, Decode: 0.028}}
			trial := Trial{Summary: s}
			for id := range 2000 {
				ttft := sim.Seconds(s.Latency.TTFT.Mean * (1 + 0.1*float64(id*id%7-3)))
				trial.Requests = append(trial.Requests, Served{TTFT: ttft, E2E: ttft + sim.Seconds(3), Prompt: 9, Output: 10})
			}
			trials = append(trials, trial)
		}
		c.Add(trials)
	}
	c.Close()
	for i := range c.Scenarios {
		c.Scenarios[i].Why = TailSentence(c, i)
	}
	return c
}

func comparisonText(t *testing.T, c *Comparison) string {
	var b strings.Builder
	require.NoError(t, WriteTable(&b, c, false))
	return b.String()
}

func TestAComparisonReadsAsItsGolden(t *testing.T) {
	const file = "testdata/what-does-a-comparison-print.txt"
	got := comparisonText(t, comparisonOf(3, 1))
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestIntervalsArePrintedWhereThereIsRoom(t *testing.T) {
	few, many := comparisonText(t, comparisonOf(2, 1)), comparisonText(t, comparisonOf(5, 1))
	assert.Contains(t, few, "±")
	assert.NotContains(t, many, "±")
	for line := range strings.Lines(many) {
		if strings.HasPrefix(line, "E2E mean") {
			assert.Equal(t, 4, strings.Count(line, "%"), line)
		}
	}
}

func TestTheTableSaysWhatItComparedOn(t *testing.T) {
	c := comparisonOf(2, 1)
	assert.Contains(t, comparisonText(t, c),
		"2 scenarios, the same 5,000 requests, seed 1\nllama-3.1-70b · 2 replicas of 4 × h100-sxm\n")
	assert.Contains(t, comparisonText(t, c), "--seeds 10 gives every row an interval.")
	c.Seedable = false
	assert.NotContains(t, comparisonText(t, c), "--seeds")
	c.Requests, c.Scenarios[1].Requests = NotTheSame, NotTheSame
	assert.Contains(t, comparisonText(t, c), "2 scenarios, not all on the same requests, seed 1\n")
	assert.Contains(t, comparisonText(t, c), "The requests of sarathi are not those of vllm-v0: ")
	c.Scenarios[1].Is, c.Scenarios[1].Source, c.Diff = "mine", "mine.yaml", nil
	assert.Contains(t, comparisonText(t, c), "\nsarathi  mine (mine.yaml)\n")
	assert.Contains(t, comparisonText(t, c), "\nthe scenarios do not differ\n")
	seeds := comparisonText(t, comparisonOf(2, 4, 5, 6))
	assert.Contains(t, seeds, "3 seeds from 4\n")
	assert.Contains(t, seeds,
		"from 3 runs of each, paired by seed; values are means over them.\n\nUnder seed 4:\nvllm-v0: ")
}

// TestProgramsReadTheNameThatTheyDid, and people the word of the glossary.
func TestProgramsReadTheNameThatTheyDid(t *testing.T) {
	c := comparisonOf(2, 1)
	i := slices.IndexFunc(c.Metrics, func(i Item) bool { return i.Metric == busyMetric })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "pools.utilization", "pools."+c.Metrics[i].Name)
	assert.Equal(t, "busy", c.Metrics[i].label())
	assert.Equal(t, c.Metrics[0].Name, c.Metrics[0].label())
}

func TestRowsOfAClassStandUnderItsName(t *testing.T) {
	c := comparisonOf(2, 1)
	for i, class := range []string{"interactive", "interactive", "batch"} {
		item := c.Metrics[0]
		item.Class, item.Name = class, []string{"TTFT mean", "TTFT p99", "TTFT mean"}[i]
		c.Metrics = append(c.Metrics, item)
	}
	table := comparisonText(t, c)
	_, row, _ := strings.Cut(table, "\nTTFT mean, ms")
	row, _, _ = strings.Cut(row, "\n")
	row = row[len("  "):]
	assert.Contains(t, table, "\nclass interactive\n  TTFT mean, ms"+row+"\n  TTFT p99, ms "+
		row+"\nclass batch\n  TTFT mean, ms"+row+"\n")
}

// TestWarningsOfAllAreSaidOnce, and others with who gives them.
func TestWarningsOfAllAreSaidOnce(t *testing.T) {
	c := comparisonOf(2, 1)
	c.Scenarios[1].Summary.Warnings = append(c.Scenarios[1].Summary.Warnings, "its own")
	table := comparisonText(t, c)
	assert.Equal(t, 1, strings.Count(table, "warning: all: 4 prompts are longer"))
	assert.Contains(t, table, "warning: sarathi: its own\n")
	c.Scenarios[0].Summary.Steady = &metrics.Steady{DependsOnLength: "it grows"}
	const grows = ": depends on the length of the run: it grows"
	assert.Contains(t, comparisonText(t, c), "warning: "+c.Scenarios[0].Name+grows)
	assert.Contains(t, c.warnings(), c.Scenarios[0].Name+grows, "the page warns of what the table warns of")
}

func TestDifferencesReadWell(t *testing.T) {
	item := func(unit string, first, other float64, interval *stats.Interval) []string {
		return differenceCells(&Item{Unit: unit, Values: []stats.Number{stats.Number(first), stats.Number(other)},
			Differences: []*Difference{
				nil, {Mean: stats.Number(other - first), Interval: interval},
			}}, 1, true)
	}
	yes, no := &stats.Interval{Low: 0.1, High: 0.3, Significant: true}, &stats.Interval{Low: -0.1, High: 0.3}
	assert.Equal(t, []string{"+20.0 %", "±10"}, item("s", 1, 1.2, yes))
	assert.Equal(t, []string{"~", "±20"}, item("s", 1, 1.1, no))
	assert.Equal(t, []string{"=", ""}, item("s", 1, 1, &stats.Interval{}))
	assert.Equal(t, []string{"-25.0 %", ""}, item("s", 4, 3, nil))
	assert.Equal(t, []string{"+7.5 pt", "±10"}, item("share", 0.925, 1, yes))
	assert.Equal(t, []string{"0.0 pt", ""}, item("share", 0.925, 0.92501, nil))
	assert.Equal(t, []string{"+450 %", ""}, item("s", 2, 11, nil))
	assert.Equal(t, []string{"×12.0", ""}, item("s", 2, 24, nil))
	assert.Equal(t, []string{"+74", ""}, item("", 0, 74, nil))
	assert.Equal(t, []string{"", ""}, item("s", 1, math.NaN(), nil))
	assert.Equal(t, "0.042", text.Rough(0.0422))
	assert.Equal(t, "110", text.Rough(108))
}

func TestASentenceSaysWhyTheTailLooksSo(t *testing.T) {
	c := comparisonOf(3, 1)
	assert.Contains(t, c.Scenarios[0].Why,
		", the longest of all: of the gaps that long or longer 93 % are decodes held while prompts ran alone, "+
			"4 % are interrupted by a preemption, 3 % are plain decode steps; TTFT p50 150 ms, the shortest of all; ")
	assert.NotContains(t, c.Scenarios[1].Why, "of all", "neither first nor last")
	c.Scenarios[1].Summary.Tail.Share = metrics.TailShare{Mixed: 0.999, Decode: 0.001}
	c.Scenarios[1].Summary.Pools[0].FinishedRows, c.Scenarios[1].Summary.Pools[0].Swaps = 0.72, 3
	c.Scenarios[1].Summary.Requests.Preemptions = 7
	why := TailSentence(c, 1)
	assert.Contains(t, why, ": all gaps that long or longer are steps shared with prompts; ")
	assert.Contains(
		t, why, "; 7 preemptions of 5,000 requests, 3 of them to host memory; 72 % of the rows of its decode steps had "+
			"ended already")
	empty := &Comparison{Scenarios: []Candidate{{Summary: &metrics.Summary{}}}}
	assert.Empty(t, TailSentence(empty, 0))
	two := comparisonOf(2, 1)
	assert.Contains(t, two.Scenarios[0].Why, ", the longer: ")
}

func TestTheComparisonIsALineEachInCSV(t *testing.T) {
	var b bytes.Buffer
	c := comparisonOf(3, 1)
	require.NoError(t, WriteCSV(&b, c))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+3*len(c.Metrics))
	assert.Equal(t, []string{"latency.ttft_s.mean", "s", "vllm-v0", "0.2", "", "", "", "", "", ""}, rows[1])
	assert.Equal(t, []string{"latency.ttft_s.mean", "s", "sarathi"}, rows[2][:3])
	for _, row := range rows {
		for _, text := range row {
			assert.NotContains(t, text, "NaN")
		}
	}
}

// summary is a run with something of what a comparison shows.
func summary() *metrics.Summary {
	itl := metrics.Quantiles{N: 1275000, Mean: .0149, P50: .0142, P90: .0171, P95: .018, P99: .0314, P999: .1, Max: .41}
	return &metrics.Summary{
		Scenario: "chat-70b", Seed: 1, DurationS: 633,
		Requests: metrics.Requests{Arrived: 5000, Completed: 4990, Rejected: 4, Unfinished: 6, Preemptions: 12},
		Tokens:   metrics.Tokens{Prompt: 2560000, PromptCached: 51200, Output: 1280000},
		Latency: metrics.Latency{
			TTFT:     metrics.Quantiles{N: 4996, Mean: .0851, P50: .0712, P90: .14, P95: .171, P99: .29, P999: .5, Max: .6123},
			ITL:      itl,
			ITLChunk: itl,
			TPOT: metrics.Quantiles{N: 4990, Mean: .0149, P50: .0148, P90: .0161, P95: .0165, P99: .0171, P999: .02,
				Max: .0222},
			E2E:   metrics.Quantiles{N: 4990, Mean: 3.91, P50: 3.456, P90: 7.1, P95: 8.8, P99: 12.34, P999: 20, Max: 23.4},
			Queue: metrics.Quantiles{N: 4996, Mean: .0021, P99: .01, P999: .9, Max: 1.2},
		},
		Throughput: metrics.Throughput{RequestsPerS: 7.9, OutputTokensPerS: 3150.4, OutputTokensPerSPerGPU: 393.8},
		Load:       metrics.Load{OfferedPerS: 8.02, ServedPerS: 7.96},
		SLO:        &metrics.SLO{TTFTS: 1, TPOTS: .05, Attainment: .9731, GoodputPerS: 7.69},
		Tail:       &metrics.Tail{P99S: .0314, Share: metrics.TailShare{Mixed: .9, Preempted: .1}},
		Bound: metrics.Bound{ITLFloorS: .0089, StepS: .0141, FractionOfBound: .63, Limit: "memory",
			Share: metrics.Share{Weights: .71, KV: .18, Compute: .001, Overhead: .109}},
		Pools: []metrics.PoolResult{{Name: "serve", GPU: "h100-sxm", GPUs: 8, Replicas: 2, Utilization: .83,
			BatchMean: 41.23, KVPeakFraction: .37}},
		Cost:     &metrics.Cost{USDPerHour: 31.92, USDPerMillionOutputTokens: 2.815},
		Warnings: []string{"4 prompts are longer than the model's limit of 8192 tokens"},
	}
}

// TestWhatIsUnknownOfAnSLOHidesNoRuleThatIsBroken: a rule that nothing was measured of stands beside rules that were.
func TestWhatIsUnknownOfAnSLOHidesNoRuleThatIsBroken(t *testing.T) {
	lines := func(rules ...metrics.Verdict) []string {
		return ruleLines(&Comparison{Scenarios: []Candidate{{Name: "x", Summary: &metrics.Summary{Rules: rules}}}})
	}
	unknown := metrics.Verdict{Rule: "task p95 <= 1s", Value: math.NaN(), Unmeasured: "no task was measured"}
	met := metrics.Verdict{Rule: "e2e p95 <= 1s", Value: .5, Met: true}
	broken := metrics.Verdict{Rule: "ttft p95 <= 1s", Value: 2}
	require.Equal(t, []string{"x: whether its SLO is met is unknown: no task was measured."}, lines(met, unknown))
	require.Equal(t, []string{`x breaks its SLO: "ttft p95 <= 1s" (2.00 s).`}, lines(unknown, broken))
	require.Equal(t, []string{"x meets its SLO: 1 rule."}, lines(met))
}

// TestARuleOnACliffIsSaidSoOfEachScenario: a verdict alone hides that a little more load may turn it.
func TestARuleOnACliffIsSaidSoOfEachScenario(t *testing.T) {
	edge := metrics.Verdict{Rule: "itl p95 <= 50ms", Value: .0477, Limit: .05, Met: true,
		Cliff: metrics.Cliff{Below: 94, Above: 96, BelowS: .019, AboveS: .08, Beyond: .0486}}
	c := &Comparison{Scenarios: []Candidate{
		{Name: "x", Summary: &metrics.Summary{Rules: []metrics.Verdict{edge}}},
		{Name: "y", Summary: &metrics.Summary{Rules: []metrics.Verdict{{Rule: edge.Rule, Value: .02, Met: true}}}}}}
	require.Equal(t, []string{"x meets its SLO: 1 rule.", "x: itl p95 <= 50ms stands on a cliff, where a little more or " +
		"less load decides: p94 is 19.0 ms and p96 80.0 ms; 4.86 % of the gaps are beyond the limit.",
		"y meets its SLO: 1 rule."}, ruleLines(c))
	section, ok := c.slos()
	require.True(t, ok)
	require.Equal(t, ruleLines(c), section.Blocks[0].List, "the page says what the table says")
	_, ok = (&Comparison{Scenarios: []Candidate{{Name: "x", Summary: &metrics.Summary{}}}}).slos()
	require.False(t, ok, "there are no rules")
}

// TestTheRulesOfAClassAreComparedAndJudged as those of the whole run are.
func TestTheRulesOfAClassAreComparedAndJudged(t *testing.T) {
	chat := func(value float64, met bool) *metrics.Summary {
		return &metrics.Summary{Classes: []metrics.ClassResult{{Name: "agents"},
			{Name: "chat", Rules: []metrics.Verdict{{Rule: "ttfo p90 <= 8s", Value: value, Met: met}}}}}
	}
	trials := [][]*metrics.Summary{{chat(7, true), chat(9, false)}}
	require.Empty(t, rules(trials, ""))
	require.Empty(t, rules(trials, "agents"))
	rows := ruleMetrics(rules(trials, "chat"), "chat")
	require.Len(t, rows, 1)
	require.Equal(t, "classes.chat.slo_rules.ttfo p90 <= 8s", rows[0].metric)
	require.Equal(t, []float64{7, 9}, []float64{rows[0].of(trials[0][0]), rows[0].of(trials[0][1])})
	require.True(t, math.IsNaN(rows[0].of(&metrics.Summary{})), "a scenario without the class")
	require.Equal(t, []string{"a meets its SLO: 1 rule.", `b breaks its SLO: "chat: ttfo p90 <= 8s" (9.00 s).`},
		ruleLines(&Comparison{Scenarios: []Candidate{{Name: "a", Summary: trials[0][0]},
			{Name: "b", Summary: trials[0][1]}}}))
}
