package sim_test

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// naiveScenario is the first of the benchmark loads for the naive twin.
func naiveScenario(b *testing.B, l load, requests int) scenario {
	c := l.config(b, requests, &metrics.Recorder{})
	sc := scenario{
		size: 1, blocks: c.Pools[0].KVBlocks, blockSize: c.Pools[0].BlockSize, maxLen: c.Pools[0].MaxModelLen,
		policy: c.Pools[0].Scheduler, model: hardware.NewRoofline(h100Llama8B(), l.maxNumSeqs),
	}
	for {
		var r sim.Request
		if !c.Source.Next(&r) {
			return sc
		}
		sc.requests = append(sc.requests, r)
	}
}

// BenchmarkNaive is the same load on the naive twin: the ratio to BenchmarkRun is what sums and runs of steps buy.
// Unlike a wall-clock figure it says the same on a slow or busy machine.
func BenchmarkNaive(b *testing.B) {
	for _, l := range loads[:2] {
		b.Run(l.name, func(b *testing.B) {
			n := min(b.N, 3000) // it keeps every token time: enough to be steady, not to fill memory
			sc := naiveScenario(b, l, n)
			b.ResetTimer()
			tokens := 0
			for done := 0; done < b.N; done += n {
				for _, r := range runNaive(sc).all {
					tokens += len(r.tokens)
				}
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds()/1e6, "Mtok/s")
		})
	}
}

// BenchmarkPrefixCachingWithoutSharing says what prefix caching costs where nothing is shared: the ratio of the fastest
// of several runs with it to the fastest without, taken in turn.
func BenchmarkPrefixCachingWithoutSharing(b *testing.B) {
	const requests = 100_000
	for _, l := range loads[:2] {
		b.Run(l.name, func(b *testing.B) {
			fastest := [2]time.Duration{math.MaxInt64, math.MaxInt64}
			for range b.N {
				for i := range fastest {
					l.prefix = i == 1
					cl, err := sim.New(l.config(b, requests, &metrics.Recorder{}))
					require.NoError(b, err)
					start := time.Now()
					cl.Run()
					fastest[i] = min(fastest[i], time.Since(start))
				}
			}
			b.ReportMetric(float64(fastest[0])/requests, "off-ns/req")
			b.ReportMetric(float64(fastest[1])/requests, "on-ns/req")
			b.ReportMetric(float64(fastest[1])/float64(fastest[0]), "on/off")
		})
	}
}

// TestSteadyStateDoesNotAllocate: what a run allocates does not depend on how many requests it serves.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	mallocs := func(l load, requests int) uint64 {
		var m metrics.Recorder
		cl, err := sim.New(l.config(t, requests, &m))
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		cl.Run()
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	every := append(engineLoads()[:len(engines)], loads[0], loads[4], loads[6], loads[8], loads[9], loads[11], loads[14])
	every[len(engines)-1].rate = 2 // static batches serve far less, and a queue that grows allocates
	more := soak.Part(35_000)
	for _, l := range every {
		few, many := mallocs(l, 10_000), mallocs(l, 10_000+more)
		t.Logf("%s: %d allocations for 10,000 requests, %d for %d more", l.name, few, many, more)
		require.Less(t, many, few+30, "%s: %d more requests", l.name, more)
	}
}
