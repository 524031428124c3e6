package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/text"
)

// severalFlags are the flags of explain that take several values, in the order of the columns of a table, and what
// tables call them.
var severalFlags = []struct{ flag, axis string }{
	{"gpu", "gpu"}, {"tensor-parallel", "tensor parallel"}, {"weights", "weights"}, {"kv-cache", "KV cache"},
	{"context", "context"}, {"batch", "batch"},
}

// axesOf returns the flags that have several values.
func axesOf(c *cobra.Command) (axes []explain.Axis, err error) {
	for _, f := range severalFlags {
		written := c.Flags().Lookup(f.flag).Value.String()
		if !strings.Contains(written, ",") {
			continue
		}
		a := explain.Axis{Name: f.axis}
		for _, value := range strings.Split(written, ",") {
			value = strings.TrimSpace(value)
			if value == "" {
				return nil, fmt.Errorf("--%s %s: a value is empty; expected values with commas between them", f.flag, written)
			}
			a.Values = append(a.Values, value)
			if f.flag == "batch" || f.flag == "context" {
				n, err := countOf(f.flag, value)
				if err != nil {
					return nil, err
				}
				a.Counts = append(a.Counts, n)
			}
		}
		axes = append(axes, a)
	}
	return axes, nil
}

// countOf reads a number of sequences or tokens: 64, 4k for 4,096 or 1M for 1,048,576.
func countOf(flag, written string) (int, error) {
	number, unit := inUnits(written)
	n, err := strconv.Atoi(number)
	if err != nil || n > math.MaxInt32/unit {
		return 0, fmt.Errorf("--%s %s: expected a whole number of at most %d, such as 64, or 4k for 4,096", flag,
			written, math.MaxInt32)
	}
	return n * unit, nil
}

// inUnits returns a number of tokens without its unit, and the unit: of 4k, 4 and 1,024.
func inUnits(written string) (number string, unit int) {
	for suffix, factor := range map[string]int{"k": 1 << 10, "K": 1 << 10, "m": 1 << 20, "M": 1 << 20} {
		if cut, ok := strings.CutSuffix(written, suffix); ok {
			return cut, factor
		}
	}
	return written, 1
}

// tokens is a mean number of tokens as the value of a flag: 500, 2k for 2,048 or 1.5k for 1,536.
type tokens float64

// String implements pflag.Value.
func (t *tokens) String() string { return strconv.FormatFloat(float64(*t), 'g', -1, 64) }

// Type implements pflag.Value.
func (*tokens) Type() string { return "float64" }

// Set implements pflag.Value.
func (t *tokens) Set(written string) error {
	number, unit := inUnits(strings.TrimSpace(written))
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.ContainsAny(written, "xXpP_") { // no file takes those
		return errors.New("expected a number of tokens, such as 1000, or 4k for 4,096")
	}
	*t = tokens(n * float64(unit))
	return nil
}

// explainSeveral prints a table of the steps of every combination, and draws them.
func explainSeveral(c *cobra.Command, args []string, f *explainFlags, axes []explain.Axis, out,
	errOut io.Writer) error {
	line := progressOn(errOut)
	g, err := explain.NewGrid(withReading(c.Context(), line), axes, func(values []string) (explain.Question, error) {
		one := map[string]string{}
		for i, a := range axes {
			for _, known := range severalFlags {
				if known.axis == a.Name {
					one[known.flag] = values[i]
				}
			}
		}
		return f.question(c, args, one)
	})
	line.Clear()
	if err != nil {
		return inFlags(err)
	}
	var files []string
	if f.out != "" {
		dir, err := output.Open(f.out)
		if err != nil {
			return err
		}
		defer dir.Abandon()
		if err := g.WriteFiles(dir); err != nil {
			return failed(err)
		}
		files = dir.Files()
	}
	return printed{json: f.json, files: files, dense: true}.print(out, errOut, func(w io.Writer) error {
		if f.json {
			return text.WriteJSON(w, g)
		}
		_, err := w.Write(g.Text())
		return err
	})
}
