package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
)

// spread is expert-parallel GPUs of a model.
func spread(t *testing.T, name string, gpus int, r hardware.Routing) hardware.Deployment {
	d := deployment(t, name, "h200-sxm", gpus)
	d.Parallel.Expert, d.Routing, d.Efficiency.ExpertImbalance = true, r, 1
	return d
}

// simulated routes tokens to experts of so many popularities, in many layers, whose experts lie on GPUs at random. It
// returns how many times the mean the busiest GPU has of touched experts and of rows.
func simulated(random *rand.Rand, loads []float64, k, gpus, tokens, layers int) (read, rows float64) {
	e := len(loads)
	for range layers {
		place := random.Perm(e)
		touched, picked := make([]bool, e), make([]int, gpus)
		for range tokens {
			weights, sum := append([]float64{}, loads...), 0.0
			for _, p := range weights {
				sum += p
			}
			for range k {
				u, i := random.Float64()*sum, 0
				for ; i < e-1 && u >= weights[i]; i++ {
					u -= weights[i]
				}
				sum -= weights[i]
				weights[i], touched[i] = 0, true
				picked[place[i]*gpus/e]++
			}
		}
		all, most, mostRows := 0, 0, 0
		on := make([]int, gpus)
		for i, is := range touched {
			if is {
				on[place[i]*gpus/e]++
				all++
			}
		}
		for g := range on {
			most, mostRows = max(most, on[g]), max(mostRows, picked[g])
		}
		read += float64(most*gpus) / float64(all) / float64(layers)
		rows += float64(mostRows*gpus) / float64(tokens*k) / float64(layers)
	}
	return read, rows
}

// The busiest of eight GPUs reads of DeepSeek-R1's experts 2.57 times the mean for one token, which picks 8 of 256, and
// gets nearer to it with more.
func TestTheBusiestGPUHasMoreExpertsThanTheMean(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	for _, c := range []struct {
		model   string
		gpus, k int
		skew    float64
		tokens  []int
	}{
		{"deepseek-r1", 8, 8, 0, []int{1, 2, 4, 8, 16, 64, 256}},
		{"deepseek-r1", 32, 8, 0, []int{1, 4, 16, 64, 256}},
		{"gpt-oss-120b", 4, 4, 0, []int{1, 4, 16, 64}},
		{"gpt-oss-120b", 2, 4, 0, []int{1, 4, 16, 64}},
		{"deepseek-r1", 8, 8, 1, []int{1, 4, 16, 64, 256}},
		{"gpt-oss-120b", 4, 4, 0.5, []int{1, 4, 16, 64}},
		{"mixtral-8x7b", 4, 2, 0, []int{1, 2, 3, 4, 6, 8}},
	} {
		d := spread(t, c.model, c.gpus, hardware.Routing{Skew: c.skew})
		r := hardware.NewRoofline(d, 0)
		loads := hardware.Popularity(&d)
		for _, tokens := range c.tokens {
			read, rows := r.BusiestExperts(tokens)
			wantRead, wantRows := simulated(random, loads, c.k, c.gpus, tokens, 4000/(8+tokens))
			assert.InEpsilon(t, wantRead, read, 0.04, "%s on %d GPUs, skew %g, %d tokens", c.model, c.gpus, c.skew, tokens)
			assert.InEpsilon(t, wantRows, rows, 0.08, "%s on %d GPUs, skew %g, %d tokens", c.model, c.gpus, c.skew, tokens)
		}
	}
}

// Uniform routing, each token to 8 of 256 experts on 8 GPUs: the expected maximum over the mean is met within 1 %.
func TestTheBusiestOfEightGPUsOfDeepSeekR1(t *testing.T) {
	d := spread(t, "deepseek-r1", 8, hardware.Routing{})
	r := hardware.NewRoofline(d, 0)
	for tokens, want := range map[int]float64{1: 2.57, 4: 1.72, 16: 1.31, 64: 1.09} {
		read, _ := r.BusiestExperts(tokens)
		assert.InEpsilon(t, want, read, 0.01, "%d tokens", tokens)
	}
}

// Sharing every expert and holding whole ones cost the same when all are touched; few tokens make whole ones slower, by
// as much as the efficiency says. Experts that are placed by their load, and twice, even out what a skew unevens.
func TestWholeExpertsAreSlowerForFewTokens(t *testing.T) {
	sliced, whole := deployment(t, "deepseek-r1", "h200-sxm", 8), spread(t, "deepseek-r1", 8, hardware.Routing{})
	even := whole
	even.Efficiency.ExpertImbalance = 0
	assert.Equal(t, step(sliced, alike(1, 1000)), step(even, alike(1, 1000)))
	read := func(d hardware.Deployment, rows int) float64 { return experts(t, d, rows).MemoryS }
	assert.InEpsilon(t, 2.55, read(whole, 1)/read(sliced, 1), 0.01)
	assert.InEpsilon(t, 1.31, read(whole, 16)/read(sliced, 16), 0.01)
	assert.InEpsilon(t, 1, read(whole, 512)/read(sliced, 512), 1e-4)
	skewed, placed := whole, whole
	skewed.Routing.Skew, placed.Routing = 2, hardware.Routing{Skew: 2, Balanced: true, Redundant: 32}
	of := func(d hardware.Deployment) (read, rows float64) {
		return hardware.NewRoofline(d, 0).BusiestExperts(256)
	}
	readSkewed, rowsSkewed := of(skewed)
	readPlaced, rowsPlaced := of(placed)
	assert.Greater(t, readSkewed, readPlaced)
	assert.Greater(t, rowsSkewed, rowsPlaced)
	memory, err := placed.Memory(0.9, 2048, 256, 16)
	assert.NoError(t, err)
	plain, err := whole.Memory(0.9, 2048, 256, 16)
	assert.NoError(t, err)
	assert.Greater(t, memory.Weights, plain.Weights)
}

// What efficiencies say of how unevenly texts choose experts counts where a scenario says nothing, of 128 experts and
// more as in a scenario, and of fewer in proportion.
func TestTextsPreferExperts(t *testing.T) {
	read := func(model string, scenario, usual float64) float64 {
		d := deployment(t, model, "b300-sxm", 1)
		d.Routing.Skew, d.Efficiency.ExpertSkew = scenario, usual
		touched, _, _ := hardware.Touched(&d, 16)
		return touched
	}
	const many, few = "qwen3.5-35b-a3b", "mixtral-8x7b"
	assert.Less(t, read(many, 0, 1), read(many, 0, 0))
	assert.Equal(t, read(many, 1, 0), read(many, 0, 1))
	assert.Equal(t, read(many, 0.5, 0), read(many, 0.5, 1), "the scenario says it")
	assert.Equal(t, read(few, 1.0/16, 0), read(few, 0, 1))
}

// TestTheGreatestOfANumber of standard normal numbers: 0 of one, 1/√π of two, 3/(2√π) of three and 6·atan(√2)/π^1.5 of
// four. Of binomials of one draw with chance a, the greatest of n is 1 unless all are 0.
func TestTheGreatestOfANumber(t *testing.T) {
	for n, want := range map[float64]float64{1: 0, 2: 1 / math.Sqrt(math.Pi), 3: 1.5 / math.Sqrt(math.Pi),
		4: 6 * math.Atan(math.Sqrt2) / math.Pow(math.Pi, 1.5)} {
		assert.InDelta(t, want, hardware.GreatestNormal(n), 1e-6, n)
	}
	for _, a := range []float64{0.1, 0.5, 0.9} {
		for _, n := range []int{1, 2, 5} {
			want := (1 - math.Pow(1-a, float64(n)) - a) / math.Sqrt(a*(1-a))
			assert.InDelta(t, want, hardware.GreatestBinomial(1, a, n), 1e-12)
		}
	}
	// Two throws of two coins: the greater has 0, 1 or 2 heads in 1, 8 and 7 of 16 cases, so 22/16 on average; √(1/2) is
	// the standard deviation.
	assert.InDelta(t, (22.0/16-1)/math.Sqrt(0.5), hardware.GreatestBinomial(2, 0.5, 2), 1e-12)
}

// TestTheGreatestOfManyExperts: the chance of each number of experts is made of the logarithms of factorials, down to
// where that of none is no number of 64 bits, or that of all.
func TestTheGreatestOfManyExperts(t *testing.T) {
	logFactorial := make([]float64, 4097)
	for i := 2; i < len(logFactorial); i++ {
		logFactorial[i] = logFactorial[i-1] + math.Log(float64(i))
	}
	for _, m := range []int{1, 2, 3, 32, 128, 256, 1024, 4096} {
		for _, untouched := range []float64{0.999, 0.9, 0.5, 0.1, 1e-3, 1e-6, 2e-9} {
			for _, many := range []int{1, 2, 8, 256} {
				mean, least := 0.0, 0.0 // the chance of so many at least, which is small where rounding would count
				for x := m; x > 0; x-- {
					least += math.Exp(logFactorial[m] - logFactorial[x] - logFactorial[m-x] +
						float64(x)*math.Log1p(-untouched) + float64(m-x)*math.Log(untouched))
					mean += 1 - math.Pow(1-min(1, least), float64(many))
				}
				spread := math.Sqrt(float64(m) * untouched * (1 - untouched))
				got := float64(m)*(1-untouched) + float64(spread*hardware.GreatestBinomial(m, 1-untouched, many))
				require.InDelta(t, mean, got, 1e-9*float64(m), "%d GPUs, %d experts each, %g untouched", many, m, untouched)
			}
		}
	}
}

// TestRoutingIsANumber where most tokens choose one of few experts: what picks without repetition take from the others
// underflows, and the busiest GPU touches no more than all of its own.
func TestRoutingIsANumber(t *testing.T) {
	for _, skew := range []float64{3, 5, 10} {
		d := spread(t, "mixtral-8x7b", 4, hardware.Routing{Skew: skew})
		for _, tokens := range []float64{1, 100, 1300, 1500, 2048, 1e6} {
			touched, busiest, rows := hardware.Touched(&d, tokens)
			assert.GreaterOrEqual(t, busiest, touched, "skew %g, %g tokens", skew, tokens)
			assert.LessOrEqual(t, busiest, 1.0)
			assert.GreaterOrEqual(t, rows, busiest/touched)
			assert.Positive(t, step(d, batch{chunks: []chunk{{0, int(min(tokens, 1e4))}}}))
		}
	}
}

// TestOverlappingUses of a GPU are between the longer of the two and their sum: by hand for 3 and 4.
func TestOverlappingUses(t *testing.T) {
	for p, want := range map[float64]float64{1: 7, 2: 5, 3: math.Cbrt(91), 4: math.Pow(337, 0.25), math.Inf(1): 4} {
		assert.InEpsilon(t, want, hardware.Smax(3, 4, p), 1e-12, p)
		assert.InEpsilon(t, want, hardware.Smax(4, 3, p), 1e-12, p)
		assert.Equal(t, 3.0, hardware.Smax(3, 0, p), p)
		assert.Equal(t, 3.0, hardware.Smax(0, 3, p), p)
		assert.Zero(t, hardware.Smax(0, 0, p), p)
	}
}

// TestExpertsThatAreAlikeNeedNoPlacement: where each is as likely as any other, their placement changes nothing, and
// where they are not, GPUs whose experts are placed by their load have less more than the mean.
func TestExpertsThatAreAlikeNeedNoPlacement(t *testing.T) {
	busiest := func(r hardware.Routing, tokens int) float64 {
		d := spread(t, "deepseek-r1", 8, r)
		read, _ := hardware.NewRoofline(d, 0).BusiestExperts(tokens)
		return read
	}
	for _, tokens := range []int{1, 4, 16, 64} {
		assert.InEpsilon(t, busiest(hardware.Routing{}, tokens), busiest(hardware.Routing{Balanced: true}, tokens), 1e-9)
		uneven, placed := hardware.Routing{Skew: 1}, hardware.Routing{Skew: 1, Balanced: true}
		assert.Less(t, busiest(placed, tokens), busiest(uneven, tokens), "%d tokens", tokens)
	}
}

// TestNoDrafterHasNoWeights, to the byte.
func TestNoDrafterHasNoWeights(t *testing.T) {
	d := deployment(t, "llama-3.1-8b", "h200-sxm", 1)
	assert.Zero(t, d.DrafterBytes())
	d.Speculation = &hardware.Speculation{}
	assert.Zero(t, d.DrafterBytes())
}
