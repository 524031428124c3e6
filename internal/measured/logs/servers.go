package logs

import (
	"fmt"
	"math"
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

// poolsLayout is "2P+1D tp1 (NIXL)": replicas that read prompts, replicas that decode, and what moves the cache.
var poolsLayout = regexp.MustCompile(`^(\d+)P\+(\d+)D tp(\d+) \(NIXL\)$`)

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
	p, skip := server(r, &run.Labels)
	run.Skip = skip
	if skip == "" {
		p.load(r)
		p.Version = run.Labels.Version
		run.Scenario = p.Text()
	}
	run.Rows = []measured.Row{row}
	return run
}

// served is how a server was set up.
type served struct {
	setup.Scenario
	cached bool // all prompts are
}

// server reads what a run was set up with, or says why it is not simulated.
func server(r *datafile.Record, l *measured.Labels) (p served, skip string) {
	l.Model, l.GPU = r.Text("model"), r.Text("gpu")
	l.Engine, _, _ = strings.Cut(r.Text("engine"), "(")
	p.Engine = l.Engine
	if l.GPU == "unknown" {
		return p, "the GPU is not known"
	}
	p.Model, skip = names.CatalogModel(l.Model)
	if skip != "" {
		return p, skip
	}
	p.GPU, skip = names.CatalogGPU(strings.TrimSuffix(l.GPU, "-80G"))
	switch spec := r.Text("spec"); {
	case skip != "":
		return p, skip
	case r.Text("load_kind") != "qps":
		return p, "a load of the kind \"" + r.Text("load_kind") + "\", which no workload has"
	case spec != "none":
		return p, "speculative decoding (" + spec + ")"
	}
	l.Model, l.GPU, l.Class = p.Model, p.GPU, names.ClassOf(p.Model)
	p.Weights = catalog.WeightsOf(p.Model, r.Text("weights"))
	l.Precision = catalog.PrecisionOf(p.Model, r.Text("weights"))
	if skip := p.divide(r.Text("layout"), l); skip != "" {
		return p, skip
	}
	if p.Engine == "vllm" && (setup.PlansBetween(p.Engine, l.Version) || of2025.MatchString(l.Version)) {
		for _, pool := range append([]*setup.Scenario{&p.Scenario}, p.Pools...) {
			pool.Argument("async_scheduling", false)
		}
	}
	return p, p.cache(r)
}

// of2025 are images that name no release of vLLM and are older than its 0.14 (of January 2026, from memory:
// unverified), the first that plans a step ahead: those of a month of 2025, and llm-d's first ones, of May 2025.
var of2025 = regexp.MustCompile(`^(?:latest@2025-\d\d|(?:llm-d-dev|lmcache|vllm-nixl)[ -]0\.0\.\d+)$`)

// divide reads how the GPUs are divided over replicas. Several that are one address behind a service of Kubernetes get
// requests at random.
func (p *served) divide(written string, l *measured.Labels) (skip string) {
	if m := poolsLayout.FindStringSubmatch(written); m != nil {
		for i, role := range []string{"prefill", "decode"} {
			pool := &setup.Scenario{GPU: p.GPU, Engine: p.Engine, Role: role}
			pool.Replicas, _ = strconv.Atoi(m[1+i])
			pool.TensorParallel, _ = strconv.Atoi(m[3])
			p.Pools = append(p.Pools, pool)
		}
		p.Pools[0].Arguments = []string{"kv_transfer: pull", "first_token: decode"}
		p.Router = "round-robin"
		l.Parallel = fmt.Sprintf("%sP-tp%s/%sD-tp%s", m[1], m[3], m[2], m[3])
		l.Mode = "disagg"
		return ""
	}
	m := layout.FindStringSubmatch(written)
	if m == nil {
		return "layout \"" + written + "\" does not say the GPUs of each replica, or is not modelled"
	}
	p.TensorParallel, _ = strconv.Atoi(m[2])
	l.Parallel = names.LayoutOf(p.TensorParallel, 1, false)
	if m[1] != "" {
		p.Arguments = append(p.Arguments, "replicas: "+m[1])
		p.Router = "random"
	}
	return ""
}

// cache reads what the server kept of prompts, beside what every engine keeps by itself. The chat benchmark sends the
// same prompts in every run, one run after another: where the GPUs have room for all of them, all were kept, and a
// cache in host memory has nothing to add; where they have not, prompts that come around again have long been evicted.
func (p *served) cache(r *datafile.Record) (skip string) {
	switch prefix := r.Text("prefix"); {
	case prefix == "random prompts":
		return ""
	case p.roomForAll(r):
		p.cached = true
		return ""
	case prefix == "default":
		return ""
	default:
		return "prompts of which an unknown part was cached (" + prefix + ")"
	}
}

// Of the GPU memory, what the engine takes by default; of what weights leave, what is sure to be the cache's.
const (
	memoryShare = 0.9
	cacheShare  = 0.8
)

// roomForAll reports whether the caches of a replica have room for all prompts and outputs of a run.
func (p *served) roomForAll(r *datafile.Record) bool {
	gpu, err := catalog.GPU(p.GPU)
	model := names.Models()[p.Model]
	if err == nil && p.Weights != "" {
		model, err = model.WithWeights(p.Weights)
	}
	if err != nil || len(p.Pools) > 0 {
		return false
	}
	room := cacheShare * (float64(memoryShare*float64(p.TensorParallel)*gpu.MemoryBytes.Value) - model.WeightBytes())
	const bytesPerElement = 2
	each := model.CacheBytes(int(r.Number("isl")+r.Number("osl")), bytesPerElement)
	return float64(r.Count("requests", 1))*each <= room
}

// load adds the requests, which came one after another in equal gaps: the runs of the chat benchmark state the very
// rate that was asked for as the rate that was measured, and the others have gaps of a gamma law with shape 50 or 100.
func (p *served) load(r *datafile.Record) {
	prompt := int(r.Number("isl") + 0.5)
	p.AddWorkload("arrivals: {process: constant, rate: %s}", setup.Number(r.Number("load")))
	p.AddWorkload("requests: %d", r.Count("requests", 1))
	m := ninetieth.FindStringSubmatch(r.Text("notes"))
	switch {
	case p.cached: // all but the last block, which an engine computes to have something to go on from
		prompt = p.RepeatPrompts(setup.Prefix{Groups: 1, Tokens: prompt - blockTokens}, prompt)
		p.AddWorkload("prompt_tokens: {distribution: fixed, mean: %d}", prompt)
	case m == nil:
		p.AddWorkload("prompt_tokens: {distribution: fixed, mean: %d}", prompt)
	default:
		p.AddWorkload("prompt_tokens: %s", spread(r.Number("isl"), m[1]))
	}
	if m == nil {
		p.AddWorkload("output_tokens: {distribution: fixed, mean: %d}", int(r.Number("osl")+0.5))
		return
	}
	p.AddWorkload("output_tokens: %s", spread(r.Number("osl"), m[2]))
}

// blockTokens are those of a block of vLLM's cache.
const blockTokens = 16

// ninetieth is what notes say of how lengths spread.
var ninetieth = regexp.MustCompile(`isl p90 (\d+) osl p90 (\d+)`)

// spread writes the lognormal law of a mean m whose 90th percentile is q, z = 1.2816 standard deviations of the
// logarithm above its median: ln(q/m) = z·σ − σ²/2, and cv² = e^σ² − 1. A percentile too far above the mean for any σ
// gets the one that brings it nearest.
func spread(mean float64, p90 string) string {
	q, _ := strconv.ParseFloat(p90, 64)
	const z = 1.2816
	sigma := z - math.Sqrt(max(0, z*z-2*math.Log(max(q, mean)/mean)))
	cv := math.Round(1e3*math.Sqrt(math.Expm1(sigma*sigma))) / 1e3
	if cv == 0 { // at most as long as the mean: a few short ones lower it
		return fmt.Sprintf("{distribution: fixed, mean: %.0f}", mean)
	}
	return fmt.Sprintf("{distribution: lognormal, mean: %s, cv: %s}", setup.Number(mean), setup.Number(cv))
}
