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
	waits bool   // the first gap is what is left of one in which the clock starts
}

// gaps is a law of times between arrivals with mean 1. It draws several at once.
type gaps interface {
	fill(out []float64, r *rand.Rand)
	// left draws what is left of a gap at an instant that has nothing to do with it. It has the density P(gap > x): it is
	// a uniform share of a gap that is drawn with a weight in proportion to its length.
	left(r *rand.Rand) float64
}

// pace turns numbers of requests into seconds.
type pace interface {
	instants(requests []float64)       // replaces rising numbers by the instants by which so many have come
	span(requests float64) float64     // the time in which so many are expected
	expected(s float64) float64        // the requests expected within s seconds
	meanRate(requests float64) float64 // in the long run or, where there is none, over so many requests
}

// steady is the pace of a constant rate in requests/s.
type steady float64

func (r steady) instants(requests []float64) {
	for i := range requests {
		requests[i] /= float64(r)
	}
}

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

// Fill sets out to the seconds of the next arrivals; +Inf where the rate has fallen to zero for good.
func (p *Process) Fill(out []float64) {
	p.gaps.fill(out, p.draws)
	if p.waits && len(out) > 0 {
		out[0], p.waits = p.gaps.left(p.draws), false
	}
	for i, gap := range out {
		p.sum += uint64(float64(gap*(1<<32)) + 0.5)
		out[i] = float64(p.sum) * (1.0 / (1 << 32))
	}
	p.pace.instants(out)
}

// Stationary lets the process have gone on for a long time when the clock starts, so that its rate is the same from the
// beginning: without it every process begins with a whole gap, and bursty ones, whose gaps are mostly short, all with a
// burst. It is called before the first Fill.
func (p *Process) Stationary() { p.waits = true }

// Expected returns how many arrivals are expected within s seconds.
func (p *Process) Expected(s float64) float64 { return p.pace.expected(s) }

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
	seconds [batchMax]float64
	last    sim.Time
	endS    float64
	timed   bool // the workload ends at endS, not the clock
}

// batchMax is the most arrivals that are drawn at once.
const batchMax = 64

// NewTimeline returns the arrivals of p before durationS seconds; 0: before the end of the clock.
func NewTimeline(p *Process, durationS float64) Timeline {
	if durationS > 0 {
		return Timeline{process: p, endS: durationS, timed: true}
	}
	return Timeline{process: p, endS: sim.HorizonS}
}

// Fill sets the first n elements of out, which has at most 64, to the next arrivals. Fewer than all: there are no more,
// and the next would be at endS seconds.
func (t *Timeline) Fill(out []sim.Time) (n int, endS float64) {
	seconds := t.seconds[:len(out)]
	t.process.Fill(seconds)
	for i, s := range seconds {
		if s >= t.endS {
			return i, s
		}
		// Rounding at the joint of two pieces of a rate must not turn time back.
		t.last = max(t.last, sim.Time(0).Add(sim.Seconds(s)))
		out[i] = t.last
	}
	return len(out), 0
}

// Overrun reports whether arrivals that end at s seconds are cut off by the clock: neither the workload ends them nor a
// rate that has fallen to zero for good.
func (t *Timeline) Overrun(s float64) bool { return !t.timed && !math.IsInf(s, 1) }
