package page

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// markdown is a page under way.
type markdown struct{ buf bytes.Buffer }

func (m *markdown) heading(level int, text string) {
	fmt.Fprintf(&m.buf, "%s %s\n\n", strings.Repeat("#", level), text)
}

// lineMax is where paragraphs wrap.
const lineMax = 120

// para writes a paragraph; formats take no line breaks.
func (m *markdown) para(format string, args ...any) {
	m.wrap("", "", fmt.Sprintf(format, args...))
	m.buf.WriteByte('\n')
}

// items writes a list.
func (m *markdown) items(texts ...string) {
	for _, text := range texts {
		m.wrap("- ", "  ", text)
	}
	m.buf.WriteByte('\n')
}

// wrap breaks a text between words.
func (m *markdown) wrap(first, indent, text string) {
	line := first
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > lineMax {
			m.buf.WriteString(line + "\n")
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	m.buf.WriteString(line + "\n")
}

// table writes rows, of which the first is the head; the first left columns hold text.
func (m *markdown) table(left int, rows [][]string) {
	for i, row := range rows {
		m.buf.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i > 0 {
			continue
		}
		for j := range row {
			if j < left {
				m.buf.WriteString("|---")
			} else {
				m.buf.WriteString("|--:")
			}
		}
		m.buf.WriteString("|\n")
	}
	m.buf.WriteByte('\n')
}

// figure shows a file beside the page.
func (m *markdown) figure(about, file string) {
	fmt.Fprintf(&m.buf, "![%s](%s)\n\n", about, file)
}

// errorDigits writes the size of an error in percent, without the sign for it.
func errorDigits(percent float64) string {
	decimals := 1
	switch size := math.Abs(percent); {
	case math.IsNaN(percent):
		return "–"
	case size >= 99.95:
		decimals = 0
	}
	return strconv.FormatFloat(percent, 'f', decimals, 64)
}

// biasDigits is errorDigits with a sign.
func biasDigits(percent float64) string {
	text := errorDigits(math.Abs(percent))
	switch {
	case math.IsNaN(percent) || text == "0.0":
		return text
	case percent < 0:
		return "−" + text
	}
	return "+" + text
}
