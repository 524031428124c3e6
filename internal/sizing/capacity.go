package sizing

import (
	"math"

	"github.com/decodesim/decodesim/internal/stats"
)

// grid is the rates that a study looks at, each a little above the one before. All deployments meet the same ones, so
// that the requests of two runs at one step are the same.
type grid struct {
	low, high float64
	last      int       // step of high
	asked     int       // step of the rate that must be sustained, or of the lowest
	at        float64   // that rate; 0: none is asked for
	beyond    []float64 // rates of steps after last, which no capacity is sought at
}

// finest is the ratio of neighbours, or less.
const finest = 1.005

func newGrid(low, high float64) grid {
	return grid{low: low, high: high, last: stepsBetween(low, high)}
}

// How far below and above an asked rate a grid goes: for the frontier, and for a margin.
const reachBelow, reachAbove = 8, 4

// newGridAround returns a grid that has an asked rate.
func newGridAround(at float64, beyond ...float64) grid {
	below, above := stepsBetween(1, reachBelow), stepsBetween(1, reachAbove)
	return grid{
		low: at / math.Pow(finest, float64(below)), high: at * math.Pow(finest, float64(above)), last: below + above,
		asked: below, at: at, beyond: beyond,
	}
}

func stepsBetween(low, high float64) int {
	return int(math.Ceil(math.Log(high/low)/math.Log(finest) - 1e-9))
}

// rate returns that of a step, from 0.
func (g *grid) rate(step int) float64 {
	switch {
	case g.at > 0 && step == g.asked:
		return g.at
	case step == 0:
		return g.low
	case step == g.last:
		return g.high
	case step > g.last:
		return g.beyond[step-g.last-1]
	}
	return stats.Settled(g.low*math.Pow(g.high/g.low, float64(step)/float64(g.last)), rateDigits)
}

// rateDigits is how many binary digits a rate has: what that takes off is far below what step allows for.
const rateDigits = 40

// step returns the last one whose rate is at most this; below the first: −1.
func (g *grid) step(rate float64) int {
	if !(rate >= g.low) {
		return -1
	}
	return min(g.last, int(math.Floor(float64(math.Log(rate/g.low)/math.Log(g.high/g.low)*float64(g.last))+1e-9)))
}

// resolution is the ratio of neighbours, less 1.
func (g *grid) resolution() float64 { return math.Pow(g.high/g.low, 1/float64(g.last)) - 1 }

// highest returns the highest step that is sustained, to within stride steps, where what is not carried is not carried
// higher up either; −1: none is. It gallops from a guess and bisects.
func (g *grid) highest(guess, stride int, carried func(step int) (bool, error)) (int, error) {
	low, high, jump := -1, g.last+1, stride
	k := max(0, min(g.last, guess))
	try := func() error {
		ok, err := carried(k)
		if ok {
			low = k
		} else {
			high = k
		}
		return err
	}
	for low < 0 || high > g.last {
		if err := try(); err != nil {
			return 0, err
		}
		if low == g.last || high == 0 {
			return low, nil
		}
		if low >= 0 && high <= g.last {
			break
		}
		if low == k {
			k = min(g.last, k+jump)
		} else {
			k = max(0, k-jump)
		}
		jump *= 2
	}
	for high-low > stride {
		k = (low + high) / 2
		if err := try(); err != nil {
			return 0, err
		}
	}
	return low, nil
}

// smallest returns the smallest number from low to high that will do, where whatever is larger than one that does, does
// too; 0: none does. It gallops from a guess and bisects.
func smallest(low, guess, high int, does func(n int) (bool, error)) (int, error) {
	fails, will, jump := low-1, high+1, max(1, guess/4)
	for n := max(low, min(high, guess)); fails+1 < will; {
		ok, err := does(n)
		if err != nil {
			return 0, err
		}
		switch {
		case ok:
			will = n
		default:
			fails = n
		}
		switch {
		case will > high:
			n, jump = min(high, n+jump), 2*jump
		case fails < low:
			n, jump = max(low, n-jump), 2*jump
		default:
			n = (fails + will) / 2
		}
	}
	if will > high {
		return 0, nil
	}
	return will, nil
}
