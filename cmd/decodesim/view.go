package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/report/tools"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// viewTools returns the tools that --view names, each once and in the order given.
func viewTools(names []string) ([]views.Tool, error) {
	var chosen []views.Tool
	seen := map[string]bool{}
	for _, name := range names {
		t, ok := views.Named(strings.TrimSpace(name))
		if !ok {
			return nil, fmt.Errorf("--view %q is unknown; have %s", name, strings.Join(views.Names(), ", "))
		}
		if !seen[t.Name] {
			chosen, seen[t.Name] = append(chosen, t), true
		}
	}
	return chosen, nil
}

// viewed returns a run that has ended in the terms of tools.
func viewed(b *build.Built, r *result, chosen []views.Tool) *report.Viewed {
	run := r.Sample.Seen(r.Summary.DurationS, b.Scenario.Speculation.Method != "none")
	v := &report.Viewed{Run: run, Pace: b.Pace()}
	v.Smoothness = views.SmoothnessOf(run.Records, v.Pace)
	for _, t := range chosen {
		v.Views = append(v.Views, views.Of(t, run))
	}
	return v
}

// measuredAs returns a run as a benchmark tool would have measured it.
func measuredAs(b *build.Built, r *result, v *report.Viewed) *tools.Result {
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
		Run: v.Run, Load: load, Model: b.Deployment.Model.Name, Scenario: r.Summary.Scenario, Seed: r.Summary.Seed, Version: r.Summary.Version,
	}
}

// viewFiles are the files of --out that the chosen tools would have left.
func (o *outbox) viewFiles(b *build.Built, r *result) []func() error {
	if r.viewed == nil {
		return nil
	}
	measured := measuredAs(b, r, r.viewed)
	var steps []func() error
	for _, view := range r.viewed.Views {
		for _, file := range tools.Files(view.Tool.Name, measured) {
			steps = append(steps, func() error { return o.WriteFile(file.Name, file.Write) })
		}
	}
	return append(steps, func() error {
		return o.WriteFile("views.json", func(w io.Writer) error { return writeViews(w, r) })
	})
}

// printViews writes the run in the terms of the chosen tools, as tables or as JSON.
func (f *runFlags) printViews(w io.Writer, b *build.Built, r *result, o report.Options) error {
	if f.json {
		return writeViews(w, r)
	}
	if err := report.Views(w, r.viewed, report.CaptionOf(r.Summary, b.Deployment.Model.Name), o); err != nil {
		return err
	}
	for _, warning := range r.Summary.Warnings {
		fmt.Fprintln(w, "warning: "+warning)
	}
	return nil
}
