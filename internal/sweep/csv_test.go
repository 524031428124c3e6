package sweep

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAValueIsNoFormula: what is varied is text that somebody typed, and a spreadsheet reads the table.
func TestAValueIsNoFormula(t *testing.T) {
	var b strings.Builder
	of := &Head{Axes: []Axis{{Name: "=axis", Values: []string{"@value", "-1"}}}, Seeds: []uint64{1}}
	table, err := newCSV(&b, of)
	require.NoError(t, err)
	for run := range 2 {
		require.NoError(t, table.add(&Row{Run: run, Error: "+error"}))
	}
	require.NoError(t, table.close())
	lines := strings.Split(b.String(), "\n")
	assert.True(t, strings.HasPrefix(lines[0], "point,seed,'=axis,error,"), lines[0])
	assert.True(t, strings.HasPrefix(lines[1], "0,1,'@value,'+error,"), lines[1])
	assert.True(t, strings.HasPrefix(lines[2], "1,1,-1,'+error,"), lines[2])
}
