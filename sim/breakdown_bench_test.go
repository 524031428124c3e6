package sim_test

import (
	"slices"
	"testing"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// BenchmarkAttribution runs the same load with and without taking gaps apart: the difference is what that costs. An op
// is a request.
func BenchmarkAttribution(b *testing.B) {
	compareRecorders(b, func(m *metrics.Recorder) { m.Attribution = new(metrics.Attribution) })
}

// BenchmarkSeries runs the same load with and without keeping it in order of time.
func BenchmarkSeries(b *testing.B) {
	compareRecorders(b, func(m *metrics.Recorder) { m.Series = metrics.NewSeries() })
}

// compareRecorders runs loads with what a recorder may do besides, off and on. An op is a request.
func compareRecorders(b *testing.B, enable func(*metrics.Recorder)) {
	names := []string{
		"load=70%", "saturated", "output=8k/rate=0.3", "batch=3", "load=70%/ahead", "engine=vllm-v0/load=70%",
		"engine=sarathi/saturated",
		"engine=sglang/load=70%",
	}
	for _, l := range append(engineLoads(), loads...) {
		if !slices.Contains(names, l.name) {
			continue
		}
		for _, on := range []string{"off", "on"} {
			b.Run(l.name+"/"+on, func(b *testing.B) {
				var m metrics.Recorder
				if on == "on" {
					enable(&m)
				}
				cl, err := sim.New(l.config(b, b.N, &m))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.ResetTimer()
				cl.Run()
				b.ReportMetric(float64(m.Output())/b.Elapsed().Seconds()/1e6, "Mtok/s")
			})
		}
	}
}
