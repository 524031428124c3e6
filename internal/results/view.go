package results

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/report/tools"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// Tools returns the tools that --view names, each once and in the order given.
func Tools(names []string) ([]views.Tool, error) {
	var chosen []views.Tool
	seen := map[string]bool{}
	for _, name := range names {
		t, ok := views.Named(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("--view %q is unknown; valid names: %s", name, strings.Join(views.Names(), ", "))
		}
		if !seen[t.Name] {
			chosen, seen[t.Name] = append(chosen, t), true
		}
	}
	return chosen, nil
}

// FileNames returns the names of the files that tools leave.
func FileNames(chosen []views.Tool) (names []string) {
	for _, t := range chosen {
		for _, f := range tools.Files(t.Name, nil) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Of returns a run that has ended in the terms of tools.
func Of(b *build.Built, r *run.Result, chosen []views.Tool) *report.Viewed {
	seen := r.Sample.Seen(r.Summary.DurationS)
	v := &report.Viewed{Run: seen, Pace: b.Pace()}
	v.Smoothness = views.SmoothnessOf(seen.Records, v.Pace)
	for _, t := range chosen {
		v.Views = append(v.Views, views.Of(t, seen))
	}
	return v
}

// MeasuredAs returns a run as a benchmark tool would have measured it.
func MeasuredAs(b *build.Built, r *run.Result, v *report.Viewed) *tools.Result {
	w := &b.Scenario.Workload
	load := tools.Load{RatePerS: b.RatePerS}
	switch {
	case w.ClosedLoop != nil:
		load = tools.Load{Clients: w.ClosedLoop.Concurrency}
	case w.Arrivals != nil:
		load.Process, load.CV = w.Arrivals.Process, w.Arrivals.CV
	}
	if w.Trace == nil {
		load.Seconds = w.DurationS
	}
	return &tools.Result{
		Run: v.Run, Load: load, Model: b.Deployment.Model.Name, Scenario: r.Summary.Scenario, Seed: r.Summary.Seed,
		Version: r.Summary.Version,
	}
}
