package measured

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// table is a CSV file by column name.
type table struct {
	path    string
	columns map[string]int
	rows    [][]string
}

// readTable parses CSV; every row has as many fields as the header.
func readTable(path string, data []byte) (*table, error) {
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: not a CSV file: %w", path, err)
	}
	if len(records) < 2 {
		return nil, fmt.Errorf("%s: no rows; expected a header and a row per measurement", path)
	}
	t := &table{path: path, columns: map[string]int{}, rows: records[1:]}
	for i, name := range records[0] {
		t.columns[strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))] = i
	}
	return t, nil
}

// has reports whether the table has all these columns.
func (t *table) has(names ...string) bool {
	for _, name := range names {
		if _, ok := t.columns[name]; !ok {
			return false
		}
	}
	return true
}

// record is one row. The first error of its fields is kept, for a file with a malformed field is not read; so is the first
// thing that it takes to simulate the row and that the row leaves open, which is the row's affair alone.
type record struct {
	*table
	line   int // of the file, if no field has line breaks
	fields []string
	err    error
	open   string // what is left open; empty: nothing
}

func (t *table) record(i int) *record { return &record{table: t, line: i + 2, fields: t.rows[i]} }

// text returns a field; a column that is absent is empty.
func (r *record) text(name string) string {
	i, ok := r.columns[name]
	if !ok {
		return ""
	}
	return strings.TrimSpace(r.fields[i])
}

// number returns a finite number that it takes to simulate the row.
func (r *record) number(name string) float64 {
	x, ok := r.optional(name)
	if !ok {
		r.leave(name + " is not stated")
	}
	return x
}

// optional returns a field that may be empty, or the NaN that stands for an empty one.
func (r *record) optional(name string) (x float64, ok bool) {
	text := r.text(name)
	if text == "" || strings.EqualFold(text, "nan") {
		return 0, false
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		r.fail(name, "a number, or nothing")
		return 0, false
	}
	return x, true
}

// flag returns a truth value, as 1 or 0 or as True or False; stated: the field is not empty.
func (r *record) flag(name string) (on, stated bool) {
	text := r.text(name)
	if text == "" {
		return false, false
	}
	on, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		r.fail(name, "1 or 0, or True or False, or nothing")
	}
	return on, true
}

// count returns a whole number from least up to a billion that it takes to simulate the row; 0 where it is not stated.
func (r *record) count(name string, least int) int {
	x, ok := r.optional(name)
	if !ok {
		r.leave(name + " is not stated")
		return 0
	}
	if r.err == nil && (x != math.Trunc(x) || x < float64(least) || x > 1e9) {
		r.fail(name, fmt.Sprintf("a whole number from %d to 1e9", least))
	}
	return int(x)
}

func (r *record) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s:%d: %s: %q; expected %s", r.path, r.line, name, r.text(name), want)
	}
}

// leave keeps what the row leaves open.
func (r *record) leave(what string) {
	if r.open == "" {
		r.open = what
	}
}

// latency adds the value of a column in milliseconds, unless it is empty.
func (r *record) latency(values []Value, v Value, column string) []Value {
	return r.reported(values, v, column, "a latency in milliseconds above 0")
}

// reported adds what a tool reported in a column: 0 or NaN where it measured nothing.
func (r *record) reported(values []Value, v Value, column, want string) []Value {
	if x, ok := r.optional(column); !ok || x == 0 {
		return values
	}
	return r.value(values, v, column, want)
}

// value adds the value of a column, which is above 0 or empty.
func (r *record) value(values []Value, v Value, column, want string) []Value {
	x, ok := r.optional(column)
	switch {
	case !ok && r.text(column) != "":
		r.fail(column, "a number, or nothing")
		return values
	case !ok:
		return values
	case x <= 0:
		r.fail(column, want)
	}
	v.Measured = x
	return append(values, v)
}
