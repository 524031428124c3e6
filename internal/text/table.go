package text

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// gap is the room between two columns.
const gap = 2

// Align returns a line for each row, with the cells of a column below each other and all lines of one width. The first
// column stands to the left, and so do those of the given indices, of which -1 is the last column; the others stand to
// the right, as numbers do. A row shorter than the first one is a note: its cells follow each other as they are.
// text/tabwriter aligns the columns of a table all to one side, which is why it is not used.
func Align(rows [][]string, left ...int) []string { return align(0, rows, append(left, 0)) }

// Table returns rows as Align does, in lines without trailing room.
func Table(rows [][]string, left ...int) string {
	var table strings.Builder
	for _, line := range Align(rows, left...) {
		table.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return table.String()
}

// AlignRight is Align with every column to the right: for cells that together are one cell of another table.
func AlignRight(rows [][]string) []string { return align(0, rows, nil) }

// align is Align with a least width of the first column, which stands to the left if its index is among those given.
func align(first int, rows [][]string, left []int) []string {
	if len(rows) == 0 {
		return nil
	}
	n := len(rows[0])
	widths := make([]int, n)
	widths[0] = first
	for _, row := range rows {
		for j, cell := range row {
			if len(row) == n {
				widths[j] = max(widths[j], utf8.RuneCountInString(cell))
			}
		}
	}
	lines := make([]string, len(rows))
	for i, row := range rows {
		var cells []string
		for j, cell := range row {
			switch {
			case len(row) < n:
			case widths[j] == 0: // an empty column takes no room
				continue
			case slices.Contains(left, j) || slices.Contains(left, j-n):
				cell = Padded(cell, widths[j])
			default:
				cell = strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)) + cell
			}
			cells = append(cells, cell)
		}
		lines[i] = strings.Join(cells, strings.Repeat(" ", gap))
	}
	return lines
}

// Padded returns s followed by as much room as a column of that width has left.
func Padded(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// Clipped shortens a text that leaves no room beside it to so many letters.
func Clipped(s string, most int) string {
	if letters := []rune(s); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return s
}
