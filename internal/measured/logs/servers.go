package logs

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// readServers reads runs of servers at a rate. What they shared of their prompts is not known of some, and of others it
// was nearly all: those are left out.
func readServers(s *datafile.Source, f *measured.File) error {
	return datafile.Each(f, s.Table, serverRun)
}

// layout is "tp2", "2 replicas x tp2" or "3 replicas tp1".
var layout = regexp.MustCompile(`^(?:(\d+) replicas (?:x )?)?tp(\d+)$`)

// statistics as the columns spell them, the mean first.
var statistics = [...]string{"mean", "p50", "p90", "p95", "p99"}

func serverRun(r *datafile.Record) measured.Run {
	id := rowID(r)
	run := measured.Run{ID: id, Labels: measured.Labels{Source: "servers", Kind: "server", Own: r.Text("deployment_id"),
		Quality: r.Text("quality"), Version: r.Text("version")}}
	row := measured.Row{ID: id, Request: -1}
	for _, m := range []measured.Metric{measured.TTFT, measured.TPOT, measured.E2E} {
		for stat, name := range statistics {
			v := measured.Other(m, measured.Stat(stat), 0)
			if stat == 0 {
				v = measured.Lead(m, measured.Mean, 0)
			}
			row.Values = r.Latency(row.Values, v, fmt.Sprintf("%s_%s_ms", m, name))
		}
	}
	run.Rows = []measured.Row{row}
	p, skip := server(r, &run.Labels)
	run.Skip = skip
	if skip == "" {
		p.Version = run.Labels.Version
		run.Scenario = p.Text()
	}
	return run
}

// server reads what a run was set up with, or says why it is not simulated.
func server(r *datafile.Record, l *measured.Labels) (p setup.Scenario, skip string) {
	l.Model, l.GPU = r.Text("model"), r.Text("gpu")
	l.Engine, _, _ = strings.Cut(r.Text("engine"), "(")
	m := layout.FindStringSubmatch(r.Text("layout"))
	p.Engine = l.Engine
	p.Model, skip = names.CatalogModel(l.Model)
	if skip != "" {
		return p, skip
	}
	p.GPU, skip = names.CatalogGPU(strings.TrimSuffix(l.GPU, "-80G"))
	switch prefix := r.Text("prefix"); {
	case skip != "":
		return p, skip
	case m == nil:
		return p, "layout " + r.Text("layout") + " is not modelled"
	case r.Text("load_kind") != "qps":
		return p, "load of the kind " + r.Text("load_kind") + " is not modelled"
	case r.Text("spec") != "none":
		return p, "speculative decoding"
	case prefix != "default" && prefix != "random prompts":
		return p, "a cache beyond the GPU, or a router of unknown kind"
	}
	l.Model, l.GPU, l.Class = p.Model, p.GPU, names.ClassOf(p.Model)
	p.Weights = catalog.WeightsOf(p.Model, r.Text("weights"))
	l.Precision = catalog.PrecisionOf(p.Model, r.Text("weights"))
	p.TensorParallel, _ = strconv.Atoi(m[2])
	l.Parallel = names.LayoutOf(p.TensorParallel, 1, false)
	if m[1] != "" {
		p.Arguments = append(p.Arguments, "replicas: "+m[1])
	}
	process := "poisson"
	if r.Text("prefix") == "random prompts" { // gaps of a gamma law with shape 50 or 100
		process = "constant"
	}
	p.AddWorkload("arrivals: {process: %s, rate: %s}", process, setup.Number(r.Number("load")))
	p.AddWorkload("requests: %d", r.Count("requests", 1))
	p.Lengths(int(r.Number("isl")+0.5), int(r.Number("osl")+0.5), 1)
	return p, ""
}
