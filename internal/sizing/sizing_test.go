package sizing

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
)

// toy serves one prompt at a time and answers with one token: a queue with known service time.
const toy = `
model: llama-3.1-8b
pools: [{gpu: h100-sxm, engine: textbook, max_num_seqs: 1, max_num_batched_tokens: 2048}]
workload:
  arrivals: {process: constant, rate: 1}
  prompt_tokens: {distribution: fixed, mean: 1024}
  output_tokens: {distribution: fixed, mean: 1}
  requests: 1000
`

// chat is a small scenario with everything that varies.
const chat = `
model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  arrivals: {process: poisson, rate: 1}
  prompt_tokens: {distribution: lognormal, mean: 800, cv: 1}
  output_tokens: {distribution: lognormal, mean: 60, cv: 0.7}
  requests: 1000
slo: {ttft_ms: 300, tpot_ms: 20}
`

const both = "search: {topology: [colocated, disaggregated], tensor_parallel: [1, 2], max_num_seqs: [64, 256]}\n"

// studyOf reads a study of a scenario, given as files.
func studyOf(t testing.TB, scenario, text string, set ...string) *configs.Study {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "scenario.yaml"), []byte(scenario), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "study.yaml"), []byte("scenario: ./scenario.yaml\n"+text), 0o600))
	s, err := configs.LoadStudy(filepath.Join(dir, "study.yaml"), set)
	require.NoError(t, err)
	return s
}

func size(t testing.TB, s *configs.Study) *Sizing {
	answer, best, err := Search(context.Background(), s, Options{Version: "test"})
	require.NoError(t, err)
	assert.Equal(t, answer.Best == nil, best == nil)
	return answer
}

// TestOneServerCarriesOneOverItsServiceTime: D/D/1, and N of them. Prompts are served alone, so the capacity is known.
func TestOneServerCarriesOneOverItsServiceTime(t *testing.T) {
	s := studyOf(
		t, toy, "budget: {gpus: 3}\nrate: {min: 1, max: 1000}\nslo: {ttft_ms: 200}\nattainment: 0.9\nrequests: "+
			"4000\nseeds: 2\n")
	scenario, err := configs.Load(s.Scenario, configs.Options{})
	require.NoError(t, err)
	b, err := build.New(scenario)
	require.NoError(t, err)
	var g sim.Segment
	b.Config.Pools[0].Model.(*hardware.Roofline).Price([]sim.Shape{{
		Prefills: 1, PrefillTokens: 1024, PrefillPairs: 1024 * 1025 / 2, PrefillCtx: 1024, Outputs: 1,
	}}, &g)
	for gpus := 1; gpus <= 3; gpus++ {
		s.Budget.GPUs = gpus
		a := size(t, s)
		want := float64(gpus) / g.First.Seconds()
		require.Len(t, a.Finalists, 1)
		assert.InEpsilon(t, want, a.Best.CapacityPerS, 0.0101, "%d GPUs", gpus)
		assert.LessOrEqual(t, a.Best.CapacityPerS, a.Best.RooflineLimitPerS)
		assert.Equal(t, a.Best.BySeed[0], a.Best.BySeed[1], "nothing is random")
		assert.Greater(t, a.Best.Limit.TTFTMissed, 0.05)
	}
}

// TestTheTextbookIsPerfectlyPacked: a textbook server that computes prompts alone reaches the bound, for it has no
// overhead.
func TestTheTextbookIsPerfectlyPacked(t *testing.T) {
	a := size(t, studyOf(t, toy,
		"budget: {gpus: 2}\nrate: {min: 1, max: 1000}\nslo: {ttft_ms: 200}\nrequests: 4000\nseeds: 1\n"))
	assert.Greater(t, a.Best.OfPerfect, 0.97)
	assert.Nil(t, a.Best.Interval)
}

// TestATextbookDecodesNearlyAtTheBound: full batches of answers without prompts, on hardware that loses nothing. What
// is left is how a run begins and ends.
func TestATextbookDecodesNearlyAtTheBound(t *testing.T) {
	for _, sequences := range []string{"16", "256"} {
		s := studyOf(t, chat, "budget: {gpus: 1}\nrate: {min: 1, max: 20000}\nslo: {ttft_ms: 1e8}\nrequests: 8000\n",
			"scenario=textbook-8b",
			"pools.serve.max_num_seqs="+sequences, "workload.prompt_tokens.distribution=fixed", "workload.prompt_tokens.mean=1",
			"workload.prompt_tokens.cv=null",
			"workload.output_tokens.distribution=fixed", "workload.output_tokens.mean=200", "workload.output_tokens.cv=null")
		z := &sizer{ctx: context.Background(), study: s}
		require.NoError(t, z.prepare())
		x, err := z.simulate(z.all[0], z.grid.last, s.Requests, 1, whole)
		require.NoError(t, err)
		assert.Less(t, x.Throughput, x.Perfect, sequences)
		assert.Greater(t, x.Throughput, 0.95*0.75*x.Perfect, "%s: the quarter that is not measured is served first",
			sequences)
	}
}

// TestMoreGPUsCarryNoLess, whatever the topology; and nothing sustains more than the roofline limit.
func TestMoreGPUsCarryNoLess(t *testing.T) {
	soak.TakesLong(t)
	last := 0.0
	for _, gpus := range []int{2, 4, 8} {
		s := studyOf(t, chat, both+"budget: {gpus: 1}\nrate: {min: 1, max: 500}\nrequests: 2000\nseeds: 2\n",
			fmt.Sprint("budget.gpus=", gpus))
		a := size(t, s)
		require.NotNil(t, a.Best, gpus)
		assert.GreaterOrEqual(t, a.Best.CapacityPerS, last, gpus)
		assert.LessOrEqual(t, a.Best.GPUs, gpus)
		last = a.Best.CapacityPerS
		assert.True(t, a.Replay.SLO[0].Met, "what it sustains under the first seed, a replay confirms")
		for _, f := range a.Finalists {
			assert.Less(t, f.OfPerfect, 1.0, f.Name)
			assert.LessOrEqual(t, f.CapacityPerS, a.Best.CapacityPerS)
		}
		for _, c := range a.Candidates {
			assert.False(t, float64(c.CapacityPerS) > c.RooflineLimitPerS*pruneShare, c.Name)
		}
		for i, p := range a.Frontier[1:] {
			assert.Greater(t, p.GoodputPerSPerGPU, a.Frontier[i].GoodputPerSPerGPU)
			assert.LessOrEqual(t, p.UserTokensPerS, a.Frontier[i].UserTokensPerS)
		}
	}
}

// TestTheCheapestIsTheOneThatBruteForceFinds: of every number of replicas, the least that sustains the rate under all
// seeds.
func TestTheCheapestIsTheOneThatBruteForceFinds(t *testing.T) {
	const text = "search: {topology: [colocated], tensor_parallel: [1, 2]}\nrequests: 1000\nseeds: 2\n"
	a := size(t, studyOf(t, chat, text+"budget: {gpus: 12}\nrate: {at: 60}\n"))
	require.NotNil(t, a.Best)
	least := 0
	for gpus := 1; gpus <= 12 && least == 0; gpus++ {
		one := size(t, studyOf(t, chat, text+fmt.Sprintf("budget: {gpus: %d}\nrate: {min: 60, max: 240}\n", gpus)))
		for _, f := range one.Finalists {
			carried := true
			for _, rate := range f.BySeed {
				carried = carried && rate > 0
			}
			if carried {
				least = f.GPUs
				break
			}
		}
	}
	assert.Equal(t, least, a.Best.GPUs)
	assert.GreaterOrEqual(t, float64(a.Best.Margin), 0.0)
}

func TestTheAnswerDoesNotDependOnTheCores(t *testing.T) {
	soak.TakesLong(t)
	var texts []string
	for _, cores := range []int{1, 4} {
		before := runtime.GOMAXPROCS(cores)
		for _, rate := range []string{"rate: {min: 1, max: 300}\n", "rate: {at: 30}\n"} {
			text, err := json.Marshal(size(t, studyOf(t, chat, both+"budget: {gpus: 4}\nrequests: 800\nseeds: 2\n"+rate)))
			require.NoError(t, err)
			texts = append(texts, string(text))
		}
		runtime.GOMAXPROCS(before)
	}
	assert.Equal(t, texts[:2], texts[2:])
}

// TestNoRunBeatsTheRooflineLimit: what ends per second of a run, far beyond capacity, is never more than its own
// requests would be under the roofline limit. Models have experts, windows, latents, states; prompts share prefixes;
// tokens are drafted.
func TestNoRunBeatsTheRooflineLimit(t *testing.T) {
	for i, c := range []struct{ name, scenario, set string }{
		{"dense", "chat-70b", ""},
		{"textbook", "textbook-8b", ""},
		{"long answers", "textbook-8b", "workload.output_tokens.mean=2000"},
		{"experts and windows", "textbook-8b", "model=gpt-oss-20b"},
		{"all windows", "textbook-8b", "model=mistral-7b-v0.1"},
		{"latents", "textbook-8b", "model=deepseek-v2-lite"},
		{"states", "textbook-8b", "model=qwen3.5-27b"},
		{"prefixes", "multi-turn-8b", ""},
		{"drafts", "chat-70b",
			"speculation.method=ngram speculation.num_speculative_tokens=3 speculation.acceptance.rate=0.9"},
		{"two roles", "pd-70b", ""},
		{"static", "chat-8b", "pools.serve.engine=static"},
		{"prefill first", "chat-8b", "pools.serve.engine=sglang"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if i%3 > 0 {
				soak.TakesLong(t)
			}
			set := []string{"scenario=" + c.scenario, "search.tensor_parallel=null"}
			set = append(set, strings.Fields(c.set)...)
			s := studyOf(t, chat, "budget: {gpus: 8}\nrate: {min: 0.1, max: 2000}\nslo: {ttft_ms: 1e8}\nrequests: 600\n"+
				"search: {topology: [colocated, disaggregated]}\n", set...)
			z := &sizer{ctx: context.Background(), study: s}
			require.NoError(t, z.prepare())
			z.load.SessionS = 0 // runs as short as they may be: those are what could beat the limit
			for _, d := range z.all {
				for _, rate := range []float64{1, 30, 2000} {
					x, err := z.simulate(d, z.grid.step(rate), s.Requests, z.base.Seed, whole)
					require.NoError(t, err)
					assert.Positive(t, x.Throughput, d.is.Name)
					assert.Less(t, x.Throughput, x.Perfect, "%s at %g/s", d.is.Name, rate)
					assert.LessOrEqual(t, x.Perfect, d.bound*x.Each*1.1, "%s: bounded by the requests of another run", d.is.Name)
				}
			}
		})
	}
}

// TestBisectionFindsWhatAScanFinds, however far off the guess is.
func TestBisectionFindsWhatAScanFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGrid(1, rapid.Float64Range(1.01, 1e4).Draw(t, "high"))
		last := rapid.IntRange(-1, g.last).Draw(t, "last carried")
		stride := rapid.SampledFrom([]int{1, 4, 16}).Draw(t, "stride")
		asked := 0
		found, err := g.highest(rapid.IntRange(-5, g.last+5).Draw(t, "guess"), stride, func(step int) (bool, error) {
			asked++
			if step < 0 || step > g.last {
				t.Fatalf("step %d of %d", step, g.last)
			}
			return step <= last, nil
		})
		require.NoError(t, err)
		assert.True(t, found <= last && last < found+stride, "found %d, is %d", found, last)
		assert.LessOrEqual(t, asked, 4+2*int(math.Log2(float64(g.last+2))))
	})
}

func TestStepsAndRatesOfAGridAgree(t *testing.T) {
	g := newGrid(10, 1000)
	for step := range g.last + 1 {
		assert.Equal(t, step, g.step(g.rate(step)))
	}
	assert.Equal(t, -1, g.step(9.99))
	assert.Equal(t, g.last, g.step(1e9))
	assert.LessOrEqual(t, g.resolution(), 0.005)
	assert.Equal(t, 1000.0, g.rate(g.last))
}

// TestSplitsFillTheBudget: all of them as pairs that leave no room for one more replica; a named one as often as it
// fits.
func TestSplitsFillTheBudget(t *testing.T) {
	upTo := func(gpus int, each ...int) func(...int) bool {
		return func(replicas ...int) bool {
			n := 0
			for i, k := range replicas {
				n += k * each[i]
			}
			return n <= gpus
		}
	}
	s := &shape{topology: configs.Disaggregated}
	all := configs.Splits{configs.AllSplits}
	assert.Equal(t, [][]int{{1, 3}, {2, 3}, {3, 2}, {4, 2}, {5, 1}, {6, 1}}, s.fill(upTo(16, 2, 4), false, all))
	assert.Equal(t, [][]int{{2, 4}}, s.fill(upTo(20, 2, 4), false, configs.Splits{"1P2D"}))
	assert.Equal(t, [][]int{{1, 2}, {2, 4}}, s.fill(upTo(20, 2, 4), true, configs.Splits{"1P2D"}))
	assert.Equal(t, [][]int{{1, 1}, {1, 2}, {2, 1}, {3, 1}}, s.fill(upTo(10, 2, 4), true, all))
	one := &shape{topology: configs.Colocated}
	assert.Equal(t, [][]int{{3}}, one.fill(upTo(15, 4), false, all))
	assert.Equal(t, [][]int{{1}, {2}, {3}}, one.fill(upTo(15, 4), true, all))
	assert.Empty(t, one.fill(upTo(3, 4), false, all))
}

func TestBadSearchesSayWhy(t *testing.T) {
	const text = "budget: {gpus: 2}\nrate: {min: 1, max: 9}\nrequests: 400\n"
	for _, c := range []struct {
		set  []string
		want string
	}{
		{[]string{"slo.tpot_ms=20"},
			"slo: neither ttft_ms nor e2e_ms is given, here or in the scenario, nor a rule on ttft, e2e or queue"},
		{[]string{"model=llama-3.1-405b"},
			"nothing in it can be deployed: llama-3.1-405b does not fit: each GPU lacks at least "},
		{[]string{"model=llama-3.1-405b", "search.tensor_parallel=[1, 2]"}, "; under tp2 h100-sxm, "},
		{[]string{"search.tensor_parallel=[4]"}, "takes no replica: 2 GPUs; the smallest deployment of the search takes 4"},
		{[]string{"search.tensor_parallel=[3]"}, "deployed: tp3: 3 does not divide the 32 attention heads"},
		{[]string{"budget.gpus=null", "budget.usd_per_hour=1"}, "takes no replica: 0 GPUs"},
		{[]string{"budget.usd_per_hour=9", "pools.serve.gpu=rtx-pro-6000-ws", "model=llama-3.2-1b"},
			"has no price of rtx-pro-6000-ws; expected gpus instead"},
		{[]string{"scenario=textbook-8b", "workload.arrivals=null", "workload.closed_loop.concurrency=4"},
			"has a closed loop, whose rate is a result, and a study varies the rate"},
		{[]string{"workload.timeout_s=3"}, "has clients that cancel"},
		{[]string{"weigths=fp8"}, `no key "weigths"; did you mean "weights"?`},
		{[]string{"pools.serve.max_model_len=4"}, "no request is served"},
	} {
		_, _, err := Search(context.Background(), studyOf(t, chat, text, c.set...), Options{})
		assert.ErrorContains(t, err, c.want, c.set)
	}
}

func TestScenariosOfOtherFleetsAreNotSized(t *testing.T) {
	for pools, want := range map[string]string{
		"[{gpu: h100-sxm}, {gpu: h100-sxm, name: more}]":                                    `has a pool "more" of role serve on h100-sxm; expected at most one each`,
		"[{gpu: h100-sxm, role: encode}, {gpu: h100-sxm}]":                                  `has a pool "encode" of role encode`,
		"[{gpu: h100-sxm, replicas_max: 2}]\nautoscale: [{pool: serve, on: kv, target: 1}]": "has replicas that come and go",
	} {
		scenario := strings.Replace(chat, "[{gpu: h100-sxm}]", pools, 1)
		_, _, err := Search(context.Background(), studyOf(t, scenario, "budget: {gpus: 2}\nrate: {min: 1, max: 9}\n"),
			Options{})
		assert.ErrorContains(t, err, want, pools)
	}
}

func TestASearchEndsWhenItsUserGivesUp(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	_, _, err := Search(ctx, studyOf(t, chat, "budget: {gpus: 2}\nrate: {min: 1, max: 9}\n"), Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

// TestASearchThatIsCancelledSaysWhatItHadFound: once, whenever it ends, and never of deployments beyond the budget.
func TestASearchThatIsCancelledSaysWhatItHadFound(t *testing.T) {
	for step, want := range map[string]string{
		"what fits": "",
		"every seed": `^unfinished: the cheapest so far, after \d+ runs, is .* on \d × h100-sxm, \$\d+\.\d\d per hour, which ` +
			`sustained 16\.0 requests/s in a run of \d+ requests$`,
	} {
		ctx, cancel := context.WithCancel(context.Background())
		var said []string
		_, _, err := Search(ctx, studyOf(t, chat, "budget: {gpus: 4}\nrate: {at: 16}\nrequests: 1000\nseeds: 2\n"),
			Options{Unfinished: func(words string) { said = append(said, words) }, Progress: func(what string, _, _ int) {
				if what == step {
					cancel()
				}
			}})
		require.ErrorIs(t, err, context.Canceled, step)
		if want == "" {
			assert.Empty(t, said, step)
			continue
		}
		require.Len(t, said, 1, step)
		assert.Regexp(t, want, said[0])
		cancel()
	}
}
