package published

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics"
)

// The scenarios of the published change, before and after.
const (
	colocated     = "agentic-1t-colocated"
	disaggregated = "agentic-1t-pd"
)

// What was published: p90 of the time per token before, and the ends of the range after.
const (
	saidBeforeMS             = 100.0
	saidAfterMS, saidUntilMS = 20.0, 30.0
	saidFactor               = 3 // what is looked for elsewhere: about the least of their ratios
)

// splits are all of four replicas, and those of eight that are of use.
var (
	splits      = []string{"1P3D", "2P2D", "3P1D"}
	finerSplits = []string{"2P6D", "3P5D", "4P4D", "5P3D", "6P2D", "7P1D"}
)

// felt is what the users of a fleet felt, by seed.
type felt []*metrics.Summary

// A measure is a number of a run.
type measure func(s *metrics.Summary) float64

func tpotP50(s *metrics.Summary) float64  { return 1e3 * s.Latency.TPOT.P50 }
func tpotP90(s *metrics.Summary) float64  { return 1e3 * s.Latency.TPOT.P90 }
func tpotP99(s *metrics.Summary) float64  { return 1e3 * s.Latency.TPOT.P99 }
func itlP90(s *metrics.Summary) float64   { return 1e3 * s.Latency.ITL.P90 }
func itlP99(s *metrics.Summary) float64   { return 1e3 * s.Latency.ITL.P99 }
func ttftP50(s *metrics.Summary) float64  { return s.Latency.TTFT.P50 }
func ttftP90(s *metrics.Summary) float64  { return s.Latency.TTFT.P90 }
func e2eMean(s *metrics.Summary) float64  { return s.Latency.E2E.Mean }
func e2eP90(s *metrics.Summary) float64   { return s.Latency.E2E.P90 }
func sloShare(s *metrics.Summary) float64 { return 100 * s.SLO.Attainment }

// of returns the mean of a measure over the seeds, the least and the most.
func (f felt) of(m measure) (mean, least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, s := range f {
		mean, least, most = mean+m(s)/float64(len(f)), min(least, m(s)), max(most, m(s))
	}
	return mean, least, most
}

func (f felt) mean(m measure) float64 {
	mean, _, _ := f.of(m)
	return mean
}

// A fleet is a scenario under changes.
type fleet struct {
	scenario   string
	set        []string
	splits     []string             // of its replicas; nil: of four
	efficiency *hardware.Efficiency // in place of the scenario's; nil: not
}

// with returns the fleet under more changes.
func (f fleet) with(set ...string) fleet {
	f.set = append(slices.Clip(f.set), set...)
	return f
}

// doubled returns the fleet with eight replicas instead of four.
func (f fleet) doubled() fleet {
	if f.scenario == colocated {
		return f.with("pools.serve.replicas=8")
	}
	f.splits = finerSplits
	return f
}

// run simulates the fleet once for each seed.
func (f fleet) run(t *testing.T, seeds int) (all felt) {
	t.Helper()
	for seed := range seeds {
		s, err := configs.Load(f.scenario,
			configs.Options{Set: append([]string{"output.attribution=false", fmt.Sprintf("seed=%d", seed+1)}, f.set...)})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		if f.efficiency != nil {
			b.SetEfficiency(*f.efficiency)
		}
		b.Config.TraceEvery = 0 // nothing is asked of single requests, and following them takes half of the time
		r, err := run.Simulate(context.Background(), b, run.Options{})
		b.Close()
		require.NoError(t, err)
		all = append(all, r.Summary)
	}
	return all
}

// A pair is the same requests and GPUs, co-located and disaggregated.
type pair struct {
	name   string
	rate   float64
	co, pd felt
	split  string // of the disaggregated one
}

// worthwhile is a factor beyond what another seed or constant makes of a tie.
const worthwhile = 1.03

// factor is how many times longer a measure is co-located; of E2E and TTFT as of TPOT, below 1 PD is the worse.
func (d *pair) factor(m measure) float64 { return d.co.mean(m) / d.pd.mean(m) }

// gains reports whether PD does what was published, and does not make answers later.
func (d *pair) gains() bool { return d.factor(tpotP90) >= saidFactor && d.factor(e2eMean) >= 1 }

// split runs every split, and returns the one of the lowest mean E2E, and all of them.
func (f fleet) split(t *testing.T, seeds int) (best string, of felt, all []felt) {
	t.Helper()
	names := f.splits
	if names == nil {
		names = splits
	}
	for _, split := range names {
		r := f.with("split="+split).run(t, seeds)
		if of == nil || r.mean(e2eMean) < of.mean(e2eMean) {
			best, of = split, r
		}
		all = append(all, r)
	}
	return best, of, all
}

// meet compares two fleets at a rate.
func meet(t *testing.T, name string, rate float64, requests, seeds int, co, pd fleet) pair {
	t.Helper()
	load := []string{fmt.Sprintf("workload.arrivals.rate=%.4g", rate), fmt.Sprintf("workload.requests=%d", requests)}
	split, best, _ := pd.with(load...).split(t, seeds)
	return pair{name, rate, co.with(load...).run(t, seeds), best, split}
}

// TestDisaggregationDoesWhatWasPublished asserts what the page says of the published change: its direction, about its
// size, what it costs, and, in make published, where it stops. docs/disaggregation.md is what it prints.
func TestDisaggregationDoesWhatWasPublished(t *testing.T) {
	var page bytes.Buffer
	c := &publishedCase{t: t, page: &page, co: fleet{scenario: colocated}, pd: fleet{scenario: disaggregated}}
	c.headline()
	if !whole() {
		return
	}
	c.sweeps()
	checkPage(t, "disaggregation.md", c.head()+page.String())
	checkPage(t, "disaggregation.svg", c.picture)
}
