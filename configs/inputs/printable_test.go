package inputs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestTextReadsAsItIsWritten(t *testing.T) {
	for _, text := range []string{"", "chat-70b", "Größe ≥ 3 µs", "日本語", "a\tb\nc", "👩‍🔬", "❤️",
		"می\u200cخواهم", "\u0601"} {
		assert.True(t, Printable(text), "%q", text)
	}
	for _, text := range []string{"\x00", "a\x1b[31m", "\u202egnp.exe", "\u2066a\u2069", "\u200f", "\x7f", "\u0085",
		"\xff", "a\x08b", "\ufeff", "a\u200bb", "\u2060", "a\u00adb", "\u3164", "\u115f", "\uffa0", "\u180e", "\u034f",
		"\U000e0041", "\u2064"} {
		assert.False(t, Printable(text), "%q", text)
	}
	for _, name := range []string{"a\nb", "a\u2028b", "a\u2029b", "", " ", "\u00a0\u3000", "\u200d", "\ufe0f", "\u2800",
		"\u0301", "\ue000", "\u200b"} {
		assert.False(t, PrintableName(name), "%q", name)
	}
	for _, name := range []string{"a b", "-", "日", "7", "£", "👩‍🔬", " a"} {
		assert.True(t, PrintableName(name), "%q", name)
	}
}

// TestWhatIsEscapedIsPrintable, and what was printable stays as it is.
func TestWhatIsEscapedIsPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, größer\n\tand \"quoted\"": "plain, größer\n\tand \"quoted\"",
		"a\x1b[31mb":                      `a\x1b[31mb`, "a\u202eb": `a\u202eb`, "a\rb": `a\rb`, "a\xffb": `a\xffb`,
		"a\u009bb": `a\u009bb`, "\ufffd": "\ufffd", "\x00": `\x00`, "a\r\nb": `a\r` + "\nb",
	} {
		assert.Equal(t, want, Escaped(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		assert.True(t, Printable(Escaped(text)), "%q", text)
	})
}

// TestTheNameOfAFileStandsOnOneLine, whatever is in it.
func TestTheNameOfAFileStandsOnOneLine(t *testing.T) {
	assert.Equal(t, `a\nmodel: x\tb\u2028c\u2029d\x1b[31m\u202e`, OneLine("a\nmodel: x\tb\u2028c\u2029d\x1b[31m\u202e"))
	assert.Equal(t, "trace of día.csv", OneLine("trace of día.csv"))
}
