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
		t.columns[strings.TrimPrefix(name, "\ufeff")] = i
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

// record is one row; the first error of its fields is kept.
type record struct {
	*table
	line   int // of the file, if no field has line breaks
	fields []string
	err    error
}

func (t *table) record(i int) *record { return &record{table: t, line: i + 2, fields: t.rows[i]} }

// text returns a field; a column that is absent is empty.
func (r *record) text(name string) string {
	i, ok := r.columns[name]
	if !ok {
		return ""
	}
	return r.fields[i]
}

// number returns a field that must be a finite number.
func (r *record) number(name string) float64 {
	x, ok := r.optional(name)
	if !ok {
		r.fail(name, "a number")
	}
	return x
}

// optional returns a field that may be empty.
func (r *record) optional(name string) (x float64, ok bool) {
	text := r.text(name)
	if text == "" {
		return 0, false
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		r.fail(name, "a number, or nothing")
		return 0, false
	}
	return x, true
}

// count returns a field that must be a whole number from least up to a billion.
func (r *record) count(name string, least int) int {
	x := r.number(name)
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

// latency adds the value of a column in milliseconds, unless it is empty.
func (r *record) latency(values []Value, v Value, column string) []Value {
	return r.value(values, v, column, "a latency in milliseconds above 0")
}

func (r *record) value(values []Value, v Value, column, want string) []Value {
	x, ok := r.optional(column)
	if !ok {
		return values
	}
	if x <= 0 {
		r.fail(column, want)
	}
	v.Measured = x
	return append(values, v)
}
