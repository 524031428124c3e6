package published

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

var update = flag.Bool("update", false, "write the pages of docs/")

// whole reports whether pages are compared or written: that takes a minute.
func whole() bool { return soak.Asked() || *update }

// checkPage requires that a page of docs/ says what the simulations give today.
func checkPage(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "docs/%s; go test ./internal/published -run %s -update writes it", name, t.Name())
}
