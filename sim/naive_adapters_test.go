package sim_test

import (
	"math/rand/v2"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// naiveAdapters is the adapters of an instance, as lists in which the least recently used is first.
type naiveAdapters struct {
	slots, host []uint16
	last        [1 << 8]sim.Time // when each was last in a batch
	copying     sim.Duration     // that the step waits for them
}

// freshAdapters makes those of an instance that starts.
func (n *naive) freshAdapters() (a naiveAdapters) {
	for i := range n.adapters.Copies {
		if n.adapters.Reads == nil {
			a.host = append(a.host, uint16(i+1))
		}
	}
	for i := range a.last {
		a.last[i] = -1
	}
	return a
}

// inBatch returns the adapters of a batch, each once.
func inBatch(batch []*naiveRequest) (list []uint16) {
	for _, r := range batch {
		if r.Adapter > 0 && !slices.Contains(list, r.Adapter) {
			list = append(list, r.Adapter)
		}
	}
	return list
}

// passesOver reports whether r must wait for its adapter.
func (n *naive) passesOver(in *naiveInstance, r *naiveRequest) bool {
	batch := inBatch(in.running)
	return n.adapters.Slots > 0 && r.Adapter > 0 && len(batch) == n.adapters.Slots && !slices.Contains(batch, r.Adapter)
}

// useAdapters notes that the adapters of the batch are in use.
func (n *naive) useAdapters(in *naiveInstance) {
	if n.adapters.Slots > 0 {
		for _, i := range inBatch(in.running) {
			in.adapters.last[i] = n.now
		}
	}
}

// waitForAdapters lets the requests that are passed over wait until t.
func (f *naiveFleet) waitForAdapters(t sim.Time) {
	for _, in := range f.insts {
		for _, r := range in.waiting {
			if in.of.passesOver(in, r) {
				r.lockedOut += t.Sub(f.now)
			}
		}
	}
}

// bringAdapter gives the adapter of r, which has just joined the batch, a slot.
func (n *naive) bringAdapter(in *naiveInstance, r *naiveRequest) {
	if n.adapters.Slots == 0 || r.Adapter == 0 {
		return
	}
	a, i, totals := &in.adapters, r.Adapter, &n.adapted
	there := slices.Contains(a.slots, i)
	if !r.entered {
		totals.Requests++
		if there {
			totals.Resident++
		}
		if r.lockedOut > 0 {
			totals.Waited++
			n.lockedNS += int64(r.lockedOut / sim.Nanosecond)
		}
	}
	if there {
		return
	}
	if !slices.Contains(a.host, i) {
		if len(a.host) == n.adapters.Host {
			out := a.stalest(a.host, in)
			a.host, a.slots = drop(a.host, out), drop(a.slots, out)
			n.cover["adapters lost from host memory"]++
		}
		a.host = append(a.host, i)
		a.copying += n.adapters.Reads[i-1]
		n.copying += n.adapters.Reads[i-1]
		totals.Reads++
	}
	if len(a.slots) == n.adapters.Slots {
		a.slots = drop(a.slots, a.stalest(a.slots, in))
		n.cover["adapters replaced"]++
	}
	a.slots = append(a.slots, i)
	a.copying += n.adapters.Copies[i-1]
	n.copying += n.adapters.Copies[i-1]
	totals.Copies++
}

// stalest returns the adapter of a list that was used least recently and that the batch does not have.
func (a *naiveAdapters) stalest(list []uint16, in *naiveInstance) (out uint16) {
	batch := inBatch(in.running)
	for i := range uint16(len(a.last)) {
		if slices.Contains(list, i) && !slices.Contains(batch, i) && (out == 0 || a.last[i] < a.last[out]) {
			out = i
		}
	}
	return out
}

func drop(list []uint16, what uint16) []uint16 {
	return slices.DeleteFunc(slices.Clone(list), func(i uint16) bool { return i == what })
}

// adapt adds what the step of a batch has of adapters.
func (n *naive) adapt(b *sim.Shape, in *naiveInstance) {
	if n.adapters.Slots == 0 {
		return
	}
	var step []*naiveRequest
	for _, r := range in.running {
		if r.want == 0 || r.Adapter == 0 {
			continue
		}
		step = append(step, r)
		b.AdapterTokens += int64(r.want + r.filler)
		switch {
		case r.decoding:
			b.AdapterOutputs += int(r.want)
		case r.want == r.Pending():
			b.AdapterOutputs += int(1 + r.filler)
		}
		if r.decoding && r.want > 1 || r.filler > 0 {
			n.cover["drafts with adapters"]++
		}
	}
	b.Adapters, b.AdapterCopies = len(inBatch(step)), in.adapters.copying
	n.cover["steps with adapters"] += min(1, b.Adapters)
}

// drawAdapters gives most pools of continuous batching adapters, by numbers: few slots and more adapters than those.
func (sc *scenario) drawAdapters() {
	n := len(sc.requests) + int(sc.blockSize) + int(sc.maxLen)
	if p, ok := sc.policy.(*schedulers.Continuous); !ok || p.DraftSlots > 0 || n%3 == 0 || len(sc.stages) > 1 ||
		sc.sessions > 0 {
		return
	}
	rnd := rand.New(rand.NewPCG(uint64(n), 5))
	slots := 1 + rnd.IntN(3)
	sc.adapters = sim.Adapters{Slots: slots, Host: slots + rnd.IntN(3)}
	count := 1 + rnd.IntN(10)
	cold := rnd.IntN(2) == 0
	if !cold {
		sc.adapters.Host = max(sc.adapters.Host, count)
	}
	for range count {
		sc.adapters.Copies = append(sc.adapters.Copies, sim.Duration(rnd.IntN(3))*1_000_003)
		if cold {
			sc.adapters.Reads = append(sc.adapters.Reads, sim.Duration(rnd.IntN(3))*10_000_019)
		}
	}
	copies := map[[2]int32]int32{} // of the tree of contents, by adapter
	var copied func(adapter, node int32) int32
	copied = func(adapter, node int32) int32 {
		key := [2]int32{adapter, node}
		if adapter == 0 || node == 0 {
			return node
		}
		if _, ok := copies[key]; !ok {
			tokens := sc.tree.Tokens(node) - sc.tree.Tokens(sc.tree.Parent(node))
			copies[key] = sc.tree.Add(copied(adapter, sc.tree.Parent(node)), tokens)
		}
		return copies[key]
	}
	for i := range sc.requests {
		r := &sc.requests[i]
		r.Adapter = uint16(rnd.IntN(count + 1))
		r.Content = copied(int32(r.Adapter), r.Content)
	}
}
