package sim

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPagesAgainstASlice: pages come and go, order stays.
func TestPagesAgainstASlice(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 1))
	var q pages
	var list []int32
	for id := int32(0); id < 20_000; id++ {
		if rnd.IntN(3000) == 0 {
			for q.n > 0 {
				require.Equal(t, list[0], q.pop().id)
				list = list[1:]
			}
		}
		q.push((&Request{ID: id}).pack(noSlot))
		list = append(list, id)
		if rnd.IntN(5) < 2 {
			require.Equal(t, list[0], q.pop().id)
			list = list[1:]
		}
		require.Equal(t, len(list), q.n)
	}
}

// TestWaitingRequestsAreSmall: a queue of a million costs at most 33 bytes for each.
func TestWaitingRequestsAreSmall(t *testing.T) {
	const n = 1_000_000
	var before, after runtime.MemStats
	var q pages
	runtime.GC()
	runtime.ReadMemStats(&before)
	for id := range int32(n) {
		q.push((&Request{ID: id, Prompt: 1, Output: 1}).pack(noSlot))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Equal(t, int32(0), q.pop().id)
	require.Less(t, float64(after.HeapAlloc-before.HeapAlloc)/n, 33.0)
}

// TestAWaitingRequestStaysWhatItIs: of what a request may ask for, a packed one says some, and keeps it. A request that
// asks for anything else is not packed.
func TestAWaitingRequestStaysWhatItIs(t *testing.T) {
	said := map[string]bool{"ID": true, "Prompt": true, "Output": true, "MaxOutput": true, "Arrival": true}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Request]()) {
		asked := len(f.Index) == 1 || f.Name == "Route" || f.Name == "Stage" // the rest of a record is what has become of it
		if !asked || f.Anonymous || !f.IsExported() {
			continue
		}
		r := Request{ID: 7, Prompt: 6, Output: 5, MaxOutput: 4, Arrival: 3}
		switch v := reflect.ValueOf(&r).Elem().FieldByIndex(f.Index); {
		case v.CanInt():
			v.SetInt(1)
		case v.CanUint():
			v.SetUint(1)
		default:
			v.SetBool(true)
		}
		require.Equal(t, said[f.Name], r.plain(), f.Name)
		if x := r.pack(noSlot); r.plain() {
			r.state, r.queuedAt = waiting, r.Arrival
			require.Equal(t, &r, x.request(), f.Name)
		}
	}
}

// TestWhatWaitsHasEmittedWhatItHad: wherever in the queue a request stands, and whether or not it has a record.
func TestWhatWaitsHasEmittedWhatItHad(t *testing.T) {
	for _, emitted := range [][]int32{{}, {0, 0}, {7}, {0, 7}, {7, 0}, {3, 0, 4}, {1, 2, 4}} {
		q, want := queue{requests: new(slab), visible: Forever}, int64(0)
		for _, n := range emitted {
			r := &Request{Prompt: 1, Output: 9, Record: Record{Emitted: n}}
			want += int64(n)
			if n == 0 {
				q.push(r, noSlot)
			} else {
				q.push(r, q.requests.put(r))
			}
		}
		require.Equal(t, want, q.emitted(), emitted)
	}
}

// TestARestartedRequestIsFoundBehindOthers: a request that comes from a server that failed has been in a batch, and
// stands behind those that came before it. What waits in front of it is asked first, and the order of all stays.
func TestARestartedRequestIsFoundBehindOthers(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		in := &Instance{shared: new(shared)}
		q := &in.queue
		q.requests, q.sorts = &in.requests, ordered // in an order, none is seen yet
		for id, emitted := range []int32{0, 0, 14, 0, 13} {
			r := &Request{ID: int32(id), Arrival: 1, Prompt: 1, Output: 20, Record: Record{Emitted: emitted}}
			r.queuedAt = 1
			q.push(r, q.requests.put(r))
		}
		for i := range 2 {
			r, all := in.ResumesNext(i)
			require.False(t, all)
			require.Equal(t, int32(i), r.ID)
		}
		r, all := in.ResumesNext(2)
		require.Nil(t, r)
		require.True(t, all)
		q.visible = Forever
		for id := range int32(5) {
			require.Equal(t, id, q.head().ID)
			require.Equal(t, id, q.requests.at[q.pop()].ID)
		}
		require.Zero(t, q.len())
		require.Zero(t, q.resuming)
		require.Zero(t, q.emitted())
	}
}

// TestWhatIsRetractedWaitsBehindWhatTheSchedulerSees: and before what came later than that.
func TestWhatIsRetractedWaitsBehindWhatTheSchedulerSees(t *testing.T) {
	for _, c := range []struct {
		visible Time
		last    bool
		queued  []Time
		want    []int32 // 9: what is retracted
	}{
		{Forever, true, []Time{1, 2, 3}, []int32{0, 1, 2, 9}}, {Forever, false, []Time{1, 2, 3}, []int32{9, 0, 1, 2}},
		{5, true, []Time{3, 5, 6, 7}, []int32{0, 1, 9, 2, 3}}, {5, true, []Time{3, 5, 5}, []int32{0, 1, 2, 9}},
		{5, true, []Time{5, 6, 7}, []int32{0, 9, 1, 2}}, {5, true, []Time{5}, []int32{0, 9}},
		{5, true, []Time{6, 7}, []int32{9, 0, 1}}, {5, true, nil, []int32{9}}, {5, false, []Time{5, 6}, []int32{9, 0, 1}},
	} {
		for _, emitted := range []int32{0, 7} {
			q := queue{requests: new(slab), visible: c.visible}
			for id, at := range c.queued {
				r := &Request{ID: int32(id), Prompt: 1, Output: 9}
				r.queuedAt = at
				q.push(r, q.requests.put(r))
			}
			r := &Request{ID: 9, Prompt: 1, Output: 9, Record: Record{Emitted: emitted}}
			r.queuedAt = 4
			q.pushBack(q.requests.put(r), c.last)
			require.Equal(t, int64(emitted), q.emitted(), "%+v", c)
			var got []int32
			for q.len() > 0 {
				got = append(got, q.head().ID)
				q.pop()
			}
			require.Equal(t, c.want, got, "%+v", c)
			require.Zero(t, q.emitted())
		}
	}
}

// TestWhatIsRetractedAtOnceWaitsInThatOrder: the first of two had come to another instance's queue after the step began
// that the scheduler has seen, and to this one by a transfer. It ran, so the scheduler sees it all the same, as it does
// in the next step.
func TestWhatIsRetractedAtOnceWaitsInThatOrder(t *testing.T) {
	q := queue{requests: new(slab), visible: 5}
	for id, at := range []Time{6, 3} {
		r := &Request{ID: int32(id), Prompt: 1, Output: 9}
		r.queuedAt = at
		q.pushBack(q.requests.put(r), id > 0)
	}
	for id := range int32(2) {
		require.Equal(t, id, q.waiting(0).ID)
		q.pop()
	}
	require.Zero(t, q.len())
}
