package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// writeExpected writes the errors that the program says are to be expected.
func writeExpected(path string, a *page.Accuracy) error {
	t := expectedOf(a)
	if len(t.Measured) == 0 {
		return fmt.Errorf("%q: nothing that was measured is predicted", path)
	}
	return replaceFile(path, func(w io.Writer) error { return t.Write(w) })
}

// expectedOf sums up what left-out runs are off by. The stacks of 2023 are nobody's choice any more.
func expectedOf(a *page.Accuracy) *expected.Table {
	var t expected.Table
	for _, h := range a.HeldOut {
		out, ok := map[string]expected.LeftOut{
			catalog.DeploymentOut: expected.Deployment, catalog.PairOut: expected.Pair, catalog.GPUOut: expected.GPU,
			catalog.ModelOut: expected.Model, catalog.BothOut: expected.GPUAndModel,
		}[h.Name]
		switch {
		case !ok:
		case out == expected.Deployment:
			t.Measured = entriesBy(h.Predictions, func(l *measured.Labels) expected.Entry {
				return expected.Entry{Engine: l.Engine, Model: names.ShapeOf(l.Model), GPU: l.GPU}
			})
		default:
			t.Unmeasured = append(t.Unmeasured, unmeasured(h.Predictions, out)...)
		}
	}
	disaggregated := slices.DeleteFunc(slices.Clone(a.Unfitted), func(p validation.Prediction) bool {
		return p.Run.Labels.Mode != "disagg" || p.Run.Labels.Quality == "C"
	})
	t.Unmeasured = append(t.Unmeasured, unmeasured(disaggregated, expected.Disaggregated)...)
	return &t
}

// unmeasured sums up by engine, and all engines together.
func unmeasured(predictions []validation.Prediction, out expected.LeftOut) []expected.Entry {
	return append(
		entriesBy(predictions, func(l *measured.Labels) expected.Entry {
			return expected.Entry{Engine: l.Engine, LeftOut: out}
		}),
		entriesBy(predictions, func(*measured.Labels) expected.Entry { return expected.Entry{LeftOut: out} })...)
}

// entriesBy sums up the mean TPOTs and TTFTs of whole runs by what key makes of their labels, in its order.
func entriesBy(predictions []validation.Prediction, key func(*measured.Labels) expected.Entry) []expected.Entry {
	type group struct {
		tpot, ttft  []float64
		deployments map[string]bool
	}
	groups := map[expected.Entry]*group{}
	for i := range predictions {
		p := &predictions[i]
		l := &p.Run.Labels
		if p.Skip != "" || p.Row.Request >= 0 || p.Row.ToS > 0 || l.Engine == measured.EagerStack {
			continue
		}
		g := groups[key(l)]
		if g == nil {
			g = &group{deployments: map[string]bool{}}
			groups[key(l)] = g
		}
		switch p.Value.Name {
		case measured.TPOT.String():
			g.tpot = append(g.tpot, 100*p.Error())
			g.deployments[l.Deployment()] = true
		case measured.TTFT.String():
			g.ttft = append(g.ttft, 100*p.Error())
		}
	}
	var all []expected.Entry
	for e, g := range groups {
		if len(g.tpot) == 0 || len(g.ttft) == 0 {
			continue
		}
		e.Runs, e.Deployments = len(g.tpot), len(g.deployments)
		e.TPOT, e.TTFT = spreadOf(g.tpot), spreadOf(g.ttft)
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b expected.Entry) int {
		return cmp.Or(cmp.Compare(a.Engine, b.Engine), cmp.Compare(a.Model, b.Model), cmp.Compare(a.GPU, b.GPU))
	})
	return all
}

// spreadOf keeps a tenth of a percent.
func spreadOf(percents []float64) expected.Spread {
	e := validation.ErrorsOf(percents)
	tenth := func(x float64) float64 { return math.Round(10*x) / 10 }
	return expected.Spread{MedianPct: tenth(e.MedianPct), P90Pct: tenth(e.P90Pct)}
}
