package validation

import (
	"context"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Occupy simulates a run and returns how full its server is: means over time, as a server that is asked at even spacing
// reports. Skip says why there is nothing to report.
func Occupy(ctx context.Context, run *measured.Run, with Efficiencies) (o measured.Occupancy, skip string) {
	if run.Skip != "" {
		return o, run.Skip
	}
	b, skip := Build(ctx, run, configs.Options{}, with)
	if skip != "" {
		return o, skip
	}
	defer b.Close()
	config, line := b.Config, metrics.NewTimeline(b.SpanS)
	config.Sink, config.Observe = NewObservation(&config), line.Observe
	c, err := Simulate(ctx, b, config)
	if err != nil {
		return o, err.Error()
	}
	samples := line.Samples(c)
	for _, s := range samples {
		used := float64(s.KVUsed) / float64(s.KVTotal)
		o.KVMean += used / float64(len(samples))
		o.KVMax = max(o.KVMax, used)
		o.RunningMax, o.WaitingMax = max(o.RunningMax, float64(s.Running)), max(o.WaitingMax, float64(s.Waiting))
	}
	return o, ""
}
