package sim_test

import "github.com/decodesim/decodesim/sim"

// pushLayers sends all layers but the last with the first chunk of a prompt whose cache is pushed.
func (n *naive) pushLayers(r *naiveRequest) {
	if m := r.move; m != nil && !m.sent {
		m.sent, m.from = true, r.at
		m.left, m.begin = m.first, n.now.Add(m.stage.Link.Latency)
	}
}

// lastLayer sends the rest of a cache that is pushed.
func (f *naiveFleet) lastLayer(m *naiveMove) {
	m.left, m.begin, m.last = m.whole-m.first, f.now, true
}

// flow returns the next beginning or end of a flow.
func (f *naiveFleet) flow() (at sim.Time, next *naiveMove) {
	at = sim.Forever
	for _, m := range f.moves {
		t := m.begin
		if m.flowing {
			t = m.since.Add(m.left * m.share)
		}
		if t < at {
			at, next = t, m
		}
	}
	return at, next
}

// turn begins or ends the flow of a move.
func (f *naiveFleet) turn(m *naiveMove) {
	if !m.flowing {
		f.settle(m)
		m.flowing, m.since, m.begin = true, f.now, sim.Forever
		f.share(m)
		if m.share > 1 {
			f.cover["flows that share a port"]++
		}
		return
	}
	f.stop(m)
	switch {
	case m.last:
		f.land(m)
	case m.read:
		f.lastLayer(m)
	default:
		f.cover["first layers that wait for the prompt"]++
	}
}

// stop ends a flow, or the wait for it.
func (f *naiveFleet) stop(m *naiveMove) {
	m.begin = sim.Forever
	if m.flowing {
		f.settle(m)
		m.flowing = false
		f.share(m)
	}
}

// beside reports whether another flow shares a port with m.
func (m *naiveMove) beside(other *naiveMove) bool {
	return other.flowing && other != m && (other.from == m.from || other.to == m.to)
}

// settle counts what the transfers have sent that share a port with m.
func (f *naiveFleet) settle(m *naiveMove) {
	for _, other := range f.moves {
		if m.beside(other) {
			other.left -= f.now.Sub(other.since) / other.share
			other.since = f.now
		}
	}
}

// share gives m and the transfers that share a port with it their rates.
func (f *naiveFleet) share(m *naiveMove) {
	for _, other := range f.moves {
		if other == m && m.flowing || m.beside(other) {
			out, in := 0, 0
			for _, x := range f.moves {
				if x.flowing && x.from == other.from {
					out++
				}
				if x.flowing && x.to == other.to {
					in++
				}
			}
			other.share = sim.Duration(max(out, in))
		}
	}
}
