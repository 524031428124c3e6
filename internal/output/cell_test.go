package output

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestACellIsNoFormula(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "chat": "chat", "-1.5": "-1.5", "+3e9": "+3e9", "=1+1": "'=1+1", "@sum": "'@sum", "-1+2": "'-1+2",
		"+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0", "\t=1": "'\t=1", "a=b": "a=b", "'=1": "'=1",
	} {
		assert.Equal(t, want, Cell(s))
	}
}
