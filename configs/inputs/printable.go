package inputs

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable reports whether text reads as it is written: it is UTF-8, and has no control characters, which move the
// cursor of a terminal, none that turn the direction of what follows, and none that nobody sees. Tabs and ends of lines
// are fine.
func Printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, hidden)
}

// hidden reports whether r has no place in text.
func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' || unicode.Is(unicode.Bidi_Control, r) || unseen(r)
}

// unseen reports whether r has neither a shape nor a width, such as U+200B or U+FEFF: two names that differ by it look
// the same. What joins letters and emoji, or chooses their shape, changes what is seen.
func unseen(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) && r != nonJoiner && r != joiner &&
		!unicode.In(r, unicode.Prepended_Concatenation_Mark, unicode.Variation_Selector)
}

// Seen reports whether text has a character that can be seen: it is not empty, and not blanks alone.
func Seen(text string) bool {
	const blankPattern = '\u2800' // of Braille: a symbol without a dot
	return strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && r != blankPattern && !unseen(r)
	})
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

// OneLine returns text as Escaped has it, and on one line: the name of a file may have ends of lines.
func OneLine(text string) string {
	return lineEnds.Replace(Escaped(text))
}

var lineEnds = strings.NewReplacer("\n", `\n`, "\t", `\t`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// PrintableName is Printable of what stands on one line, also to what reads Unicode's separators as ends of lines, and
// can be seen.
func PrintableName(name string) bool {
	return Printable(name) && Seen(name) && !strings.ContainsAny(name, "\t\n\r\u2028\u2029")
}
