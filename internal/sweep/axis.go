package sweep

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Axis is a key of the scenario that is varied, and its values in the order in which they were given.
type Axis struct {
	Name    string   `json:"name"` // as it was given: the column of the table
	Key     string   `json:"key"`  // of the scenario
	Values  []string `json:"values"`
	Numbers bool     `json:"numbers"` // every value is a number
}

// valuesMax is the most values of one axis.
const valuesMax = 100_000

// ParseAxis reads NAME=VALUES. Values stand with commas between; lo:hi:step is a range that ends at hi or below it, and
// lo:hi:xF one in which each is F times the one before.
func ParseAxis(text string) (Axis, error) {
	name, list, ok := strings.Cut(text, "=")
	if !ok || name == "" || list == "" {
		return Axis{}, refused(text, "expected KEY=VALUES, such as --over rate=10:80:10 or --over max_num_seqs=32,64,128")
	}
	a := Axis{Name: name, Key: name, Numbers: true}
	for _, item := range items(list) {
		values, err := expand(item)
		if err != nil {
			return Axis{}, refused(text, "%s", err.Error())
		}
		a.Values = append(a.Values, values...)
		if len(a.Values) > valuesMax {
			return Axis{}, refused(text, "more than %d values; expected fewer", valuesMax)
		}
	}
	seen := map[string]bool{}
	for _, v := range a.Values {
		if seen[v] {
			return Axis{}, refused(text, "%s twice; expected every value once", v)
		}
		seen[v] = true
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			a.Numbers = false
		}
	}
	return a, nil
}

// refused is the error of what --over says.
func refused(over, format string, args ...any) error {
	return fmt.Errorf("--over %s: "+format, append([]any{over}, args...)...)
}

// items cuts a list at its commas, but not within brackets: a value may be a list itself.
func items(list string) []string {
	var all []string
	depth, from := 0, 0
	for i, r := range list {
		switch r {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				all = append(all, strings.TrimSpace(list[from:i]))
				from = i + 1
			}
		}
	}
	return append(all, strings.TrimSpace(list[from:]))
}

// stepless is a range of which only the ends are said, as other tools write it. No key has values that read so.
var stepless = regexp.MustCompile(`^([0-9.]*[0-9])\.\.([0-9.]+)$`)

// expand returns the values of an item: of a range all there are in it, of anything else itself.
func expand(item string) ([]string, error) {
	parts := strings.Split(item, ":")
	if len(parts) != 3 {
		if item == "" {
			return nil, fmt.Errorf("an empty value; expected values with commas between")
		}
		if ends := stepless.FindStringSubmatch(item); ends != nil {
			return nil, fmt.Errorf("%q is no range; expected its step, too, as in %s:%s:1, or the values with commas between",
				item, ends[1], ends[2])
		}
		return []string{item}, nil
	}
	step, times := strings.CutPrefix(parts[2], "x")
	var number [3]float64
	for i, part := range []string{parts[0], parts[1], step} {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return []string{item}, nil // no range, but a value with colons
		}
		number[i] = x
	}
	if times {
		return products(item, number)
	}
	low, high, by := number[0], number[1], number[2]
	if !(by > 0) || low > high {
		return nil, fmt.Errorf("%q is no range; expected lo:hi:step with lo ≤ hi and a step above 0", item)
	}
	n := math.Floor((high-low)/by+1e-9) + 1
	if n > valuesMax {
		return nil, fmt.Errorf("%q has more than %d values; expected fewer", item, valuesMax)
	}
	values := make([]string, int(n))
	for i := range values {
		values[i] = written(low + float64(float64(i)*by))
	}
	return values, nil
}

// products returns the values of a range by factors.
func products(item string, number [3]float64) ([]string, error) {
	low, high, factor := number[0], number[1], number[2]
	if !(factor > 1) || !(low > 0) || low > high {
		return nil, fmt.Errorf("%q is no range; expected lo:hi:xF with 0 < lo ≤ hi and a factor above 1", item)
	}
	var values []string
	for v := low; v <= high*(1+1e-9); v *= factor {
		values = append(values, written(v))
		if len(values) > valuesMax {
			return nil, fmt.Errorf("%q has more than %d values; expected fewer", item, valuesMax)
		}
	}
	return values, nil
}

// written returns a number as people write it: nine digits, for what is behind them is the noise of computing it.
func written(x float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	if err != nil {
		short = x
	}
	if a := math.Abs(short); a == 0 || a >= 1e-4 && a < 1e15 {
		return strconv.FormatFloat(short, 'f', -1, 64)
	}
	return strconv.FormatFloat(short, 'g', -1, 64)
}

// number returns the i-th value as a number, or its place where values are words.
func (a *Axis) number(i int) float64 {
	if !a.Numbers {
		return float64(i)
	}
	x, _ := strconv.ParseFloat(a.Values[i], 64)
	return x
}

// at returns which value of each axis a point has: the last axis varies fastest.
func at(axes []Axis, point int) []int {
	which := make([]int, len(axes))
	for i := len(axes) - 1; i >= 0; i-- {
		n := len(axes[i].Values)
		which[i] = point % n
		point /= n
	}
	return which
}
