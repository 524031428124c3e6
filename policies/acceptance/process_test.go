package acceptance_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/policies/acceptance"
	"github.com/decodesim/decodesim/sim"
)

func newProcess(t require.TestingT, law acceptance.Law, drafts int) *acceptance.Process {
	a, err := acceptance.New(law, drafts, 7)
	require.NoError(t, err)
	return a
}

// yields returns the mean tokens of a step, over requests and positions.
func yields(a *acceptance.Process, drafts int32, requests, positions int32) float64 {
	sum := int64(0)
	for id := range requests {
		for p := range positions {
			sum += int64(1 + a.Accepted(id, p, drafts))
		}
	}
	return float64(sum) / float64(requests) / float64(positions)
}

// A step with K drafts that are accepted at the rate γ each yields (1 − γ^(K+1)) / (1 − γ) tokens (Leviathan, Kalman &
// Matias, ICML 2023, equation 1).
func TestIIDLengthsAreThoseOfTheory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drafts, rate := rapid.IntRange(1, 12).Draw(t, "drafts"), rapid.Float64Range(0, 0.999).Draw(t, "rate")
		a := newProcess(t, acceptance.Law{Process: "iid", Rate: rate}, drafts)
		want := (1 - math.Pow(rate, float64(drafts+1))) / (1 - rate)
		assert.InEpsilon(t, want, a.Length(drafts), 1e-9)
		// At most five standard deviations of the mean over 10,000 steps.
		assert.InDelta(t, want, yields(a, int32(drafts), 100, 100), 5*float64(drafts)/2/100)
	})
}

// Nothing and everything are accepted for certain.
func TestRatesOfNoneAndAll(t *testing.T) {
	for rate, want := range map[float64]float64{0: 1, 1: 6} {
		for _, law := range []acceptance.Law{
			{Process: "iid", Rate: rate}, {Process: "per-position", Rates: []float64{rate, rate, rate, rate, rate}},
		} {
			assert.EqualValues(t, want, yields(newProcess(t, law, 5), 5, 50, 50))
		}
	}
	flat := newProcess(t, acceptance.Law{Process: "curve", Lengths: []float64{1, 1, 1}}, 3)
	assert.EqualValues(t, 1, yields(flat, 3, 50, 50))
}

// What is accepted is a function of seed, request and position: of no history, and monotone in the drafts.
func TestAcceptanceIsAFunction(t *testing.T) {
	law := acceptance.Law{Process: "iid", Rate: 0.8, CV: 0.2}
	a, b := newProcess(t, law, 7), newProcess(t, law, 3)
	random := rand.New(rand.NewPCG(1, 2))
	differ := 0
	for range 2000 {
		r, position := random.Int32N(100), random.Int32N(1000)
		got := a.Accepted(r, position, 7)
		for drafts := range int32(8) {
			require.Equal(t, min(got, drafts), a.Accepted(r, position, drafts))
		}
		require.Equal(t, min(got, 3), b.Accepted(r, position, 3), "whatever the most drafts are")
		if got != a.Accepted(r, position+1, 7) {
			differ++
		}
	}
	assert.Greater(t, differ, 500)
	other, err := acceptance.New(law, 7, 8)
	require.NoError(t, err)
	assert.NotEqual(t, yields(a, 7, 20, 20), yields(other, 7, 20, 20), "another seed, other luck")
}

// Conditional rates multiply: with 0.5, 0.4 and 1 a step yields 1 + 0.5 + 0.2 + 0.2.
func TestRatesByPositionAreConditional(t *testing.T) {
	a := newProcess(t, acceptance.Law{Process: "per-position", Rates: []float64{0.5, 0.4, 1}}, 3)
	assert.InDelta(t, 1.9, a.Length(3), 1e-12)
	assert.InDelta(t, 1.7, a.Length(2), 1e-12)
	assert.InDelta(t, 1.9, yields(a, 3, 200, 200), 0.03)
	seen := map[int32]int{}
	for id := range int32(1000) {
		seen[a.Accepted(id, 9, 3)]++
	}
	assert.Zero(t, seen[2], "the third draft is accepted whenever the second is")
}

// A curve yields with each number of drafts what was measured with it, also where the measurement falls or bends up.
func TestCurvesYieldWhatWasMeasured(t *testing.T) {
	for _, lengths := range [][]float64{
		{1.84, 2.51, 3.01, 3.36, 3.61, 3.77, 3.73, 3.47},
		{1.92, 2.61, 2.97, 3, 3.1, 3.16, 3, 3.11},
		{1.84, 2.45, 2.87, 3.22, 3.44, 3.54, 3.78, 3.88},
		{1.5, 2.5, 3.5, 1},
	} {
		a := newProcess(t, acceptance.Law{Process: "curve", Lengths: lengths}, len(lengths))
		varied := newProcess(t, acceptance.Law{Process: "curve", Lengths: lengths, CV: 0.1}, len(lengths))
		for j, want := range lengths {
			drafts := j + 1
			assert.InDelta(t, want, a.Length(drafts), 1e-9)
			assert.InDelta(t, want, varied.Length(drafts), 1e-6, "a curve is an average over requests")
			assert.InDelta(t, want, yields(a, int32(drafts), 100, 200), 5*float64(drafts)/2/math.Sqrt(20_000))
		}
	}
}

// Requests differ by the coefficient of variation that is asked for, around the mean that is asked for; one request
// does not differ from itself.
func TestRequestsDiffer(t *testing.T) {
	for _, c := range []struct{ rate, cv float64 }{{0.7, 0.2}, {0.7, 0.6}, {0.3, 1.2}, {0.95, 0.02}, {0.5, 0.99}} {
		a := newProcess(t, acceptance.Law{Process: "iid", Rate: c.rate, CV: c.cv}, 1)
		assert.InDelta(t, 1+c.rate, a.Length(1), 1e-6)
		const requests, positions = 3000, 200
		sum, squares := 0.0, 0.0
		for id := range int32(requests) {
			hits := 0
			for p := range int32(positions) {
				hits += int(a.Accepted(id, p, 1))
			}
			x := float64(hits) / positions
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / requests
		variance := squares/requests - mean*mean
		within := (c.rate*(1-c.rate) - math.Pow(c.rate*c.cv, 2)) / positions // from the draws of one request
		assert.InDelta(t, c.rate, mean, 5*c.rate*c.cv/math.Sqrt(requests)+0.005)
		assert.InEpsilon(t, c.cv, math.Sqrt(max(0, variance-within))/c.rate, 0.08, "%+v", c)
	}
}

func TestAcceptanceLawsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		law  acceptance.Law
		want string
	}{
		{acceptance.Law{Process: "idd"}, `policies: process "idd" not found; valid names: iid, per-position, curve`},
		{acceptance.Law{Process: "iid", Rate: 1.1}, "policies: rate is 1.1, must be from 0 to 1"},
		{acceptance.Law{Process: "iid", Rate: math.NaN()}, "policies: rate is NaN, must be from 0 to 1"},
		{acceptance.Law{Process: "per-position", Rates: []float64{0.5, -1, 0}},
			"policies: rates[1] is -1, must be from 0 to 1"},
		{acceptance.Law{Process: "per-position", Rates: []float64{0.5}},
			"policies: rates has 1 numbers, must have one for each of 3 drafts"},
		{acceptance.Law{Process: "curve", Lengths: []float64{2.1}},
			"policies: lengths[0] is 2.1, must be from 1 to 2: the token of the step itself counts"},
		{acceptance.Law{Process: "curve", Lengths: []float64{1.5}},
			"policies: lengths has 1 numbers, must have one for each of 1 to 3 drafts"},
		{acceptance.Law{Process: "iid", Rate: 0.5, CV: 1},
			"policies: heterogeneity_cv is 1, must be 0 or more and below 1: " +
				"rates from 0 to 1 with a mean of 0.5 vary no more"},
		{acceptance.Law{Process: "iid", Rate: 0.5, CV: -1},
			"policies: heterogeneity_cv is -1, must be 0 or more and below 1: " +
				"rates from 0 to 1 with a mean of 0.5 vary no more"},
		{acceptance.Law{Process: "iid", Rate: 0, CV: 0.5},
			"policies: heterogeneity_cv is 0.5, must be 0 or more and below 0: " +
				"rates from 0 to 1 with a mean of 0 vary no more"},
	} {
		_, err := acceptance.New(c.law, 3, 1)
		assert.EqualError(t, err, c.want)
	}
}

func BenchmarkAcceptance(b *testing.B) {
	a := newProcess(b, acceptance.Law{Process: "iid", Rate: 0.8, CV: 0.2}, 3)
	batch, tokens := make([]sim.Draft, 64), int64(0)
	for i := range batch {
		batch[i] = sim.Draft{Request: int32(i), Drafts: 3}
	}
	b.ReportAllocs()
	for range b.N {
		a.Verify(batch)
		for i := range batch {
			tokens += int64(1 + batch[i].Accepted)
			batch[i].Position += 1 + batch[i].Accepted
		}
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtok/s")
}

func BenchmarkNewAcceptance(b *testing.B) {
	law := acceptance.Law{Process: "curve", Lengths: []float64{1.84, 2.45, 2.87, 3.22, 3.44, 3.54, 3.78, 3.88}, CV: 0.2}
	for range b.N {
		newProcess(b, law, 8)
	}
}

func TestAcceptanceAllocatesNothing(t *testing.T) {
	a := newProcess(t, acceptance.Law{Process: "iid", Rate: 0.8, CV: 0.2}, 3)
	batch := []sim.Draft{{Request: 5, Position: 3, Drafts: 3}, {Request: 6, Drafts: 1}}
	require.Zero(t, testing.AllocsPerRun(100, func() { a.Verify(batch) }))
	assert.Equal(t, a.Accepted(5, 3, 3), batch[0].Accepted)
}
