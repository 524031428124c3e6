package measured

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// table is a CSV file by column name.
type table struct {
	path    string
	header  int // its line
	columns map[string]int
	rows    [][]string
	lines   []int // of the file, where each row begins
}

// readTable parses CSV; every row has as many fields as the header.
func readTable(path string, data []byte) (*table, error) {
	if err := commasBetween(path, data); err != nil {
		return nil, err
	}
	t := &table{path: path, columns: map[string]int{}}
	reader := csv.NewReader(bytes.NewReader(data))
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: not a CSV file: %w", path, err)
		}
		line, _ := reader.FieldPos(0)
		t.rows, t.lines = append(t.rows, fields), append(t.lines, line)
	}
	if len(t.rows) < 2 {
		return nil, fmt.Errorf("%s: no rows; expected a header and a row per measurement", path)
	}
	names := t.rows[0]
	t.header, t.rows, t.lines = t.lines[0], t.rows[1:], t.lines[1:]
	return t, t.name(names)
}

// commasBetween refuses the tables that spreadsheets write with something else than commas between their columns.
func commasBetween(path string, data []byte) error {
	head, _, _ := bytes.Cut(bytes.TrimLeft(data, "\ufeff\r\n"), []byte("\n"))
	if bytes.ContainsRune(head, ',') || !utf8.Valid(head) {
		return nil
	}
	for _, between := range []string{";", "\t"} {
		if bytes.Contains(head, []byte(between)) {
			return fmt.Errorf("%s: separated by %q; expected \",\", and a point in decimal fractions", path, between)
		}
	}
	return nil
}

// name names the columns. Several without a name do no harm, for none of them is read.
func (t *table) name(names []string) error {
	for i, name := range names {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if first, twice := t.columns[name]; twice && name != "" {
			return fmt.Errorf("%s:%d: column %q stands twice, as columns %d and %d; expected one of each name", t.path, t.header, name, first+1, i+1)
		}
		t.columns[name] = i
	}
	return nil
}

// oneRowPerID refuses two rows of one id, of which a prediction could be told of neither. Rows without an id have none in
// common.
func (t *table) oneRowPerID() error {
	at := map[string]int{}
	for i := range t.rows {
		r := t.record(i)
		id := r.text("id")
		if first, twice := at[id]; twice && id != "" {
			return fmt.Errorf("%s:%d: id: %q stands on line %d too; expected one row per id", t.path, r.line, id, first)
		}
		at[id] = r.line
	}
	return nil
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
	line   int // of the file
	fields []string
	err    error
	open   string // what is left open; empty: nothing
}

func (t *table) record(i int) *record { return &record{table: t, line: t.lines[i], fields: t.rows[i]} }

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
	case x > v.Metric.measuredMax():
		r.fail(column, v.Metric.accepted())
	}
	v.Measured = x
	return append(values, v)
}
