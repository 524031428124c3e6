package sizing

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/page/pagetest"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/plot/plottest"
	"github.com/decodesim/decodesim/internal/stats"
)

// toySizing is an answer with round numbers.
func toySizing() *Sizing {
	deployment := func(name, split string, gpus int, pools ...Pool) Deployment {
		topology := configs.Colocated
		if split != "" {
			topology = configs.Disaggregated
		}
		return Deployment{Name: name, Topology: topology, Split: split, GPUs: gpus, USDPerHour: 4 * float64(gpus),
			Pools: pools}
	}
	prefill, decode := Pool{Role: "prefill", Replicas: 1, GPUs: 2, GPU: "h100-sxm", TensorParallel: 2},
		Pool{Role: "decode", Replicas: 3, GPUs: 6, GPU: "h100-sxm", TensorParallel: 2}
	best := Finalist{
		Deployment: deployment("1P3D tp2", "1P3D", 8, prefill, decode), CapacityPerS: 20,
		Interval:          &stats.Interval{Low: 19, High: 21, N: 5},
		RooflineLimitPerS: 50, OfPerfect: 0.4, GoodputPerS: 18, GoodputPerSPerGPU: 2.25, UserTokensPerS: 30,
		TTFTS: Percentile{P50: 0.2, At: 0.5}, TPOTS: Percentile{P50: 0.033, At: 0.04},
		Limit: Limiting{RatePerS: 20.1, Attainment: 0.89, TTFTMissed: 0.1, TPOTMissed: 0.01,
			Utilization: []float64{0.9, 0.5}, Of: "memory"},
	}
	second := best
	second.Deployment = deployment("4 × tp2", "", 8,
		Pool{Role: "serve", Replicas: 4, GPUs: 8, GPU: "h100-sxm", TensorParallel: 2})
	second.CapacityPerS, second.Limit.Utilization, second.Limit.TPOTMissed = 19, []float64{1}, 0.2
	return &Sizing{
		Study: "toy", Model: "llama", GPU: "h100-sxm", Seeds: []uint64{1, 2, 3, 4, 5}, GPUsMax: 8, Simulations: 99,
		Requests:    []int64{100, 400, 400},
		RateMinPerS: 1, RateMaxPerS: 100, RooflineLimitPerS: 60, SLO: SLO{TTFTS: 0.5, TPOTS: 0.04, Attainment: 0.9},
		Best: &best, Finalists: []Finalist{best, second},
		Lead: &Lead{Relative: 0.05, Interval: &stats.Interval{Low: -0.01, High: 0.11, N: 5}},
		Candidates: []Candidate{{Deployment: best.Deployment, Round: 3, CapacityPerS: 20, RooflineLimitPerS: 50},
			{Deployment: second.Deployment, Why: "left out, as it would"}},
		Frontier: []FrontierPoint{{Name: "1P3D tp2", Topology: configs.Disaggregated, RatePerS: 5,
			GoodputPerSPerGPU: 0.6, UserTokensPerS: 60},
			{Name: "4 × tp2", Topology: configs.Colocated, RatePerS: 20, GoodputPerSPerGPU: 2.25, UserTokensPerS: 30}},
		Splits: []SplitPoint{{Topology: configs.Colocated, Series: "tp2", GoodputPerSPerGPU: 2.1},
			{Topology: configs.Disaggregated, Series: "tp2", Split: "1P3D", PrefillShare: 0.25, GoodputPerSPerGPU: 2.25},
			{Topology: configs.Disaggregated, Series: "tp2", Split: "2P2D", PrefillShare: 0.5, GoodputPerSPerGPU: 1}},
		Notes: []string{"left out: a replica that does not fit"},
	}
}

// TestALeadThatNoRunShowsIsNoChance: finalists that sustain the same under each seed are equal.
func TestALeadThatNoRunShowsIsNoChance(t *testing.T) {
	s := toySizing()
	s.Lead = &Lead{Interval: &stats.Interval{N: 5}}
	all := sentences(s)
	assert.Equal(t, "Runner-up: 4 × tp2 on 8 GPUs; both sustain the same in every run.", all[len(all)-1])
	s.Lead.Interval = &stats.Interval{Low: -0.1, High: 0.1, N: 5}
	assert.Equal(t, "the first sustains +0.0 % (95 %: -10.0 % to +10.0 %, paired by seed), which may be chance: ~",
		leadWords(s.Lead, false))
}

// TestACheaperFirstThatSustainsLessSaysWhatItSaves: the cheapest may sustain less than the next one.
func TestACheaperFirstThatSustainsLessSaysWhatItSaves(t *testing.T) {
	s := toySizing()
	s.Lead = &Lead{Relative: -0.388, Interval: &stats.Interval{Low: -0.45, High: -0.326, N: 5, Significant: true}}
	last := func() string { all := sentences(s); return all[len(all)-1] }
	const less = "the first sustains 38.8 % less (95 %: -45.0 % to -32.6 %, paired by seed)."
	assert.Equal(t, "Runner-up: 4 × tp2 on 8 GPUs; "+less, last(), "both cost the same")
	s.Finalists[1].USDPerHour = 48
	s.Best = &s.Finalists[0]
	assert.Equal(t, "Runner-up: 4 × tp2 on 8 GPUs, $48.00 per hour, $16.00 more; "+less, last())
	s.Lead.Relative = 0.05
	assert.Contains(t, last(), "on 8 GPUs; the first sustains +5.0 %")
}

func TestASearchIsReportedInSentences(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, WriteText(&text, toySizing()))
	for _, want := range []string{
		"toy · llama · up to 8 × h100-sxm · seed 1 · 90 % of requests with TTFT ≤ 500 ms and TPOT ≤ 40 ms\n",
		"2 deployments, of which 1 simulated: 99 simulations of up to 400 requests, the last ones under 5 seeds\n",
		"1P3D tp2 on 8 × h100-sxm, $32.00 per hour sustains 20.0 requests/s (95 %: 19.0 to 21.0 over 5 seeds).\n",
		"That is 40.0 % of its roofline limit, 50.0 requests/s; the highest of the 2 deployments is 60.0.\n",
		"Runner-up: 4 × tp2 on 8 GPUs; the first sustains +5.0 % (95 %: -1.0 % to +11.0 %, paired by seed), which may be " +
			"chance: ~.\n",
		"  1P3D tp2: TTFT first: at 20.1 requests/s only 89.0 % keep the SLO, 10 % miss TTFT, 1 % miss TPOT; prefill busy " +
			"90 % of the time; decode busy 50 % of the time;",
		"  4 × tp2: TPOT first: ",
		"note: left out: a replica that does not fit\n",
	} {
		assert.Contains(t, text.String(), want)
	}
	asked := toySizing()
	asked.AtPerS, asked.Best.Margin = 16, 0.25
	text.Reset()
	require.NoError(t, WriteText(&text, asked))
	assert.Contains(t, text.String(), "is the cheapest that sustains 16 requests/s: its SLO breaks at 20.0 requests/s")
	assert.Contains(t, text.String(), "Margin: 25.0 % more rate (95 %: +18.8 % to +31.2 % over 5 seeds).\n")
	assert.Contains(t, text.String(), "That is 40.0 % of its roofline limit, 50.0 requests/s.\n")
	asked.Best.Limit.Attainment = 1
	assert.Contains(t, sentences(asked)[0], "that sustains 16 requests/s: it keeps up with no more than 20.0 requests/s")
	asked.Best.AtLeast, asked.Best.BySeed = true, []float64{19, 21}
	assert.Contains(t, sentences(asked)[0], "that sustains 16 requests/s: it sustains at least 20.0 requests/s, the most")
	assert.Equal(t, "Margin: at least 25.0 % more rate (95 %: +18.8 % to +31.2 % over 5 seeds).", sentences(asked)[1])
	asked.Best.BySeed = []float64{20, 20}
	assert.Equal(t, "Margin: at least 25.0 % more rate.", sentences(asked)[1], "every seed ends with the search")
	asked.Lead, asked.Finalists[1].AtLeast = &Lead{}, true
	assert.Contains(t, sentences(asked)[3], "; both sustain the most that was tried.")
	asked.Finalists[1].AtLeast = false
	assert.Contains(t, sentences(asked)[3], "; both sustain the same in every run.")
}

// TestWhatLimitsIsSaidInWholeSentences, also of a run that keeps the SLO only because it ends, and of one that misses
// no limit.
func TestWhatLimitsIsSaidInWholeSentences(t *testing.T) {
	s := toySizing()
	for want, l := range map[string]Limiting{
		"TTFT first: at 20.0 requests/s only 89.0 % keep the SLO, 10 % miss TTFT, 1 % miss TPOT": {
			RatePerS: 20, Attainment: 0.89, TTFTMissed: 0.1, TPOTMissed: 0.01},
		"refused first: at 20.0 requests/s only 80.0 % keep the SLO, 20 % are refused or fail": {
			RatePerS: 20, Attainment: 0.8, Refused: 0.2},
		"it does not keep up with 20.0 requests/s: 95.0 % of this run keep the SLO, but fewer of a longer one would": {
			RatePerS: 20, Attainment: 0.95, TTFTMissed: 0.05},
	} {
		assert.Equal(t, want, limitWords(&Finalist{Limit: l}, s))
	}
}

func TestFiguresOfASearchKeepTheHouseRules(t *testing.T) {
	nothing := &Sizing{Study: "toy", Seeds: []uint64{1}, SLO: SLO{TTFTS: 1, Attainment: 1}}
	for name, draw := range map[string]func(*Sizing) (plot.Figure, error){"splits": SplitsFigure,
		"frontier": FrontierFigure} {
		plottest.Check(t, []plottest.Drawing{
			{Name: name, Caption: toySizing().Caption().String(),
				Draw: func() (plot.Figure, error) { return draw(toySizing()) }},
			{Name: name + "-none", Caption: nothing.Caption().String(),
				Draw: func() (plot.Figure, error) { return draw(nothing) }},
		})
		f, err := draw(toySizing())
		require.NoError(t, err)
		assert.Contains(t, string(f.SVG), "1P3D tp2: 2.25")
	}
}

func TestEveryCandidateHasALine(t *testing.T) {
	var text bytes.Buffer
	require.NoError(t, WriteCandidates(&text, toySizing()))
	rows, err := csv.NewReader(&text).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	const first = "1P3D tp2,disaggregated,1P3D,8,32,0.25,2,0,2,0,50,20,3,,h100-sxm,tp2,h100-sxm,tp2,,,,"
	assert.Equal(t, strings.Split(first, ","), rows[1])
	assert.Equal(t, "left out, as it would", rows[2][13])
}

func TestThePageOfASearchHasItsNumbers(t *testing.T) {
	s := toySizing()
	var written bytes.Buffer
	require.NoError(t, s.Page([]byte("name: toy")).Write(&written))
	results, err := json.Marshal(s)
	require.NoError(t, err)
	assert.Greater(t, pagetest.Same(t, written.Bytes(), results), 10)
	assert.Contains(t, written.String(), "TTFT ≤ 500 ms")
	assert.Contains(t, written.String(), "name: toy")
}

// TestAnAnswerWarnsOfAGPUThatNobodyMeasured: the finalists say it where no row of a table does, each once.
func TestAnAnswerWarnsOfAGPUThatNobodyMeasured(t *testing.T) {
	answer := size(t, studyOf(t, chat, "budget: {gpus: 1}\nrate: {min: 1, max: 8}\nrequests: 400\nseeds: 1\n"+
		"search: {gpu: [mi355x], max_num_seqs: [64, 256]}\n"))
	require.Greater(t, len(answer.Finalists), 1)
	var text bytes.Buffer
	require.NoError(t, WriteText(&text, answer))
	assert.Equal(t, 1, strings.Count(text.String(), "warning: no measurement of mi355x went into the efficiencies"))
	assert.Contains(t, strings.Join(answer.warnings(), "\n"), "no measurement of mi355x")
}
