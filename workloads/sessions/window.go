package sessions

// window records something of each request under way, by the request's ID: from the oldest request under way to the
// latest sent.
type window[T any] struct {
	base    int32 // ID of the first
	entries []entry[T]
	ended   int // how many of the first ones have ended
}

type entry[T any] struct {
	value T
	ended bool
}

// add notes what belongs to the request that is sent next.
func (w *window[T]) add(v T) { w.entries = append(w.entries, entry[T]{value: v}) }

// take returns what belongs to request id, which has ended.
func (w *window[T]) take(id int32) T {
	e := &w.entries[id-w.base]
	e.ended = true
	v := e.value
	for w.ended < len(w.entries) && w.entries[w.ended].ended {
		w.ended++
	}
	if 2*w.ended > len(w.entries) {
		n := copy(w.entries, w.entries[w.ended:])
		w.entries, w.base, w.ended = w.entries[:n], w.base+int32(w.ended), 0
	}
	return v
}
