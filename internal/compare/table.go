package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
)

// withIntervalsMax is how many scenarios have room for their intervals; those of more are in compare.json.
const withIntervalsMax = 4

// WriteTable writes a comparison for people: what was compared, what differs, what came of it and why. Everything
// in it is in compare.json too.
func WriteTable(w io.Writer, c *Comparison, colour bool) error {
	t := text.NewPage(colour)
	t.Heading(heading(c))
	candidates(t, c)
	t.Blank()
	keyDiffs(t, c)
	comparedItems(t, c)
	t.Blank()
	for _, line := range legend(c) {
		t.Line(line)
	}
	t.Blank()
	if len(c.Seeds) > 1 {
		t.Line(fmt.Sprintf("Under seed %d:", c.Seeds[0]))
	}
	for _, line := range ruleLines(c) {
		t.Line(line)
	}
	for i := range c.Scenarios {
		if c.Scenarios[i].Why != "" {
			t.Line(c.Scenarios[i].Name + ": " + c.Scenarios[i].Why)
		}
	}
	warnings(t, c)
	_, err := t.WriteTo(w)
	return err
}

func heading(c *Comparison) string {
	requests := fmt.Sprintf("the same %s requests", text.Count(c.Scenarios[0].Summary.Requests.Arrived))
	switch c.Requests {
	case SameLengths:
		requests = "the same prompts and outputs at other times"
	case NotTheSame:
		requests = "not all on the same requests"
	}
	return fmt.Sprintf("%d scenarios, %s, %s", len(c.Scenarios), requests, seedsOf(c.Seeds))
}

func seedsOf(seeds []uint64) string {
	if len(seeds) == 1 {
		return fmt.Sprintf("seed %d", seeds[0])
	}
	return fmt.Sprintf("%s from %d", text.Counted(len(seeds), "seed"), seeds[0])
}

// candidates names each scenario: on one line where all are the same.
func candidates(t *text.Page, c *Comparison) {
	same := true
	rows := make([][]string, len(c.Scenarios))
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		same = same && s.Is == c.Scenarios[0].Is
		rows[i] = []string{s.Name, s.Is}
		if s.Source != s.Name {
			rows[i][1] += " (" + s.Source + ")"
		}
	}
	if same {
		t.Line(c.Scenarios[0].Is)
		return
	}
	t.Text(text.Table(rows, -1))
}

// keyWidthMax is the longest value of a scenario that is printed; a longer one is cut.
const keyWidthMax = 28

// keyDiffs prints the keys on which the scenarios do not agree, a line each.
func keyDiffs(t *text.Page, c *Comparison) {
	if len(c.Diff) == 0 {
		t.Line("the scenarios do not differ")
		t.Blank()
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
			row = append(row, text.Clipped(v, keyWidthMax))
		}
		rows = append(rows, row)
	}
	t.Table(rows)
	if len(agreed) > 0 {
		t.Line("(the pools agree on their other keys)")
	}
	t.Blank()
}

// comparedItems prints a row per metric and a block of columns per scenario.
func comparedItems(t *text.Page, c *Comparison) {
	intervals := len(c.Scenarios) <= withIntervalsMax
	blocks := make([][][]string, len(c.Scenarios)) // by scenario, row, cell
	labels := []string{""}
	class := ""
	for _, item := range c.Metrics {
		u, name := itemUnit(&item)
		if item.Class != class {
			class = item.Class
			labels = append(labels, "class "+text.Clipped(class, keyWidthMax))
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
	rows := make([][]string, len(labels))
	for j, label := range labels {
		rows[j] = []string{label}
	}
	for i := range blocks {
		rows[0] = append(rows[0], c.Scenarios[i].Name)
		for j, cells := range text.AlignRight(blocks[i]) {
			rows[j+1] = append(rows[j+1], cells)
		}
	}
	t.Table(rows)
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

// itemUnit returns the unit of a row, which suits its first value, and the row's name with it.
func itemUnit(item *Item) (text.Unit, string) {
	switch item.Unit {
	case "s":
		for _, v := range item.Values {
			if x := float64(v); x > 0 {
				u := text.TimeUnit(x)
				return u, item.label() + ", " + u.Name
			}
		}
		return text.Unit{Name: "ms", Size: 1e-3}, item.label() + ", ms"
	case "share":
		return text.Unit{Name: "%", Size: 0.01}, item.label() + ", %"
	case "USD/Mtoken":
		return text.Unit{Name: "", Size: 1}, item.label() + ", $/Mtoken"
	case "":
		return text.Unit{Name: "", Size: 1}, item.label()
	}
	return text.Unit{Name: "", Size: 1}, item.label() + ", " + item.Unit
}

func itemValue(item *Item, u text.Unit, i int) string {
	x := float64(item.Values[i])
	if item.Unit == "" && x == math.Trunc(x) {
		return text.Short(x)
	}
	return text.Significant(x / u.Size)
}

// differenceCells are the difference to the first scenario and, where there is room, half its interval, both in percent
// of the first: "+12.3 %" "±1.4"; "~" where the interval holds 0, "=" where nothing differs.
func differenceCells(item *Item, i int, intervals bool) []string {
	d, first := item.Differences[i], float64(item.Values[0])
	size, difference, half := math.Abs(first)/100, relative(float64(d.Mean), first), ""
	if item.Unit == "share" && d.Mean != 0 && !math.IsNaN(float64(d.Mean)) {
		size, difference = 0.01, points(100*float64(d.Mean))
	}
	if item.Unit == "s" && first == 0 && d.Mean > 0 {
		difference = "+" + text.Duration(float64(d.Mean))
	}
	if v := d.Interval; v != nil {
		if !v.Significant && d.Mean != 0 {
			difference = "~"
		}
		if wide := (v.High - v.Low) / 2; wide > 0 && size > 0 {
			half = "±" + text.Rough(wide/size)
		}
	}
	if !intervals {
		return []string{difference}
	}
	return []string{difference, half}
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
		return "+" + text.Short(difference)
	case r >= 9:
		return "×" + text.Significant(1+r)
	}
	return unsignedZero(text.SignedPercent(100 * r))
}

// points prints a difference of percentages.
func points(difference float64) string {
	return unsignedZero(strings.TrimSuffix(text.SignedPercent(difference), "%") + "pt")
}

// unsignedZero takes the direction from what rounds to nothing.
func unsignedZero(text string) string {
	if strings.HasPrefix(text, "+0.0 ") {
		return text[1:]
	}
	return text
}
