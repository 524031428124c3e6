package workloads

import (
	"cmp"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/check"
)

// Clients divides a load among clients that differ, as those of production services do: a few send most of the
// requests, each in bursts of its own and with prompts and outputs of lengths of its own. The form is that of the
// client statistics which ServeGen publishes (github.com/alibaba/ServeGen, servegen/clientpool.py): of each client a
// rate, the cv of its gaps, which are gamma or Weibull, and its lengths.
type Clients struct {
	Arrivals arrivals.Spec // of all clients together
	Count    int64         // 0: there are none
	// RateSkew is how unequal their rates are: the k-th client has a share in proportion to k^−RateSkew, a Zipf law.
	RateSkew float64
	// CVSpread, PromptSpread and OutputSpread are the coefficients of variation of lognormal factors, drawn once for each
	// client, by which its cv, its prompts and its outputs differ from those of the workload. Weighted by the rates, those
	// of lengths have a mean of 1.
	CVSpread, PromptSpread, OutputSpread float64
}

const (
	clientsMax = 1 << 14
	spreadMax  = 10
)

// Given reports whether there are clients.
func (c *Clients) Given() bool { return c.Count != 0 }

func (c *Clients) check() error {
	err := cmp.Or(
		check.Count("clients.count", c.Count, clientsMax),
		check.Within("clients.rate_skew", c.RateSkew, 0, 5),
		check.Within("clients.cv_spread", c.CVSpread, 0, spreadMax),
		check.Within("clients.prompt_spread", c.PromptSpread, 0, spreadMax),
		check.Within("clients.output_spread", c.OutputSpread, 0, spreadMax),
	)
	if err != nil {
		return err
	}
	if _, err := arrivals.New(c.Arrivals, 0); err != nil {
		return err
	}
	if c.Arrivals.Rate == 0 {
		return check.Refuse("arrivals.rate", 0, "a rate, which clients share")
	}
	if c.CVSpread > 0 && c.Arrivals.CV == 0 {
		return check.Refuse("clients.cv_spread", c.CVSpread, "0, for arrivals that have no cv; or arrivals with a cv")
	}
	return nil
}

// streams returns the streams of the clients, by falling rate.
func (c *Clients) streams(seed uint64) ([]stream, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	share, sum := make([]float64, c.Count), 0.0
	for k := range share {
		share[k] = math.Pow(float64(k+1), -c.RateSkew)
		sum += share[k]
	}
	for k := range share {
		share[k] = nineDigits(share[k] / sum)
	}
	cv := factors(rng.Stream(seed, "workloads.client-cvs"), c.CVSpread, nil, c.Count)
	prompt := factors(rng.Stream(seed, "workloads.client-prompts"), c.PromptSpread, share, c.Count)
	output := factors(rng.Stream(seed, "workloads.client-outputs"), c.OutputSpread, share, c.Count)
	seeds := rng.NewKeyed(seed, "workloads.mix-streams")
	var all []stream
	for k := range share {
		one := c.Arrivals
		one.Rate *= share[k]
		one.CV = min(one.CV*cv[k], 100)
		p, err := arrivals.New(one, seeds.At(uint64(k), 0).Uint64())
		if err != nil {
			return nil, err
		}
		p.Stationary()
		all = append(all, stream{process: p, class: -1, client: true, prompt: prompt[k], output: output[k]})
	}
	return all, nil
}

// factors draws a lognormal factor for each client,
//
//	exp(σ·z − σ²/2)     σ² = ln(1 + spread²), z normal
//
// and divides them by their mean, weighted by the shares, unless these are nil.
func factors(r *rand.Rand, spread float64, share []float64, count int64) []float64 {
	all, mean := make([]float64, count), 0.0
	variance := math.Log1p(spread * spread)
	for k := range all {
		all[k] = math.Exp(float64(math.Sqrt(variance)*r.NormFloat64()) - float64(variance/2))
		if share != nil {
			mean += float64(share[k] * all[k])
		}
	}
	for k := range all {
		if share != nil {
			all[k] /= mean
		}
		all[k] = nineDigits(all[k])
	}
	return all
}

// nineDigits rounds a number, so that its last bit, which differs between processors, does not matter.
func nineDigits(x float64) float64 {
	y, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	if err != nil {
		panic(err) // a number that was just written
	}
	return y
}
