package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/inputs"
)

// TestAMessageMovesNoCursor: what a user typed, or has in a file, is named in one message, and none of it is obeyed by
// the terminal.
func TestAMessageMovesNoCursor(t *testing.T) {
	inDir(t, small)
	require.NoError(t, os.WriteFile("t.csv", []byte("arrival_s,input_tokens,out\x1b[31mput\n0,5,9\n"), 0o600))
	trace := strings.Split(small, "  arrivals")[0] + "  trace: {file: t.csv}\n"
	require.NoError(t, os.WriteFile("trace.yaml", []byte(trace), 0o600))
	for _, hidden := range []string{"a\x1b[31mb", "a\u202eb", "a\x9bb", "a\rb"} {
		for _, args := range [][]string{
			{"run", "chat.yaml", "--set", "name=" + hidden}, {"run", "chat.yaml", "--set", hidden + "=1"},
			{"run", "chat.yaml", "--set", "model=" + hidden}, {"run", "chat.yaml", "--" + hidden}, {"run", hidden},
			{"run", "chat.yaml", "--out", hidden + "\x00"}, {"run", "trace.yaml"}, {hidden},
		} {
			status, out, errOut := try(args...)
			assert.Equal(t, exitBadInput, status, "%q", args)
			assert.Empty(t, out, "%q", args)
			assert.True(t, inputs.Printable(errOut) && !strings.Contains(errOut, "\r"), "%q says %q", args, errOut)
		}
	}
	status, out, errOut := try("run", "chat.yaml", "--out", "o\x1b[31m", "--trace", "t\x1b.json")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "\no\\x1b[31m/summary.json\n")
	assert.Contains(t, errOut, ` in t\x1b.json; open it`)
	const named = "t\x1b\n\u202e.csv"
	require.NoError(t, os.WriteFile(named, []byte("arrival_s,input_tokens,output_tokens\n0,5,9\n"), 0o600))
	_, out, errOut = try("workload", "describe", named)
	assert.True(t, strings.HasPrefix(out, `t\x1b\n\u202e.csv · 1 request`), "%q %q", out, errOut)
	_, out, errOut = try("workload", "convert", named, "--to", "to\x1b\n.csv")
	assert.Equal(t, "to\\x1b\\n.csv: 1 request\n", errOut, out)
	_, _, errOut = try("run", "chat.yaml", "--set", "name=a\x1b[31mb")
	assert.True(t, strings.HasPrefix(errOut, `decodesim: --set name=a\x1b[31mb: "a\x1b[31mb" has characters`), "%q", errOut)
}

// TestAnInvisibleNameIsRefused, of whatever has one.
func TestAnInvisibleNameIsRefused(t *testing.T) {
	inDir(t, small)
	for _, name := range []string{" ", "\u200b", "\ufeff", "\u2060\u00ad", "\u3164", "\u00a0", "\u2800", "a\u200bb"} {
		for _, key := range []string{"name", "pools.serve.name", "model"} {
			status, out, errOut := try("run", "chat.yaml", "--set", key+"="+name)
			assert.Equal(t, exitBadInput, status, "%s %q", key, name)
			assert.Empty(t, out)
			assert.True(t, inputs.Printable(errOut), "%q", errOut)
			text := strings.Replace(small, "name: ", "name: \""+name+"\" # ", 1)
			require.NoError(t, os.WriteFile("hidden.yaml", []byte(text), 0o600))
			status, _, errOut = try("run", "hidden.yaml")
			assert.Equal(t, exitBadInput, status, "%q", name)
			assert.Contains(t, errOut, "hidden.yaml:1:", "%q", name)
		}
	}
}

// TestFilesOfEfficienciesThatNeverEndAreRefused at once, whatever they are.
func TestFilesOfEfficienciesThatNeverEndAreRefused(t *testing.T) {
	inDir(t, small)
	require.NoError(t, syscall.Mkfifo("pipe.yaml", 0o600))
	require.NoError(t, os.Symlink("/dev/zero", "device.yaml"))
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := w.Write(make([]byte, 64<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile("bomb.yaml", bomb.Bytes(), 0o600))
	require.NoError(t, os.WriteFile("huge.yaml", nil, 0o600))
	require.NoError(t, os.Truncate("huge.yaml", 8<<30))
	before := entries(t, ".")
	for file, want := range map[string]string{
		"pipe.yaml": "is a pipe; expected a regular file", "device.yaml": "is a device; expected a regular file",
		"bomb.yaml": "not YAML: control characters", // nothing unpacks it
		"huge.yaml": "is longer than 4194304 bytes (4 MiB)",
	} {
		start := time.Now()
		status, out, errOut := try("run", "chat.yaml", "--set", "pools.serve.efficiency=./"+file, "--out", "out")
		assert.Less(t, time.Since(start), 10*time.Second, file)
		assert.Equal(t, exitBadInput, status, file)
		assert.Empty(t, out, file)
		assert.Contains(t, errOut, want, file)
		assert.Contains(t, errOut, file)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
		assert.Equal(t, before, entries(t, "."), file)
	}
}
