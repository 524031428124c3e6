package inputs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable reports whether text reads as it is written: it is UTF-8, and has no control characters, which move the
// cursor of a terminal, and none that turn the direction of what follows. Tabs and ends of lines are fine.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' || unicode.Is(unicode.Bidi_Control, r)
	})
}

// PrintableName is Printable of what stands on one line.
func PrintableName(name string) bool { return Printable(name) && !strings.ContainsAny(name, "\t\n\r") }
