package huggingface

import (
	"github.com/decodesim/decodesim/hardware/llm"
)

// blockScaleBits is the share of one fp32 scale per block of weights; without blocks there is one per tensor, which is
// nothing per weight.
func (q *fields) blockScaleBits() float64 {
	block := q.counts("weight_block_size")
	if len(block) == 0 {
		return 0
	}
	if len(block) != 2 || block[0] < 1 || block[1] < 1 {
		q.fail("weight_block_size", "want two whole numbers ≥ 1")
		return 0
	}
	return 32 / (float64(block[0]) * float64(block[1]))
}

// groupedInt is GPTQ's and AWQ's format: one bf16 scale and one zero point of the weights' own width per group.
func (q *fields) groupedInt() llm.Format {
	bits := q.count(0, "bits", "w_bit")
	group := 0.0
	if raw := q.show("group_size"); raw != "-1" {
		group = float64(q.count(0, "group_size", "q_group_size"))
	} else {
		q.has("group_size")
	}
	f := llm.Format{Bits: float64(bits)}
	if group > 0 {
		f.Bits += (16 + float64(bits)) / group
	}
	switch bits {
	case 4:
		f.Dtype = "int4"
	case 8:
		f.Dtype = "int8"
	default:
		q.fail("bits", "understood are 4 and 8")
	}
	return f
}

// bitsAndBytes is 8 bits per weight, or 4 and one fp32 scale per 64 (unverified).
func (q *fields) bitsAndBytes() llm.Format {
	switch {
	case q.flag(false, "load_in_4bit", "_load_in_4bit"):
		return llm.Format{Dtype: "int4", Bits: 4.5}
	case q.flag(false, "load_in_8bit", "_load_in_8bit"):
		return llm.Format{Dtype: "int8", Bits: 8}
	}
	q.fail("load_in_4bit", "want load_in_4bit or load_in_8bit to be true")
	return llm.Format{}
}

// configGroups reads compressed-tensors: a format per group, targets by class name, path or pattern.
func (q *fields) configGroups() []target {
	groups := q.object("config_groups")
	if groups == nil {
		q.fail("config_groups", "want an object of groups with targets and weights")
		return nil
	}
	var out []target
	for _, name := range groups.keys() {
		g := groups.object(name)
		if g == nil {
			continue
		}
		if t, ok := g.target(); ok {
			out = append(out, t)
		}
		groups.err = firstError(groups.err, g.err)
	}
	q.err = firstError(q.err, groups.err)
	if len(out) == 0 {
		q.fail("config_groups", "want at least one group with weights")
	}
	return out
}

// target reads one group; false: it quantises no weights.
func (g *fields) target() (target, bool) {
	w := g.object("weights")
	if w == nil {
		return target{}, false
	}
	t := target{format: w.weightFormat()}
	g.err = firstError(g.err, w.err)
	names := g.texts("targets")
	for _, n := range names {
		if n == "Linear" {
			return t, true
		}
	}
	if len(names) == 0 {
		return t, true
	}
	m, err := newMatcher(names)
	g.err = firstError(g.err, err)
	t.only = m
	return t, true
}

// weightFormat reads bits, type and grouping. Scales are bf16 per group of integers, 8 bits per group of 4-bit floats,
// fp32 per block of 8-bit floats; one per channel or tensor is nothing per weight.
func (w *fields) weightFormat() llm.Format {
	bits, kind := w.count(0, "num_bits"), w.text("float", "type")
	group := float64(w.count(0, "group_size"))
	f := llm.Format{Bits: float64(bits)}
	switch {
	case kind == "int" && (bits == 4 || bits == 8):
		f.Dtype = map[int]string{4: "int4", 8: "int8"}[bits]
		if group > 0 {
			f.Bits += 16 / group
		}
	case kind == "float" && bits == 8:
		f.Dtype = "fp8"
		if block := w.counts("block_structure"); len(block) == 2 && block[0] > 0 && block[1] > 0 {
			f.Bits += 32 / (float64(block[0]) * float64(block[1]))
		}
	case kind == "float" && bits == 4 && group == 32:
		f.Dtype, f.Bits = "mxfp4", 4.25
	case kind == "float" && bits == 4:
		f.Dtype, f.Bits = "nvfp4", 4.5
	default:
		w.fail("num_bits", "of type %q are not understood; int of 4 or 8 and float of 4 or 8 bits are", kind)
	}
	return f
}

// modelopt reads NVIDIA's algorithm names: one for all layers, one for each that is listed, or groups.
func (q *fields) modelopt() []target {
	algorithm := q.text("", "quant_algo")
	if f, ok := q.algorithm(algorithm); ok {
		return []target{{format: f}}
	}
	switch {
	case algorithm == "MIXED_PRECISION" && q.has("quantized_layers"):
		return q.listedAlgorithms(q.object("quantized_layers"))
	case q.has("config_groups"):
		return q.configGroups()
	}
	q.fail("quant_algo", "understood are FP8, FP8_PB_WO, MXFP8, NVFP4, MXFP4, INT8_SQ, W4A16_AWQ, and MIXED_PRECISION "+
		"with quantized_layers")
	return nil
}

// listedAlgorithms reads an algorithm for each of the layers of a list; what is not in it stays as it is.
func (q *fields) listedAlgorithms(layers *fields) []target {
	if layers == nil {
		return nil
	}
	names := map[llm.Format][]string{}
	var formats []llm.Format
	for _, name := range layers.keys() {
		l := layers.object(name)
		if l == nil {
			continue
		}
		f, ok := l.algorithm(l.text("", "quant_algo"))
		if !ok {
			l.fail("quant_algo", "understood are FP8, FP8_PB_WO, MXFP8, NVFP4, MXFP4, INT8_SQ and W4A16_AWQ")
		}
		layers.err = firstError(layers.err, l.err)
		if names[f] == nil {
			formats = append(formats, f)
		}
		names[f] = append(names[f], name)
	}
	q.err = firstError(q.err, layers.err)
	var out []target
	for _, f := range formats {
		m, err := newMatcher(names[f])
		q.err = firstError(q.err, err)
		out = append(out, target{format: f, only: m})
	}
	return out
}

// algorithm is the format of one of NVIDIA's algorithm names; false: it is none that stores weights in one format.
func (q *fields) algorithm(name string) (llm.Format, bool) {
	switch name {
	case "FP8":
		return llm.Format{Dtype: "fp8", Bits: 8}, true
	case "FP8_PB_WO", "FP8_PB_REAL":
		return llm.Format{Dtype: "fp8", Bits: 8 + 32.0/(128*128)}, true
	case "MXFP8":
		return llm.Format{Dtype: "mxfp8", Bits: 8.25}, true
	case "NVFP4", "NVFP4_AWQ", "W4A16_NVFP4":
		return llm.Format{Dtype: "nvfp4", Bits: 4.5}, true
	case "MXFP4", "W4A8_MXFP4_FP8":
		return llm.Format{Dtype: "mxfp4", Bits: 4.25}, true
	case "INT8_SQ", "INT8":
		return llm.Format{Dtype: "int8", Bits: 8}, true
	case "W4A16", "W4A16_AWQ":
		f := llm.Format{Dtype: "int4", Bits: 4}
		if group := q.count(128, "group_size"); group > 0 {
			f.Bits += 16 / float64(group)
		}
		return f, true
	}
	return llm.Format{}, false
}
