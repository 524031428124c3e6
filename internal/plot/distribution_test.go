package plot_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/plot/plottest"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

func caption() text.Caption {
	seed := uint64(1)
	return text.Caption{Scenario: "chat-70b", Model: "llama-3.1-70b", Hardware: "8 × h100-sxm", Seed: &seed}
}

func TestDistributionsKeepTheHouseRules(t *testing.T) {
	cdf := func(name string, slo float64, curves ...plot.Curve) plottest.Drawing {
		return plottest.Drawing{Name: name, Caption: caption().String(), Draw: func() (plot.Figure, error) {
			return plot.CDF(caption(), plot.Distribution{
				Title: "Inter-token latency", Noun: "token gaps", Curves: curves, SLOS: slo, SLOOf: "TPOT",
			})
		}}
	}
	pair := func(name string, itl, ttft []plot.Curve) plottest.Drawing {
		return plottest.Drawing{Name: name, Caption: caption().String(), Draw: func() (plot.Figure, error) {
			return plot.CDFPair(caption(), "Inter-token latency and time to first token",
				plot.Distribution{Title: "Inter-token latency", Short: "ITL", Noun: "token gaps", Curves: itl, SLOS: 0.04,
					SLOOf: "TPOT"},
				plot.Distribution{Title: "Time to first token", Short: "TTFT", Noun: "requests", Curves: ttft, SLOS: 0.5})
		}}
	}
	plottest.Check(t, []plottest.Drawing{
		cdf("cdf", 0.05, lognormal("serve", 0.0142, 0.25, 5000)),
		{Name: "cdf-rules", Caption: caption().String(), Draw: func() (plot.Figure, error) {
			return plot.CDF(caption(), plot.Distribution{
				Title: "Inter-token latency", Noun: "token gaps", Curves: many(1)[:1],
				Rules: []plot.Rule{
					{Share: 0.5, LimitS: 1e-3, Name: "p50 ≤ 1 ms"}, {Share: 1, LimitS: 5, Name: "max ≤ 5 s"},
				},
			})
		}},
		cdf("cdf-limit-far-below", 1e-4, lognormal("serve", 0.18, 1.1, 5000)),
		cdf("cdf-limit-far-above", 3600, lognormal("serve", 0.18, 0.1, 5000)),
		cdf("cdf-one-sample", 0, curveOf("serve", []float64{0.0142})),
		cdf("cdf-equal-samples", 0, curveOf("serve", []float64{0.05, 0.05, 0.05})),
		cdf("cdf-huge-span", 0, lognormal("serve", 0.01, 4, 5000)),
		cdf("cdf-bursts", 0, bursts(3000)),
		cdf("cdf-all-zero", 0, curveOf("serve", []float64{0, 0})),
		cdf("cdf-none", 1, plot.Curve{Name: "serve"}),
		cdf("cdf-several", 1, lognormal("1 × tp8", 0.18, 0.8, 3000), lognormal("2 × tp4", 0.28, 0.6, 2000),
			plot.Curve{Name: "8 × tp1"}),
		cdf("cdf-many", 0.04, many(1)...),
		pair("pair", many(1), many(8)),
		pair("pair-two", many(1)[:2], []plot.Curve{bursts(3000), {Name: "1 × tp4"}}),
		pair("pair-none", []plot.Curve{{Name: "a"}, {Name: "b"}}, []plot.Curve{{Name: "a"}, {Name: "b"}}),
	})
}

// curveOf returns the distribution of the samples.
func curveOf(name string, samples []float64) plot.Curve {
	slices.Sort(samples)
	n, sum := len(samples), 0.0
	c := plot.Curve{Name: name}
	for i, x := range samples {
		sum += x
		c.Points = append(c.Points, plotter.XY{X: x, Y: float64(i+1) / float64(n)})
	}
	q := func(p float64) float64 { return samples[max(0, int(math.Ceil(p*float64(n)))-1)] }
	c.Quantiles = metrics.Quantiles{N: int64(n), Mean: sum / float64(n), P50: q(.5), P90: q(.9), P95: q(.95), P99: q(.99),
		P999: q(.999), Max: samples[n-1]}
	return c
}

// lognormal returns the distribution of n log-normal samples.
func lognormal(name string, median, sigma float64, n int) plot.Curve {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	samples := make([]float64, n)
	for i := range samples {
		samples[i] = median * math.Exp(sigma*r.NormFloat64())
	}
	return curveOf(name, samples)
}

// many returns as many distributions as have colours of their own, and two more, around times of that many units.
func many(unit float64) []plot.Curve {
	var curves []plot.Curve
	for i, name := range []string{"vllm-v0", "sarathi", "vllm-v1", "sglang", "tensorrt-llm", "orca", "static",
		"decode-priority", "textbook",
		"max_num_batched_tokens=1024 and so on"} {
		curves = append(curves, lognormal(name, unit*(0.011+0.002*float64(i)), 0.2+0.11*float64(i), 3000))
	}
	return curves
}

// bursts returns gaps of which two of three are 0.
func bursts(n int) plot.Curve {
	c := make([]float64, n)
	for i := range c {
		if i%3 == 0 {
			c[i] = 0.04 + 0.00001*float64(i)
		}
	}
	return curveOf("bursts", c)
}
