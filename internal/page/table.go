package page

import "strconv"

// Table is rows of cells under a head. The first column is left-aligned and stays in place where a phone scrolls.
type Table struct {
	Head []string
	Left int // columns that are aligned to the left; 0: one
	Rows []Row
	Note string // below it
}

// Row is cells, one for each column.
type Row struct {
	Cells  []Cell
	Strong bool // it is the answer
}

// Rows returns rows of texts.
func Rows(texts [][]string) []Row {
	rows := make([]Row, len(texts))
	for i, row := range texts {
		for _, words := range row {
			rows[i].Cells = append(rows[i].Cells, Cell{Text: words})
		}
	}
	return rows
}

// Cell is a text. A number of the results names the field that it is, and has its value in full: a program can read it,
// and a test compares it with the JSON.
type Cell struct {
	Text  string
	Field string // its path in the JSON, such as latency.itl_s.p50; empty: no number of the results
	Value float64
	Heat  int // ground of a heat map, 1 to 9; 0: none
	Mood  Mood
}

// Words is a cell without a number.
func Words(text string) Cell { return Cell{Text: text} }

// Number is a cell of a field of the results.
func Number(text, field string, value float64) Cell {
	return Cell{Text: text, Field: field, Value: value}
}

// Exact returns the value in full, as the JSON has it.
func (c Cell) Exact() string { return strconv.FormatFloat(c.Value, 'g', -1, 64) }

// LeftOf reports whether the i-th column is aligned to the left.
func (t *Table) LeftOf(i int) bool { return i < max(1, t.Left) }
