package workloads

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

func TestOpenLoopsDoNotAllocatePerRequest(t *testing.T) {
	l := sourcetest.Plain()
	l.MaxOutput = lengths.Spec{Distribution: "fixed", Mean: 400}
	l.Classes = []requests.Class{{Name: "a", Share: 0.5, Prompt: l.Prompt, MaxOutput: l.MaxOutput},
		{Name: "b", Share: 0.5, Priority: 1}}
	o, err := NewOpenLoop(OpenLoop{Arrivals: arrivals.Spec{Process: "poisson", Rate: 8}, Mix: l, Requests: 1 << 20,
		Patience: requests.Patience{TimeoutS: 9, CancelShare: 0.1, CancelAfterS: 1}}, 1)
	require.NoError(t, err)
	var r sim.Request
	require.Zero(t, testing.AllocsPerRun(2000, func() { o.Next(&r) }))
}

func BenchmarkOpenLoop(b *testing.B) {
	for _, a := range []arrivals.Spec{
		{Process: "poisson", Rate: 1000},
		{Process: "gamma", Rate: 1000, CV: 2},
		{Process: "on-off", OnRate: 2000, OffRate: 10, OnS: 1, OffS: 1},
		{Process: "sinusoid", Rate: 1000, Amplitude: 0.5, PeriodS: 600},
	} {
		b.Run(a.Process, func(b *testing.B) {
			o, err := NewOpenLoop(OpenLoop{Arrivals: a, Mix: sourcetest.Plain(), Requests: 1 << 30}, 1)
			require.NoError(b, err)
			var r sim.Request
			b.ReportAllocs()
			for b.Loop() {
				o.Next(&r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/request")
		})
	}
}
