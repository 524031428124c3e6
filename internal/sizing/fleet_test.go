package sizing

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// invented is a row that takes so much.
func invented(name string, gpus int, usd, watts float64) *Row {
	return &Row{Deployment: Deployment{Name: name, GPUs: gpus, USDPerHour: usd, TDPW: watts}}
}

// cheapestOf tries every choice.
func cheapestOf(f *Fleet, i int, so Takes) (least float64, found bool) {
	if i == len(f.Members) {
		return so.USDPerHour, so.within(f.Budget)
	}
	for _, r := range f.Members[i].available {
		usd, ok := cheapestOf(f, i+1, so.add(r.takes()))
		if ok && (!found || usd < least) {
			least, found = usd, true
		}
	}
	return least, found
}

// TestAFleetCostsAsLittleAsItsBudgetAllows: the same as if every choice were tried.
func TestAFleetCostsAsLittleAsItsBudgetAllows(t *testing.T) {
	within := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		f := &Fleet{Minimised: "usd_per_hour",
			Budget: Takes{GPUs: r.IntN(30), USDPerHour: float64(r.IntN(80)), PowerW: float64(r.IntN(9000))}}
		for range 1 + r.IntN(4) {
			var m Member
			for range 1 + r.IntN(5) {
				m.available = append(m.available,
					invented("x", 1+r.IntN(8), float64(1+r.IntN(30)), float64(300*(1+r.IntN(8)))))
			}
			f.Members = append(f.Members, m)
		}
		f.choose()
		least, found := cheapestOf(f, 0, Takes{})
		require.Equal(t, found, f.Takes != nil, "seed %d", seed)
		if !found {
			continue
		}
		within++
		require.InDelta(t, least, f.Takes.USDPerHour, 1e-9, "seed %d", seed)
		require.True(t, f.Takes.within(f.Budget), "seed %d", seed)
		var sum Takes
		for i := range f.Members {
			sum = sum.add(f.Members[i].Deployed.takes())
		}
		require.Equal(t, sum, *f.Takes, "seed %d", seed)
	}
	require.Greater(t, within, 50)
}

// TestASharedBudgetCanChangeADeployment: the cheapest of both has too many GPUs, and the sentence says so.
func TestASharedBudgetCanChangeADeployment(t *testing.T) {
	small, large := invented("8 × l40s", 8, 18, 2800), invented("3 × h100-sxm", 3, 20, 2100)
	other := invented("4 × h200-sxm", 4, 16, 2800)
	f := &Fleet{Minimised: "usd_per_hour", Budget: Takes{GPUs: 10}, Members: []Member{
		{Study: "chat", ByItself: small, available: []*Row{small, large}},
		{Study: "code", ByItself: other, available: []*Row{other}},
	}}
	f.choose()
	f.say()
	assert.Same(t, large, f.Members[0].Deployed)
	assert.Equal(t, []string{"Together they take 7 GPUs, $36.00 per hour, 4.90 kW, of 10 GPUs.",
		"chat is on 3 × h100-sxm, since the budget is shared: by itself it would be on 8 × l40s, for $18.00 per hour."},
		f.Sentences)

	f.Takes, f.Sentences, f.Budget = nil, nil, Takes{GPUs: 6}
	f.choose()
	f.say()
	assert.Equal(t, []string{"No choice keeps the budget: the models take at least 7 GPUs, of 6 GPUs."}, f.Sentences)

	f.Takes, f.Sentences, f.Budget = nil, nil, Takes{GPUs: 7, USDPerHour: 34.5}
	f.choose()
	f.say()
	assert.Equal(t, []string{"Each limit of the budget can be kept by itself, but no choice keeps all at once."},
		f.Sentences)
}
