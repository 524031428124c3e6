package catalog

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
)

// Catalog is one fit for all engines, GPUs and models: what all of an era have in common, what an engine adds to it,
// what a family of GPUs and a GPU of it add under that engine, what a model in a precision and a release do, and what a
// GPU and a model are under whichever engine.
type Catalog struct {
	*calibration.Fit
	Skipped []string // of each run given, why it was not fitted to; empty: it was

	prior    hardware.Efficiency
	releases releases
}

// catalogStiffness weighs the prior against runs whose deployments err by about 15 % each. A tenth or three tenths of
// it change no held-out error by more than a point.
const catalogStiffness = 0.1

// stiffer is by what its levels are stiffer. Which kernels an engine has for the shapes of a model is in every constant
// of a deployment of the model, and two or three deployments say little of which: at once, thrice and nine times the
// stiffness of the others, thrice predicts best what was left out. Of a model on a family of GPUs, once predicts TPOT
// and TTFT under clients best, thrice open loops and separate pools.
//
// What a GPU and a model are under whichever engine are levels of their own, for much of what differs between GPUs or
// models is the same under all engines. A family of GPUs is no such level, for it predicts GPUs left out worse: TTFT is
// 29.5 % off in the median with it, and 24.3 without. Nor is a model on one GPU: of deployments left out TTFT would go
// from 13.9 to 13.7 %, and under open load from 7.1 to 7.9, of GPUs left out from 21.8 to 22.4. GPUs that are stiffer
// in what they achieve of their bandwidth take E2E under open load from 3.3 to 4.4 %.
func stiffer() []float64 { return []float64{1, 1, 1, 1, 3, 1, 2, 1, 1} }

// hostStiffer is by how much stiffer the levels of a family of GPUs and of a GPU are for what the host takes to launch
// steps: it is the engine's and not the GPU's, and what it differs by between GPUs was mostly what else their runs
// differ by. Of GPUs left out TTFT under TensorRT-LLM goes from 26.0 and 63.6 to 24.8 and 60.2 %, under all engines
// from 20.6 and 65.2 to 20.5 and 63.9, TPOT from 8.7 and 25.4 to 8.6 and 24.7; of deployments both stay.
func hostStiffer() []float64 {
	return []float64{1, 1, familyLevel: 10, gpuLevel: 10, modelLevel: 1, releaseLevel: 1, modelFamilyLevel: 1,
		chipLevel: 10}
}

// FitCatalog fits to the runs of the files that Fittable lets in, from the prior that is built in.
func FitCatalog(ctx context.Context, files []*measured.File, progress func(round, done int)) (*Catalog, error) {
	return fitCatalog(ctx, files, func(p *calibration.Plan) { p.Progress = progress })
}

// fitCatalog is FitCatalog of a plan that is changed.
func fitCatalog(ctx context.Context, files []*measured.File, change func(*calibration.Plan)) (*Catalog, error) {
	var runs []measured.Run
	for _, f := range files {
		runs = append(runs, f.Runs...)
	}
	steps := sampleSteps(runs)
	for i := range runs {
		runs[i].Skip = cmp.Or(runs[i].Skip, Unfittable(&runs[i].Labels))
		if Published(&runs[i].Labels) {
			runs[i] = measured.Fittable(runs[i : i+1])[0]
		}
	}
	prior, err := catalog.EfficienciesOf("prior")
	if err != nil {
		return nil, err
	}
	known := releasesOf(runs)
	p := calibration.Plan{Parameters: calibration.Parameters(), Groups: known.levels, Prior: &prior.Default,
		Choose: choose, Stiffness: catalogStiffness, Stiffer: stiffer(), HostStiffer: hostStiffer(),
		Even: true,
		Weigh: func(r *measured.Run) float64 {
			if Published(&r.Labels) {
				return PublishedWeight
			}
			return steps.weigh(r)
		}}
	change(&p)
	f, skipped, err := p.To(ctx, runs)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, fmt.Errorf("none of the %d runs can be fitted to, such as %q: %s", len(runs), runs[0].ID, skipped[0])
	}
	return &Catalog{f, skipped, *p.Prior, known}, nil
}

// choose sets how much of the busiest GPU's experts layers wait for, by errors of deployments left out of the fit: all
// of it under vLLM and SGLang, none under TensorRT-LLM, whose TPOT is 8.8 % off in the median without and 10.3 with.
//
// Launches overlap as vLLM's logs say under it alone: of TensorRT-LLM, TTFT of deployments left out would go from 17.0
// and 50 to 17.8 and 53 %, of SGLang it would stay.
//
// Prompts are tokenised in a time of each token under vLLM alone. With 1 µs, TTFT of deployments left out would go from
// 14.5 to 14.8 % under TensorRT-LLM, of GPUs from 24.4 to 25.5; under SGLang from 17.4 to 18.0 and from 26.1 to 24.9,
// and what was published of agents whose prompts of 188,000 tokens are cached leaves no room for it: docs/design.md.
func choose(prior hardware.Efficiency, engine string) hardware.Efficiency {
	if engine != "vllm" {
		prior.LaunchOverlap, prior.TokenizeS = 0, 0
	}
	switch engine {
	case "tensorrt-llm":
		prior.ExpertImbalance = 0
	case measured.EagerStack:
		prior.EagerLayerS, prior.EagerLaunch, prior.PromptLaunch = 0, 0, 0
		prior.RankS, prior.StepS = 0, 0
	}
	return prior
}

// Unfittable says why runs with these labels are left out of the catalog, decided before any was predicted: what is not
// of quality A says too little of how it was run, unless it is all there is of its engine.
func Unfittable(l *measured.Labels) string {
	if l.Quality != "" && l.Quality != "A" && l.Engine != measured.EagerStack {
		return "quality " + l.Quality + ": not fitted to"
	}
	if Published(l) && l.Kind != throughputOfLists {
		return "a published figure other than the throughput of a list of requests"
	}
	return ""
}

// levels names the groups of a run: from all runs of its era to those of its GPU under its engine, across GPUs the runs
// of its model in its precision and those of its release, the runs of its model on its family of GPUs, and across
// engines those of its GPU and those of its model in its precision.
func (k releases) levels(l *measured.Labels) []string {
	g := groups(l.Engine, l.GPU)
	if l.Engine == measured.EagerStack {
		return g // a host that decides every step has no kernels of a model's own
	}
	g = append(g, modelGroup(l.Engine, l.Model, l.Precision))
	release := ""
	if len(k[l.Engine]) > 1 {
		release = releaseGroup(l.Engine, catalog.ReleaseOf(k[l.Engine], l.Version))
	}
	return append(g, release, familyGroup(l.Engine, l.Model, l.Precision, catalog.Family(l.GPU)),
		chipGroup(l.Engine, l.GPU), modelGroup(anyEngine, l.Model, l.Precision))
}

// anyEngine stands for the engines of today together in the name of a group.
const anyEngine = "any"

// chipGroup names the runs on a GPU under whichever engine of today.
func chipGroup(engine, gpu string) string {
	if engine == measured.EagerStack || gpu == "" {
		return ""
	}
	return anyEngine + " " + catalog.Chip(gpu)
}

func modelGroup(engine, model, precision string) string {
	return engine + " " + model + " " + precision
}

// familyGroup names the runs of a model on a family of GPUs; a card without links is of none.
func familyGroup(engine, model, precision, family string) string {
	if family == "" {
		return ""
	}
	return modelGroup(engine, model, precision) + " " + family
}

// groups names those of a GPU under an engine; a rack's GPU is that of a host with the same chip. The stacks of 2023
// are an era of their own: their host decides every step, which says nothing of the host of any other.
func groups(engine, gpu string) []string {
	era := today
	if engine == measured.EagerStack {
		era = engine
	}
	return []string{era, engine, kin(engine, cmp.Or(catalog.Family(gpu), gpu)), engine + " " + catalog.Chip(gpu)}
}

// kin names the group of the GPUs of a family under an engine. A card without links has no kin but itself.
func kin(engine, family string) string { return engine + " " + family }

// today is the era of engines that launch steps as graphs.
const today = "today"

// Efficiencies returns what is to be built in: a set for each engine, with an entry for each GPU, one for each
// family of them, and one for engines that nobody measured.
func (c *Catalog) Efficiencies() []catalog.Efficiencies {
	global := catalog.Efficiencies{Name: "global",
		Describes: "an engine that was not measured: what the measured ones have in common"}
	global.Default = c.entry("", "", []string{today},
		func(l *measured.Labels) bool { return l.Engine != measured.EagerStack })
	global.Models = c.models(anyEngine)
	sets := []catalog.Efficiencies{global}
	for _, engine := range c.among(func(l *measured.Labels) string { return l.Engine }) {
		of := func(l *measured.Labels) bool { return l.Engine == engine }
		set := catalog.Efficiencies{Name: engine, Describes: describe(engine, c.versions(of))}
		set.Default = c.entry(engine, "", groups(engine, "")[:2], of)
		set.GPUs = append(c.gpus(engine), c.elsewhere(engine)...)
		set.Families = c.families(engine)
		set.Models = c.models(engine)
		set.Release, set.Releases = c.older(engine)
		sets = append(sets, set)
	}
	return sets
}

// gpus returns what is achieved on the GPUs that were measured under an engine.
func (c *Catalog) gpus(engine string) []catalog.GPUEfficiency {
	var out []catalog.GPUEfficiency
	for _, gpu := range c.among(func(l *measured.Labels) string { return gpuOf(l, engine) }) {
		on := func(l *measured.Labels) bool { return l.Engine == engine && l.GPU == gpu }
		out = append(out,
			catalog.GPUEfficiency{GPU: gpu, Efficiency: c.entry(engine, gpu, groups(engine, gpu), on)})
	}
	return out
}

// elsewhere returns what is to be expected under an engine of the GPUs that were measured under others alone: what GPUs
// of its family achieve, or any, scaled by what the GPU differs by under whichever engine. In trials, of GPUs left out
// of one engine alone, TPOT is 7.9 % off in the median, where 9.5 without that, and TTFT 21.6 for 24.5.
func (c *Catalog) elsewhere(engine string) []catalog.GPUEfficiency {
	var here []string
	for _, gpu := range c.among(func(l *measured.Labels) string { return gpuOf(l, engine) }) {
		here = append(here, catalog.Chip(gpu))
	}
	var out []catalog.GPUEfficiency
	for _, gpu := range c.among(func(l *measured.Labels) string {
		if chipGroup(engine, l.GPU) == "" || l.Engine == measured.EagerStack || slices.Contains(here, catalog.Chip(l.GPU)) {
			return ""
		}
		return l.GPU
	}) {
		on := func(l *measured.Labels) bool { return l.Engine != measured.EagerStack && l.GPU == gpu }
		e := c.entry(engine, gpu, groups(engine, gpu), on)
		e.Source = "as the GPU differs under other engines; " + e.Source
		out = append(out, catalog.GPUEfficiency{GPU: gpu, Efficiency: e, Elsewhere: true})
	}
	return out
}

// older returns the newest release of an engine, and by what those before it differ.
func (c *Catalog) older(engine string) (newest strict.Release, older []catalog.ReleaseEfficiency) {
	all := c.releases[engine]
	if len(all) < 2 {
		return "", nil
	}
	for _, r := range all[:len(all)-1] {
		scales := c.Scales([]calibration.Group{{Level: releaseLevel, Name: releaseGroup(engine, r)}},
			calibration.Group{Level: releaseLevel, Name: c.releases.newest(engine)})
		older = append(older, catalog.ReleaseEfficiency{Release: r, Scales: scales})
	}
	return all[len(all)-1], older
}

// families returns what the GPUs of each family have in common under an engine.
func (c *Catalog) families(engine string) []catalog.FamilyEfficiency {
	var out []catalog.FamilyEfficiency
	for _, family := range c.among(func(l *measured.Labels) string { return catalog.Family(gpuOf(l, engine)) }) {
		of := func(l *measured.Labels) bool { return l.Engine == engine && catalog.Family(l.GPU) == family }
		out = append(out, catalog.FamilyEfficiency{Family: family,
			Efficiency: c.entry(engine, "", append(groups(engine, "")[:familyLevel], kin(engine, family)), of)})
	}
	return out
}

// models returns by what models differ under an engine: those fitted to, under it or under others, and those that its
// kernels' tables say it of.
func (c *Catalog) models(engine string) []catalog.ModelEfficiency {
	if engine == measured.EagerStack {
		return nil
	}
	var out []catalog.ModelEfficiency
	for _, of := range c.among(func(l *measured.Labels) string {
		if l.Engine == measured.EagerStack {
			return ""
		}
		return l.Model + " " + l.Precision
	}) {
		m := catalog.ModelEfficiency{}
		m.Model, m.Weights, _ = strings.Cut(of, " ")
		m.Scales = c.Scales([]calibration.Group{{Level: modelLevel, Name: modelGroup(engine, m.Model, m.Weights)},
			{Level: anyEngineModelLevel, Name: modelGroup(anyEngine, m.Model, m.Weights)}})
		out = append(out, m)
		for _, m.Family = range c.familiesOf(engine, m.Model, m.Weights) {
			m.Scales = c.Scales([]calibration.Group{
				{Level: modelFamilyLevel, Name: familyGroup(engine, m.Model, m.Weights, m.Family)}})
			out = append(out, m)
		}
	}
	out = append(out, fromKernels(engine, out)...)
	return slices.DeleteFunc(out, func(m catalog.ModelEfficiency) bool { return len(m.Scales) == 0 }) // as any other
}

// familiesOf returns the families of GPUs that a model was measured on under an engine.
func (c *Catalog) familiesOf(engine, model, precision string) []string {
	return c.among(func(l *measured.Labels) string {
		if l.Engine != engine || l.Model != model || l.Precision != precision {
			return ""
		}
		return catalog.Family(l.GPU)
	})
}

// The places among levels of the family, the GPU, the model, the release and the model on the family under an engine,
// and of the GPU and the model under any.
const (
	familyLevel         = 2
	gpuLevel            = 3
	modelLevel          = 4
	releaseLevel        = 5
	modelFamilyLevel    = 6
	chipLevel           = 7
	anyEngineModelLevel = 8
)

func gpuOf(l *measured.Labels, engine string) string {
	if l.Engine == engine {
		return l.GPU
	}
	return ""
}

// among returns the labels there are, in order, empty ones apart.
func (c *Catalog) among(label func(*measured.Labels) string) []string {
	var all []string
	for _, r := range c.Runs {
		if l := label(&r.Run.Labels); l != "" {
			all = append(all, l)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// versions returns how many versions of an engine were measured.
func (c *Catalog) versions(of func(*measured.Labels) bool) int {
	return len(c.among(func(l *measured.Labels) string {
		if of(l) {
			return l.Version
		}
		return ""
	}))
}

func describe(engine string, versions int) string {
	if engine == measured.EagerStack {
		return "serving stacks of 2023 that launch every kernel by itself"
	}
	return fmt.Sprintf("%s, %d versions of 2025 and 2026", engine, versions)
}

// entry is the efficiency of groups under an engine, from those of an era on, under its newest release and on a GPU, if
// one is named, with the fit it came from.
func (c *Catalog) entry(engine, gpu string, groups []string, of func(*measured.Labels) bool) hardware.Efficiency {
	all := make([]string, chipLevel+1)
	copy(all, groups)
	all[releaseLevel], all[chipLevel] = c.releases.newest(engine), chipGroup(engine, gpu)
	e := calibration.Rounded(c.EfficiencyOf(choose(c.prior, engine), all...))
	e.Source = c.source(of)
	return e
}

// source says what an entry was fitted to and how well it fits: by TPOT, or throughput where that is all there is.
func (c *Catalog) source(of func(*measured.Labels) bool) string {
	runs, percents := 0, map[string][]float64{}
	deployments, sources := []string{}, []string{}
	for _, r := range c.Runs {
		if l := &r.Run.Labels; of(l) {
			runs++
			deployments, sources = append(deployments, l.Deployment()), append(sources, l.Source)
			for j, d := range c.Residuals(r) {
				name := validation.MetricName(r.Values[j].Value.Metric.String())
				percents[name] = append(percents[name], 100*math.Expm1(d))
			}
		}
	}
	s := fmt.Sprintf("decodesim calibrate: %d runs of %d deployments (%s)",
		runs, len(distinct(deployments)), strings.Join(distinct(sources), ", "))
	for _, m := range []measured.Metric{measured.TPOT, measured.OutputPerS, measured.E2E} {
		name := validation.MetricName(m.String())
		if of := percents[name]; len(of) > 0 {
			errors := validation.ErrorsOf(of)
			return s + fmt.Sprintf("; %s in sample within %.1f %% in the median, %.0f %% nine times in ten",
				name, errors.MedianPct, errors.P90Pct)
		}
	}
	return s
}

func distinct(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
