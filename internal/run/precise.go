package run

import (
	"context"
	"fmt"
	"math"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// PreciseRequestsMax is the most requests that a run is lengthened to.
const PreciseRequestsMax = 4_000_000

// How much longer each run is than the one before, and how often a run that does not settle is lengthened.
const longerLeast, longerMost, unsettledMax = 2, 8, 2

// Precisely runs b by simulate. Where its workload asks for a precision, it then runs longer and longer ones until half
// of the widest interval of a headline number is within it, without their warm-up unless the scenario says what is
// measured. It returns the last of them, and how it was built; the caller closes that.
func Precisely(ctx context.Context, b *build.Built,
	simulate func(*build.Built) (*Result, error)) (*build.Built, *Result, error) {
	asked := b.Scenario.Workload.Precision
	if asked == 0 {
		r, err := simulate(b)
		return b, r, err
	}
	if err := lengthenable(b.Scenario); err != nil {
		return b, nil, err
	}
	detect := b.Scenario.Workload.WarmupS == 0
	for unsettled := 0; ; {
		r, err := simulate(b)
		if err != nil || ctx.Err() != nil {
			return b, r, err
		}
		x := r.Summary.Steady
		if x.DependsOnLength != "" {
			unsettled++
		}
		settled := x.DependsOnLength == "" && within(x, asked) && (!detect || x.WarmupS <= x.MeasuredFromS)
		if settled || unsettled > unsettledMax || b.Requests >= PreciseRequestsMax {
			conclude(r.Summary, asked, b.Requests)
			return b, r, nil
		}
		next, err := longer(ctx, b, x, asked, detect)
		if err != nil {
			return b, nil, err
		}
		err = b.Close()
		b = next
		if err != nil {
			return b, nil, err
		}
	}
}

// within reports whether every headline number is as precise as was asked for.
func within(x *metrics.Steady, asked float64) bool {
	return x.Precision != nil && *x.Precision <= asked
}

// lengthenable refuses a precision where a run has no steady state, or cannot be longer.
func lengthenable(s *configs.Scenario) error {
	const path = "workload.precision"
	switch why := notStationary(s); {
	case !s.Output.Intervals:
		return s.Errorf(path, "%g is of intervals, and output.intervals is false; expected true, or null",
			s.Workload.Precision)
	case why != "":
		return s.Errorf(path, "%g is of a steady state, and %s; expected null", s.Workload.Precision, why)
	case s.Workload.Bounded():
		return s.Errorf(path, "%g may take more requests than lengths were recorded; expected lengths.repeat: true, or null",
			s.Workload.Precision)
	}
	return nil
}

// longer builds a run like b, of as much more length as the square of the widest interval says.
func longer(ctx context.Context, b *build.Built, x *metrics.Steady, asked float64, detect bool) (*build.Built, error) {
	factor := float64(longerMost)
	switch {
	case x.DependsOnLength != "" || x.Precision == nil:
	case within(x, asked): // what is missing is the warm-up that it leaves out
		factor = 1.2
	default:
		wider := *x.Precision / asked
		factor = min(longerMost, max(longerLeast, 1.2*wider*wider))
	}
	factor = min(factor, PreciseRequestsMax/b.Requests)
	s := b.Scenario.Clone()
	w := &s.Workload
	w.Requests = int64(math.Ceil(float64(w.Requests) * factor))
	w.DurationS = min(sim.HorizonS, w.DurationS*factor)
	if detect {
		w.WarmupS = math.Ceil(max(x.WarmupS, w.WarmupS))
	}
	return build.NewUntil(ctx, s)
}

// conclude says in a summary what became of the precision that was asked for.
func conclude(s *metrics.Summary, asked, requests float64) {
	x := s.Steady
	x.PrecisionAsked = asked
	if !within(x, asked) || x.DependsOnLength != "" {
		why := fmt.Sprintf("of at most %s", text.Count(PreciseRequestsMax))
		if requests < PreciseRequestsMax {
			why = "which does not settle"
		}
		s.Warnings = append([]string{fmt.Sprintf("the asked precision of %s is not reached with %s requests, %s",
			text.Percent(asked), text.Count(int64(requests)), why)}, s.Warnings...)
	}
}
