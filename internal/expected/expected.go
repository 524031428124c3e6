package expected

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Of returns the errors to expect of each kind of replica of a scenario, in the order of its pools. None: the
// efficiencies are those of an engine that nobody measures, such as the textbook's, or the user's own, in a file that
// says no errors.
func Of(s *configs.Scenario) []metrics.ExpectedError {
	var all []metrics.ExpectedError
	for i := range s.Pools {
		for _, x := range OfPool(s, &s.Pools[i]) {
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// OfPool returns the error to expect of one pool of a scenario; none: as Of says.
func OfPool(s *configs.Scenario, p *configs.Pool) []metrics.ExpectedError {
	x, ok := builtIn().of(s, p)
	if catalog.IsEfficiencyPath(p.Efficiency.Base) {
		x, ok = ofFile(s, p)
	}
	if ok {
		return []metrics.ExpectedError{x}
	}
	return nil
}

// ofFile returns the errors that the file of a pool's constants says of the runs that it was fitted to.
func ofFile(s *configs.Scenario, p *configs.Pool) (x metrics.ExpectedError, ok bool) {
	if p.Role == "encode" || p.Efficiency.Constants != (configs.Constants{}) {
		return x, false
	}
	left, ok := catalog.LeftOutOf(p.Efficiency.Base)
	return metrics.ExpectedError{
		Model: modelOf(s), GPU: p.GPU.Name(), Engine: p.Engine, LeftOut: string(Run), Runs: left.Runs, Deployments: 1,
		TPOT: metrics.ErrorSpread{MedianPct: left.TPOTMedianPct, P90Pct: left.TPOTP90Pct},
		TTFT: metrics.ErrorSpread{MedianPct: left.TTFTMedianPct, P90Pct: left.TTFTP90Pct}, Measured: p.Engine,
	}, ok
}

// modelOf names the model of a scenario, as it was published or changed.
func modelOf(s *configs.Scenario) string {
	if s.Model.Override != "" {
		return s.Model.Config + " (changed)" // which nobody measured
	}
	return s.Model.Config
}

// TTFTOf returns the error to expect of a scenario's TTFT, which is that of the pools that read prompts: the largest
// median where they differ. False: nobody knows it.
func TTFTOf(s *configs.Scenario) (metrics.ExpectedError, bool) {
	return largest(s, "decode", func(x *metrics.ExpectedError) float64 { return x.TTFT.MedianPct })
}

// TPOTOf returns the error to expect of a scenario's TPOT, which is that of the pools that make tokens.
func TPOTOf(s *configs.Scenario) (metrics.ExpectedError, bool) {
	return largest(s, "prefill", func(x *metrics.ExpectedError) float64 { return x.TPOT.MedianPct })
}

// largest returns the error whose median is the largest among the pools of other roles than the one given.
func largest(s *configs.Scenario, without string, median func(*metrics.ExpectedError) float64) (
	most metrics.ExpectedError, known bool) {
	for i := range s.Pools {
		if s.Pools[i].Role == without {
			continue
		}
		for _, x := range OfPool(s, &s.Pools[i]) {
			if !known || median(&x) > median(&most) {
				most, known = x, true
			}
		}
	}
	return most, known
}

// of returns the errors to expect of a pool.
func (t *Table) of(s *configs.Scenario, p *configs.Pool) (metrics.ExpectedError, bool) {
	engine := engineOf(p)
	if !slices.Contains(names.EnginesModelled, engine) || p.Role == "encode" || notGPU(&p.GPU) ||
		p.Efficiency.Constants != (configs.Constants{}) {
		return metrics.ExpectedError{}, false
	}
	model, gpu, own := modelOf(s), p.GPU.From, ownGPU(&p.GPU)
	if own {
		gpu = "" // which is in no table
	}
	e, ok := t.entry(engine, names.ShapeOf(model), gpu)
	if p.Role != "serve" {
		e, ok = t.separate(engine, names.ShapeOf(model), catalog.Chip(gpu))
	}
	return metrics.ExpectedError{
		Model: model, GPU: p.GPU.Name(), OwnGPU: own, Engine: engine, LeftOut: string(e.LeftOut), Runs: e.Runs,
		Deployments: e.Deployments,
		TPOT:        metrics.ErrorSpread(e.TPOT), TTFT: metrics.ErrorSpread(e.TTFT), Measured: e.Engine,
		Without: strings.Join(unmeasuredParts(s, p), ", "),
	}, ok
}

// unmeasuredParts names what a pool of a scenario does that no run of the table did: rows that draft tokens do not say
// how many were accepted, and no other of data A says that it has adapters or a cache below the memory of its GPUs.
func unmeasuredParts(s *configs.Scenario, p *configs.Pool) (parts []string) {
	if s.Speculation.On() {
		parts = append(parts, "speculation")
	}
	if p.EnableLoRA {
		parts = append(parts, "LoRA adapters")
	}
	if p.KVTiers != nil || p.KVOffloadingSize > 0 {
		parts = append(parts, "KV tiers")
	}
	return parts
}

// ownGPU reports whether an accelerator is one of the user's, in a file or by figures over the catalog's, of which
// nobody measured a latency. Its price and its power change none.
func ownGPU(ref *configs.GPURef) bool {
	f := ref.GPUFigures
	f.PricePerHour, f.TDPW = nil, nil
	return catalog.IsGPUPath(ref.From) || f != (configs.GPUFigures{})
}

// notGPU reports whether no measured engine runs on an accelerator: it is no GPU.
func notGPU(ref *configs.GPURef) bool {
	gpu, _, err := ref.Hardware()
	return err == nil && gpu.Kind != ""
}

// engineOf names the measured engine whose efficiencies price a pool; empty: a file does.
func engineOf(p *configs.Pool) string {
	switch {
	case catalog.IsEfficiencyPath(p.Efficiency.Base):
		return ""
	case p.Efficiency.Base != "":
		return catalog.Unreleased(p.Efficiency.Base)
	}
	e, err := catalog.Engine(p.Engine)
	if err != nil {
		return ""
	}
	return e.Efficiency
}

// Sentences says errors to expect, a line each. Pools on different GPUs may have one in common, which stands there
// once.
func Sentences(all []metrics.ExpectedError) (lines []string) {
	for i := range all {
		if line := Sentence(&all[i]); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Sentence says an error to expect in a line.
func Sentence(x *metrics.ExpectedError) string {
	runs := text.Counted(x.Runs, "run")
	if LeftOut(x.LeftOut) != Run {
		runs += " of " + text.Counted(x.Deployments, "deployment")
	}
	errors := fmt.Sprintf("TPOT within %s (nine in ten %s), TTFT %s (%s)", percent(x.TPOT.MedianPct),
		percent(x.TPOT.P90Pct), percent(x.TTFT.MedianPct), percent(x.TTFT.P90Pct))
	if x.OwnGPU {
		return Because(x) + ": " + errors + "; " + runs + Lacking(x) // what is unknown comes first
	}
	return errors + ": " + Because(x) + "; " + runs + Lacking(x)
}

// Lacking says what the scenario has and no run that the errors are of did; empty: nothing.
func Lacking(x *metrics.ExpectedError) string {
	if x.Without == "" {
		return ""
	}
	list := x.Without
	if i := strings.LastIndex(list, ", "); i >= 0 {
		list = list[:i] + " or " + list[i+2:]
	}
	return "; none of the runs had " + list
}

// Because says what was measured that the errors are of.
func Because(x *metrics.ExpectedError) string {
	model := x.Model
	if strings.ContainsAny(model, `/\`) {
		model = "the model" // of a file
	}
	under := " under " + x.Engine
	if x.Measured == "" {
		under += " (errors of all engines)"
	}
	if x.OwnGPU {
		return becauseOwn(x, model, under)
	}
	// Single steps and throughputs of a GPU may have been measured, of which these errors are not.
	switch LeftOut(x.LeftOut) {
	case Run:
		return "runs that its own constants were fitted to, each left out in turn; deployments unlike theirs may be " +
			"further off"
	case Deployment:
		return model + " on " + x.GPU + " was measured" + under + ", left out of the fit"
	case Pair:
		return "no latency of " + model + " on " + x.GPU + " was measured" + under + ", but of each with others"
	case GPU:
		return "no latency on " + x.GPU + " was measured" + under + ", but of " + model + " on others"
	case Model:
		return "no latency of " + model + " was measured" + under + ", but on " + x.GPU + " of others"
	case Disaggregated, DisaggregatedGPU, DisaggregatedModel, DisaggregatedGPUAndModel:
		return "separate pools" + under + ", which nothing is fitted to" + unseen(x, model)
	}
	return "no latency on " + x.GPU + " was measured" + under + ", nor of " + model
}

// becauseOwn says of a GPU of the user's that its error is unknown, and of which runs the nearest ones are.
func becauseOwn(x *metrics.ExpectedError, model, under string) string {
	nearest := ""
	switch LeftOut(x.LeftOut) {
	case GPU:
		nearest = "GPUs that were measured" + under + ", each left out of the fit"
	case GPUAndModel:
		nearest = "GPUs and models that were measured" + under + ", each left out of the fit, as " + model + " was not either"
	case DisaggregatedGPUAndModel:
		nearest = "separate pools that were measured" + under + ", which nothing is fitted to, with neither it nor " + model
	default:
		nearest = "separate pools that were measured" + under + ", which nothing is fitted to, on other GPUs"
	}
	return "the error on " + x.GPU + ", with figures of your own, is unknown; nearest are errors of " + nearest
}

// unseen says what about separate pools the errors of measured ones do not cover.
func unseen(x *metrics.ExpectedError, model string) string {
	switch LeftOut(x.LeftOut) {
	case DisaggregatedGPU:
		return "; more on " + x.GPU + ", where no latency was measured"
	case DisaggregatedModel:
		return "; more of " + model + ", of which no latency was measured"
	case DisaggregatedGPUAndModel:
		return "; more of " + model + " on " + x.GPU + ", where no latency was measured of either"
	}
	return ""
}

// percent prints an error, or that it has no limit worth a number.
func percent(x float64) string {
	if x >= 1000 {
		return "beyond 1,000 %"
	}
	return strings.TrimSpace(text.UnsignedPercent(x))
}

// SlowPart warns of a part whose arithmetic is far below the peak at many rows: fitted constants stand there for
// what is not modelled.
func SlowPart(part string, ofPeak float64, rows int) string {
	return fmt.Sprintf("%s: %.1f %% of the peak FLOP/s at %s rows, as a constant of the efficiencies says; a GPU with "+
		"more FLOP/s may gain less than this step promises", part, 100*ofPeak, text.Count(rows))
}
