package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
)

// piped runs a command line with something on stdin.
func piped(ctx context.Context, in io.Reader, args ...string) (status int, out, errOut string) {
	var o, e bytes.Buffer
	root := newRoot(&o, &e)
	root.SetIn(in)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return exitBadInput, o.String(), err.Error()
	}
	return exitOK, o.String(), e.String()
}

// What comes on stdin runs as the file would.
func TestAScenarioComesOnStdin(t *testing.T) {
	text, err := catalog.File("scenarios/chat-8b")
	require.NoError(t, err)
	set := []string{"--set", "workload.requests=50"}
	status, want, _ := piped(context.Background(), nil, append([]string{"run", "chat-8b", "--json"}, set...)...)
	require.Equal(t, exitOK, status)
	status, got, errOut := piped(context.Background(), bytes.NewReader(text), append([]string{"run", "-", "--json"},
		set...)...)
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, want, got)
	for _, command := range []string{"explain", "export"} {
		status, _, errOut = piped(context.Background(), bytes.NewReader(text), command, "-")
		assert.Equal(t, exitOK, status, errOut)
	}
}

// An imported command line goes straight on to run.
func TestImportIsPipedToRun(t *testing.T) {
	status, imported, _ := piped(context.Background(), nil, "import", "--gpu", "h100", "--", "vllm", "serve",
		"meta-llama/Llama-3.1-8B-Instruct")
	require.Equal(t, exitOK, status)
	status, out, errOut := piped(context.Background(), strings.NewReader(imported), "run", "-", "--set",
		"workload.requests=50")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "llama-3.1-8b")
}

func TestBadScenariosOnStdinAreRefused(t *testing.T) {
	for in, says := range map[string]string{
		"":           "stdin:1:1: the file is empty",
		"modl: x":    `stdin:1:1: modl: unknown key; did you mean "model"?`,
		"\x00\x01":   "stdin",
		": : : :\n-": "stdin",
	} {
		status, _, errOut := piped(context.Background(), strings.NewReader(in), "run", "-")
		assert.Equal(t, exitBadInput, status)
		assert.Contains(t, errOut, says)
	}
	_, _, errOut := piped(context.Background(), endless{}, "run", "-")
	assert.Contains(t, errOut, "stdin: longer than 4194304 bytes")
}

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// Nobody writes, and the command ends when it is stopped.
func TestWaitingForStdinEndsWithTheCommand(t *testing.T) {
	for _, args := range [][]string{{"run", "-"}, {"import", "-", "--gpu", "h100"}} {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		r, w := io.Pipe()
		defer w.Close()
		status, _, errOut := piped(ctx, r, args...)
		assert.Equal(t, exitBadInput, status)
		assert.Contains(t, errOut, "canceled")
	}
}
