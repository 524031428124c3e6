package configs

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/policies/acceptance"
	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/arrivals"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// bound is the range of a number as its tag writes it: [1,1024] includes both ends, (0,1] excludes the lower one.
type bound struct {
	low, high float64
	open      bool // low itself is outside
}

// boundOf returns the range of a field; false: its tag states none.
func boundOf(f strict.Field) (b bound, ok bool) {
	tag, ok := f.Tag.Lookup("bound")
	if !ok {
		return b, false
	}
	low, high, _ := strings.Cut(tag[1:len(tag)-1], ",")
	return bound{boundValue(low), boundValue(high), tag[0] == '('}, true
}

// boundValue reads an end of a range: a number, or the name of a constant that another package owns.
func boundValue(text string) float64 {
	switch text {
	case "horizon":
		return sim.HorizonS
	case "choices":
		return workloads.ChoicesMax
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic("configs: bound " + text)
	}
	return x
}

// namesOf returns the names that a field may have; nil: its tag names no list.
func namesOf(f strict.Field) []string {
	list, ok := f.Tag.Lookup("oneof")
	if !ok {
		list, ok = f.Tag.Lookup("names")
	}
	if !ok {
		return nil
	}
	switch list {
	case "weights":
		return llm.Dtypes()
	case "sparsities":
		return llm.Sparsities()
	case "kv-caches":
		return hardware.KVDtypes()
	case "balancers":
		return routers.BalancerNames()
	case "all-to-alls":
		return hardware.AllToAlls()
	case "batch-overlaps":
		return hardware.BatchOverlaps()
	case "links":
		return hardware.Links()
	case "samplings":
		return hardware.Samplings()
	case "gpus":
		return catalog.GPUNames()
	case "presets":
		return catalog.PresetNames()
	case "engines":
		return catalog.EngineNames()
	case "queue-orders":
		return catalog.QueueOrders()
	case "routers":
		return routers.Names()
	case "autoscale-signals":
		return fleet.AutoscaleSignals()
	case "acceptance-processes":
		return acceptance.Processes()
	case "speculation-methods":
		return SpeculationMethods()
	case "arrivals":
		return arrivals.Names()
	case "lengths":
		return lengths.Names()
	case "spans":
		return sessions.SpanNames()
	case "prompt-orders":
		return requests.OrderNames()
	}
	names, ok := fixedNames()[list]
	if !ok {
		panic("configs: no list of names " + list)
	}
	return names
}

// fixedNames returns the lists of names that no other package has.
func fixedNames() map[string][]string {
	return map[string][]string{
		"roles":             roles(),
		"subagent-contexts": {contextFresh, contextFork},
		"transfers":         {transferPull, TransferPush},
		"kv-write-policies": {writeThrough, WriteBack},
		"kv-load-policies":  {loadFetch, FetchOrRecompute},
		"kv-loads":          {catalog.LoadLayerwise, catalog.LoadSync, catalog.LoadAsync},
		"first-tokens":      {FirstAtPrefill, firstAtDecode},
		"in-flight":         {InFlightRetry, inFlightFail},
		"reserves": {catalog.ReserveAsComputed, catalog.ReservePrompt, catalog.ReserveMaxTokens,
			catalog.ReserveMaxModelLen},
		"capacity-policies":   {catalog.NoEvict, catalog.MaxUtilization},
		"lora-dtypes":         {catalog.LoRAAuto, "bfloat16", "float16"},
		"preemption-modes":    {catalog.PreemptRecompute, catalog.PreemptSwap},
		"retraction-policies": {catalog.RetractLength, catalog.RetractPriority},
		"preemption-victims":  {catalog.VictimTail, catalog.VictimLastInOrder},
		"attentions":          {"flash", "flash-fp8", "flash-per-head", "materialized"},
		"performance-modes":   {catalog.ModeBalanced, catalog.ModeThroughput, catalog.ModeInteractivity},
	}
}

// checkTags refuses every value outside the range or the list that its tag states, and required values that nobody
// gave. Values that skip names have no effect and are not looked at.
func (c *checker) checkTags(v reflect.Value, skip func(path string) bool) {
	walk(v, "", func(path string, f strict.Field, value reflect.Value) {
		if c.err != nil || isSection(value) || skip(path) {
			return
		}
		given := c.origins.given(path)
		if want, required := f.Tag.Lookup("required"); required && !given {
			c.fail(path, "missing; expected %s", want)
			return
		}
		if f.Optional && value.IsZero() && !given {
			return
		}
		if _, ok := f.Tag.Lookup("oneof"); ok {
			c.oneOf(path, value.String(), namesOf(f))
		}
		if b, ok := boundOf(f); ok {
			c.inside(path, value, b)
		}
	})
}

// inside requires a number within its range.
func (c *checker) inside(path string, v reflect.Value, b bound) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	switch {
	case v.CanInt():
		c.whole(path, v.Int(), int64(b.low), int64(b.high))
	case b.open:
		c.above(path, v.Float(), b.low, b.high)
	default:
		c.within(path, v.Float(), b.low, b.high)
	}
}

// idle reports whether the value at a path has no effect: one that the pool's engine or role has no use for, or what
// would be drafted by a method that drafts nothing.
func (s *Scenario) idle(path string) bool {
	if key, ok := strings.CutPrefix(path, "speculation."); ok {
		return key != "method" && !s.Speculation.On()
	}
	return s.foreign(path)
}
