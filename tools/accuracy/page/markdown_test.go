package page

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestParagraphsWrapBetweenWords: no word is lost, cut or moved, and no line is longer than it need be.
func TestParagraphsWrapBetweenWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zµ−]{1,150}`), 1, 60).Draw(t, "words")
		list := rapid.Bool().Draw(t, "list")
		m := &markdown{}
		if list {
			m.items(strings.Join(words, " "))
		} else {
			m.para("%s", strings.Join(words, "  "))
		}
		text := m.buf.String()
		read := strings.Fields(text)
		if list {
			assert.True(t, strings.HasPrefix(text, "- "))
			read = read[1:]
		}
		assert.Equal(t, words, read)
		for line := range strings.Lines(text) {
			words := strings.Fields(strings.TrimPrefix(line, "- "))
			assert.True(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= lineMax || len(words) == 1, line)
		}
	})
}

func TestTablesHaveAHead(t *testing.T) {
	m := &markdown{}
	m.table(1, [][]string{{"data", "n"}, {"A", "3"}})
	assert.Equal(t, "| data | n |\n|---|--:|\n| A | 3 |\n\n", m.buf.String())
}

func TestErrorsInTablesKeepTheirSign(t *testing.T) {
	for _, x := range []struct {
		percent     float64
		error, bias string
	}{
		{0.04, "0.0", "0.0"}, {-0.04, "0.0", "0.0"}, {-3.26, "3.3", "−3.3"}, {12.34, "12.3", "+12.3"}, {99.96, "100", "+100"},
		{-2893.6, "2894", "−2894"}, {math.NaN(), "–", "–"},
	} {
		assert.Equal(t, x.error, errorDigits(math.Abs(x.percent)), x.percent)
		assert.Equal(t, x.bias, biasDigits(x.percent), x.percent)
	}
}
