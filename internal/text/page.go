package text

import (
	"bytes"
	"io"
	"strings"
)

// ANSI escapes of a page in colour.
const (
	bold   = "1"
	dim    = "2"
	yellow = "33"
)

// A Page is lines for a terminal or a file, written once at its end.
type Page struct {
	buf    bytes.Buffer
	colour bool
}

// NewPage returns an empty page, with ANSI escapes if it is to be in colour.
func NewPage(colour bool) *Page { return &Page{colour: colour} }

// namesWidth is how wide the first column of every table and the names of items are at least, so that they line up.
const namesWidth = 11

// Blank writes an empty line.
func (p *Page) Blank() { p.buf.WriteByte('\n') }

// Line writes a line.
func (p *Page) Line(s string) { p.buf.WriteString(s + "\n") }

// Text writes lines that are complete.
func (p *Page) Text(s string) { p.buf.WriteString(s) }

// Heading writes the line that says what the page is about.
func (p *Page) Heading(s string) { p.Line(p.paint(bold, s)) }

// Subheading writes a line above others, as faint as the head of a table.
func (p *Page) Subheading(s string) { p.Line(p.paint(dim, s)) }

// Warning writes a line that should not be missed.
func (p *Page) Warning(s string) { p.Line(p.paint(yellow, s)) }

// Item writes a line under a name.
func (p *Page) Item(name, s string) { p.Line(Padded(name, namesWidth+gap) + s) }

// Table writes rows in aligned columns, the first of which is their head; see Align.
func (p *Page) Table(rows [][]string, left ...int) {
	for i, line := range align(namesWidth, rows, append(left, 0)) {
		line = strings.TrimRight(line, " ")
		if i == 0 {
			line = p.paint(dim, line)
		}
		p.Line(line)
	}
}

// String returns what has been written so far.
func (p *Page) String() string { return p.buf.String() }

// WriteTo implements io.WriterTo.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(p.buf.Bytes())
	return int64(n), err
}

func (p *Page) paint(code, s string) string {
	if !p.colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
