package sensitivity

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/expected"
)

// allConstants is the input that stands for every fitted constant at once.
const allConstants = "all step times"

// constants returns the fitted constants of a scenario. Of one, the fit knows how it differs between the GPUs that the
// software was measured on; of all together, how far runs were off that were left out of the fit.
func constants(b *build.Built) []Input {
	var all []Input
	if in, ok := together(b); ok {
		all = append(all, in)
	}
	fit, ok := fitOf(b)
	if !ok {
		return all
	}
	first, gpus := b.Replicas[0].Deployment.Efficiency, fit.Measured()
	for _, key := range constantKeys() {
		value, _ := constantOf(&first, key)
		low, high := value, value
		for i := range gpus {
			x, _ := constantOf(&gpus[i].Efficiency, key)
			x *= value / own(fit, b, key)
			low, high = min(low, x), max(high, x)
		}
		if !(value > 0) || low == high {
			continue
		}
		all = append(all, Input{Name: key, Kind: Fitted, Value: value, Low: low, High: high,
			Source: fmt.Sprintf("from least to most over the %d GPUs that %s was fitted on", len(gpus), fit.Name),
			assign: scaled(b, key, value)})
	}
	return all
}

// fitOf returns the built-in efficiencies that price the first pool; false: they are a file of the user's, or have
// nothing of single GPUs.
func fitOf(b *build.Built) (catalog.Efficiencies, bool) {
	p := &b.Scenario.Pools[0]
	name := p.Efficiency.Base
	if name == "" {
		if e, err := catalog.Engine(p.Engine); err == nil {
			name = e.Efficiency
		}
	}
	if b.Replicas[0].Deployment.GPU.Kind != "" || !slices.Contains(catalog.EfficiencyNames(), catalog.Unreleased(name)) {
		return catalog.Efficiencies{}, false
	}
	fit, err := catalog.EfficienciesOf(name)
	return fit, err == nil && len(fit.GPUs) > 1
}

// own is what the fit has of a constant on the GPU itself, before what is particular to a model: the constants of other
// GPUs are compared with that.
func own(fit catalog.Efficiencies, b *build.Built, key string) float64 {
	e, _ := fit.For(b.Replicas[0].Deployment.GPU.Name, "", "")
	x, _ := constantOf(&e, key)
	if x > 0 {
		return x
	}
	first := b.Replicas[0].Deployment.Efficiency
	x, _ = constantOf(&first, key)
	return x
}

// scaled returns what makes a constant x on the first pool, and on the others as much more or less.
func scaled(b *build.Built, key string, value float64) func(float64) []string {
	return func(x float64) (set []string) {
		for i, r := range b.Replicas {
			e := r.Deployment.Efficiency
			if was, share := constantOf(&e, key); was > 0 {
				set = append(set, constantSetting(b.Scenario, i, key, was*x/value, share))
			}
		}
		return set
	}
}

func constantSetting(s *configs.Scenario, pool int, key string, x float64, share bool) string {
	if share {
		x = min(1, x)
	}
	return "pools." + s.Pools[pool].Name + ".efficiency." + key + "=" + literal(x)
}

// together returns the input by which every step takes so many times as long: each share of a peak is so much less, and
// each time so much more. Its range is the error of nine in ten runs that were left out of the fit.
func together(b *build.Built) (Input, bool) {
	x, known := expected.TPOTOf(b.Scenario)
	if !known {
		return Input{}, false
	}
	off := x.TPOT.P90Pct / 100
	return Input{Name: allConstants, Kind: Fitted, Value: 1, Low: 1 / (1 + off), High: 1 + off,
		Source: fmt.Sprintf("±%.3g %%: TPOT of nine in ten of %d runs that were left out of the fit", 100*off, x.Runs),
		assign: func(times float64) (set []string) {
			for i, r := range b.Replicas {
				e := r.Deployment.Efficiency
				for _, key := range constantKeys() {
					switch was, share := constantOf(&e, key); {
					case !(was > 0) || slices.Contains(noTimes(), key):
					case share:
						set = append(set, constantSetting(b.Scenario, i, key, was/times, true))
					default:
						set = append(set, constantSetting(b.Scenario, i, key, was*times, false))
					}
				}
			}
			return set
		}}, true
}

// noTimes are constants that no step is proportional to. Rows at the peak are a time, whatever share is achieved.
func noTimes() []string {
	return []string{"moe_compute", "quantized_compute", "moe_rows", "moe_copy_bytes", "expert_imbalance", "expert_skew",
		"launch_overlap", "mixed_kv"}
}

// constantKeys are the constants of efficiencies that a scenario may change.
func constantKeys() (keys []string) {
	for _, f := range strict.FieldsOf(reflect.TypeFor[configs.Constants]()) {
		if f.Key != "overlap" {
			keys = append(keys, f.Key)
		}
	}
	return keys
}

// constantOf returns a constant by its key, and whether it is a share, which is at most 1.
func constantOf(e *hardware.Efficiency, key string) (x float64, share bool) {
	f, ok := strict.FieldNamed(strict.FieldsOf(reflect.TypeFor[hardware.Efficiency]()), key)
	if !ok {
		return 0, false
	}
	probe := *e
	at := reflect.ValueOf(&probe).Elem().FieldByIndex(f.Index)
	x = at.Float()
	at.SetFloat(1)
	probe.Scale(key, 2)
	return x, at.Float() == 1
}
