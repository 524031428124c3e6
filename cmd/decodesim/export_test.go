package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAScenarioIsExportedAndImported by the commands, through a file as a user has it.
func TestAScenarioIsExportedAndImported(t *testing.T) {
	t.Chdir(t.TempDir())
	status, script, errOut := try("export", "chat-70b", "--set", "pools.serve.max_num_seqs=77")
	require.Equal(t, exitOK, status, errOut)
	assert.True(t, strings.HasPrefix(script, "# pool serve: 2 replicas of 4 × h100-sxm\n"), script)
	require.NoError(t, os.WriteFile("start.sh", []byte(script), 0o600))
	status, text, errOut := try("import", "start.sh", "--gpu", "h100-sxm")
	require.Equal(t, exitOK, status, errOut)
	for _, line := range []string{"model: llama-3.1-70b ", "weights: fp8 ", "tensor_parallel: 4 ", "max_num_seqs: 77 "} {
		assert.Contains(t, text, line)
	}
}

func TestMistakesOfAnExportAreNamed(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"export: missing a scenario: a name or a path to a YAML file; see decodesim export --help", nil},
		{`did you mean "chat-70b"?`, []string{"chat-70"}},
		{"--set pools.serve.replicas=0", []string{"chat-70b", "--set", "pools.serve.replicas=0"}},
	} {
		status, out, errOut := try(append([]string{"export"}, c.args...)...)
		assert.Equal(t, exitBadInput, status)
		assert.Empty(t, out)
		assert.Contains(t, errOut, c.want)
	}
}
