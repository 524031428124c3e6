package transfer

import (
	"testing"

	"github.com/decodesim/decodesim/sim/clock"
)

// BenchmarkBacklog is a backlog of KV transfers: so many flow at once from three instances to one, and whenever one
// has ended the next begins. An op is a transfer, from its beginning to its end.
func BenchmarkBacklog(b *testing.B) {
	for _, flows := range []struct {
		name string
		n    int
	}{{"flows=8", 8}, {"flows=500", 500}} {
		b.Run(flows.name, func(b *testing.B) {
			l := NewLinks(4)
			begin := func(k int, now clock.Time) {
				i := l.Add(Link{}, true, false)
				t := l.Transfer(i)
				t.From, t.To = End{int32(k % 3), 0}, End{3, 0}
				l.Start(i, now, clock.Duration(1e9+k*7919%1000*1e6))
			}
			for k := range flows.n {
				begin(k, 0)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for ended := 0; ended < b.N; {
				now := l.At()
				i, done := l.Advance(now)
				if !done {
					continue
				}
				l.Remove(i)
				ended++
				begin(ended, now)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "transfers/s")
		})
	}
}
