package inputs

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable reports whether text reads as it is written: it is UTF-8, and has no control characters, which move the
// cursor of a terminal, and none that turn the direction of what follows. Tabs and ends of lines are fine.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, hidden)
}

// hidden reports whether r has no place in text.
func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' || unicode.Is(unicode.Bidi_Control, r)
}

// Escaped returns text as Printable has it: bytes and characters that are not are written as Go quotes them, and so is
// a carriage return, after which a terminal writes over the line. What a user typed can be named in a message.
func Escaped(text string) string {
	if Printable(text) && !strings.Contains(text, "\r") {
		return text
	}
	var b strings.Builder
	for at, width := 0, 0; at < len(text); at += width {
		var r rune
		r, width = utf8.DecodeRuneInString(text[at:])
		part := text[at : at+width]
		if r == utf8.RuneError && width == 1 || r == '\r' || hidden(r) {
			part = strings.Trim(strconv.QuoteToASCII(part), `"`)
		}
		b.WriteString(part)
	}
	return b.String()
}

// PrintableName is Printable of what stands on one line, also to what reads Unicode's separators as ends of lines.
func PrintableName(name string) bool {
	return Printable(name) && !strings.ContainsAny(name, "\t\n\r\u2028\u2029")
}
