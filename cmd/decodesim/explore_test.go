package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnExplorerIsThereUntilASignal, on the loopback address, and what it copies runs.
func TestAnExplorerIsThereUntilASignal(t *testing.T) {
	inDir(t, served)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		c := program(t, "explore", "chat.yaml", "--port", "0")
		said, err := c.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		line, err := bufio.NewReader(said).ReadString('\n')
		require.NoError(t, err)
		url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(line)
		require.NotEmpty(t, url, line)
		var step struct{ YAML string }
		answered(t, url+"step?rate=2", &step)
		var ran struct{ Summary json.RawMessage }
		answered(t, url+"run?rate=2", &ran)
		again := program(t, "run", "-", "--json", "--headroom", "off")
		again.Stdin = strings.NewReader(step.YAML)
		out, err := again.Output()
		require.NoError(t, err)
		assert.JSONEq(t, string(out), string(ran.Summary))
		require.NoError(t, c.Process.Signal(signal))
		sent := time.Now()
		var ended *exec.ExitError
		require.ErrorAs(t, c.Wait(), &ended)
		assert.Equal(t, 128+int(signal), ended.ExitCode())
		assert.Less(t, time.Since(sent), 10*time.Second, "a second on a machine of one's own")
	}
}

// TestTheProgramOfAPageIsARegularFile: a pipe was waited for, and a device read without end.
func TestTheProgramOfAPageIsARegularFile(t *testing.T) {
	inDir(t, small)
	for name, make := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
	} {
		require.NoError(t, os.Mkdir(name, 0o700))
		require.NoError(t, make(filepath.Join(name, "decodesim.wasm")))
		status, out, errOut := try("explore", "chat.yaml", "--out", "site", "--wasm", name)
		assert.Equal(t, exitBadInput, status)
		assert.Empty(t, out)
		assert.Contains(t, errOut, "is a "+name+"; expected a regular file")
	}
	assert.NoFileExists(t, "site")
}

func answered(t *testing.T, url string, x any) {
	t.Helper()
	a, err := http.Get(url)
	require.NoError(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.Equal(t, 200, a.StatusCode, string(text))
	require.NoError(t, json.Unmarshal(text, x))
}

func TestExploreRefusesWhatCannotBeMeant(t *testing.T) {
	for args, want := range map[string]string{
		"nowhere":      `scenario "nowhere" not found`,
		"--port=70000": "--port 70000: expected a port from 0 to 65535",
		"--wasm=x":     "--wasm: expected an --out",
		"--out=":       "--out is empty; expected a directory",
		"--out=x":      "--out needs the simulator as WebAssembly, which make site builds",
	} {
		status, out, errOut := try("explore", args)
		assert.Equal(t, exitBadInput, status)
		assert.Empty(t, out)
		assert.Contains(t, errOut, want)
	}
}
