package inputs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTextReadsAsItIsWritten(t *testing.T) {
	for _, text := range []string{"", "chat-70b", "Größe ≥ 3 µs", "日本語", "a\tb\nc", "👩‍🔬"} {
		assert.True(t, Printable(text), "%q", text)
	}
	for _, text := range []string{"\x00", "a\x1b[31m", "\u202egnp.exe", "\u2066a\u2069", "\u200f", "\x7f", "\u0085",
		"\xff", "a\x08b"} {
		assert.False(t, Printable(text), "%q", text)
	}
	assert.False(t, PrintableName("a\nb"))
	assert.True(t, PrintableName("a b"))
}
