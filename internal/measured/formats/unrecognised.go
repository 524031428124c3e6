package formats

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/measured/benchtools"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/groundtruth"
	"github.com/decodesim/decodesim/internal/measured/logs"
	"github.com/decodesim/decodesim/internal/measured/longform"
	"github.com/decodesim/decodesim/internal/measured/points"
)

// Schemas are all kinds of file, the most particular first.
func Schemas() []datafile.Schema {
	own := []datafile.Schema{longform.Schema(), points.Points()}
	return slices.Concat(groundtruth.Schemas(), logs.Schemas(), benchtools.Schemas(), own)
}

// unrecognised says what keeps a file from being read. Where a table has at least half of the columns of a kind, or
// others that are spelt much like them, that is the first column that the nearest such kind misses.
func unrecognised(src *datafile.Source) error {
	var best *datafile.Schema
	share := 0.5
	all := Schemas()
	for i := range all {
		s := &all[i]
		if src.Table == nil || s.Columns == nil {
			continue
		}
		have := len(s.Columns)
		for _, column := range src.Table.Missing(s.Columns) {
			if _, _, ok := misspelt(src.Table, s, column); !ok {
				have--
			}
		}
		if x := float64(have) / float64(len(s.Columns)); x > share || x == share && best == nil {
			best, share = s, x
		}
	}
	if best == nil {
		return fmt.Errorf("data file %q has no known schema; expected %s", src.Path, known())
	}
	return lacks(src.Table, best)
}

// lacks names the first column of a kind that the table misses.
func lacks(t *datafile.Table, s *datafile.Schema) error {
	column := t.Missing(s.Columns)[0]
	if got, want, ok := misspelt(t, s, column); ok {
		return fmt.Errorf("%s:%d: %s: no such column in the nearest schema, %q; did you mean %q? expected %s", t.Path,
			t.Header, got, s.Name, want, s.About)
	}
	names := strings.Split(column, "|")
	text := strconv.Quote(names[0])
	for _, name := range names[1:min(2, len(names))] {
		text += " or " + strconv.Quote(name)
	}
	if len(names) > 2 {
		text += " or the like"
	}
	return fmt.Errorf("%s:%d: no column %s, which the nearest schema, %q, needs; expected %s", t.Path, t.Header, text,
		s.Name, s.About)
}

// misspelt returns the column of the table that is perhaps meant for one that is missing, unless the kind has a column
// by its name.
func misspelt(t *datafile.Table, s *datafile.Schema, column string) (got, want string, ok bool) {
	own := strings.Split(strings.Join(s.Columns, "|"), "|")
	for _, got := range slices.Sorted(maps.Keys(t.Columns)) {
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

// known lists what can be read: first what people write themselves and what their tools write, then published data.
func known() string {
	own := []datafile.Schema{points.Points(), longform.Schema()}
	var all []string
	for _, s := range slices.Concat(own, benchtools.Schemas(), logs.Schemas(), groundtruth.Schemas()) {
		if s.About != "" {
			all = append(all, s.About)
		}
	}
	return strings.Join(all, "; ")
}
