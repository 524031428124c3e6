package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// adaptedScenario is an instance whose every step takes a second, beside copies, and so many requests that arrive at
// once, each of a prompt token and so many outputs.
func adaptedScenario(slots int, output int32, adapters ...uint16) scenario {
	sc := scenario{size: 1, blocks: 1000, blockSize: 16, maxLen: 1000, model: seconds{},
		policy: &schedulers.Continuous{MaxNumSeqs: 100, MaxNumBatchedTokens: 100}}
	most := uint16(0)
	for i, a := range adapters {
		sc.requests = append(sc.requests, sim.Request{ID: int32(i), Prompt: 1, Output: output, Adapter: a, Traced: true})
		most = max(most, a)
	}
	sc.adapters = sim.Adapters{Slots: slots, Host: int(most)}
	for range most {
		sc.adapters.Copies = append(sc.adapters.Copies, 0)
	}
	return sc
}

// seconds prices every step at a second, and the copies of adapters beside.
type seconds struct{}

func (seconds) Price(ranks []sim.Shape, g *sim.Segment) {
	*g = sim.Segment{First: sim.Second + ranks[0].AdapterCopies, Steps: 1 << 20}
	if ranks[0].AdapterCopies > 0 {
		g.Steps = 1
	}
	g.Part[sim.Overhead].A = g.First
}

// ends returns when each request of the scenario had its last token, in seconds.
func ends(t *testing.T, sc *scenario) (list []float64, totals sim.AdapterTotals) {
	j := newJournal()
	cl := run(t, sc.config(j))
	for i := range sc.requests {
		times := j.tokens[int32(i)]
		list = append(list, times[len(times)-1].Sub(0).Seconds())
	}
	return list, cl.PoolTotals(0).Adapters
}

// Two requests of two adapters share a batch of two slots, and with one slot the second waits for the first to end.
func TestRequestsOfMoreAdaptersThanSlotsRunOneAfterTheOther(t *testing.T) {
	sc := adaptedScenario(2, 10, 1, 2)
	list, totals := ends(t, &sc)
	require.Equal(t, []float64{10, 10}, list)
	require.Equal(t, sim.AdapterTotals{Requests: 2, Copies: 2}, totals)

	sc = adaptedScenario(1, 10, 1, 2)
	list, totals = ends(t, &sc)
	require.Equal(t, []float64{10, 20}, list)
	require.Equal(t, sim.AdapterTotals{Requests: 2, Copies: 2, Waited: 1, WaitedS: 10}, totals)
}

// A request whose adapter has no slot is passed over, and others behind it are not: those of the same adapter as the
// batch, and those of the model.
func TestARequestWithoutASlotIsPassedOver(t *testing.T) {
	sc := adaptedScenario(1, 10, 1, 2, 1, 0)
	list, totals := ends(t, &sc)
	require.Equal(t, []float64{10, 20, 10, 10}, list)
	require.Equal(t, sim.AdapterTotals{Requests: 3, Resident: 1, Copies: 2, Waited: 1, WaitedS: 10}, totals)
}

// What is passed over keeps its place: of two that wait for a slot, the first gets it.
func TestWhatIsPassedOverKeepsItsPlace(t *testing.T) {
	sc := adaptedScenario(1, 5, 3, 2, 1, 2)
	list, _ := ends(t, &sc)
	require.Equal(t, []float64{5, 10, 15, 10}, list)
}

// However many adapters there are, all that wait for one slot get it, in their order.
func TestAllOfManyAdaptersAreServed(t *testing.T) {
	var adapters []uint16
	var want []float64
	for a := uint16(1); a <= 320; a++ {
		if a%9 == 2 || a%64 <= 1 || a%64 == 63 {
			adapters, want = append(adapters, a), append(want, 2*float64(len(want)+1))
		}
	}
	sc := adaptedScenario(1, 2, adapters...)
	list, totals := ends(t, &sc)
	require.Equal(t, want, list)
	require.EqualValues(t, len(adapters), totals.Copies)
}

// The adapter that was least recently in a batch loses its slot: 1 and 2 take two slots, 3 that of 1, whose request
// ended first; then 2 has its slot yet and 1 comes again.
func TestTheLeastRecentlyUsedAdapterIsReplaced(t *testing.T) {
	sc := adaptedScenario(2, 1, 1, 2, 3, 2, 1)
	for i := range sc.requests {
		sc.requests[i].Arrival = sim.Time(i) * sim.Time(10*sim.Second)
	}
	_, totals := ends(t, &sc)
	require.Equal(t, sim.AdapterTotals{Requests: 5, Resident: 1, Copies: 4}, totals)
}

// The first step of a request lasts longer by the copy of its adapter, and by reading it from storage where host memory
// lacks it.
func TestACopyPrecedesTheStep(t *testing.T) {
	sc := adaptedScenario(1, 2, 1, 2, 1)
	for i := range sc.requests {
		sc.requests[i].Arrival = sim.Time(i) * sim.Time(100*sim.Second)
	}
	sc.adapters.Copies = []sim.Duration{sim.Second, 2 * sim.Second}
	list, totals := ends(t, &sc)
	require.Equal(t, []float64{3, 104, 203}, list)
	require.Equal(t, sim.AdapterTotals{Requests: 3, Copies: 3, CopyingS: 4}, totals)

	sc.adapters.Reads, sc.adapters.Host = []sim.Duration{10 * sim.Second, 20 * sim.Second}, 2
	list, totals = ends(t, &sc)
	require.Equal(t, []float64{13, 124, 203}, list)
	require.Equal(t, sim.AdapterTotals{Requests: 3, Copies: 3, Reads: 2, CopyingS: 34}, totals)

	sc.adapters.Host = 1
	list, totals = ends(t, &sc)
	require.Equal(t, []float64{13, 124, 213}, list)
	require.Equal(t, int64(3), totals.Reads)
}

// fiftyDays prices a step of one prompt at 50 days, and others at a second.
type fiftyDays struct{}

func (fiftyDays) Price(ranks []sim.Shape, g *sim.Segment) {
	seconds{}.Price(ranks, g)
	if ranks[0].Prefills == 1 {
		g.First = 50 * 86400 * sim.Second
	}
	g.Part[sim.Overhead].A = g.First
}

// 2200 requests wait for 50 days each, more than 292 years in all.
func TestManyRequestsMayWaitForLong(t *testing.T) {
	adapters := []uint16{1}
	for range 2200 {
		adapters = append(adapters, 2)
	}
	sc := adaptedScenario(1, 1, adapters...)
	sc.model, sc.blocks = fiftyDays{}, 3000
	sc.policy = &schedulers.Continuous{MaxNumSeqs: 3000, MaxNumBatchedTokens: 3000}
	_, totals := ends(t, &sc)
	require.Equal(t, 2200*50*86400., totals.WaitedS)
}

// A pool refuses adapters that it could not give slots.
func TestAPoolRefusesAdaptersWithoutRoom(t *testing.T) {
	for _, change := range []func(a *sim.Adapters){
		func(a *sim.Adapters) { a.Slots = 0 },
		func(a *sim.Adapters) { a.Host = 0 },
		func(a *sim.Adapters) { a.Host = 1 },
		func(a *sim.Adapters) { a.Reads = []sim.Duration{1} },
		func(a *sim.Adapters) { a.Copies[0] = -1 },
	} {
		sc := adaptedScenario(1, 1, 1, 2)
		change(&sc.adapters)
		_, err := sim.New(sc.config(newJournal()))
		require.ErrorContains(t, err, `pool "test"`)
	}
}

// TestWhatIsPreemptedWaitsBeforeOtherAdapters: two requests fill the 12 blocks of a token after 6 s. The second makes
// room and goes on when the first has ended, together with the one that has waited for a slot so far, and before that
// where there is no room for both.
func TestWhatIsPreemptedWaitsBeforeOtherAdapters(t *testing.T) {
	sc := adaptedScenario(2, 10, 1, 2, 3)
	sc.blocks, sc.blockSize, sc.maxLen = 12, 1, 11
	j, cl := play(t, sc, "preempted")
	require.Equal(t, int64(2), cl.PoolTotals(0).Preemptions)
	for id, want := range [][3]float64{{1, 6, 10}, {1, 6, 14}, {11, 15, 21}} {
		times := j.tokens[int32(id)]
		require.Len(t, times, 10)
		got := [3]float64{times[0].Sub(0).Seconds(), times[5].Sub(0).Seconds(), times[9].Sub(0).Seconds()}
		if id == 2 {
			got[1] = times[3].Sub(0).Seconds()
		}
		require.Equal(t, want, got, "request %d", id)
	}
}
