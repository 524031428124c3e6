package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

func TestSensitivityMistakes(t *testing.T) {
	inDir(t, small)
	for line, want := range map[string]string{
		"sensitivity":                                 "sensitivity: missing a scenario",
		"sensitivity chat.yaml --of sizes":            "--of sizes: expected run or size",
		"sensitivity chat.yaml --of size --metric x":  "--metric is of a run",
		"sensitivity chat.yaml --of size --seeds 2":   "--seeds is of a run",
		"sensitivity chat.yaml --seeds 0":             "--seeds 0: expected 1 to 1000",
		"sensitivity chat.yaml --metric speed":        `--metric speed: no column "speed"`,
		"sensitivity chat.yaml --vary rate=1:2":       "--vary rate=1:2: the scenario has ",
		"sensitivity chat.yaml --set seed=x --out y":  "--set seed=x",
		"sensitivity chat.yaml --out chat.yaml":       `output "chat.yaml" is a file`,
		"sensitivity nowhere":                         `scenario "nowhere" not found`,
		"sensitivity chat.yaml --of size --out sized": "chat.yaml",
	} {
		status, out, errOut := try(strings.Fields(line)...)
		assert.Equal(t, exitBadInput, status, line)
		assert.Empty(t, out)
		assert.Contains(t, errOut, want, line)
		assert.Equal(t, []string{"chat.yaml"}, namesIn(t, "."), line)
	}
}

// TestFigureOfTheDocumentationOfSensitivity: the figure is the one that its command draws.
func TestFigureOfTheDocumentationOfSensitivity(t *testing.T) {
	if !soak.Asked() && !*update {
		t.Skip("make published draws it")
	}
	unasked(t)
	figure := filepath.Join(root, "docs", "tornado.svg")
	t.Chdir(t.TempDir())
	outputOf(t, strings.Fields("sensitivity chat-70b --set workload.requests=2000 --out tornado"))
	drawn, err := os.ReadFile(filepath.Join("tornado", "tornado.svg"))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(figure, drawn, 0o644))
	}
	documented, err := os.ReadFile(figure)
	require.NoError(t, err)
	require.Equal(t, string(drawn), string(documented), "docs/tornado.svg is not what its command draws; %s", updateWith)
}
