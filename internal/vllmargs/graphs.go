package vllmargs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/hardware"
)

const uncompiled = "a model that is not compiled"

// rowsMax bounds the rows of a CUDA graph.
const rowsMax = 1 << 13

// captureSizes reads the rows that steps are padded to: several words, or one list.
func captureSizes(d *draft, g *given) error {
	if spelling(g.written) == "--cuda-graph-sizes" && len(g.values) == 1 { // then it is the largest
		return captureMax(d, g)
	}
	var sizes []int
	for _, w := range strings.FieldsFunc(strings.Join(g.values, " "),
		func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 || n > rowsMax {
			return g.bad(fmt.Sprintf("numbers of rows from 1 to %d", rowsMax))
		}
		sizes = append(sizes, n)
	}
	if len(sizes) == 0 {
		return g.bad("numbers of rows, such as 1 2 4 8")
	}
	d.setSizes(sizes, g)
	return nil
}

// captureMax reads the most rows of a graph. Those below it are taken to be vLLM's; other engines' differ a little.
func captureMax(d *draft, g *given) error {
	n, err := g.whole(1, rowsMax)
	if err != nil {
		return err
	}
	sizes := hardware.CaptureSizes(int(n))
	d.setSizes(append(sizes, int(n)), g)
	return nil
}

func (d *draft) setSizes(sizes []int, g *given) {
	slices.Sort(sizes)
	text := fmt.Sprint(slices.Compact(sizes))
	key := "cudagraph_capture_sizes"
	if d.engine == sglang {
		key = "cuda_graph_bs"
	}
	d.set(key, strings.ReplaceAll(text, " ", ", "), g)
}

// compilationFlag is vLLM's flag of many parts.
const compilationFlag = "--compilation-config"

// level takes a flag such as -O3 for the part of --compilation-config that it is: it leaves the other parts alone.
func (g *given) level() {
	if n, err := strconv.Atoi(g.value()); g.flag.names[0] == compilationFlag && len(g.path) == 0 && err == nil && n >= 0 &&
		n <= 3 {
		g.path = []string{"level"}
	}
}

// partly has it said where parts of one flag are given beside the object that has all of them: they are read together,
// and vLLM may take the last alone (unverified).
func (d *draft) partly(all []*given) {
	var whole, parts []*given
	for _, g := range all {
		switch {
		case g.flag.names[0] != compilationFlag:
		case len(g.path) == 0:
			whole = append(whole, g)
		default:
			parts = append(parts, g)
		}
	}
	if len(whole) > 0 && len(parts) > 0 {
		d.note("%s and %s are one flag, given more than once: both are read; vLLM may take only the last (unverified)",
			whole[len(whole)-1].written, parts[len(parts)-1].text())
	}
}

// compilation reads vLLM's --compilation-config: an object, or a part of one behind a dot.
func compilation(d *draft, g *given) error {
	if len(g.path) == 1 {
		return compiled(d, g, g.path[0], g.value())
	}
	if unknownVariable(g.value()) != "" {
		d.differ(g, "a variable without a value")
		return nil
	}
	o, err := g.object()
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if err := compiled(d, g, key, fmt.Sprint(o[key])); err != nil {
			return err
		}
	}
	return nil
}

func compiled(d *draft, g *given, key, value string) error {
	part := &given{flag: g.flag, written: g.written + "." + key, values: strings.Fields(value)}
	if len(g.path) > 0 {
		part.written = g.written
	}
	key = strings.ReplaceAll(key, "-", "_")
	switch {
	case key == "cudagraph_capture_sizes":
		return captureSizes(d, part)
	case key == "max_cudagraph_capture_size":
		return captureMax(d, part)
	case key == "cudagraph_mode" && strings.EqualFold(value, "none") || key == "use_cudagraph" &&
		strings.EqualFold(value, "false"):
		d.set("enforce_eager", "true", part)
	case (key == "level" || key == "mode") && value == "0":
		d.differ(part, uncompiled)
	default:
		d.idle(part, kernels)
	}
	return nil
}
