package text

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestColumnsStandBelowEachOther(t *testing.T) {
	rows := [][]string{{"", "mean", "unit", "says"}, {"µ-latency", "5,000", "ms", "left"}, {"a", "1", "s", "too"},
		{"a note that is longer than a row"}}
	assert.Equal(t, []string{
		"            mean  unit  says",
		"µ-latency  5,000    ms  left",
		"a              1     s  too ",
		"a note that is longer than a row",
	}, Align(rows, -1))
	assert.Equal(t, []string{"  1  22", "333   4"}, AlignRight([][]string{{"1", "22"}, {"333", "4"}}))
}

func TestAPageLinesUpItsTablesAndItems(t *testing.T) {
	p := NewPage(false)
	p.Heading("heading")
	p.Table([][]string{{"", "n"}, {"a", "10"}})
	p.Item("load", "8")
	assert.Equal(t, "heading\n              n\na            10\nload         8\n", p.String())
	coloured := NewPage(true)
	coloured.Warning("w")
	assert.Equal(t, "\x1b[33mw\x1b[0m\n", coloured.String())
}
