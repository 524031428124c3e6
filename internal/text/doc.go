// Package text writes what people read: numbers with their units, tables, and pages for a terminal. Every
// command and every figure writes its numbers through this package, so that one number looks the same wherever it
// stands. CSV, JSON and YAML, which programs read, take nothing from here.
//
//	number.go   three significant digits, thousands separators, shares, factors, counts and money
//	unit.go     times, counts and rates in the unit that suits them
//	page.go     a page for a terminal, of headings, lines, named items and tables
//	table.go    rows in aligned columns
//	json.go     results as JSON
//	command.go  a command line that a shell reads back
//	caption.go the line that names a run on everything that shows it
package text
