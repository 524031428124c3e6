package workloads

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// drawMix returns a mix of either kind.
func drawMix(t *rapid.T) Mix {
	one := func(label string) arrivals.Spec {
		return rapid.SampledFrom([]arrivals.Spec{
			{Process: "poisson", Rate: 3}, {Process: "gamma", Rate: 2, CV: 3}, {Process: "weibull", Rate: 2, CV: 2},
			{Process: "constant", Rate: 4}, {Process: "sinusoid", Rate: 3, Amplitude: 1, PeriodS: 20},
			{Process: "on-off", OnRate: 9, OffRate: 0, OnS: 2, OffS: 3},
		}).Draw(t, label)
	}
	c := Mix{Mix: sourcetest.Plain(), Requests: int64(rapid.IntRange(1, 300).Draw(t, "requests"))}
	if rapid.Bool().Draw(t, "timed") {
		c.DurationS = rapid.Float64Range(5, 60).Draw(t, "duration_s")
	}
	if rapid.Bool().Draw(t, "prefix") {
		c.Mix.Sharing = requests.Sharing{Groups: 3, PrefixTokens: 100}
	}
	if rapid.Bool().Draw(t, "reasoning") {
		c.Mix.Reasoning.Tokens = lengths.Fixed(7)
	}
	if rapid.Bool().Draw(t, "patience") {
		c.Patience = requests.Patience{CancelShare: .5, CancelAfterS: 2}
	}
	for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "classes")] {
		c.Mix.Classes = append(c.Mix.Classes, requests.Class{Name: name, Priority: int64(len(name)),
			Prompt: lengths.Fixed(float64(10 + len(c.Mix.Classes)))})
		c.ByClass = append(c.ByClass, one(name))
	}
	if rapid.Bool().Draw(t, "clients") {
		for i := range c.Mix.Classes {
			c.Mix.Classes[i].Share = 1 / float64(len(c.Mix.Classes))
		}
		c.ByClass, c.Clients = nil, Clients{Arrivals: arrivals.Spec{Process: "gamma", Rate: 9, CV: 2},
			Count: int64(rapid.IntRange(1, 20).Draw(t, "count")), RateSkew: 1, CVSpread: .5, PromptSpread: 1}
	}
	return c
}

// TestAMixIsTheUnionOfItsStreams: requests come in order, as if the arrivals of each stream were listed by themselves
// and the lists then sorted; and a stream sends the same however many others there are and wherever it is cut.
func TestAMixIsTheUnionOfItsStreams(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, seed := drawMix(t), rapid.Uint64().Draw(t, "seed")
		s, err := NewMix(c, seed)
		require.NoError(t, err)
		all := sourcetest.Drain(s)
		require.NoError(t, s.Err())
		twin, err := NewMix(c, seed)
		require.NoError(t, err)
		type arrival struct {
			at     sim.Time
			stream int
		}
		var naive []arrival
		endS := sim.HorizonS
		if c.DurationS > 0 {
			endS = c.DurationS
		}
		for _, first := range twin.due { // streams without an arrival are not there
			i := first.Value
			at := [1]sim.Time{first.Key}
			for n := 1; n > 0 && at[0].Seconds() < endS && at[0].Seconds() < 200; n, _ = twin.streams[i].timeline.Fill(at[:]) {
				naive = append(naive, arrival{at[0], int(i)})
			}
		}
		slices.SortFunc(naive, func(a, b arrival) int { return cmp.Or(cmp.Compare(a.at, b.at), a.stream-b.stream) })
		require.Equal(t, len(all), min(len(naive), int(c.Requests)))
		for i := range all {
			require.EqualValues(t, i, all[i].ID)
			require.Equal(t, naive[i].at, all[i].Arrival)
			require.True(t, i == 0 || all[i-1].Arrival <= all[i].Arrival)
			if c.ByClass != nil {
				require.EqualValues(t, naive[i].stream, all[i].Class)
			}
		}
		c.Requests, c.DurationS = 0, 200
		longer, err := NewMix(c, seed)
		require.NoError(t, err)
		if len(all) > 0 {
			require.Equal(t, all, sourcetest.Drain(longer)[:len(all)], "a cut changes nothing before it")
		}
	})
}

// TestOneStreamChangesNoOther: a class that sends more leaves what the others send, and when.
func TestOneStreamChangesNoOther(t *testing.T) {
	c := Mix{Mix: sourcetest.Plain(), DurationS: 200, Patience: requests.Patience{CancelShare: .5, CancelAfterS: 2},
		ByClass: []arrivals.Spec{{Process: "poisson", Rate: 2},
			{Process: "gamma", Rate: 3, CV: 2}}}
	c.Mix.Classes = []requests.Class{{Name: "a"}, {Name: "b"}}
	of := func(c Mix) (all []sim.Request) {
		s, err := NewMix(c, 5)
		require.NoError(t, err)
		for _, r := range sourcetest.Drain(s) {
			if r.Class == 1 {
				r.ID = 0
				all = append(all, r)
			}
		}
		return all
	}
	before := of(c)
	c.ByClass[0].Rate = 40
	require.Equal(t, before, of(c))
	require.NotEmpty(t, before)
}

// TestClientsSendWhatTheWorkloadSays: the rate from the beginning, the mean lengths, shares by rank, and gaps whose
// bursts a stream of the same cv of one client alone does not have.
func TestClientsSendWhatTheWorkloadSays(t *testing.T) {
	const perS, lasts, seeds = 20.0, 100.0, 40
	early, n, prompt := 0, 0, 0.0
	first := 0
	for seed := range uint64(seeds) {
		s, err := NewMix(Mix{Mix: requests.Mix{Prompt: lengths.Fixed(1000), Output: lengths.Fixed(10)}, DurationS: lasts,
			Clients: Clients{Arrivals: arrivals.Spec{Process: "gamma", Rate: perS, CV: 4}, Count: 50, RateSkew: 1,
				PromptSpread: .7}}, seed)
		require.NoError(t, err)
		require.InDelta(t, perS, s.Rate(), 1e-6)
		require.InDelta(t, perS, s.PeakRate(), 1e-6)
		require.InDelta(t, 1/4.49920533832, s.Shares()[0], 1e-6, "1/H₅₀")
		for _, r := range sourcetest.Drain(s) {
			n++
			prompt += float64(r.Prompt)
			if r.Arrival < sim.Time(5*sim.Second) {
				early++
			}
		}
		first += int(s.streams[0].sent)
	}
	require.InEpsilon(t, perS*lasts*seeds, n, 0.06)
	require.InEpsilon(t, perS*5*seeds, early, 0.2, "no burst of all clients when the clock starts")
	require.InEpsilon(t, 1000, prompt/float64(n), 0.1)
	require.InEpsilon(t, float64(n)/4.4992, first, 0.15)
}

// TestProcessesGoOnFromBefore: the arrivals of a process that has gone on for long have its rate from the beginning:
// in a tenth of a mean gap, a tenth of an arrival is expected whatever the law of the gaps.
func TestProcessesGoOnFromBefore(t *testing.T) {
	for _, spec := range []arrivals.Spec{{Process: "poisson", Rate: 1}, {Process: "constant", Rate: 1},
		{Process: "gamma", Rate: 1, CV: 3}, {Process: "gamma", Rate: 1, CV: .3}, {Process: "weibull", Rate: 1, CV: 3},
		{Process: "weibull", Rate: 1, CV: .4}} {
		const runs = 3000
		n := 0
		for seed := range uint64(runs) {
			p, err := arrivals.New(spec, seed)
			require.NoError(t, err)
			p.Stationary()
			var at [8]float64
			for p.Fill(at[:]); at[0] < .1; p.Fill(at[:]) {
				for _, s := range at {
					if s < .1 {
						n++
					}
				}
				if at[7] >= .1 {
					break
				}
			}
		}
		require.InDelta(t, .1, float64(n)/runs, .03, "%+v", spec)
	}
}

// TestClientsAreNoBurstierThanAnyProcess: where cvs spread, they end at the greatest that a process may have.
func TestClientsAreNoBurstierThanAnyProcess(t *testing.T) {
	_, err := NewMix(Mix{Mix: sourcetest.Plain(), Requests: 10, Clients: Clients{Count: 200, CVSpread: 2,
		Arrivals: arrivals.Spec{Process: "gamma", Rate: 1, CV: 100}}}, 1)
	require.NoError(t, err)
}

// TestClassesGoOnFromBefore: streams of classes do too.
func TestClassesGoOnFromBefore(t *testing.T) {
	const runs, perS, early = 1500, 4.0, 0.05
	n := 0
	for seed := range uint64(runs) {
		m := requests.Mix{Prompt: lengths.Fixed(9), Output: lengths.Fixed(9), Classes: []requests.Class{{Name: "a"}}}
		s, err := NewMix(Mix{Mix: m, DurationS: 100,
			ByClass: []arrivals.Spec{{Process: "gamma", Rate: perS, CV: 3}}}, seed)
		require.NoError(t, err)
		var r sim.Request
		for s.Next(&r) && r.Arrival.Seconds() < early {
			n++
		}
	}
	require.InEpsilon(t, runs*perS*early, n, 0.25, "a stream that begins with a gap has half as many more")
}

// TestStreamsKeepTheirLimits: reasoning comes before the answer, the limit cuts both, prompts of a client begin with
// one prefix and those of a class with any. What is expected is of all streams, and the prefix is counted.
func TestStreamsKeepTheirLimits(t *testing.T) {
	for _, clients := range []bool{false, true} {
		m := requests.Mix{Prompt: lengths.Fixed(50), Output: lengths.Fixed(20), MaxOutput: lengths.Fixed(25),
			Reasoning: requests.Reasoning{Tokens: lengths.Spec{Distribution: "uniform", Min: 1, Max: 9}},
			Sharing:   requests.Sharing{Groups: 4, PrefixTokens: 30}}
		c := Mix{Mix: m, DurationS: 200, Patience: requests.Patience{TimeoutS: 2}}
		if clients {
			c.Clients = Clients{Arrivals: arrivals.Spec{Process: "gamma", Rate: 5, CV: 1.5}, Count: 3}
		} else {
			c.Mix.Classes = []requests.Class{{Name: "a"}, {Name: "b", MaxOutput: lengths.Fixed(4)}}
			c.ByClass = []arrivals.Spec{{Process: "poisson", Rate: 2}, {Process: "constant", Rate: 3}}
		}
		s, err := NewMix(c, 3)
		require.NoError(t, err)
		require.InDelta(t, 1000, s.Requests(), 1e-6)
		require.Equal(t, 200.0, s.SpanS())
		prompt, output := s.Means()
		require.InDelta(t, 80, prompt, 1e-9)
		require.InDelta(t, 25, output, 1e-9, "with five of reasoning, before a limit cuts it")
		groups, of := map[int32]bool{}, map[int]map[int32]bool{}
		n, cut := 0.0, 0
		for before := s.Contents().Len(); ; n++ {
			require.Equal(t, before, s.Contents().Len())
			stream := s.due
			var r sim.Request
			i := -1
			if len(stream) > 0 {
				i = int(stream[0].Value)
			}
			if !s.Next(&r) {
				break
			}
			limit := int32(25)
			if r.Class == 1 {
				limit = 4
			}
			require.EqualValues(t, 80, r.Prompt)
			require.Equal(t, limit, r.MaxOutput)
			require.Equal(t, r.Arrival.Add(2*sim.Second), r.Deadline)
			require.Positive(t, r.Reasoning)
			require.LessOrEqual(t, r.Reasoning, min(9, limit))
			require.Equal(t, min(limit, max(r.Output, 20+r.Reasoning)), r.Output)
			if r.Output == limit {
				cut++
			}
			if of[i] == nil {
				of[i] = map[int32]bool{}
			}
			groups[r.Content], of[i][r.Content] = true, true
		}
		require.InDelta(t, 1000, n, 5*1.5*math.Sqrt(1000))
		require.Positive(t, cut)
		require.NoError(t, s.Err())
		require.Zero(t, s.Truncated())
		for i, seen := range of {
			require.Equal(t, clients, len(seen) == 1, "stream %d", i)
		}
		require.LessOrEqual(t, len(groups), 4)
		require.Equal(t, !clients, len(groups) == 4)
	}
}

// TestMixesRefuse: what streams cannot have is an error that names the key.
func TestMixesRefuse(t *testing.T) {
	gamma, poisson := arrivals.Spec{Process: "gamma", Rate: 1, CV: 2}, arrivals.Spec{Process: "poisson", Rate: 1}
	for want, change := range map[string]func(c *Mix){
		"clients.count is 0; accepted":        func(c *Mix) { c.Clients.Count = 0 },
		"clients.rate_skew is 9; accepted":    func(c *Mix) { c.Clients.RateSkew = 9 },
		"clients.cv_spread is 1; accepted: 0": func(c *Mix) { c.Clients.Arrivals = poisson },
		"arrivals.cv is 0; accepted":          func(c *Mix) { c.Clients.Arrivals.CV = 0 },
		"distinct_prompts is 3; accepted":     func(c *Mix) { c.Mix.Sharing.DistinctPrompts = 3 },
		"requests is 0; accepted":             func(c *Mix) { c.Requests = 0 },
		"classes[1].arrivals.rate is -1; accepted": func(c *Mix) {
			c.ByClass = []arrivals.Spec{gamma, {Process: "poisson", Rate: -1}}
		},
		"classes[1].arrivals.process is \"piecewise\"; accepted": func(c *Mix) {
			c.Mix.Classes = []requests.Class{{Name: "a"}, {Name: "b"}}
			c.DurationS, c.ByClass = 10, []arrivals.Spec{gamma, {Process: "piecewise",
				Points: []arrivals.Point{{AtS: 0, Rate: 0}, {AtS: 20, Rate: 0}, {AtS: 20, Rate: 5}}}}
		},
	} {
		c := Mix{Mix: sourcetest.Plain(), Requests: 5, Clients: Clients{Arrivals: gamma, Count: 3, CVSpread: 1}}
		change(&c)
		_, err := NewMix(c, 1)
		require.ErrorContains(t, err, want)
	}
}

// TestAMixThatTheClockCutsOffSaysSo: one request in a million seconds, of which the clock has 4.6 million. It ends by
// itself where a duration does.
func TestAMixThatTheClockCutsOffSaysSo(t *testing.T) {
	for _, c := range []struct {
		requests  int64
		durationS float64
		cut       bool
		rate      float64
	}{{20, 0, true, 1e-6}, {2, 0, false, 1e-6}, {1, 0, true, 1e-13}, {20, sim.HorizonS, false, 1e-6},
		{0, 1e6, false, 1e-6}} {
		mix := Mix{ByClass: []arrivals.Spec{{Process: "constant", Rate: c.rate}}, Requests: c.requests,
			DurationS: c.durationS}
		mix.Mix = requests.Mix{Classes: []requests.Class{{Name: "rare", Share: 1}}, Prompt: lengths.Fixed(8),
			Output: lengths.Fixed(4)}
		s, err := NewMix(mix, 1)
		require.NoError(t, err, "%+v", c)
		n := len(sourcetest.Drain(s))
		if c.cut {
			require.InDelta(t, c.rate*sim.HorizonS, n, 1)
			require.ErrorContains(t, s.Err(), fmt.Sprintf("request %d would arrive after", n))
			continue
		}
		require.NoError(t, s.Err(), "%+v", c)
	}
}

// TestFactorsHaveAMeanOfOne: those that no rates weigh in the long run, and weighted ones exactly.
func TestFactorsHaveAMeanOfOne(t *testing.T) {
	const n = 20_000
	sum, squares := 0.0, 0.0
	for _, f := range factors(rng.Stream(1, "test.factors"), .8, nil, n) {
		sum, squares = sum+f, squares+f*f
	}
	require.InDelta(t, 1, sum/n, 5*.8/math.Sqrt(n))
	require.InEpsilon(t, .8*.8, squares/n-1, .1)
	share, sum := []float64{.5, .3, .2}, 0.0
	for k, f := range factors(rng.Stream(1, "test.factors"), .8, share, 3) {
		sum += share[k] * f
	}
	require.InDelta(t, 1, sum, 1e-8)
}

// TestThePeakIsThatOfAMinute of a day: 60 times as many requests in one of its 1,440 minutes, which begins with one.
func TestThePeakIsThatOfAMinute(t *testing.T) {
	for _, minute := range []float64{0, 1, 700, 1439} {
		at := 60 * minute
		points := []arrivals.Point{{AtS: 0, Rate: 1}, {AtS: at, Rate: 1}, {AtS: at, Rate: 60}, {AtS: at + 60, Rate: 60},
			{AtS: at + 60, Rate: 1}}
		if minute == 0 {
			points = points[1:]
		}
		c := Mix{Mix: sourcetest.Plain(), DurationS: 86400, ByClass: []arrivals.Spec{{Process: "piecewise", Points: points}}}
		c.Mix.Classes = []requests.Class{{Name: "a"}}
		s, err := NewMix(c, 1)
		require.NoError(t, err)
		require.InEpsilon(t, 60, s.PeakRate(), 1e-9)
		require.InEpsilon(t, (86400+59*60)/86400., s.Rate(), 1e-9)
	}
}

// TestAMixEndsWithItsRequestsOrItsDuration: a stream falls from 10 requests/s to none in 10 s, so that 50 are expected
// in the 20 s of the workload. For fewer it takes as long as those take, and for 50 or more all of its duration.
func TestAMixEndsWithItsRequestsOrItsDuration(t *testing.T) {
	for n, want := range map[int64]float64{1: 10 - math.Sqrt(98), 32: 4, 50: 20, 51: 20} {
		m := sourcetest.Plain()
		m.Classes = []requests.Class{{Name: "a"}}
		s, err := NewMix(Mix{Mix: m, Requests: n, DurationS: 20, ByClass: []arrivals.Spec{
			{Process: "piecewise", Points: []arrivals.Point{{AtS: 0, Rate: 10}, {AtS: 10, Rate: 0}}},
		}}, 1)
		require.NoError(t, err)
		require.InDelta(t, want, s.SpanS(), 1e-9, "%d requests", n)
		require.InDelta(t, min(n, 50), s.Requests(), 1e-9)
	}
}

// TestAsManyRequestsAreExpectedAsThereMayBe, but for a million that may come beside what is expected.
func TestAsManyRequestsAreExpectedAsThereMayBe(t *testing.T) {
	for more, want := range map[float64]string{0: "", .25: "a duration in which fewer requests than"} {
		m := sourcetest.Plain()
		m.Classes = []requests.Class{{Name: "a"}}
		_, err := NewMix(Mix{Mix: m, DurationS: 4, ByClass: []arrivals.Spec{
			{Process: "constant", Rate: (check.RequestsMax-1e6)/4 + more},
		}}, 1)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, want)
		}
	}
}
