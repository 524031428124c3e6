package workloads

import "github.com/decodesim/decodesim/sim"

// instants is a heap of instants.
type instants []sim.Time

// first returns the earliest; Forever: there is none.
func (h instants) first() sim.Time {
	if len(h) == 0 {
		return sim.Forever
	}
	return h[0]
}

// push adds an instant.
func (h *instants) push(t sim.Time) {
	due := append(*h, t)
	i := len(due) - 1
	for i > 0 && due[(i-1)/2] > t {
		due[i] = due[(i-1)/2]
		i = (i - 1) / 2
	}
	due[i] = t
	*h = due
}

// pop removes the earliest.
func (h *instants) pop() sim.Time {
	due := *h
	top, n := due[0], len(due)-1
	t := due[n]
	due = due[:n]
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && due[child+1] < due[child] {
			child++
		}
		if due[child] >= t {
			break
		}
		due[i] = due[child]
		i = child
	}
	if n > 0 {
		due[i] = t
	}
	*h = due
	return top
}
