package output

import (
	"strconv"
	"strings"
)

// Cell is text as a cell of a CSV file: behind an apostrophe where a spreadsheet would take it for a formula. A number
// is none, whatever its sign.
func Cell(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}
