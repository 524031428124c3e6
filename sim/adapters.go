package sim

import (
	"fmt"
	"math/bits"
	"slices"
)

// Adapters is what an instance has for LoRA adapters. The requests of a batch have Slots of them at most: a request
// whose adapter is not among those of the batch, when that has so many, is passed over until one of them has left, and
// others behind it are admitted, as in vLLM's scheduler (0.33.0, vllm/v1/core/sched/scheduler.py:1038 and 1090).
// Requests of the model itself are admitted with any.
//
// An adapter stays in its slot, and in host memory, until the place is needed for another: that of the one least
// recently in a batch is taken (LRUCacheLoRAModelManager, vllm/lora/model_manager.py:1426). It comes to its slot
// before the first step of a request that has it.
//
// Requests of different adapters share no cache, so they must name different nodes of Contents, as vLLM names blocks
// by the adapter, too (vllm/v1/core/kv_cache_utils.py).
type Adapters struct {
	Slots  int        // adapters on an instance at once; 0: requests have none
	Host   int        // adapters in its host memory, those in slots among them
	Copies []Duration // by adapter, from 1 on: from host memory to its slot
	Reads  []Duration // and from storage to host memory before that; nil: host memory has all from the beginning
}

// AdaptersMax bounds the adapters of a pool.
const AdaptersMax = 1<<16 - 1

func (p *PoolSpec) validateAdapters() error {
	a := &p.Adapters
	switch {
	case a.Slots == 0 && a.Host == 0 && len(a.Copies)+len(a.Reads) == 0:
		return nil
	case a.Slots < 1 || a.Host < a.Slots || len(a.Copies) > AdaptersMax:
		return fmt.Errorf("sim: pool %q: %d slots and room for %d in host memory for %d adapters; want at least 1 slot, as "+
			"much room, and at most %d adapters", p.Name, a.Slots, a.Host, len(a.Copies), AdaptersMax)
	case len(a.Reads) != len(a.Copies) && (len(a.Reads) > 0 || a.Host < len(a.Copies)):
		return fmt.Errorf("sim: pool %q: Reads are of %d adapters, must be of %d or, with room for all in host memory, none",
			p.Name, len(a.Reads), len(a.Copies))
	case len(p.Stages) > 1 || p.RadixCache || p.MaxNumSeqs > 0:
		return fmt.Errorf("sim: pool %q: adapters exclude Stages, RadixCache and caches from elsewhere", p.Name)
	}
	negative := func(d Duration) bool { return d < 0 }
	if slices.ContainsFunc(a.Copies, negative) || slices.ContainsFunc(a.Reads, negative) {
		return fmt.Errorf("sim: pool %q: an adapter comes in no time below 0", p.Name)
	}
	return nil
}

// adapters is the state of the adapters of an instance.
type adapters struct {
	spec     *Adapters
	of       []adapter // by adapter; 0 is the model itself
	active   []uint16  // those that the batch has
	resident []uint16  // those in slots
	hosted   []uint16  // those in host memory, if that has not all
	decoding int       // members of the decode set that have one
	distinct int       // adapters of theirs
	steps    int64     // composed so far
	full     Duration  // for which the batch has had one for each slot, up to since
	since    Time      // when it has got so many; Forever: it has fewer
	queued   []Duration
}

// adapter is one of them.
type adapter struct {
	running  int32    // members of the batch that have it
	decoding int32    // of the decode set
	resident bool     // it has a slot
	hosted   bool     // it is in host memory
	used     Time     // when it left the batch; −1: it was never there
	step     int64    // the latest in which a prompt had it
	entered  Duration // adapters.full when it came to the batch
	within   Duration // of adapters.full, for which it was there before
}

// adapterTally counts what has become of adapters.
type adapterTally struct {
	adapted   int64    // requests that have one, when first admitted
	resident  int64    // of them, those whose adapter had a slot
	copies    int64    // adapters copied to slots
	reads     int64    // of them, those that came from storage
	copying   Duration // for which steps waited for both
	lockedOut int64    // of adapted, those that waited while all slots had other adapters
	lockedNS  Uint128  // ns for which they did
}

// newAdapters returns the adapters of an instance of p that starts; nil: requests have none.
func (p *PoolSpec) newAdapters() *adapters {
	if p.Adapters.Slots == 0 {
		return nil
	}
	a := &adapters{spec: &p.Adapters, of: make([]adapter, len(p.Adapters.Copies)+1), since: Forever}
	for i := range a.of {
		a.of[i].used, a.of[i].step = -1, -1
		a.of[i].hosted = len(p.Adapters.Reads) == 0
	}
	return a
}

// fullFor returns for how long the batch has had as many adapters as there are slots.
func (a *adapters) fullFor(now Time) Duration {
	if a.since == Forever {
		return a.full
	}
	return a.full + now.Sub(a.since)
}

// outside returns for how long of that the batch has not had this one.
func (a *adapters) outside(adapter uint16, now Time) Duration {
	x := &a.of[adapter]
	if x.running > 0 {
		return x.entered - x.within
	}
	return a.fullFor(now) - x.within
}

// enter counts a request that joins the batch.
func (a *adapters) enter(adapter uint16, now Time) {
	x := &a.of[adapter]
	x.running++
	if adapter == 0 || x.running > 1 {
		return
	}
	x.entered = a.fullFor(now)
	a.active = append(a.active, adapter)
	if len(a.active) == a.spec.Slots {
		a.since = now
	}
}

// exit counts one that leaves it.
func (a *adapters) exit(adapter uint16, now Time) {
	x := &a.of[adapter]
	x.running--
	if adapter == 0 || x.running > 0 {
		return
	}
	all := a.fullFor(now)
	x.within += all - x.entered
	x.used = now
	a.active = dropAdapter(a.active, adapter)
	a.full, a.since = all, Forever
}

// countDecode counts a sequence that joins the decode set, or leaves it.
func (a *adapters) countDecode(adapter uint16, sign int) {
	if adapter == 0 {
		return
	}
	x := &a.of[adapter]
	x.decoding += int32(sign)
	a.decoding += sign
	if sign > 0 && x.decoding == 1 || sign < 0 && x.decoding == 0 {
		a.distinct += sign
	}
}

// load gives an adapter a slot, and returns how long it takes to come there.
func (a *adapters) load(adapter uint16, t *adapterTally) (d Duration) {
	x := &a.of[adapter]
	if x.resident {
		return 0
	}
	if !x.hosted {
		if len(a.hosted) == a.spec.Host {
			out := a.oldest(a.hosted)
			a.of[out].hosted = false
			a.hosted = dropAdapter(a.hosted, out)
			a.vacate(out)
		}
		x.hosted, d = true, a.spec.Reads[adapter-1]
		a.hosted = append(a.hosted, adapter)
		t.reads++
	}
	if len(a.resident) == a.spec.Slots {
		a.vacate(a.oldest(a.resident))
	}
	x.resident = true
	a.resident = append(a.resident, adapter)
	t.copies++
	d += a.spec.Copies[adapter-1]
	t.copying += d
	return d
}

// vacate takes the slot of an adapter, if it has one.
func (a *adapters) vacate(adapter uint16) {
	if x := &a.of[adapter]; x.resident {
		x.resident = false
		a.resident = dropAdapter(a.resident, adapter)
	}
}

// oldest returns the adapter of a list that was in a batch least recently, the first of several. It is none that the
// batch has now: there are no more of these than slots, and one of them has no slot yet.
func (a *adapters) oldest(list []uint16) (oldest uint16) {
	for _, i := range list {
		if x := &a.of[i]; x.running == 0 && (oldest == 0 || x.used < a.of[oldest].used ||
			x.used == a.of[oldest].used && i < oldest) {
			oldest = i
		}
	}
	if oldest == 0 {
		panic("sim: every slot has an adapter of the batch")
	}
	return oldest
}

// dropAdapter returns a list without an adapter of it.
func dropAdapter(list []uint16, adapter uint16) []uint16 {
	i := slices.Index(list, adapter)
	list[i] = list[len(list)-1]
	return list[:len(list)-1]
}

// queue notes that the request in slot begins to wait.
func (a *adapters) queue(slot int32, r *Request, now Time) {
	if n := int(slot) + 1; n > len(a.queued) {
		a.queued = append(a.queued, make([]Duration, n-len(a.queued))...)
	}
	a.queued[slot] = a.outside(r.Adapter, now)
}

// admitAdapter gives the adapter of r, which is admitted for the first time if first, its slot for the step.
func (w *Work) admitAdapter(r *Request, first bool) {
	a, t := w.in.adapters, &w.in.tally.adapterTally
	if r.Adapter == 0 {
		return
	}
	if first {
		t.adapted++
		if a.of[r.Adapter].resident {
			t.resident++
		}
		if locked := a.outside(r.Adapter, w.now) - a.queued[r.slot]; locked > 0 {
			t.lockedOut++
			t.lockedNS.AddOne(uint64(locked / Nanosecond))
		}
	}
	w.shape.AdapterCopies += a.load(r.Adapter, t)
}

// adapt adds to the shape of the step that has been composed what it has of adapters.
func (in *Instance) adapt(s *Shape) {
	a := in.adapters
	a.steps++
	s.Adapters, s.AdapterOutputs = a.distinct, a.decoding
	switch {
	case in.work.paused:
		s.Adapters, s.AdapterOutputs = 0, 0
	case in.drafting.speculation != nil:
		s.AdapterOutputs = in.adaptedDrafts()
	}
	s.AdapterTokens = int64(s.AdapterOutputs)
	for _, slot := range in.batch.prefill {
		r := &in.requests.at[slot]
		if r.chunk == 0 || r.Adapter == 0 {
			continue
		}
		s.AdapterTokens += int64(r.chunk + r.filler)
		if r.chunk == r.Pending() {
			s.AdapterOutputs += int(1 + r.filler)
		}
		x := &a.of[r.Adapter]
		if x.step != a.steps && (x.decoding == 0 || in.work.paused) {
			s.Adapters++
		}
		x.step = a.steps
	}
}

// adaptedDrafts returns how many tokens the decodes with adapters compute in a step with drafts.
func (in *Instance) adaptedDrafts() (n int) {
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if r.Adapter != 0 && in.decodesOrEnded(r) {
			n += int(1 + in.draftsOf(r))
		}
	}
	return n
}

// AdapterTotals is what has become of LoRA adapters over a run.
type AdapterTotals struct {
	Requests int64   // admitted that have one
	Resident int64   // of them, those whose adapter had a slot when they were
	Copies   int64   // adapters copied to slots
	Reads    int64   // of them, those that came from storage
	CopyingS float64 // Σ for which steps waited for that
	Waited   int64   // of Requests, those that waited while every slot had another adapter of the batch
	WaitedS  float64 // Σ for which they did
}

func (t *AdapterTotals) add(x *adapterTally) {
	t.Requests += x.adapted
	t.Resident += x.resident
	t.Copies += x.copies
	t.Reads += x.reads
	t.CopyingS += x.copying.Seconds()
	t.Waited += x.lockedOut
	t.WaitedS += x.lockedNS.Float() / 1e9
}

// heaps is the requests of a queue that the scheduler sees, in a heap for each adapter.
type heaps struct {
	of     []orderHeap // by adapter
	filled []uint64    // a bit for each that is not empty
	n      int         // requests in all of them
	last   int64       // keys given so far to requests at the end of a queue without an Order
	front  int64       // and to those at its front
}

func newHeaps(adapters int) *heaps {
	return &heaps{of: make([]orderHeap, adapters+1), filled: make([]uint64, adapters/64+1)}
}

func (h *heaps) push(requests []Request, slot int32) {
	a := requests[slot].Adapter
	h.of[a].push(requests, slot)
	h.filled[a/64] |= 1 << (a % 64)
	h.n++
}

// remove takes the i-th request of an adapter's heap out of it.
func (h *heaps) remove(requests []Request, adapter uint16, i int) {
	h.of[adapter].remove(requests, i)
	if len(h.of[adapter]) == 0 {
		h.filled[adapter/64] &^= 1 << (adapter % 64)
	}
	h.n--
}

// first returns the slot of the first request that may join the batch, or noSlot.
func (h *heaps) first(requests []Request, a *adapters) int32 {
	best := noSlot
	if h.n == 0 {
		return best
	}
	consider := func(adapter uint16) {
		if heap := h.of[adapter]; len(heap) > 0 && (best == noSlot || before(&requests[heap[0]], &requests[best])) {
			best = heap[0]
		}
	}
	if len(a.active) == a.spec.Slots {
		consider(0)
		for _, adapter := range a.active {
			consider(adapter)
		}
		return best
	}
	for word, filled := range h.filled {
		for ; filled != 0; filled &= filled - 1 {
			consider(uint16(word*64 + bits.TrailingZeros64(filled)))
		}
	}
	return best
}
