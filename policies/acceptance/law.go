package acceptance

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mathext"
)

// Law says how likely drafts are accepted. The process decides which one of Rate, Rates and Lengths is set.
type Law struct {
	Process string
	Rate    float64   // iid: of each draft, given that its predecessors were accepted
	Rates   []float64 // per-position: of the first draft, the second, …, given that its predecessors were accepted
	Lengths []float64 // curve: tokens that a step yields with 1, 2, … drafts, the model's own token included

	// CV is the coefficient of variation of the first draft's rate over requests; 0: all requests have the same rate. The
	// rate of a request follows a beta law. With iid all drafts of a request have its rate. Otherwise rates are averages
	// that were measured over requests: for each j the chance S_j that at least j drafts are accepted follows a beta law,
	// all with one concentration. Its mean over requests stays as measured, and a request with a high rate for one draft
	// has high rates for all.
	CV float64
}

// The processes.
const (
	iid         = "iid"
	perPosition = "per-position"
	curve       = "curve"
)

// Processes returns the names of all processes.
func Processes() []string { return []string{iid, perPosition, curve} }

// Validate reports values that are impossible, or too few for so many drafts. Errors begin with the key.
func (l *Law) Validate(drafts int) error {
	switch l.Process {
	case iid:
		if !isShare(l.Rate) {
			return fmt.Errorf("policies: rate is %g, must be from 0 to 1", l.Rate)
		}
	case perPosition:
		for j, p := range l.Rates {
			if !isShare(p) {
				return fmt.Errorf("policies: rates[%d] is %g, must be from 0 to 1", j, p)
			}
		}
		if len(l.Rates) < drafts {
			return fmt.Errorf("policies: rates has %d numbers, must have one for each of %d drafts",
				len(l.Rates), drafts)
		}
	case curve:
		if err := l.validateLengths(drafts); err != nil {
			return err
		}
	default:
		return fmt.Errorf("policies: process %q not found; valid names: %s", l.Process, strings.Join(Processes(), ", "))
	}
	return l.validateCV()
}

// validateLengths reports impossible lengths: a step with K drafts yields from 1 to 1 + K tokens.
func (l *Law) validateLengths(drafts int) error {
	for j, length := range l.Lengths {
		if !(length >= 1 && length <= float64(j+2)) {
			return fmt.Errorf("policies: lengths[%d] is %g, must be from 1 to %d: the token of the step itself counts",
				j, length, j+2)
		}
	}
	if len(l.Lengths) < drafts {
		return fmt.Errorf("policies: lengths has %d numbers, must have one for each of 1 to %d drafts",
			len(l.Lengths), drafts)
	}
	return nil
}

func (l *Law) validateCV() error {
	if l.CV == 0 {
		return nil
	}
	m := l.first()
	if most := math.Sqrt((1 - m) / m); !(l.CV > 0 && l.CV < most) || m == 0 {
		if m == 0 {
			most = 0
		}
		return fmt.Errorf("policies: heterogeneity_cv is %g, must be 0 or more and below %.3g: "+
			"rates from 0 to 1 with a mean of %.3g vary no more", l.CV, most, m)
	}
	return nil
}

// first returns the mean rate of the first draft.
func (l *Law) first() float64 {
	switch {
	case l.Process == iid:
		return l.Rate
	case l.Process == perPosition && len(l.Rates) > 0:
		return l.Rates[0]
	case l.Process == curve && len(l.Lengths) > 0:
		return l.Lengths[0] - 1
	}
	return 0
}

func isShare(p float64) bool { return p >= 0 && p <= 1 }

// survivals returns the S_j of a step of so many drafts for each level of requests; CV = 0 has a single level.
func (l *Law) survivals(drafts int) [][]float64 {
	if l.CV == 0 {
		return [][]float64{l.mean(drafts)}
	}
	rows := make([][]float64, levels)
	for i := range rows {
		rows[i] = make([]float64, drafts)
	}
	m := l.first()
	concentration := (1-m)/(m*l.CV*l.CV) - 1
	if l.Process == iid {
		for i, rate := range betaLevels(m, concentration) {
			single := Law{Process: iid, Rate: rate}
			rows[i] = single.mean(drafts)
		}
		return rows
	}
	for j, s := range l.mean(drafts) {
		for i, x := range betaLevels(s, concentration) {
			rows[i][j] = x
		}
	}
	return rows
}

// mean returns the S_j of the law with CV = 0: γ^j, p_1·…·p_j, or by the curve.
func (l *Law) mean(drafts int) []float64 {
	if l.Process == curve {
		return fallingSteps(l.Lengths[:drafts])
	}
	s, all := make([]float64, drafts), 1.0
	for j := range s {
		if l.Process == iid {
			all *= l.Rate
		} else {
			all *= l.Rates[j]
		}
		s[j] = all
	}
	return s
}

// fallingSteps returns the S_j of a step with as many drafts as there are lengths. S_j is what the j-th draft adds to
// a step, AL(j) − AL(j−1) with AL(0) = 1. It cannot rise with j, nor be below 0. Measured curves do both by a little,
// because each of their points is a run of its own. Where one would, neighbours are replaced by their mean (pool
// adjacent violators: Ayer et al., Annals of Mathematical Statistics 26(4), 1955), which leaves the sum as it is, and
// so the expected length at the end as measured.
func fallingSteps(lengths []float64) []float64 {
	type pool struct {
		sum float64
		n   int
	}
	var pools []pool
	before := 1.0
	for _, length := range lengths {
		p := pool{length - before, 1}
		before = length
		for len(pools) > 0 && pools[len(pools)-1].sum*float64(p.n) < p.sum*float64(pools[len(pools)-1].n) {
			last := pools[len(pools)-1]
			p = pool{p.sum + last.sum, p.n + last.n}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	// A negative last pool is merged into the one before it.
	for n := len(pools); n > 1 && pools[n-1].sum < 0; n = len(pools) {
		pools[n-2] = pool{pools[n-2].sum + pools[n-1].sum, pools[n-2].n + pools[n-1].n}
		pools = pools[:n-1]
	}
	steps := make([]float64, 0, len(lengths))
	for _, p := range pools {
		for range p.n {
			steps = append(steps, min(1, max(0, p.sum/float64(p.n))))
		}
	}
	return steps
}

// betaLevels divides the beta law with mean m and concentration κ, a = m·κ and b = (1 − m)·κ, into equally likely
// slices and returns their means. The integral of x up to a quantile q is m times the chance of x < q under (a + 1,
// b).
func betaLevels(m, concentration float64) []float64 {
	x := make([]float64, levels)
	if m <= 0 || m >= 1 {
		for i := range x {
			x[i] = m
		}
		return x
	}
	a, b := float64(m*concentration), float64((1-m)*concentration)
	below, t := 0.0, -logitMax
	for i := range x {
		up := 1.0
		if i+1 < levels {
			t = betaQuantile(a, b, float64(i+1)/levels, t)
			up = betaBelow(a+1, b, t)
		}
		x[i] = min(1, max(0, levels*m*(up-below)))
		below = up
	}
	return x
}

// logitMax is above the logit of every float below 1.
const logitMax = 745.0

// betaBelow returns the chance that the logit of a beta variable is below t. Logits tell numbers close to 1 from 1.
func betaBelow(a, b, t float64) float64 {
	if t > 0 {
		return 1 - mathext.RegIncBeta(b, a, 1/(1+math.Exp(t)))
	}
	return mathext.RegIncBeta(a, b, 1/(1+math.Exp(-t)))
}

// betaQuantile returns the logit below which a share q lies, by bisection. It is known to be above from.
func betaQuantile(a, b, q, from float64) float64 {
	low, high := from, logitMax
	for range 50 {
		if mid := (low + high) / 2; betaBelow(a, b, mid) < q {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}
