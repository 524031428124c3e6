package workloads

import "github.com/decodesim/decodesim/sim"

// dueTurn is the next turn of a session whose user thinks.
type dueTurn struct {
	at     sim.Time
	number uint64 // of the session, which decides between equal instants
	slot   int32
}

func (d *dueTurn) before(e *dueTurn) bool { return d.at < e.at || d.at == e.at && d.number < e.number }

// turnQueue is a heap of turns.
type turnQueue []dueTurn

// first returns the instant of the earliest; Forever: there is none.
func (q turnQueue) first() sim.Time {
	if len(q) == 0 {
		return sim.Forever
	}
	return q[0].at
}

func (q *turnQueue) push(d dueTurn) {
	due := append(*q, d)
	i := len(due) - 1
	for ; i > 0 && d.before(&due[(i-1)/2]); i = (i - 1) / 2 {
		due[i] = due[(i-1)/2]
	}
	due[i] = d
	*q = due
}

func (q *turnQueue) pop() dueTurn {
	due := *q
	top, n := due[0], len(due)-1
	d := due[n]
	due = due[:n]
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && due[child+1].before(&due[child]) {
			child++
		}
		if !due[child].before(&d) {
			break
		}
		due[i] = due[child]
		i = child
	}
	if n > 0 {
		due[i] = d
	}
	*q = due
	return top
}

// slotWindow remembers whose a request under way is, by its ID: those from the oldest under way to the latest sent.
type slotWindow struct {
	base  int32   // ID of the first
	slots []int32 // gone: it has ended
	ended int     // of the first ones
}

const gone = -1

// add notes the slot of the request that is sent next.
func (w *slotWindow) add(slot int32) { w.slots = append(w.slots, slot) }

// take returns the slot of request id, which has ended.
func (w *slotWindow) take(id int32) int32 {
	slot := w.slots[id-w.base]
	w.slots[id-w.base] = gone
	for w.ended < len(w.slots) && w.slots[w.ended] == gone {
		w.ended++
	}
	if 2*w.ended > len(w.slots) {
		n := copy(w.slots, w.slots[w.ended:])
		w.slots, w.base, w.ended = w.slots[:n], w.base+int32(w.ended), 0
	}
	return slot
}
