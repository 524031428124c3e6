package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/decodesim/decodesim/internal/compare"
)

// withIntervalsMax is how many scenarios have room for their intervals; those of more are in compare.json.
const withIntervalsMax = 4

// ComparisonTable writes a comparison for people: what was compared, what differs, what came of it and why. Everything in
// it is in compare.json too.
func ComparisonTable(w io.Writer, c *compare.Comparison, o Options) error {
	t := &text{colour: o.Colour}
	t.heading(comparisonHeading(c))
	contenders(t, c)
	t.blank()
	keyDiffs(t, c)
	comparedItems(t, c)
	t.blank()
	for _, line := range comparisonLegend(c) {
		t.line(line)
	}
	t.blank()
	if len(c.Seeds) > 1 {
		t.line(fmt.Sprintf("Under seed %d:", c.Seeds[0]))
	}
	for i := range c.Scenarios {
		if c.Scenarios[i].Why != "" {
			t.line(c.Scenarios[i].Name + ": " + c.Scenarios[i].Why)
		}
	}
	comparisonWarnings(t, c)
	_, err := w.Write(t.buf.Bytes())
	return err
}

func comparisonHeading(c *compare.Comparison) string {
	requests := fmt.Sprintf("the same %d requests", c.Scenarios[0].Summary.Requests.Arrived)
	switch c.Requests {
	case compare.SameLengths:
		requests = "the same prompts and outputs at other times"
	case compare.NotTheSame:
		requests = "not all on the same requests"
	}
	return fmt.Sprintf("%d scenarios, %s, %s", len(c.Scenarios), requests, seedsOf(c.Seeds))
}

func seedsOf(seeds []uint64) string {
	if len(seeds) == 1 {
		return fmt.Sprintf("seed %d", seeds[0])
	}
	return fmt.Sprintf("%d seeds from %d", len(seeds), seeds[0])
}

// contenders names each scenario: on one line where all are the same.
func contenders(t *text, c *compare.Comparison) {
	wide := 0
	same := true
	for i := range c.Scenarios {
		wide = max(wide, utf8.RuneCountInString(c.Scenarios[i].Name))
		same = same && c.Scenarios[i].Is == c.Scenarios[0].Is
	}
	if same {
		t.line(c.Scenarios[0].Is)
		return
	}
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		from := ""
		if s.Source != s.Name {
			from = " (" + s.Source + ")"
		}
		t.line(padded(s.Name, wide) + "  " + s.Is + from)
	}
}

// keyWidthMax is the longest value of a scenario that is printed; a longer one is cut.
const keyWidthMax = 28

// keyDiffs prints the keys on which the scenarios do not agree, a line each.
func keyDiffs(t *text, c *compare.Comparison) {
	if len(c.Diff) == 0 {
		t.line("the scenarios do not differ")
		t.blank()
		return
	}
	rows := [][]string{{"what differs"}}
	for i := range c.Scenarios {
		rows[0] = append(rows[0], c.Scenarios[i].Name)
	}
	agreed := alike(c.Diff)
	for _, d := range c.Diff {
		if agreed[d.Key] {
			continue
		}
		if said := func(v string) bool { return v != "" && v != "null" }; !slices.ContainsFunc(d.Values, said) {
			continue // some have no such key, and the others leave it open
		}
		row := []string{d.Key}
		for _, v := range d.Values {
			if v == "" {
				v = "–"
			}
			row = append(row, clipped(v, keyWidthMax))
		}
		rows = append(rows, row)
	}
	t.columns(rows)
	if len(agreed) > 0 {
		t.line("(the pools agree on their other keys)")
	}
	t.blank()
}

// clipped shortens a text that leaves no room beside it.
func clipped(s string, most int) string {
	if letters := []rune(s); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return s
}

// comparedItems prints a row per metric and a block of columns per scenario.
func comparedItems(t *text, c *compare.Comparison) {
	intervals := len(c.Scenarios) <= withIntervalsMax
	blocks := make([][][]string, len(c.Scenarios)) // by scenario, row, cell
	labels := []string{""}
	class := ""
	for _, item := range c.Metrics {
		u, name := itemUnit(&item)
		if item.Class != class {
			class = item.Class
			labels = append(labels, "class "+clipped(class, keyWidthMax))
			for i := range blocks {
				blocks[i] = append(blocks[i], noCells(i, intervals))
			}
		}
		if class != "" {
			name = "  " + name
		}
		labels = append(labels, name)
		for i := range c.Scenarios {
			cells := []string{itemValue(&item, u, i)}
			if i > 0 {
				cells = append(cells, differenceCells(&item, i, intervals)...)
			}
			blocks[i] = append(blocks[i], cells)
		}
	}
	lines := slices.Clone(labels)
	left := 0
	for _, l := range labels {
		left = max(left, utf8.RuneCountInString(l))
	}
	for j := range lines {
		lines[j] = padded(lines[j], left)
	}
	for i := range blocks {
		block := spanned(c.Scenarios[i].Name, blocks[i])
		for j := range lines {
			lines[j] += "  " + block[j]
		}
	}
	for j, line := range lines {
		if line = strings.TrimRight(line, " "); j == 0 {
			line = t.paint("2", line)
		}
		t.line(line)
	}
}

// noCells are the cells of a scenario on a line that names a class.
func noCells(i int, intervals bool) []string {
	switch {
	case i == 0:
		return make([]string, 1)
	case intervals:
		return make([]string, 3)
	}
	return make([]string, 2)
}

// spanned aligns the cells of a block to the right, under a name that spans them.
func spanned(name string, rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for j, cell := range row {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	widths[0] += max(0, utf8.RuneCountInString(name)-total)
	total = max(total, utf8.RuneCountInString(name))
	out := []string{alignedRight(name, total)}
	for _, row := range rows {
		cells := make([]string, len(row))
		for j, cell := range row {
			cells[j] = alignedRight(cell, widths[j])
		}
		out = append(out, strings.Join(cells, "  "))
	}
	return out
}

func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func alignedRight(s string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + s
}

// itemUnit returns the unit of a row, which suits its first value, and the row's name with it.
func itemUnit(item *compare.Item) (unit, string) {
	switch item.Unit {
	case "s":
		for _, v := range item.Values {
			if x := float64(v); x > 0 {
				u := timeUnit(x)
				return u, item.Name + ", " + u.name
			}
		}
		return unit{"ms", 1e-3}, item.Name + ", ms"
	case "share":
		return unit{"%", 0.01}, item.Name + ", %"
	case "USD/Mtoken":
		return unit{"", 1}, item.Name + ", $/Mtoken"
	case "":
		return unit{"", 1}, item.Name
	}
	return unit{"", 1}, item.Name + ", " + item.Unit
}

func itemValue(item *compare.Item, u unit, i int) string {
	x := float64(item.Values[i])
	if item.Unit == "" && x == math.Trunc(x) {
		return fmt.Sprintf("%.0f", x)
	}
	return Significant(x / u.size)
}

// differenceCells are the difference to the first scenario and, where there is room, half its interval, both in percent of
// the first: "+12.3 %" "±1.4"; "~" where the interval holds 0, "=" where nothing differs.
func differenceCells(item *compare.Item, i int, intervals bool) []string {
	d, first := item.Differences[i], float64(item.Values[0])
	size, difference, half := math.Abs(first)/100, relative(float64(d.Mean), first), ""
	if item.Unit == "share" && d.Mean != 0 && !math.IsNaN(float64(d.Mean)) {
		size, difference = 0.01, points(100*float64(d.Mean))
	}
	if item.Unit == "s" && first == 0 && d.Mean > 0 {
		difference = "+" + Duration(float64(d.Mean))
	}
	if v := d.Interval; v != nil {
		if !v.Significant && d.Mean != 0 {
			difference = "~"
		}
		if wide := (v.High - v.Low) / 2; wide > 0 && size > 0 {
			half = "±" + twoDigits(wide/size)
		}
	}
	if !intervals {
		return []string{difference}
	}
	return []string{difference, half}
}

// twoDigits prints the width of an interval, which is known no better.
func twoDigits(x float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 1, 64), 64)
	return strconv.FormatFloat(rounded, 'f', max(0, 1-int(math.Floor(math.Log10(rounded)))), 64)
}

// relative prints a difference in percent of what it differs from; from ten times on as a factor, and from 0 as it is.
func relative(difference, from float64) string {
	r := difference / from
	switch {
	case math.IsNaN(difference):
		return ""
	case difference == 0:
		return "="
	case from == 0:
		return "+" + Tidy(difference)
	case r >= 9:
		return "×" + Significant(1+r)
	}
	return unsignedZero(signed(100 * r))
}

// points prints a difference of percentages.
func points(difference float64) string {
	return unsignedZero(strings.TrimSuffix(signed(difference), "%") + "pt")
}

// unsignedZero takes the direction from what rounds to nothing.
func unsignedZero(text string) string {
	if strings.HasPrefix(text, "+0.0 ") {
		return text[1:]
	}
	return text
}
