package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
)

// Process yields the arrivals of one run. Gaps are summed as integers of 2^−32, so that the sum is exact and does not
// depend on the last bit of a logarithm, which differs between processors.
type Process struct {
	gaps  gaps
	pace  pace
	draws *rand.Rand
	sum   uint64 // of the gaps, in 2^−32
}

// gaps is a law of times between arrivals with mean 1.
type gaps interface{ draw(*rand.Rand) float64 }

// pace turns numbers of requests into seconds.
type pace interface {
	at(requests float64) float64       // the instant by which so many have come; the argument never falls between calls
	span(requests float64) float64     // the time in which so many are expected
	expected(s float64) float64        // the requests expected within s seconds
	meanRate(requests float64) float64 // in the long run or, where there is none, over so many requests
}

// steady is the pace of a constant rate in requests/s.
type steady float64

func (r steady) at(requests float64) float64   { return requests / float64(r) }
func (r steady) span(requests float64) float64 { return requests / float64(r) }
func (r steady) expected(s float64) float64    { return float64(r) * s }
func (r steady) meanRate(float64) float64      { return float64(r) }

// New returns the arrivals that s describes in the run with the given seed.
func New(s Spec, seed uint64) (*Process, error) {
	if err := check.OneOf("arrivals.process", s.Process, Names()); err != nil {
		return nil, err
	}
	for _, k := range kinds() {
		if k.name != s.Process {
			continue
		}
		if err := k.check(&s); err != nil {
			return nil, err
		}
		gaps, pace, err := k.build(&s, seed)
		if err != nil {
			return nil, err
		}
		return &Process{gaps: gaps, pace: pace, draws: rng.Stream(seed, "workloads.gaps")}, nil
	}
	panic("arrivals: a process without a row")
}

// Next returns the seconds of the next arrival; +Inf where the rate has fallen to zero for good.
func (p *Process) Next() float64 {
	p.sum += uint64(p.gaps.draw(p.draws)*(1<<32) + 0.5)
	return p.pace.at(float64(p.sum) * (1.0 / (1 << 32)))
}

// MeanRate returns the mean rate in requests/s: in the long run, or of points without a period, which have no long run,
// over the time in which so many requests are expected.
func (p *Process) MeanRate(requests float64) float64 { return p.pace.meanRate(requests) }

// expectedMax leaves a random number of requests room below check.RequestsMax.
const expectedMax = 2e9

// Expect returns the number of requests to expect, and refuses what would not fit the clock or the ids. A number of
// requests or a duration of 0 sets no limit.
func (p *Process) Expect(requests int64, durationS float64) (expected float64, err error) {
	expected = float64(requests)
	if durationS == 0 {
		if p.pace.span(expected) > sim.HorizonS {
			return 0, check.Refuse("requests", requests, fmt.Sprintf(
				"at most the %.3g that this arrival process offers within the %g s of the clock",
				p.pace.expected(sim.HorizonS), sim.HorizonS))
		}
		return expected, nil
	}
	if within := p.pace.expected(durationS); requests == 0 || within < expected {
		expected = within
	}
	if expected > expectedMax {
		return 0, check.Refuse("duration_s", durationS, fmt.Sprintf(
			"a duration in which at most %d requests are expected, not %.3g", int64(expectedMax), expected))
	}
	return expected, nil
}

// Timeline turns arrivals into instants of the simulator's clock, up to the end of a workload.
type Timeline struct {
	process *Process
	last    sim.Time
	endS    float64
	timed   bool // the workload ends at endS, not the clock
}

// NewTimeline returns the arrivals of p before durationS seconds; 0: before the end of the clock.
func NewTimeline(p *Process, durationS float64) Timeline {
	if durationS > 0 {
		return Timeline{process: p, endS: durationS, timed: true}
	}
	return Timeline{process: p, endS: sim.HorizonS}
}

// Next returns the next arrival; false: there is none before the end, and s says when it would be.
func (t *Timeline) Next() (at sim.Time, s float64, ok bool) {
	if s = t.process.Next(); s >= t.endS {
		return 0, s, false
	}
	// Rounding at the joint of two pieces of a rate must not turn time back.
	t.last = max(t.last, sim.Time(0).Add(sim.Seconds(s)))
	return t.last, s, true
}

// Overrun reports whether arrivals that end at s seconds are cut off by the clock: neither the workload ends them nor a
// rate that has fallen to zero for good.
func (t *Timeline) Overrun(s float64) bool { return !t.timed && !math.IsInf(s, 1) }
