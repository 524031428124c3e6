package measured

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
)

// schema is one kind of file.
type schema struct {
	name    string
	about   string             // what it holds, for the error that lists them
	columns []string           // of a CSV file, all of which must be there, or one of those between bars; nil: no table
	is      func(*source) bool // nil: a CSV file with the columns
	read    func(*source, *File) error
}

// schemas are all kinds of file, the most particular first.
func schemas() []schema {
	return []schema{
		silicon, profiled, longRuns, positions, acceptance, splitwise, fits,
		stages, experiments, timings,
		vllmBench, aiperf, guidellm, inferencePerf, points(),
	}
}

// knows reports whether a file is of this kind.
func (s *schema) knows(src *source) bool {
	if s.is != nil {
		return s.is(src)
	}
	return src.table != nil && src.table.hasAll(s.columns)
}

func (t *table) hasAll(columns []string) bool { return len(t.missing(columns)) == 0 }

// missing returns those of the columns that the table lacks.
func (t *table) missing(columns []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(column string) bool {
		return slices.ContainsFunc(strings.Split(column, "|"), func(name string) bool { return t.has(name) })
	})
}

// unrecognised says what keeps a file from being read. Where a table has at least half of the columns of a kind, or others
// that are spelt much like them, that is the first column that the nearest such kind misses.
func unrecognised(src *source) error {
	var best *schema
	share := 0.5
	all := schemas()
	for i := range all {
		s := &all[i]
		if src.table == nil || s.columns == nil {
			continue
		}
		have := len(s.columns)
		for _, column := range src.table.missing(s.columns) {
			if _, _, ok := src.table.misspelt(s, column); !ok {
				have--
			}
		}
		if x := float64(have) / float64(len(s.columns)); x > share || x == share && best == nil {
			best, share = s, x
		}
	}
	if best == nil {
		return fmt.Errorf("data file %q has no known schema; expected %s", src.path, known())
	}
	return src.table.lacks(best)
}

// lacks names the first column of a kind that the table misses.
func (t *table) lacks(s *schema) error {
	column := t.missing(s.columns)[0]
	if got, want, ok := t.misspelt(s, column); ok {
		return fmt.Errorf("%s:%d: %s: no such column in the nearest schema, %q; did you mean %q? expected %s", t.path, t.header, got, s.name, want, s.about)
	}
	names := strings.Split(column, "|")
	text := strconv.Quote(names[0])
	for _, name := range names[1:min(2, len(names))] {
		text += " or " + strconv.Quote(name)
	}
	if len(names) > 2 {
		text += " or the like"
	}
	return fmt.Errorf("%s:%d: no column %s, which the nearest schema, %q, needs; expected %s", t.path, t.header, text, s.name, s.about)
}

// misspelt returns the column of the table that is perhaps meant for one that is missing, unless the kind has a column by
// its name.
func (t *table) misspelt(s *schema, column string) (got, want string, ok bool) {
	own := strings.Split(strings.Join(s.columns, "|"), "|")
	for _, got := range slices.Sorted(maps.Keys(t.columns)) {
		if slices.Contains(own, got) {
			continue
		}
		for _, want := range strings.Split(column, "|") {
			if strict.Suggest(got, []string{want}) != "" {
				return got, want, true
			}
		}
	}
	return "", "", false
}

// known lists what can be read.
func known() string {
	var all []string
	for _, s := range schemas() {
		all = append(all, s.about)
	}
	return strings.Join(all, "; ")
}
