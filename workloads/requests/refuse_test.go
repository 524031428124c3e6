package requests

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/lengths"
)

// classes returns a plain mix with those classes, and with one that is changed.
func classes(c ...Class) Mix { return with(func(m *Mix) { m.Classes = c }) }

func with(change func(*Mix)) Mix {
	m := plain()
	change(&m)
	return m
}

func manyClasses(n int) (all []Class) {
	for i := range n {
		all = append(all, Class{Name: fmt.Sprint(i), Share: 1 / float64(n)})
	}
	return all
}

// TestImpossibleMixesAreRefused by the key that is wrong.
func TestImpossibleMixesAreRefused(t *testing.T) {
	many := manyClasses(ClassesMax + 1)
	pairs, err := lengths.NewPairs([][]int64{{10, 1}, {20, 2}})
	require.NoError(t, err)
	for _, c := range []struct {
		want string
		m    Mix
	}{
		{"classes is 65; accepted: a list of at most 64", classes(many...)},
		{`classes[0].name is ""`, classes(Class{Share: 1})},
		{`classes[1].name is "a"; accepted: a name that classes[0] does`,
			classes(Class{Name: "a", Share: 1}, Class{Name: "a"})},
		{"classes[0].priority is -129; accepted: a whole number from -128",
			classes(Class{Name: "a", Share: 1, Priority: -129})},
		{"classes[0].priority is 128; accepted: a whole number from -128",
			classes(Class{Name: "a", Share: 1, Priority: 128})},
		{"classes[0].share is 0; accepted: a number above 0 and at most 1", classes(Class{Name: "a"})},
		{"classes[0].share is 1.5", classes(Class{Name: "a", Share: 1.5})},
		{"classes[1].share is 0.4; accepted: shares that sum to 1, not to 0.9",
			classes(Class{Name: "a", Share: 0.5}, Class{Name: "b", Share: 0.4})},
		{"classes[1].share is 0.6; accepted: shares that sum to 1, not to 1.1",
			classes(Class{Name: "a", Share: 0.5}, Class{Name: "b", Share: 0.6})},
		{"classes[0].output_tokens.mean is 0.5", classes(Class{Name: "a", Share: 1, Output: lengths.Fixed(0.5)})},
		{"reasoning.share is 1.1; accepted: a number from 0 to 1", with(func(m *Mix) { m.Reasoning.Share = 1.1 })},
		{"reasoning.share is -1; accepted", with(func(m *Mix) { m.Reasoning.Share = -1 })},
		{"reasoning.share is 0.5; accepted: null, for a law of reasoning",
			with(func(m *Mix) { m.Reasoning = Reasoning{Tokens: lengths.Fixed(5), Share: 0.5} })},
		{"reasoning.tokens.mean is 0.5", with(func(m *Mix) { m.Reasoning.Tokens = lengths.Fixed(0.5) })},
		{`classes[0].reasoning_tokens is "fixed"; accepted: null, for reasoni`, with(func(m *Mix) {
			m.Reasoning.Share = 0.1
			m.Classes = []Class{{Name: "a", Share: 1, Reasoning: lengths.Fixed(5)}}
		})},
		{"max_output.mean is 0.5", with(func(m *Mix) { m.MaxOutput = lengths.Fixed(0.5) })},
		{"prompt_tokens.distribution is", with(func(m *Mix) { m.Prompt = lengths.Spec{} })},
		{"output_tokens.distribution is", with(func(m *Mix) { m.Output = lengths.Spec{} })},
		{`prompt_tokens is "lognormal"; accepted: null, for a workload with r`,
			with(func(m *Mix) { m.Pairs = pairs })},
		{`output_tokens is "gamma"; accepted: null, for a workload with recor`,
			with(func(m *Mix) { m.Pairs = pairs; m.Prompt = lengths.Spec{} })},
		{`classes[0].prompt_tokens is "fixed"; accepted: null, for a workload`, with(func(m *Mix) {
			m.Sharing.DistinctPrompts = 5
			m.Classes = []Class{{Name: "a", Share: 1, Prompt: lengths.Fixed(5)}}
		})},
		{"distinct_prompts is 16777217; accepted: a whole number from 1 to 167",
			with(func(m *Mix) { m.Sharing.DistinctPrompts = 1<<24 + 1 })},
		{"prefix.groups is 16777217; accepted: a whole number from 1 to 167772",
			with(func(m *Mix) { m.Sharing = Sharing{Groups: 1<<24 + 1, PrefixTokens: 1} })},
		{"prefix.tokens is 536870912; accepted: a whole number of tokens from ",
			with(func(m *Mix) { m.Sharing = Sharing{Groups: 1, PrefixTokens: 1 << 29} })},
		{"distinct_prompts is 3; accepted: at least one prompt for each of the",
			with(func(m *Mix) { m.Sharing = Sharing{Groups: 4, PrefixTokens: 1, DistinctPrompts: 3} })},
	} {
		_, err := NewSampler(c.m, 1)
		require.ErrorContains(t, err, c.want)
	}
}

// TestWhatIsJustPossibleIsAccepted: values on the edge of what is refused.
func TestWhatIsJustPossibleIsAccepted(t *testing.T) {
	for _, m := range []Mix{
		classes(manyClasses(ClassesMax)...), classes(Class{Name: "a", Share: 1, Priority: -128}),
		with(func(m *Mix) { m.Reasoning.Share = 1 }),
		with(func(m *Mix) { m.Sharing = Sharing{Groups: 4, PrefixTokens: 1, DistinctPrompts: 4} }),
		with(func(m *Mix) { m.Sharing = Sharing{Groups: 1, PrefixTokens: 1<<29 - 1} }),
		with(func(m *Mix) { m.Sharing = Sharing{DistinctPrompts: 1, Order: "random"} }),
	} {
		_, err := NewSampler(m, 1)
		require.NoError(t, err)
	}
}

// TestTheLargestSharingIsAccepted, and one more of anything is not.
func TestTheLargestSharingIsAccepted(t *testing.T) {
	for _, c := range []struct {
		most  Sharing
		field func(*Sharing) *int64
	}{
		{Sharing{Groups: 1 << 24, PrefixTokens: 5}, func(s *Sharing) *int64 { return &s.Groups }},
		{Sharing{Groups: 1, PrefixTokens: 1<<29 - 1}, func(s *Sharing) *int64 { return &s.PrefixTokens }},
		{Sharing{DistinctPrompts: 1 << 24}, func(s *Sharing) *int64 { return &s.DistinctPrompts }},
		{Sharing{Groups: 1 << 24, PrefixTokens: 5, DistinctPrompts: 1 << 24}, func(s *Sharing) *int64 { return &s.Groups }},
		{Sharing{Groups: 1 << 24, PrefixTokens: 1<<29 - 1}, func(s *Sharing) *int64 { return &s.PrefixTokens }},
	} {
		require.NoError(t, c.most.validate())
		*c.field(&c.most)++
		require.ErrorContains(t, c.most.validate(), "accepted: ")
	}
}

// TestImpossiblePatienceIsRefused by the key that is wrong.
func TestImpossiblePatienceIsRefused(t *testing.T) {
	for want, p := range map[string]Patience{
		"timeout_s is -1; accepted":                             {TimeoutS: -1},
		"cancel_share is 1.5; accepted: a number from 0 to 1":   {CancelShare: 1.5, CancelAfterS: 1},
		"cancel_after_s is -1; accepted":                        {CancelShare: 1, CancelAfterS: -1},
		"cancel_after_s is 0; accepted: a number above 0":       {CancelShare: 1},
		"cancel_after_s is 3; accepted: null, for cancel_sh":    {CancelAfterS: 3},
		`cancel_law is "never"; accepted: , exponential, fixed`: {CancelShare: 1, CancelAfterS: 1, CancelLaw: "never"},
	} {
		_, err := NewDeadlines(p, 1)
		require.ErrorContains(t, err, want)
		_, err = NewKeyedDeadlines(p, 1)
		require.ErrorContains(t, err, want)
	}
}

// TestATraceHasNoLengthsByClass: it records them, so that its classes have shares and priorities another.
func TestATraceHasNoLengthsByClass(t *testing.T) {
	for want, c := range map[string]Class{
		`classes[0].prompt_tokens is "fixed"; accepted: null, for a trace`:    {Prompt: lengths.Fixed(5)},
		`classes[0].output_tokens is "fixed"; accepted: null, for a trace`:    {Output: lengths.Fixed(5)},
		`classes[0].max_output is "fixed"; accepted: null, for a trace`:       {MaxOutput: lengths.Fixed(5)},
		`classes[0].reasoning_tokens is "fixed"; accepted: null, for a trace`: {Reasoning: lengths.Fixed(5)},
	} {
		c.Name, c.Share = "a", 1
		_, err := NewTraceClasses([]Class{c}, 1)
		require.ErrorContains(t, err, want)
	}
	none, err := NewTraceClasses(nil, 1)
	require.NoError(t, err)
	require.Nil(t, none)
	k, err := NewTraceClasses([]Class{{Name: "a", Share: 0.5, Priority: 5}, {Name: "b", Share: 0.5, Priority: 6}}, 1)
	require.NoError(t, err)
	seen := [2]int{}
	for i := range 100 {
		r := sim.Request{ID: int32(i), Prompt: 9, Output: 8}
		require.Zero(t, k.Mark(&r))
		seen[r.Class]++
		require.Equal(t, sim.Request{ID: int32(i), Prompt: 9, Output: 8, Class: r.Class, Priority: 5 + int8(r.Class)}, r)
	}
	require.InDelta(t, 50, seen[0], 25)
}

// TestAClassIsPickedByItsShare: u falls on the class in whose interval it is, its lower end included.
func TestAClassIsPickedByItsShare(t *testing.T) {
	m := plain()
	m.Classes = []Class{{Name: "a", Share: 0.25, Priority: 1}, {Name: "b", Share: 0.5, Priority: 2},
		{Name: "c", Share: 0.25, Priority: 3}}
	s, err := NewSampler(m, 1)
	require.NoError(t, err)
	for _, c := range []struct {
		u    float64
		want int
	}{{0, 0}, {0.2499, 0}, {0.25, 1}, {0.7499, 1}, {0.75, 2}, {math.Nextafter(1, 0), 2}} {
		require.Equal(t, c.want, s.Pick(c.u))
		class, priority := s.PickClass(c.u)
		require.EqualValues(t, c.want, class)
		require.EqualValues(t, c.want+1, priority)
	}
	s, err = NewSampler(plain(), 1)
	require.NoError(t, err)
	class, priority := s.PickClass(0.9)
	require.Zero(t, class)
	require.Zero(t, priority)
}

// TestAWorkloadNeedsTheLawsThatAClassLacks: where every class has its own the workload may have none, and where one
// class has none the workload's own is asked for by its name. Without classes it is always needed.
func TestAWorkloadNeedsTheLawsThatAClassLacks(t *testing.T) {
	five := lengths.Fixed(5)
	for _, c := range []struct {
		prompts, outputs []lengths.Spec // by class
		want             string         // lacking; empty: nothing
	}{
		{want: "prompt_tokens"},
		{[]lengths.Spec{five, five}, []lengths.Spec{five, five}, ""},
		{[]lengths.Spec{{}, five}, []lengths.Spec{five, five}, "prompt_tokens"},
		{[]lengths.Spec{five, {}}, []lengths.Spec{five, five}, "prompt_tokens"},
		{[]lengths.Spec{five, five}, []lengths.Spec{{}, five}, "output_tokens"},
		{[]lengths.Spec{five, five}, []lengths.Spec{five, {}}, "output_tokens"},
	} {
		m := with(func(m *Mix) { m.Prompt, m.Output = lengths.Spec{}, lengths.Spec{} })
		for i := range c.prompts {
			m.Classes = append(m.Classes,
				Class{Name: fmt.Sprint(i), Share: 0.5, Prompt: c.prompts[i], Output: c.outputs[i]})
		}
		_, err := NewSampler(m, 1)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "workloads: "+c.want+".distribution", "%+v", c)
		}
	}
}
