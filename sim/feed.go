package sim

// feed is requests on their way to a part of a run, see separation, in order of arrival and packed if they can be.
type feed struct {
	requests []packed
	records  []Request // of the requests that are more than a packed one can say
	next     int       // the first of requests that has not been delivered
}

// push adds r.
func (f *feed) push(r *Request) {
	slot := noSlot
	if !r.plain() {
		slot = int32(len(f.records))
		f.records = append(f.records, *r)
	}
	f.requests = append(f.requests, r.pack(slot))
}

// empty reports whether f has nothing that has not been taken.
func (f *feed) empty() bool { return len(f.requests) == 0 }

// at returns the i-th of the requests.
func (f *feed) at(i int) Request {
	if slot := f.requests[i].slot(); slot != noSlot {
		return f.records[slot]
	}
	return *f.requests[i].request()
}

// pop takes the next request off f.
func (f *feed) pop() Request {
	f.next++
	return f.at(f.next - 1)
}

// when returns when the next request arrives, or Forever.
func (f *feed) when() Time {
	if f.next == len(f.requests) {
		return Forever
	}
	return f.requests[f.next].arrival
}

// take moves the requests of o, which come later, to f.
func (f *feed) take(o *feed) {
	if f.next == len(f.requests) {
		*f, *o = *o, *f
	} else {
		for i := range o.requests {
			r := o.at(i)
			f.push(&r)
		}
	}
	o.requests, o.records, o.next = o.requests[:0], o.records[:0], 0
}
