package sessions

// slotWindow records the slot of the session of each request under way, by the request's ID: from the oldest request
// under way to the latest sent.
type slotWindow struct {
	base  int32   // ID of the first
	slots []int32 // finished: the request has ended
	ended int     // how many of the first ones have ended
}

const finished = -1

// add notes the slot of the request that is sent next.
func (w *slotWindow) add(slot int32) { w.slots = append(w.slots, slot) }

// take returns the slot of request id, which has ended.
func (w *slotWindow) take(id int32) int32 {
	slot := w.slots[id-w.base]
	w.slots[id-w.base] = finished
	for w.ended < len(w.slots) && w.slots[w.ended] == finished {
		w.ended++
	}
	if 2*w.ended > len(w.slots) {
		n := copy(w.slots, w.slots[w.ended:])
		w.slots, w.base, w.ended = w.slots[:n], w.base+int32(w.ended), 0
	}
	return slot
}
