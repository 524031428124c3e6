package hardware

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/hardware/llm"
)

// GPU is an accelerator as its data sheet describes it: peaks, not what software achieves of them (see Efficiency).
// Compute is dense, link rates are one direction of one device, and a Quantity that no source states is absent.
type GPU struct {
	Name         string   `yaml:"name"`
	Vendor       string   `yaml:"vendor"`
	Architecture string   `yaml:"architecture,omitempty"`  // hopper, blackwell …: what is measured of one holds for its kin
	Kind         Kind     `yaml:"kind,omitempty"`          // what else than a GPU it is; empty: a GPU
	SharedMemory bool     `yaml:"shared_memory,omitempty"` // with the CPU, which takes part of it and of its bandwidth
	Mesh         bool     `yaml:"mesh,omitempty"`          // its links lead to each other device of the domain; false: a switch
	Year         Quantity `yaml:"year"`                    // of launch
	MemoryBytes  Quantity `yaml:"memory_bytes"`            // as the driver reports it, where a source prints that
	BandwidthBps Quantity `yaml:"bandwidth_bps"`           // of that memory
	OnChipBytes  Quantity `yaml:"on_chip_bytes"`           // last-level cache or scratchpad
	// SMs of NVIDIA: each computes parts of a kernel by itself
	Multiprocessors Quantity `yaml:"multiprocessors"`
	FLOPS           Peaks    `yaml:"flops"`
	// peak with 2:4 structured sparsity over the dense one, in 16 and 8 bits
	SparseRatio    Quantity `yaml:"sparse_ratio"`
	SparseRatioFP4 Quantity `yaml:"sparse_ratio_fp4"` // the same in fp4
	// sum over the links of the domain (NVLink, Infinity Fabric, ICI); 0: none
	ScaleUpBps Quantity `yaml:"scale_up_bps"`
	Domain     Quantity `yaml:"domain"` // devices that these links join; 1: none
	PCIeBps    Quantity `yaml:"pcie_bps"`
	NICBps     Quantity `yaml:"nic_bps"` // share of the node's network
	TDPW       Quantity `yaml:"tdp_w"`
	Price      Price    `yaml:"price"`
}

// Peaks holds the dense peak rate of each number format in FLOP/s (integer formats: operations/s; a multiply-add is
// two). BF16 stands for fp16 too, FP4 for nvfp4 and mxfp4.
type Peaks struct {
	FP32 Quantity `yaml:"fp32"`
	TF32 Quantity `yaml:"tf32"`
	BF16 Quantity `yaml:"bf16"`
	FP8  Quantity `yaml:"fp8"`
	INT8 Quantity `yaml:"int8"`
	FP4  Quantity `yaml:"fp4"`
	INT4 Quantity `yaml:"int4"`
}

// Quantity is a number in SI base units and where it comes from. The zero Quantity is absent.
type Quantity struct {
	Value      float64 `yaml:"value"`
	Source     string  `yaml:"source"`
	Unverified bool    `yaml:"unverified"` // general knowledge, or derived from it: read in no document
	Conflict   string  `yaml:"conflict"`   // what other sources say
	// A: the vendor's text, read or quoted twice; B: one secondary source; C: reported or derived; empty: not graded
	Grade string `yaml:"grade"`
}

// Known reports whether q is present.
func (q Quantity) Known() bool { return q != Quantity{} }

// Price is one representative on-demand price of one device. The zero Price is absent.
type Price struct {
	USDPerHour float64 `yaml:"usd_per_hour"`
	Provider   string  `yaml:"provider"`
	Date       string  `yaml:"date"` // when it was read: year, month or day
	Source     string  `yaml:"source"`
}

// Known reports whether p is present.
func (p Price) Known() bool { return p != Price{} }

// Field is a Quantity of a GPU under its YAML path.
type Field struct {
	Path string
	Quantity
}

// Fields returns every Quantity of g, absent ones too, in the order of the YAML files.
func (g GPU) Fields() []Field {
	return []Field{
		{"year", g.Year},
		{"memory_bytes", g.MemoryBytes},
		{"bandwidth_bps", g.BandwidthBps},
		{"on_chip_bytes", g.OnChipBytes},
		{"multiprocessors", g.Multiprocessors},
		{"flops.fp32", g.FLOPS.FP32},
		{"flops.tf32", g.FLOPS.TF32},
		{"flops.bf16", g.FLOPS.BF16},
		{"flops.fp8", g.FLOPS.FP8},
		{"flops.int8", g.FLOPS.INT8},
		{"flops.fp4", g.FLOPS.FP4},
		{"flops.int4", g.FLOPS.INT4},
		{"sparse_ratio", g.SparseRatio},
		{"sparse_ratio_fp4", g.SparseRatioFP4},
		{"scale_up_bps", g.ScaleUpBps},
		{"domain", g.Domain},
		{"pcie_bps", g.PCIeBps},
		{"nic_bps", g.NICBps},
		{"tdp_w", g.TDPW},
	}
}

// Need returns the value of the field at a YAML path such as "nic_bps", or an error that names g and the field if g
// lacks it. It panics on a path that no GPU has.
func (g GPU) Need(path string) (float64, error) {
	for _, f := range g.Fields() {
		if f.Path != path {
			continue
		}
		if !f.Known() {
			return 0, fmt.Errorf("hardware: gpu %q has no %s: no source states it", g.Name, path)
		}
		return f.Value, nil
	}
	panic(fmt.Sprintf("hardware: a gpu has no field %q", path))
}

// peak returns the dense peak of a number format, absent where the device has no such unit or no source states it.
func (g GPU) peak(dtype string) Quantity {
	switch dtype {
	case "fp32":
		return g.FLOPS.FP32
	case "tf32":
		return g.FLOPS.TF32
	case "bf16", "fp16":
		return g.FLOPS.BF16
	case "fp8":
		return g.FLOPS.FP8
	case "int8":
		return g.FLOPS.INT8
	case "fp4", "nvfp4", "mxfp4":
		return g.FLOPS.FP4
	case "int4":
		return g.FLOPS.INT4
	}
	return Quantity{}
}

// ComputeFLOPS returns the peak rate of a matrix product whose weights are stored as weightDtype, and the number format
// it is computed in: that of the weights where the device has a unit for it, and otherwise bf16, for the weights are
// then only stored so and widened on the way. int4 weights are always such (W4A16), even where the device multiplies
// int4: no serving engine quantizes activations that far. A format that is no weight format gives 0 and "".
func (g GPU) ComputeFLOPS(weightDtype string) (flops float64, dtype string) {
	switch weightDtype {
	case "fp32", "bf16", "fp16", "fp8", "int8":
		dtype = weightDtype
	case "mxfp8":
		dtype = "fp8"
	case "nvfp4", "mxfp4", "fp4":
		dtype = "fp4"
	case "int4":
		dtype = "bf16"
	default:
		return 0, ""
	}
	if dtype == "fp16" || !g.peak(dtype).Known() {
		dtype = "bf16"
	}
	return g.peak(dtype).Value, dtype
}

// Validate reports the first thing wrong with g. Memory and its bandwidth must be present: nothing can be said without
// them. What a deployment multiplies in is a question of its own, see Deployment.Validate.
func (g GPU) Validate() error {
	if g.Name == "" {
		return fmt.Errorf("hardware: a gpu has no name")
	}
	if g.Vendor == "" {
		return fmt.Errorf("hardware: gpu %q: vendor is empty, want the maker's name", g.Name)
	}
	for _, f := range g.Fields() {
		if err := g.check(f); err != nil {
			return err
		}
	}
	if !slices.Contains(kinds(), g.Kind) {
		return fmt.Errorf("hardware: gpu %q: kind is %q, want one of %q, or none for a GPU", g.Name, g.Kind, kinds()[1:])
	}
	for _, path := range []string{"memory_bytes", "bandwidth_bps"} {
		if _, err := g.Need(path); err != nil {
			return err
		}
	}
	if g.Domain.Value > 1 && g.ScaleUpBps.Value == 0 {
		return fmt.Errorf("hardware: gpu %q: domain is %g, but scale_up_bps is 0; want domain 1 or a rate", g.Name,
			g.Domain.Value)
	}
	if g.Mesh && !g.Domain.Known() {
		return fmt.Errorf("hardware: gpu %q: mesh is true without a domain; want how many devices it joins", g.Name)
	}
	return g.checkPrice()
}

// check reports what is wrong with one quantity. Only scale_up_bps may be 0: without such links it is.
func (g GPU) check(f Field) error {
	if !f.Known() {
		return nil
	}
	if f.Source == "" {
		return fmt.Errorf("hardware: gpu %q: %s is %g without a source", g.Name, f.Path, f.Value)
	}
	if !slices.Contains([]string{"", "A", "B", "C"}, f.Grade) {
		return fmt.Errorf("hardware: gpu %q: grade of %s is %q, want A, B or C", g.Name, f.Path, f.Grade)
	}
	finite := f.Value >= 0 && !math.IsInf(f.Value, 0)
	if !finite || f.Value == 0 && f.Path != "scale_up_bps" {
		return fmt.Errorf("hardware: gpu %q: %s is %g, want a positive number", g.Name, f.Path, f.Value)
	}
	if least, unit := leastOf(f.Path); f.Value < least && f.Value > 0 {
		return fmt.Errorf("hardware: gpu %q: %s is %g, want %s, at least %g, such as 3.35e12 for 3.35 T", g.Name, f.Path,
			f.Value, unit, least)
	}
	count := slices.Contains([]string{"domain", "year", "memory_bytes", "multiprocessors"}, f.Path)
	if count && f.Value != math.Trunc(f.Value) {
		return fmt.Errorf("hardware: gpu %q: %s is %g, want a whole number", g.Name, f.Path, f.Value)
	}
	return nil
}

// leastOf returns less than any accelerator has of a figure, and its unit; 0: there is no such bound. A figure below it
// is one in TB/s or GB.
func leastOf(path string) (least float64, unit string) {
	switch {
	case path == "memory_bytes", path == "on_chip_bytes":
		return 1e6, "bytes"
	case strings.HasPrefix(path, "flops."):
		return 1e9, "FLOP/s"
	case strings.HasSuffix(path, "_bps"):
		return 1e6, "bytes/s"
	}
	return 0, ""
}

func (g GPU) checkPrice() error {
	p := g.Price
	if !p.Known() {
		return nil
	}
	if !(p.USDPerHour > 0) || math.IsInf(p.USDPerHour, 0) {
		return fmt.Errorf("hardware: gpu %q: price.usd_per_hour is %g, want a positive number", g.Name, p.USDPerHour)
	}
	if p.Provider == "" || p.Date == "" || p.Source == "" {
		return fmt.Errorf("hardware: gpu %q: price needs provider, date and source, has %q, %q, %q",
			g.Name, p.Provider, p.Date, p.Source)
	}
	return nil
}

// rate returns the peak of a matrix product with weights in format f.
func (g GPU) rate(f llm.Format) (float64, error) {
	peak, dtype := g.ComputeFLOPS(f.Dtype)
	if !f.Sparse {
		return peak, nil
	}
	field, ratio := g.sparseRatio(dtype)
	if !ratio.Known() {
		return 0, fmt.Errorf("hardware: weight_sparsity 2:4, but gpu %q has no known unit for it in %s: "+
			"no source states its %s; accepted: null", g.Name, dtype, field)
	}
	return peak * ratio.Value, nil
}

// sparseRatio returns the ratio that counts for products in a number format, and its YAML path.
func (g GPU) sparseRatio(dtype string) (path string, ratio Quantity) {
	if dtype == "fp4" {
		return "sparse_ratio_fp4", g.SparseRatioFP4
	}
	return "sparse_ratio", g.SparseRatio
}

// quantizesActivations reports whether products with weights of this type quantise the other operand first: only where
// the device multiplies in that type. mxfp4 is a type of weights alone in most kernels, as int4 is in all.
func (g GPU) quantizesActivations(weights string) bool {
	_, dtype := g.ComputeFLOPS(weights)
	return dtype == "fp8" || dtype == "int8" || dtype == "fp4" && weights != "mxfp4"
}
