package named

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPoliciesAreFoundByTheirNames, with their arguments; of any other name the error lists those that there are.
func TestPoliciesAreFoundByTheirNames(t *testing.T) {
	refused := errors.New("refused")
	l := List[int, string]{
		{"one", "does one thing", func(n int) (string, error) { return string(rune('a' + n)), nil }},
		{"two", "does another", func(int) (string, error) { return "", refused }},
	}
	assert.Equal(t, []string{"one", "two"}, l.Names())
	assert.Equal(t, "does one thing", l.Does("one"))
	assert.Equal(t, "does another", l.Does("two"))
	assert.Empty(t, l.Does("three"))
	p, err := l.New("thing", "one", 3)
	assert.NoError(t, err)
	assert.Equal(t, "d", p)
	_, err = l.New("thing", "two", 3)
	assert.Equal(t, refused, err)
	_, err = l.New("thing", "three", 3)
	assert.EqualError(t, err, `policies: thing "three" not found; valid names: one, two`)
}
