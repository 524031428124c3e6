package longform

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/measured/datafile"
)

// columns are those that rows are read by.
var columns = []string{
	"id", "deployment", "source", "quality", "kind", "model", "gpu", "gpus", "engine", "version", "tp", "pp", "dp", "ep",
	"weights", "kv_cache", "isl", "osl", "concurrency_or_batch", "arrivals", "offered_rps", "spec", "metric", "value",
	"unit", "per", "notes",
}

// unread are columns that a table may have for its readers, and that decide nothing.
var unread = []string{
	"headline", "off_path", "source_path", "source_version", "date", "n_rep", "rep_min", "rep_max",
}

// unreadNote says which columns of a table were not read; empty: all were. A misspelt one would be a fact that is
// stated and yet does not count.
func unreadNote(t *datafile.Table) string {
	var said []string
	for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
		if name == "" || slices.Contains(columns, name) || slices.Contains(unread, name) {
			continue
		}
		quoted := fmt.Sprintf("%q", name)
		if near := strict.Nearest(name, columns); near != "" {
			quoted += fmt.Sprintf(" (did you mean %q?)", near)
		}
		said = append(said, quoted)
	}
	if len(said) == 0 {
		return ""
	}
	return "columns that are not read: " + strings.Join(said, ", ")
}
