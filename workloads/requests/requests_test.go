package requests

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/lengths"
)

func plain() Mix {
	return Mix{Prompt: lengths.Spec{Distribution: "lognormal", Mean: 500, CV: 1},
		Output: lengths.Spec{Distribution: "gamma", Mean: 200, CV: 0.7}}
}

// draw returns the first n requests of a mix, their identifiers from 0.
func draw(t require.TestingT, m Mix, seed uint64, n int) []sim.Request {
	s, err := NewSampler(m, seed)
	require.NoError(t, err)
	return drawn(s, n)
}

func drawn(s *Sampler, n int) []sim.Request {
	all := make([]sim.Request, n)
	for i := range all {
		all[i].ID = int32(i)
		s.Draw(&all[i])
	}
	return all
}

// drawMix returns a mix that may have everything: laws of its own or of classes, limits, reasoning, groups and sets of
// prompts.
func drawMix(t *rapid.T) Mix {
	m := plain()
	flip := func(what string) bool { return rapid.Bool().Draw(t, what) }
	law := func(what string) lengths.Spec {
		return rapid.SampledFrom([]lengths.Spec{lengths.Fixed(40), {Distribution: "uniform", Min: 3, Max: 90},
			{Distribution: "lognormal", Mean: 60, CV: 1.5, Max: 100}}).Draw(t, what)
	}
	if flip("limit") {
		m.MaxOutput = law("limits")
	}
	switch rapid.SampledFrom([]string{"none", "law", "share"}).Draw(t, "reasoning") {
	case "law":
		m.Reasoning.Tokens = law("reasoning law")
	case "share":
		m.Reasoning.Share = rapid.Float64Range(0.01, 1).Draw(t, "share")
	}
	if flip("groups") {
		m.Sharing.Groups, m.Sharing.PrefixTokens = rapid.Int64Range(1, 5).Draw(t, "of"), 30
	}
	if flip("set") {
		m.Sharing.DistinctPrompts = rapid.Int64Range(5, 40).Draw(t, "prompts")
		m.Sharing.Order = rapid.SampledFrom([]string{"", "cycle", "random"}).Draw(t, "order")
	}
	if flip("classes") {
		m.Classes = []Class{{Name: "a", Share: 0.25, Priority: -128}, {Name: "b", Share: 0.75, Priority: 127}}
		if m.Sharing.DistinctPrompts == 0 && flip("of class") {
			m.Classes[1].Prompt, m.Classes[1].Output = law("prompts of b"), law("outputs of b")
		}
		if flip("limits of class") {
			m.Classes[0].MaxOutput = lengths.Fixed(25)
		}
		if m.Reasoning.Share == 0 && flip("reasoning of class") {
			m.Classes[1].Reasoning = lengths.Fixed(9)
		}
	}
	return m
}

// TestARequestIsWhole: no limit is exceeded, reasoning is part of the output, and what a request shares is its prompt's
// beginning.
func TestARequestIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, seed := drawMix(t), rapid.Uint64().Draw(t, "seed")
		s, err := NewSampler(m, seed)
		require.NoError(t, err)
		limited := m.MaxOutput.Given() || len(m.Classes) > 0 && m.Classes[0].MaxOutput.Given()
		shares := m.Sharing != Sharing{}
		require.Equal(t, shares, s.Contents() != nil)
		require.Equal(t, !limited && !shares && m.Classes == nil && !s.Reasons(), s.LengthsOnly())
		for i, r := range drawn(s, 100) {
			require.EqualValues(t, i, r.ID)
			require.Positive(t, r.Output)
			require.True(t, 0 <= r.Reasoning && r.Reasoning <= r.Output)
			if r.MaxOutput > 0 {
				require.True(t, limited)
				require.LessOrEqual(t, r.Output, r.MaxOutput)
			}
			require.False(t, m.MaxOutput.Given() && r.MaxOutput == 0, "each has the limit that all have")
			if m.Reasoning.Share > 0 && r.MaxOutput == 0 {
				require.Equal(t, int32(float64(r.Output)*m.Reasoning.Share), r.Reasoning)
			}
			require.Equal(t, s.Priority(int(r.Class)), r.Priority)
			require.Equal(t, shares, r.Content != 0)
			if shares {
				tokens := int32(m.Sharing.PrefixTokens)
				if m.Sharing.DistinctPrompts > 0 {
					tokens = r.Prompt
				} else {
					require.Greater(t, r.Prompt, tokens)
				}
				require.Equal(t, tokens, s.Contents().Tokens(r.Content))
			}
		}
		require.Equal(t, draw(t, m, seed, 50), draw(t, m, seed, 50), "a seed draws the same again")
	})
}

// TestFilledRequestsAreDrawnRequests: lengths that are drawn many at a time and finished later are those of requests
// that are drawn one at a time.
func TestFilledRequestsAreDrawnRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, seed := drawMix(t), rapid.Uint64().Draw(t, "seed")
		if rapid.Bool().Draw(t, "recorded") {
			pairs, err := lengths.NewPairs([][]int64{{5, 6}, {7, 8}, {9, 1}})
			require.NoError(t, err)
			m.Pairs, m.Prompt, m.Output = pairs, lengths.Spec{}, lengths.Spec{}
			for i := range m.Classes {
				m.Classes[i].Prompt, m.Classes[i].Output = lengths.Spec{}, lengths.Spec{}
			}
		}
		s, err := NewSampler(m, seed)
		require.NoError(t, err)
		require.Equal(t, m.Pairs != nil, s.Recorded())
		var got []sim.Request
		for len(got) < 64 {
			prompts, outputs := make([]int32, 16), make([]int32, 16)
			s.Fill(prompts, outputs)
			for i := range prompts {
				r := sim.Request{ID: int32(len(got)), Prompt: prompts[i], Output: outputs[i]}
				s.Finish(&r)
				got = append(got, r)
			}
		}
		require.Equal(t, draw(t, m, seed, 64), got)
	})
}

// TestMeansAreWhatIsDrawn: of prompts with their prefixes and of outputs with their reasoning, over all classes, as no
// limit cuts any.
func TestMeansAreWhatIsDrawn(t *testing.T) {
	reason := lengths.Spec{Distribution: "uniform", Min: 11, Max: 29}
	grouped := Sharing{Groups: 3, PrefixTokens: 77}
	classes := []Class{{Name: "a", Share: 0.3, Prompt: lengths.Fixed(90)},
		{Name: "b", Share: 0.7, Output: lengths.Fixed(31), Reasoning: lengths.Fixed(400)}}
	for name, with := range map[string]func(*Mix){
		"laws":                  func(*Mix) {},
		"groups":                func(m *Mix) { m.Sharing = grouped },
		"reasoning":             func(m *Mix) { m.Reasoning.Tokens = reason },
		"share":                 func(m *Mix) { m.Reasoning.Share = 0.4 },
		"classes":               func(m *Mix) { m.Classes = classes },
		"classes and reasoning": func(m *Mix) { m.Classes, m.Reasoning.Tokens, m.Sharing = classes, reason, grouped },
	} {
		t.Run(name, func(t *testing.T) {
			const n = 20_000
			m := plain()
			m.Prompt = lengths.Spec{Distribution: "uniform", Min: 100, Max: 900}
			m.Output = lengths.Spec{Distribution: "uniform", Min: 50, Max: 450}
			with(&m)
			s, err := NewSampler(m, 4)
			require.NoError(t, err)
			prompt, output := s.Means()
			var prompts, outputs, squares float64
			for _, r := range drawn(s, n) {
				prompts, outputs = prompts+float64(r.Prompt), outputs+float64(r.Output)
				squares += float64(r.Output) * float64(r.Output)
			}
			require.InDelta(t, prompt, prompts/n, 5*300/math.Sqrt(n), "five standard errors")
			require.InDelta(t, output, outputs/n, 5*math.Sqrt(squares/n-math.Pow(outputs/n, 2))/math.Sqrt(n))
		})
	}
}

// TestNothingChangesWhatItIsNotAbout: each law has draws of its own, so that one more law, or another, leaves what the
// others draw.
func TestNothingChangesWhatItIsNotAbout(t *testing.T) {
	m := plain()
	before := draw(t, m, 7, 300)
	lengthsOf := func(all []sim.Request) (prompts, outputs []int32) {
		for _, r := range all {
			prompts, outputs = append(prompts, r.Prompt), append(outputs, r.Output)
		}
		return prompts, outputs
	}
	prompts, outputs := lengthsOf(before)
	changed := func(with func(*Mix)) (p, o []int32) {
		m := plain()
		with(&m)
		return lengthsOf(draw(t, m, 7, 300))
	}
	p, o := changed(func(m *Mix) { m.Prompt = lengths.Fixed(5) })
	require.Equal(t, outputs, o)
	require.Equal(t, int32(5), p[299])
	p, o = changed(func(m *Mix) { m.Output.Mean = 900 })
	require.Equal(t, prompts, p)
	require.NotEqual(t, outputs, o)
	p, o = changed(func(m *Mix) { m.Sharing = Sharing{Groups: 4, PrefixTokens: 10} })
	require.Equal(t, outputs, o)
	for i := range p {
		require.Equal(t, prompts[i]+10, p[i])
	}
	p, o = changed(func(m *Mix) { m.MaxOutput = lengths.Spec{Distribution: "uniform", Min: 20, Max: 400} })
	require.Equal(t, prompts, p)
	for i := range o {
		require.LessOrEqual(t, o[i], outputs[i])
	}
	p, o = changed(func(m *Mix) { m.Reasoning.Tokens = lengths.Fixed(13) })
	require.Equal(t, prompts, p)
	for i := range o {
		require.Equal(t, outputs[i]+13, o[i])
	}
	p, o = changed(func(m *Mix) {
		m.Classes = []Class{{Name: "a", Share: 0.5, Prompt: lengths.Fixed(3)}, {Name: "b", Share: 0.5}}
	})
	require.Equal(t, outputs, o)
	own := 0
	for i := range p {
		if p[i] == 3 {
			own++
			continue
		}
		require.Equal(t, prompts[i], p[i])
	}
	require.InDelta(t, 150, own, 45)
}

// TestWhatIsKeyedIsDrawnByKey: reasoning of a request does not depend on the requests before it, and differs between
// requests, runs, and the parts of a key.
func TestWhatIsKeyedIsDrawnByKey(t *testing.T) {
	m := plain()
	m.Reasoning.Tokens = lengths.Spec{Distribution: "uniform", Min: 1, Max: 1 << 20}
	sampler := func(seed uint64) *Sampler {
		s, err := NewSampler(m, seed)
		require.NoError(t, err)
		return s
	}
	s, another := sampler(3), sampler(3)
	hidden, all := s.Reason(0, 100, 5, 0)
	require.Equal(t, hidden+100, all)
	for _, r := range drawn(s, 5) {
		require.NotEqual(t, hidden, r.Reasoning)
	}
	same, _ := another.Reason(0, 900, 5, 0)
	require.Equal(t, hidden, same)
	for _, key := range [][2]uint64{{5, 1}, {0, 5}, {6, 0}} {
		other, _ := another.Reason(0, 100, key[0], key[1])
		require.NotEqual(t, hidden, other)
	}
	r := sim.Request{ID: 5, Prompt: 1, Output: 100}
	another.Finish(&r)
	require.Equal(t, hidden, r.Reasoning, "the key of a request is its number")
	require.Equal(t, hidden+100, r.Output)
	other, _ := sampler(4).Reason(0, 100, 5, 0)
	require.NotEqual(t, hidden, other)

	m.Reasoning.Tokens = lengths.Fixed(1<<30 - 1)
	_, all = sampler(1).Reason(0, 1<<29, 0, 0)
	require.EqualValues(t, 1<<30-1, all, "no output is longer than any may be")
}

// TestTruncatedDrawsAreCounted: of each law that holds, and again from nothing once they are forgotten.
func TestTruncatedDrawsAreCounted(t *testing.T) {
	one := func(mean float64) lengths.Spec { // above its greatest value each time, but for one in 10¹²
		return lengths.Spec{Distribution: "normal", Mean: mean, CV: 0.1, Max: 1}
	}
	m := Mix{Prompt: one(1000), Output: one(1000), MaxOutput: one(1000), Reasoning: Reasoning{Tokens: one(1000)}}
	s, err := NewSampler(m, 1)
	require.NoError(t, err)
	drawn(s, 10)
	require.Equal(t, Truncated{Prompt: 10, Output: 20, MaxOutput: 10}, s.Truncated())
	require.Equal(t, s.Truncated(), s.TruncatedDraws())
	s.ForgetTruncated()
	require.Zero(t, s.Truncated())
	require.Zero(t, s.TruncatedDraws())
	drawn(s, 3)
	require.Equal(t, Truncated{Prompt: 3, Output: 6, MaxOutput: 3}, s.Truncated())

	// All of class a have a law of their own; its draws count, and those of the workload's law that no request keeps are
	// left out but are draws all the same.
	own := one(500)
	m.Classes = []Class{{Name: "a", Share: 0.25, Prompt: own, Output: own, MaxOutput: own, Reasoning: own},
		{Name: "b", Share: 0.75}}
	s, err = NewSampler(m, 1)
	require.NoError(t, err)
	a := int64(0)
	const n = 400
	for _, r := range drawn(s, n) {
		if r.Class == 0 {
			a++
		}
	}
	require.InDelta(t, 100, a, 45)
	// Reasoning is drawn by the law that holds alone: n−a draws of the workload's, three quarters of which count.
	require.Equal(t, Truncated{Prompt: a + 300, Output: a + 300 + a + int64(math.Round(0.75*float64(n-a))),
		MaxOutput: a + 300}, s.Truncated())
	require.Equal(t, Truncated{Prompt: a + n, Output: a + n + n, MaxOutput: a + n}, s.TruncatedDraws())
	s.ForgetTruncated()
	require.Zero(t, s.TruncatedDraws())
}

// TestASetOfPromptsComesAround: in cycles that have each prompt once, or at random. Groups have the same number, and
// prompts of a set are as the laws draw them.
func TestASetOfPromptsComesAround(t *testing.T) {
	m := plain()
	first := draw(t, m, 9, 12)
	m.Sharing = Sharing{Groups: 4, PrefixTokens: 100, DistinctPrompts: 12}
	s, err := NewSampler(m, 9)
	require.NoError(t, err)
	nodes, tokens := s.Prefixes()
	require.Len(t, nodes, 4)
	require.EqualValues(t, 100, tokens)
	require.Equal(t, 1+4+12, s.Contents().Len())
	all := drawn(s, 36)
	want, got := map[[2]int32]int{}, map[[2]int32]int{}
	groups := map[int32]int{}
	for i := range 12 {
		want[[2]int32{first[i].Prompt + 100, first[i].Output}]++
		got[[2]int32{all[i].Prompt, all[i].Output}]++
		groups[s.Contents().Parent(all[i].Content)]++
		for _, later := range []int{12, 24} {
			require.Equal(t, all[i].Content, all[i+later].Content)
			require.Equal(t, all[i].Prompt, all[i+later].Prompt)
			require.Equal(t, all[i].Output, all[i+later].Output)
		}
	}
	require.Equal(t, want, got)
	inOrder := func(a, b sim.Request) int { return int(a.Content - b.Content) }
	require.False(t, slices.IsSortedFunc(all[:12], inOrder), "a cycle is in an order of its own")
	for _, node := range nodes {
		require.Equal(t, 3, groups[node])
	}

	m.Sharing.Order = "random"
	s, err = NewSampler(m, 9)
	require.NoError(t, err)
	count := map[int32]float64{}
	for _, r := range drawn(s, 12_000) {
		count[r.Content]++
	}
	require.Len(t, count, 12)
	for _, n := range count {
		require.InDelta(t, 1000, n, 5*math.Sqrt(1000*11.0/12))
	}
}

// TestPairsEndOrRepeat: a mix has as many requests as pairs unless they repeat, and refuses to send more.
func TestPairsEndOrRepeat(t *testing.T) {
	pairs, err := lengths.NewPairs([][]int64{{10, 1}, {20, 2}, {30, 9}})
	require.NoError(t, err)
	for _, c := range []struct {
		repeat             bool
		requests, distinct int64
		want               int64 // 0, true: without end
		left               int
		refused            string
	}{
		{requests: 0, want: 3, left: 3},
		{requests: 2, want: 2, left: 2},
		{requests: 3, want: 3, left: 3},
		{requests: 4, refused: "requests is 4; accepted: at most 3"},
		{requests: 0, distinct: 3, want: 0, left: 3},
		{requests: 9, distinct: 2, want: 9, left: 2},
		{requests: 9, distinct: 4, refused: "distinct_prompts is 4; accepted: at most 3"},
		{repeat: true, requests: 0, want: 0, left: 3},
		{repeat: true, requests: 1, want: 1, left: 1},
		{repeat: true, requests: 2, want: 2, left: 2},
		{repeat: true, requests: 7, want: 7, left: 3},
	} {
		m := Mix{Pairs: pairs, Repeat: c.repeat, Sharing: Sharing{DistinctPrompts: c.distinct}}
		n, err := m.Limit(c.requests)
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, n, "%+v", c)
		require.Equal(t, c.left, m.Pairs.Len(), "%+v", c)
	}
	m := plain()
	n, err := m.Limit(12)
	require.NoError(t, err)
	require.EqualValues(t, 12, n)
	for i, r := range draw(t, Mix{Pairs: pairs, Repeat: true}, 1, 8) {
		require.Equal(t, [2]int32{pairs.Prompts[i%3], pairs.Outputs[i%3]}, [2]int32{r.Prompt, r.Output})
	}
	s, err := NewSampler(Mix{Pairs: pairs}, 1)
	require.NoError(t, err)
	prompt, output := s.Means()
	require.Equal(t, [2]float64{20, 4}, [2]float64{prompt, output})
}
