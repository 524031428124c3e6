package sim

// A live run serves requests that are not known in advance: its source is a Follower that others add to, and it is
// advanced to the present again and again. What is added later than everything that has been handled gives the very run
// that a source gives which knew of it from the beginning.

// Advance handles everything up to an instant, and returns when the next event is due; Forever: none is known. Run may
// follow, when nothing more is to come from outside; it goes on to the end.
//
// After Advance, requests may be added to the source that arrive later than Now, and Act and Cancel be called for an
// instant later than Now. An observer is called as late as the Advance after its instant.
func (c *Cluster) Advance(to Time) (next Time) {
	if c.follower == nil {
		panic("sim: only a Follower can be asked again whether there is a request")
	}
	c.present = min(to, c.until)
	c.fetch()
	c.findPause()
	c.advance()
	c.present = Forever
	c.findPause()
	t, _ := c.ends.Min()
	return min(t, c.arrival, c.nextDeadline(), c.links.At(), c.controlAt)
}

// Act has do called at an instant after Now, before anything else that happens then, as a Controller is. do may call
// what a Controller may.
func (c *Cluster) Act(at Time, do func()) {
	if at <= c.now && c.now > 0 {
		panic("sim: something is to happen before what has happened")
	}
	c.Advance(at - 1)
	c.now = at
	do()
}

// Cancel has the client of a request cancel it at an instant after Now. It reports whether the request is there and can
// be cancelled: it has not ended, and is Traced; others may have no record.
func (c *Cluster) Cancel(id int32, at Time) bool {
	cancelled := false
	note := func(p place) {
		if c.applies(p, id) {
			c.deadlines.Push(at, int64(id), p)
			cancelled = true
		}
	}
	for i := range c.gate.waits {
		note(place{noSlot, int32(i)})
	}
	for in := range built(c.instances) {
		for slot := range in.requests.at {
			if in.requests.at[slot].ID == id {
				note(place{in.ID, int32(slot)})
			}
		}
	}
	return cancelled
}
