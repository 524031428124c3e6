package sensitivity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/workloads/lengths"
)

// Kind is what an input is.
type Kind string

// The kinds.
const (
	Forecast  Kind = "forecast"   // what the user expects of the load
	DataSheet Kind = "data sheet" // a number of the accelerator
	Fitted    Kind = "fitted"     // a constant of the efficiencies
	Own       Kind = "own"        // the user's own range, see ParseVary
)

// Input is one thing that an answer rests on, and how far off it may be.
type Input struct {
	Name   string  `json:"name"`
	Kind   Kind    `json:"kind"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Source string  `json:"source"` // of the range

	assign func(x float64) []string // the settings of a scenario in which the input is x
}

// shift is how far x is from the value, as a share of it.
func (i *Input) shift(x float64) float64 { return x/i.Value - 1 }

// assumed is what stands in place of a source where the user forecasts.
const assumed = "assumed; --vary says your own"

// inputsOf returns all that the answer of a scenario rests on, with the user's own ranges in place of others. What has
// no range, for nothing is known of it but its value, is left out.
func inputsOf(b *build.Built, own []Input) []Input {
	all := slices.Concat(forecasts(b.Scenario), dataSheet(b), constants(b))
	for _, o := range own {
		if i := slices.IndexFunc(all, func(x Input) bool { return x.Name == o.Name }); i >= 0 {
			o.assign = all[i].assign
			all[i] = o
			continue
		}
		all = append(all, o)
	}
	return slices.DeleteFunc(all, func(i Input) bool { return !(i.Low < i.Value || i.High > i.Value) })
}

// forecasts are the numbers of a workload that somebody has to guess before it is there.
func forecasts(s *configs.Scenario) []Input {
	w := &s.Workload
	var all []Input
	add := func(name, key string, value, share float64) {
		if value <= 0 {
			return
		}
		all = append(all, Input{Name: name, Kind: Forecast, Value: value, Low: value * (1 - share),
			High: value * (1 + share), Source: fmt.Sprintf("±%g %%, %s", 100*share, assumed), assign: setting(key, s)})
	}
	switch {
	case w.Trace != nil && w.Trace.Rate > 0:
		add("rate", "workload.trace.rate", w.Trace.Rate, 0.2)
	case w.Trace != nil:
		add("trace.speed", "workload.trace.speed", w.Trace.Speed, 0.2)
	case w.ClosedLoop != nil:
		add("concurrency", "workload.closed_loop.concurrency", float64(w.ClosedLoop.Concurrency), 0.2)
	case w.Arrivals != nil && w.Arrivals.Rate > 0:
		add("rate", "workload.arrivals.rate", w.Arrivals.Rate, 0.2)
		add("burstiness", "workload.arrivals.cv", w.Arrivals.CV, 0.2)
	case w.ByClass():
		for i := range w.Classes {
			if k := &w.Classes[i]; k.Arrivals.Rate > 0 {
				add("rate."+k.Name, fmt.Sprintf("workload.classes.%s.arrivals.rate", k.Name), k.Arrivals.Rate, 0.2)
			}
		}
	}
	law := func(name string, l *lengths.Spec) {
		if l != nil {
			add(name+".mean", "workload."+name+".mean", l.Mean, 0.2)
			add(name+".cv", "workload."+name+".cv", l.CV, 0.2)
		}
	}
	law("prompt_tokens", w.PromptTokens)
	law("output_tokens", w.OutputTokens)
	return all
}

// setting returns what assigns a number to a key, whole where the key counts, as a fixed length does.
func setting(key string, s *configs.Scenario) func(float64) []string {
	fixed := func(name string, l *lengths.Spec) bool {
		return key == "workload."+name+".mean" && l != nil && l.Distribution == "fixed"
	}
	w := &s.Workload
	whole := strings.HasSuffix(key, "concurrency") || fixed("prompt_tokens", w.PromptTokens) ||
		fixed("output_tokens", w.OutputTokens)
	return func(x float64) []string {
		if whole {
			x = math.Max(1, math.Round(x))
		}
		return []string{key + "=" + literal(x)}
	}
}

// literal writes a number as files have it: with nine digits.
func literal(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

// ParseVary reads KEY=LOW:HIGH, the user's own range of an input or of any other key with a number.
func ParseVary(text string, s *configs.Scenario) (Input, error) {
	wrong := func(why string) (Input, error) { return Input{}, fmt.Errorf("--vary %s: %s", text, why) }
	name, span, ok := strings.Cut(text, "=")
	from, to, two := strings.Cut(span, ":")
	low, err1 := strconv.ParseFloat(from, 64)
	high, err2 := strconv.ParseFloat(to, 64)
	if err := cmp.Or(err1, err2); !ok || !two || name == "" || err != nil || !(low < high) {
		return wrong("expected KEY=LOW:HIGH, such as --vary rate=10:18")
	}
	in := Input{Name: name, Kind: Own, Low: low, High: high, Source: "--vary", assign: setting(name, s)}
	for _, f := range forecasts(s) {
		if f.Name == name {
			in.Value, in.assign = f.Value, f.assign
		}
	}
	if in.Value == 0 {
		i := slices.IndexFunc(s.Values(), func(v configs.Value) bool { return v.Key == name })
		if i < 0 {
			return wrong("no such key of the scenario with a value; decodesim show prints its keys")
		}
		x, err := strconv.ParseFloat(s.Values()[i].Text, 64)
		if err != nil {
			return wrong(fmt.Sprintf("%s is %s; expected a key with a number", name, s.Values()[i].Text))
		}
		in.Value = x
	}
	if !(low <= in.Value && in.Value <= high) || in.Value == 0 {
		return wrong(fmt.Sprintf("the scenario has %g; expected a range around it", in.Value))
	}
	return in, nil
}
