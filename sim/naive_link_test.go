package sim_test

import (
	"cmp"
	"maps"
	"math/big"
	"slices"

	"github.com/decodesim/decodesim/sim"
)

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
			t = m.ends
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
		m.flowing, m.rate = true, 0
		m.since, m.begin = f.now, sim.Forever
		f.share()
		if slices.ContainsFunc(ports(m), func(p naivePort) bool { return f.reservedOf(p) > 0 }) {
			f.cover["flows beside a reservation"]++
		}
		if m.rate < whole {
			f.cover["flows that share a port"]++
			if m.write {
				f.cover["writes that share a port"]++
			}
		}
		return
	}
	f.stop(m)
	switch {
	case m.host:
		f.landHost(m)
	case m.fetch:
		f.fetched(m)
	case m.write:
		f.moves = remove(f.moves, m)
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
		m.flowing = false
		f.share()
	}
}

// whole is the rate of a flow that shares nothing, and all that a port has to give.
const whole = 1 << 30

// lastPort is behind the ports of instances.
const lastPort = 1 << 20

// naivePort is one direction of something that flows pass: out of an instance, say.
type naivePort struct {
	what string
	of   int
	tier int  // of several behind those of instances
	in   bool // what is written to it
}

// passes returns which share of which ports a flow takes that is alone, of whole.
func (m *naiveMove) passes() map[naivePort]uint64 {
	switch {
	case m.host:
		return map[naivePort]uint64{{what: "host", of: lastPort + m.to.number()}: whole}
	case m.fetch:
		t := m.to.of.tiers[m.tier]
		takes := map[naivePort]uint64{m.to.storePort(m.tier, false): t.Share}
		if t.ReceivingShare > 0 {
			takes[m.to.port("into")] = t.ReceivingShare
		}
		return takes
	case m.write:
		t := m.from.of.tiers[m.tier]
		takes := map[naivePort]uint64{m.from.storePort(m.tier, true): t.WriteShare}
		if t.SendingShare > 0 {
			takes[m.from.port("out")] = t.SendingShare
		}
		return takes
	}
	return map[naivePort]uint64{m.from.port("out"): whole, m.to.port("into"): whole}
}

// port returns a port of an instance.
func (in *naiveInstance) port(what string) naivePort { return naivePort{what: what, of: in.number()} }

// reservedOf returns how much of the ports of an instance is kept from flows.
func (f *naiveFleet) reservedOf(p naivePort) uint64 {
	for _, in := range f.insts {
		if p == in.port("out") || p == in.port("into") {
			return in.of.reserved
		}
	}
	return 0
}

// storePort returns the port of a tier of an instance, to read or to write.
func (in *naiveInstance) storePort(tier int, write bool) naivePort {
	p := naivePort{"drive", lastPort + in.number(), tier, write}
	if in.of.tiers[tier].Shared {
		p.what, p.of = "store", lastPort+slices.Index(in.of.pools, in.of)
	}
	return p
}

// number returns the number of an instance; ranks are numbered after all replicas.
func (in *naiveInstance) number() int {
	if len(in.team) == 1 {
		return in.id
	}
	n := len(in.of.leads)
	for _, other := range in.of.insts {
		if other == in {
			break
		}
		if len(other.team) > 1 {
			n++
		}
	}
	return n
}

// share gives all flows their max–min fair rates: as long as there are ports, that which the flows that pass it can
// share least of fills up first, and gives each of them as much. What a flow has sent is counted when its rate changes.
func (f *naiveFleet) share() {
	rest, rates := map[naivePort]uint64{}, map[*naiveMove]uint64{}
	for _, m := range f.moves {
		if m.flowing {
			rates[m] = whole
			for port := range m.passes() {
				rest[port] = whole - f.reservedOf(port)
			}
		}
	}
	open := maps.Clone(rates)
	for len(open) > 0 {
		port, level := narrowest(open, rest)
		for m := range maps.Clone(open) {
			takes := m.passes()
			if takes[port] == 0 && level < whole {
				continue
			}
			rates[m] = level
			delete(open, m)
			for p, weight := range takes {
				rest[p] -= min(rest[p], (weight*level+whole-1)/whole)
			}
		}
	}
	for _, m := range f.moves {
		if m.flowing && rates[m] != m.rate {
			m.left -= exactly(f.now.Sub(m.since), m.rate, whole, 0)
			m.since, m.rate = f.now, rates[m]
			m.ends = f.now.Add(exactly(m.left, whole, m.rate, m.rate-1))
		}
	}
}

// narrowest returns the port that is full first if the rates of the open flows grow alike, and their rate then.
func narrowest(open map[*naiveMove]uint64, rest map[naivePort]uint64) (narrow naivePort, level uint64) {
	weights := map[naivePort]uint64{}
	for m := range open {
		for port, weight := range m.passes() {
			weights[port] += weight
		}
	}
	level = whole
	ports := slices.SortedFunc(maps.Keys(weights), func(a, b naivePort) int {
		number := func(p naivePort) int { // of ports behind one another
			if p.in {
				return 2*p.tier + 1
			}
			return 2 * p.tier
		}
		return cmp.Or(cmp.Compare(a.of, b.of), -cmp.Compare(a.what, b.what), cmp.Compare(number(a), number(b)))
	})
	for _, port := range ports {
		if x := max(1, rest[port]*whole/weights[port]); x < level {
			narrow, level = port, x
		}
	}
	return narrow, level
}

// exactly returns (d · by + plus) / per, rounded down.
func exactly(d sim.Duration, by, per, plus uint64) sim.Duration {
	x := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(int64(by)))
	x.Add(x, big.NewInt(int64(plus)))
	return sim.Duration(x.Div(x, big.NewInt(int64(per))).Int64())
}
