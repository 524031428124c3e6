package datafile

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/memory"
)

// Table is a CSV file by column name.
type Table struct {
	Path    string
	Header  int // its line
	Columns map[string]int
	Rows    [][]string
	lines   []int // of the file, where each row begins
	length  int   // of the file
	report  Reading
}

// ReadTable parses CSV; every row has as many fields as the header. A nil report hears nothing.
func ReadTable(path string, data []byte, report Reading) (*Table, error) {
	if err := commasBetween(path, data); err != nil {
		return nil, err
	}
	if err := fits(data, '\n', memory.Available()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t := &Table{Path: path, Columns: map[string]int{}, length: len(data), report: report}
	reader := csv.NewReader(bytes.NewReader(data))
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, csv.ErrFieldCount) {
			line, _ := reader.FieldPos(0)
			return nil, fmt.Errorf("%s:%d: %d fields, of which the header has %d; expected one for each column, in double "+
				"quotes where it has a comma in it", path, line, len(fields), len(t.Rows[0]))
		}
		if err != nil {
			return nil, fmt.Errorf("%s: not a CSV file: %w", path, err)
		}
		line, _ := reader.FieldPos(0)
		t.Rows, t.lines = append(t.Rows, fields), append(t.lines, line)
		if report != nil && len(t.Rows)%reportEvery == 0 {
			report(reader.InputOffset(), 2*int64(len(data)))
		}
	}
	if len(t.Rows) < 2 {
		return nil, fmt.Errorf("%s: no rows; expected a header and a row per measurement", path)
	}
	names := t.Rows[0]
	t.Header, t.Rows, t.lines = t.lines[0], t.Rows[1:], t.lines[1:]
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
func (t *Table) name(names []string) error {
	for i, name := range names {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if first, twice := t.Columns[name]; twice && name != "" {
			return fmt.Errorf("%s:%d: column %q stands twice, as columns %d and %d; expected one of each name", t.Path, t.Header,
				name, first+1, i+1)
		}
		t.Columns[name] = i
	}
	return nil
}

// OneRowPerID refuses two rows of one id, for a prediction could not say which row it is of. Rows without an id have
// none in common.
func (t *Table) OneRowPerID() error {
	at := map[string]int{}
	for i := range t.Rows {
		r := t.Record(i)
		id := r.Text("id")
		if first, twice := at[id]; twice && id != "" {
			return fmt.Errorf("%s:%d: id: %q stands on line %d too; expected one row per id", t.Path, r.Line, id, first)
		}
		at[id] = r.Line
	}
	return nil
}

// Has reports whether the table has all these columns.
func (t *Table) Has(names ...string) bool {
	for _, name := range names {
		if _, ok := t.Columns[name]; !ok {
			return false
		}
	}
	return true
}

// HasAll reports whether the table has every column, where a|b is either.
func (t *Table) HasAll(columns []string) bool { return len(t.Missing(columns)) == 0 }

// Missing returns those of the columns that the table lacks.
func (t *Table) Missing(columns []string) []string {
	return slices.DeleteFunc(slices.Clone(columns), func(column string) bool {
		return slices.ContainsFunc(strings.Split(column, "|"), func(name string) bool { return t.Has(name) })
	})
}

// Record is one row. The first error of its fields is kept, for a file with a malformed field is not read; so is the
// first thing that it takes to simulate the row and that the row leaves open, which is the row's affair alone.
type Record struct {
	*Table
	Line     int // of the file
	fields   []string
	Err      error
	Unstated string // what is left open; empty: nothing
}

// Record returns the i-th row.
func (t *Table) Record(i int) *Record {
	if t.report != nil && i%reportEvery == 0 {
		t.report(int64(float64(t.length)*(1+float64(i)/float64(len(t.Rows)))), 2*int64(t.length))
	}
	return &Record{Table: t, Line: t.lines[i], fields: t.Rows[i]}
}

// Text returns a field; a column that is absent is empty.
func (r *Record) Text(name string) string {
	i, ok := r.Columns[name]
	if !ok {
		return ""
	}
	text := strings.TrimSpace(r.fields[i])
	if r.Err == nil && !inputs.Printable(text) {
		r.Err = fmt.Errorf("%s:%d: %s: %q; expected text without characters that do not print", r.Path, r.Line, name, text)
	}
	return text
}

// Number returns a finite number that it takes to simulate the row.
func (r *Record) Number(name string) float64 {
	x, ok := r.Optional(name)
	if !ok {
		r.MarkUnstated(name + " is not stated")
	}
	return x
}

// Optional returns a field that may be empty, or the NaN that stands for an empty one.
func (r *Record) Optional(name string) (x float64, ok bool) {
	text := r.Text(name)
	if text == "" || strings.EqualFold(text, "nan") {
		return 0, false
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		r.Fail(name, "a number, or nothing")
		return 0, false
	}
	return x, true
}

// Flag returns a truth value, as 1 or 0 or as True or False; stated: the field is not empty.
func (r *Record) Flag(name string) (on, stated bool) {
	text := r.Text(name)
	if text == "" {
		return false, false
	}
	on, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		r.Fail(name, "1 or 0, or True or False, or nothing")
	}
	return on, true
}

// Count returns a whole number from least up to a billion that it takes to simulate the row; 0 where it is not stated.
func (r *Record) Count(name string, least int) int {
	x, ok := r.Optional(name)
	if !ok {
		r.MarkUnstated(name + " is not stated")
		return 0
	}
	if r.Err == nil && (x != math.Trunc(x) || x < float64(least) || x > 1e9) {
		r.Fail(name, fmt.Sprintf("a whole number from %d to 1e9", least))
	}
	return int(x)
}

// CountOr returns a whole number above 0; an empty field, or 0, is otherwise.
func (r *Record) CountOr(column string, otherwise int) int {
	if _, stated := r.Optional(column); !stated {
		return otherwise
	}
	return cmp.Or(r.Count(column, 0), otherwise)
}

// Fail keeps the first malformed field as the error of the row.
func (r *Record) Fail(name, want string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%s:%d: %s: %q; expected %s", r.Path, r.Line, name, r.Text(name), want)
	}
}

// MarkUnstated keeps what the row leaves open.
func (r *Record) MarkUnstated(what string) {
	if r.Unstated == "" {
		r.Unstated = what
	}
}

// Latency adds the value of a column in milliseconds, unless it is empty.
func (r *Record) Latency(values []measured.Value, v measured.Value, column string) []measured.Value {
	return r.Reported(values, v, column, "a latency in milliseconds above 0")
}

// Reported adds what a tool reported in a column: 0 or NaN where it measured nothing.
func (r *Record) Reported(values []measured.Value, v measured.Value, column, want string) []measured.Value {
	if x, ok := r.Optional(column); !ok || x == 0 {
		return values
	}
	return r.Value(values, v, column, want)
}

// Value adds the value of a column, which is above 0 or empty.
func (r *Record) Value(values []measured.Value, v measured.Value, column, want string) []measured.Value {
	x, ok := r.Optional(column)
	switch {
	case !ok && r.Text(column) != "":
		r.Fail(column, "a number, or nothing")
		return values
	case !ok:
		return values
	case x <= 0:
		r.Fail(column, want)
	case x > v.Metric.MeasuredMax():
		r.Fail(column, v.Metric.Accepted())
	}
	v.Measured = x
	return append(values, v)
}
