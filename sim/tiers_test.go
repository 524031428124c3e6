package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// tiered is two replicas, taken in turn, whose GPUs keep three blocks of 16 tokens and their host memory two. Every
// step takes a second. The first prompt, of two shared blocks and a tail, is pushed out of both by the second, on the
// same replica.
func tiered(tiers ...sim.Tier) scenario {
	tree := new(sim.Contents)
	first, second := tree.Add(0, 32), tree.Add(0, 32)
	sc := scenario{size: 2, roundRobin: true, blocks: 3, blockSize: 16, maxLen: 48, tree: tree, model: ticks(sim.Second),
		policy: &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100}, offload: 2, tiers: tiers}
	sc.requests = []sim.Request{{Content: first}, {}, {Content: second}, {}}
	for i := range sc.requests {
		r := &sc.requests[i]
		r.ID, r.Prompt, r.Output = int32(i), 40, 2
		r.Arrival = sim.Time(i) * sim.Time(10*sim.Second)
	}
	return sc
}

// ask adds a request for the first prompt at 100 s.
func (sc *scenario) ask() {
	r := sc.requests[0]
	r.ID, r.Arrival = int32(len(sc.requests)), sim.Time(100*sim.Second)
	sc.requests = append(sc.requests, r)
}

// nvme takes 2 s to the first byte and 0.1 s for a token.
func nvme() sim.Tier {
	return sim.Tier{Name: "nvme", Blocks: 100, Share: sim.FullPort,
		Link: sim.Link{Latency: 2 * sim.Second, Token: sim.Second / 10}}
}

// ttft returns how long request id took to its first token.
func ttft(j *journal, sc *scenario, id int32) sim.Duration {
	return j.tokens[id][0].Sub(sc.requests[id].Arrival)
}

// TestAFetchTakesItsLinkAndThenAStep: 2 s, 32 tokens of 0.1 s each, and the step that computes the other eight; a
// prompt that is computed instead takes the step alone, and so does one that the tier does not have.
func TestAFetchTakesItsLinkAndThenAStep(t *testing.T) {
	for _, test := range []struct {
		name          string
		blocks        int64
		recompute     bool
		want          sim.Duration
		fetched, rest int64
	}{
		{"fetched", 100, false, 2*sim.Second + 32*sim.Second/10 + sim.Second, 32, 0},
		{"no longer there", 2, false, sim.Second, 0, 0},
		{"one block of two", 3, false, 2*sim.Second + 16*sim.Second/10 + sim.Second, 16, 0},
		{"computed sooner", 100, true, sim.Second, 0, 32},
	} {
		tier := nvme()
		tier.Blocks = test.blocks
		sc := tiered(tier)
		sc.fetchOrRecompute = test.recompute
		sc.ask()
		j := newJournal()
		p := run(t, sc.config(j)).PoolTotals(0)
		require.Equal(t, test.want, ttft(j, &sc, 4), test.name)
		require.Equal(t, sim.TierTotals{Fetched: test.fetched, Cached: test.fetched}, p.Tiers[0], test.name)
		require.Equal(t, []int64{test.fetched, test.fetched, test.rest}, []int64{p.Cached, p.CachedBelow, p.Recomputed},
			test.name)
	}
}

// TestStepsGoOnDuringAFetch: a request that decodes meanwhile has a token every second.
func TestStepsGoOnDuringAFetch(t *testing.T) {
	sc := tiered(nvme())
	sc.blocks = 4 // which leaves the first block of the first prompt on the GPUs
	sc.ask()
	sc.requests = append(sc.requests, sim.Request{ID: 5, Prompt: 1, Output: 1, Arrival: sim.Time(101 * sim.Second)},
		sim.Request{ID: 6, Prompt: 1, Output: 9, Arrival: sim.Time(101 * sim.Second)})
	j := newJournal()
	run(t, sc.config(j))
	require.Equal(t, sim.Time(105*sim.Second), j.tokens[4][0], "it waits for the end of the step under way at 103.6 s")
	for i, at := range j.tokens[6] {
		require.Equal(t, sim.Time(102+sim.Duration(i))*sim.Time(sim.Second), at)
	}
}

// TestATierThatIsSharedKnowsWhatOthersStored: the replica that did not compute a prompt finds it in a store of the
// cluster, and not in the drives of the other one.
func TestATierThatIsSharedKnowsWhatOthersStored(t *testing.T) {
	for _, shared := range []bool{false, true} {
		tier := nvme()
		tier.Shared = shared
		sc := tiered(tier)
		sc.requests = append(sc.requests, sim.Request{ID: 4, Prompt: 1, Output: 1, Arrival: sim.Time(99 * sim.Second)})
		sc.ask()
		j := newJournal()
		run(t, sc.config(j))
		require.Equal(t, map[bool]int32{true: 32}[shared], j.cached[5])
	}
}

// TestFetchesShareTheStore: two replicas that fetch at once take twice as long from a store that one of them takes all
// of, and no longer from one that has enough for both.
func TestFetchesShareTheStore(t *testing.T) {
	for share, tokens := range map[uint64]sim.Duration{sim.FullPort: 64, sim.FullPort / 2: 32, sim.FullPort * 3 / 4: 48} {
		tier := nvme()
		tier.Shared, tier.Share, tier.ReceivingShare = true, share, sim.FullPort
		sc := tiered(tier)
		sc.ask()
		sc.ask()
		j := newJournal()
		run(t, sc.config(j))
		for id := range int32(2) {
			require.InDelta(t, float64(3*sim.Second+tokens*sim.Second/10), float64(ttft(j, &sc, 4+id)),
				float64(sim.Microsecond), "share %d", share)
		}
	}
}

// TestWhatFetchesBesideAnotherComputesSooner: 32 tokens take 6.4 s to compute and 5.2 s to fetch alone, of which 3.2 s
// on the port of the store. While another replica has that, they would take 8.4 s, and are computed.
func TestWhatFetchesBesideAnotherComputesSooner(t *testing.T) {
	for after, fetches := range map[sim.Duration]bool{0: true, sim.Second: true, 3 * sim.Second: false,
		5 * sim.Second: false, 6 * sim.Second: true} {
		tier := nvme()
		tier.Shared, tier.Share, tier.ReceivingShare = true, sim.FullPort, sim.FullPort
		sc := tiered(tier)
		sc.fetchOrRecompute, sc.model = true, prices{token: sim.Second / 5}
		sc.ask()
		sc.ask()
		sc.requests[5].Arrival = sc.requests[5].Arrival.Add(after)
		j := newJournal()
		p := run(t, sc.config(j)).PoolTotals(0)
		if fetches {
			require.EqualValues(t, 64, p.CachedBelow, after)
			continue
		}
		require.EqualValues(t, 32, p.CachedBelow, after)
		require.Equal(t, 8*sim.Second, ttft(j, &sc, 5), after)
	}
}

// TestAFetchThatIsCancelledLeavesNothing: neither a transfer nor a request, and the replica computes what comes next.
func TestAFetchThatIsCancelledLeavesNothing(t *testing.T) {
	sc := tiered(nvme())
	sc.ask()
	sc.requests[4].Deadline = sc.requests[4].Arrival.Add(3 * sim.Second)
	sc.requests = append(sc.requests, sim.Request{ID: 5, Prompt: 1, Output: 1, Arrival: sim.Time(200 * sim.Second)},
		sim.Request{ID: 6, Prompt: 1, Output: 1, Arrival: sim.Time(200 * sim.Second)})
	j := newJournal()
	cl := run(t, sc.config(j))
	require.Equal(t, "failed", j.ended[4])
	require.Equal(t, int64(6), j.Outcomes[sim.Completed])
	require.Zero(t, cl.PoolTotals(0).Tiers[0].Fetched)
	require.NoError(t, sim.CheckCaches(cl))
}

// TestWritesAreTalliedAndEndWithTheRun: what is written counts, and no run waits for it.
func TestWritesAreTalliedAndEndWithTheRun(t *testing.T) {
	tier := nvme()
	tier.Write, tier.WriteShare = sim.Link{Latency: sim.Second, Token: sim.Second}, sim.FullPort
	sc := tiered(tier)
	j := newJournal()
	cl := run(t, sc.config(j))
	require.Equal(t, int64(64), cl.PoolTotals(0).Tiers[0].Written, "two prompts of two whole blocks")
	require.Equal(t, sim.Time(32*sim.Second), cl.Now(), "the last token, not the last byte that is written")
}

// TestWritesShareTheNetworkWithTransfers: a cache of 32 tokens takes 32 s to the next pool, and as long to a store once
// it has come there. 10 s later the next cache leaves by the same port: for 44 s both have half of it, in which the
// other 22 s are written, and 10 s are left. A store that is reached otherwise slows no transfer, and where half of the
// port is reserved a cache alone takes twice as long.
func TestWritesShareTheNetworkWithTransfers(t *testing.T) {
	for _, test := range []struct {
		name              string
		at                sim.Time // seconds
		sending, reserved uint64
		first, second     sim.Duration
	}{
		{"shared", 42, sim.FullPort, 0, 32, 54},
		{"another way", 42, 0, 0, 32, 32},
		{"reserved", 200, 0, sim.FullPort / 2, 64, 64},
	} {
		second := test.at * sim.Time(sim.Second)
		sc := writing(second, test.sending)
		sc.reserved = test.reserved
		j, _ := play(t, sc, test.name)
		read := sim.Duration(promptTime)
		require.Equal(t, sim.Time(0).Add(read+test.first*sim.Second), j.moved[0][1], test.name)
		require.InDelta(t, second.Add(read+test.second*sim.Second).Seconds(), j.moved[1][1].Seconds(), 1e-9, test.name)
	}
}

// writing is a pool that hands the caches of two requests on and writes both to a drive, each token in a second, the
// writes by as much of a port as sending says.
func writing(second sim.Time, sending uint64) scenario {
	sc := handing(sim.Stage{Link: sim.Link{Token: sim.Second, Layers: 1}}, sim.Request{Prompt: 32, Output: 2},
		sim.Request{Prompt: 32, Output: 2, Arrival: second})
	sc.tree = new(sim.Contents)
	for i := range sc.requests {
		sc.requests[i].Content = sc.tree.Add(0, 32)
	}
	tier := nvme()
	tier.Write, tier.WriteShare, tier.SendingShare = sim.Link{Token: sim.Second}, sim.FullPort, sending
	sc.offload, sc.tiers = 10, []sim.Tier{tier}
	return sc
}

// TestAFailureEndsWhatIsWritten: after 32 s the cache of request 0 has left by the port, and its 32 tokens are written
// by it. If the instance fails 8 s later and comes back at once, the next cache has the port to itself, and otherwise
// for 48 of 56 s one half.
func TestAFailureEndsWhatIsWritten(t *testing.T) {
	for fails, took := range map[bool]sim.Duration{true: 32, false: 54} {
		second := sim.Time(42 * sim.Second)
		sc := writing(second, sim.FullPort)
		sc.sizeMax = 1
		if fails {
			at := sim.Time(40 * sim.Second)
			sc.script = []action{{at: at, what: "fail", retry: true}, {at: at + 1, what: "start"}}
		}
		j, _ := play(t, sc, "written")
		require.InDelta(t, second.Add(sim.Duration(promptTime)+took*sim.Second).Seconds(), j.moved[1][1].Seconds(), 1e-9)
	}
}

// TestASharedTierIsWrittenBackToASharedOne: what it has no room for is no instance's own.
func TestASharedTierIsWrittenBackToASharedOne(t *testing.T) {
	shared := nvme()
	shared.Name, shared.Shared = "cluster", true
	sc := tiered(shared, nvme())
	sc.writeBack = true
	_, err := sim.New(sc.config(newJournal()))
	require.EqualError(t, err,
		`sim: pool "test": tier "nvme" of each instance cannot be written back to from a shared one`)
	sc.writeBack = false
	run(t, sc.config(newJournal()))
}

// TestWhatStepsUnderWayEvictIsFetched: of the four shared blocks of request 0, the nine decode steps of request 1
// that have begun at 19.5 s have evicted two, although they are one segment. Request 2 fetches these, not none.
func TestWhatStepsUnderWayEvictIsFetched(t *testing.T) {
	tree := new(sim.Contents)
	begin := tree.Add(0, 4)
	sc := scenario{size: 1, blocks: 12, blockSize: 1, maxLen: 12, tree: tree, model: ticks(sim.Second),
		policy:  &schedulers.Continuous{MaxNumSeqs: 4, MaxNumBatchedTokens: 100},
		offload: 1, tiers: []sim.Tier{nvme()}}
	at := func(seconds float64) sim.Time { return sim.Time(sim.Seconds(seconds)) }
	sc.requests = []sim.Request{{Content: begin, Prompt: 5, Output: 1}, {Prompt: 1, Output: 11, Arrival: at(10)},
		{Content: begin, Prompt: 5, Output: 1, Arrival: at(19.5)}}
	for i := range sc.requests {
		sc.requests[i].ID, sc.requests[i].Traced = int32(i), true
	}
	_, cl := play(t, sc, "fetched")
	require.Equal(t, int64(2), cl.PoolTotals(0).Tiers[0].Fetched)
}
