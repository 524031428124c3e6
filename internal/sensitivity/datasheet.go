package sensitivity

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
)

// varied are the numbers of an accelerator that steps, the cache and transfers are priced by.
func varied() []string {
	return []string{"memory_bytes", "bandwidth_bps", "flops.bf16", "flops.fp8", "flops.int8", "flops.fp4", "scale_up_bps",
		"pcie_bps", "nic_bps"}
}

// dataSheet returns the numbers of each accelerator of a scenario. Pools of the same accelerator have the same number.
func dataSheet(b *build.Built) []Input {
	var all []Input
	var seen []string
	for i, r := range b.Replicas {
		gpu := &r.Deployment.GPU
		if slices.Contains(seen, gpu.Name) {
			continue
		}
		seen = append(seen, gpu.Name)
		pools := poolsOf(b, gpu.Name)
		prefix := ""
		if kinds(b) > 1 {
			prefix = b.Scenario.Pools[i].GPU.Name() + "."
		}
		for _, f := range gpu.Fields() {
			if !slices.Contains(varied(), f.Path) || !(f.Value > 0) {
				continue
			}
			in := Input{Name: prefix + f.Path, Kind: DataSheet, Value: f.Value, assign: onPools(pools, "gpu."+f.Path)}
			in.Low, in.High, in.Source = rangeOf(f.Quantity)
			all = append(all, in)
		}
	}
	return all
}

// onPools returns what assigns a number to the same key of some pools.
func onPools(pools []string, key string) func(float64) []string {
	return func(x float64) (set []string) {
		for _, pool := range pools {
			set = append(set, "pools."+pool+"."+key+"="+literal(x))
		}
		return set
	}
}

// poolsOf names the pools of an accelerator.
func poolsOf(b *build.Built, gpu string) (names []string) {
	for i, r := range b.Replicas {
		if r.Deployment.GPU.Name == gpu {
			names = append(names, b.Scenario.Pools[i].Name)
		}
	}
	return names
}

// kinds counts the accelerators of a scenario.
func kinds(b *build.Built) int {
	seen := map[string]bool{}
	for _, r := range b.Replicas {
		seen[r.Deployment.GPU.Name] = true
	}
	return len(seen)
}

const (
	offSecondary  = 0.05 // of a number that is not graded, or of one secondary source
	offUnverified = 0.2  // of one that is reported, derived or general knowledge
)

// rangeOf returns how far a number of a data sheet may be off, and why: that of the vendor's text by how it is rounded,
// another by how good its source is, and one on which sources disagree at least by what they say.
func rangeOf(q hardware.Quantity) (low, high float64, source string) {
	share := offSecondary
	switch {
	case q.Unverified || q.Grade == "C":
		share, source = offUnverified, fmt.Sprintf("±%g %%: read in no document, or derived", 100*offUnverified)
	case q.Grade == "A":
		share, source = rounding(q.Value), "rounding of the vendor's number"
	default:
		source = fmt.Sprintf("±%g %%: of secondary sources", 100*offSecondary)
	}
	if q.Source == "the scenario" {
		share, source = rounding(q.Value), "rounding of the scenario's number"
	}
	low, high = q.Value*(1-share), q.Value*(1+share)
	for _, other := range othersIn(q) {
		if other < low || other > high {
			source = "sources disagree: " + q.Conflict
		}
		low, high = min(low, other), max(high, other)
	}
	return low, high, source
}

// rounding is half of the last digit of a number as it is written, at most of the third one, as a share of it.
func rounding(x float64) float64 {
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	n := min(3, len(strings.ReplaceAll(strings.TrimPrefix(digits, "-"), ".", "")))
	e, _ := strconv.Atoi(exponent)
	return 0.5 * math.Pow10(e-n+1) / x
}

var written = regexp.MustCompile(`\b\d+(\.\d+)?e\d+\b`)

// othersIn returns the numbers that other sources have in place of q, as its conflict quotes them.
func othersIn(q hardware.Quantity) (all []float64) {
	for _, text := range written.FindAllString(q.Conflict, -1) {
		if x, err := strconv.ParseFloat(text, 64); err == nil && x > q.Value/2 && x < 2*q.Value {
			all = append(all, x)
		}
	}
	return all
}

// prices is the price of accelerators, which an answer about money rests on.
func prices(b *build.Built, s *configs.Scenario) []Input {
	var all []Input
	var seen []string
	for i, r := range b.Replicas {
		p, name := r.Deployment.GPU.Price, s.Pools[i].GPU.Name()
		if p.USDPerHour == 0 || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		in := Input{Name: "price_per_hour", Kind: DataSheet, Value: p.USDPerHour, Low: 0.75 * p.USDPerHour,
			High:   1.25 * p.USDPerHour,
			Source: fmt.Sprintf("±25 %%, %s: one provider's price (%s, %s)", assumed, p.Provider, p.Date),
			assign: onPools(poolsOf(b, r.Deployment.GPU.Name), "gpu.price_per_hour")}
		if kinds(b) > 1 {
			in.Name = name + "." + in.Name
		}
		all = append(all, in)
	}
	return all
}
