package run

import (
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Live is a run that somebody else advances, while requests are added to its source. What of it grows with its length
// is left out: intervals of a steady state, and windows of time.
type Live struct {
	Cluster *sim.Cluster
	run     *prepared
}

// Begin prepares a run of b for its first event. adapt changes the configuration, whose source, sink and contents are
// those of b, before the cluster is built.
func Begin(b *build.Built, o Options, adapt func(*sim.Config)) (*Live, error) {
	b.Scenario.Output.Intervals, b.Scenario.Output.OverTime = false, false
	x := prepare(b, o)
	adapt(&x.config)
	c, err := sim.New(x.config)
	if err != nil {
		return nil, err
	}
	x.begin(c)
	return &Live{c, x}, nil
}

// Summary returns the results so far.
func (l *Live) Summary() *metrics.Summary {
	return l.run.Recorder.Summary(l.run.built.Describe(l.run.options.Version, l.Cluster.Totals().Arrived))
}

// Finish runs to the end what is under way, and returns the results.
func (l *Live) Finish() (*Result, error) {
	l.Cluster.Run()
	return l.run.finish(l.Cluster)
}
