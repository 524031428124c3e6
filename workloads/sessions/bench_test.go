package sessions

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

func TestClosedLoopsDoNotAllocatePerRequest(t *testing.T) {
	pairs, err := lengths.NewPairs([][]int64{{7, 8}, {9, 3}})
	require.NoError(t, err)
	var r sim.Request
	l := requests.Mix{Pairs: pairs, Repeat: true}
	c, err := NewClosedLoop(ClosedLoop{Concurrency: 64, ThinkTimeS: 1, ThinkLaw: "exponential", Mix: l,
		Requests: 1 << 20}, 1)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(2000, func() { c.Next(&r); c.Done(r.Arrival+1, &r) }))
}

func BenchmarkClosedLoop(b *testing.B) {
	c, err := NewClosedLoop(ClosedLoop{Concurrency: 256, Mix: sourcetest.Plain(), Requests: 1 << 30}, 1)
	require.NoError(b, err)
	var r sim.Request
	b.ReportAllocs()
	for b.Loop() {
		c.Next(&r)
		c.Done(r.Arrival.Add(sim.Duration(r.Output)), &r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/request")
}
