package report

import (
	"testing"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/plot/plottest"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

func TestFiguresKeepTheHouseRules(t *testing.T) {
	line := func(name string, samples []metrics.Sample) plottest.Drawing {
		return plottest.Drawing{Name: name, Caption: caption().String(), Draw: func() (plot.Figure, error) {
			return Timeline(caption(), samples, nil, nil)
		}}
	}
	judged := byWindow(60, "++---.-++")
	judged.Alerts = []metrics.AlertResult{
		{Rule: "ttft p95 <= 1s", OverS: 60, Fired: []metrics.Firing{{AtS: 180, ResolvedS: seconds(300)}}},
		{Rule: "90% of requests: ttft <= 500ms and tpot <= 40ms", OverS: 300, Fired: []metrics.Firing{{AtS: 240}}},
	}
	windows := plottest.Drawing{Name: "timeline-windows", Caption: caption().String(),
		Draw: func() (plot.Figure, error) {
			return Timeline(caption(), timeline(900, 600*sim.Millisecond), judged, classesByWindow())
		}}
	parts := func(name string, s *metrics.Summary) plottest.Drawing {
		return plottest.Drawing{Name: name, Caption: caption().String(), Draw: func() (plot.Figure, error) {
			return GapParts(caption(), s)
		}}
	}
	none := summary()
	none.Gaps = nil
	plottest.Check(t, []plottest.Drawing{
		line("timeline", timeline(900, 700*sim.Millisecond)),
		line("timeline-days", timeline(50, 9000*sim.Second)),
		line("timeline-two", timeline(2, sim.Millisecond)),
		line("timeline-none", timeline(1, 0)),
		line("timeline-pools", fleetTimeline(900)), windows,
		parts("gaps", summary()), parts("gaps-every-part", everyPart()), parts("gaps-none", none),
	})
}

// everyPart is a run in whose gaps there is something of everything.
func everyPart() *metrics.Summary {
	all := metrics.Parts{Weights: 1, KV: 1, Compute: 1, Communication: 1, Overhead: 1, Prefill: 1, Speculation: 1,
		Copying: 1, Pipeline: 1, Queueing: 1,
		Recomputing: 1, KVTransfer: 1}
	return withTail(all, metrics.TailShare{Preempted: 1})
}

// classesByWindow are two classes, of which one fares worse.
func classesByWindow() []metrics.ClassResult {
	chat := byWindow(60, "++---.-++")
	for i := range chat.Windows {
		if x := chat.Windows[i].Attainment; x != nil {
			*x = 1 - float64(i%4)/5
		}
	}
	return []metrics.ClassResult{{Name: "chat", OverTime: chat}, {Name: "batch", OverTime: byWindow(60, "++++.++++")}}
}
