package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// program is the command line as a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(self, args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

// long is a scenario that takes minutes.
const long = `name: long
model: llama-3.1-8b
pools: [{gpu: h100-sxm, replicas: 4}]
workload:
  arrivals: {process: poisson, rate: 100}
  prompt_tokens: {distribution: lognormal, mean: 500, cv: 1}
  output_tokens: {distribution: lognormal, mean: 60, cv: 1}
  requests: 20000000
`

func TestASignalEndsACommandAndLeavesNothing(t *testing.T) {
	inDir(t, long)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		c := program(t, "run", "chat.yaml", "--out", "new/out", "--trace", "trace.json")
		var said strings.Builder
		c.Stderr = &said
		require.NoError(t, c.Start())
		require.Eventually(t, func() bool { return exists(".trace.json.decodesim-unfinished") }, time.Minute,
			time.Millisecond)
		require.NoError(t, c.Process.Signal(signal))
		sent := time.Now()
		var ended *exec.ExitError
		require.ErrorAs(t, c.Wait(), &ended)
		assert.Equal(t, 128+int(signal), ended.ExitCode(), said.String())
		assert.Less(t, time.Since(sent), 10*time.Second, "a second on a machine of one's own")
		assert.Equal(t, "decodesim: interrupted\n", said.String())
		assert.Equal(t, []string{"chat.yaml"}, namesIn(t, "."))
	}
}

// TestASignalEndsWhatAsksNobody: building a million replicas takes seconds, in which nobody asks whether to go on.
func TestASignalEndsWhatAsksNobody(t *testing.T) {
	inDir(t, long)
	c := program(t, "run", "chat.yaml", "--out", "new/out", "--set", "pools.serve.replicas=600000", "--headroom", "off")
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return exists("new/.out.decodesim-unfinished") }, time.Minute, time.Millisecond)
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGINT))
	sent := time.Now()
	var ended *exec.ExitError
	require.ErrorAs(t, c.Wait(), &ended)
	assert.Equal(t, 128+int(syscall.SIGINT), ended.ExitCode())
	assert.Less(t, time.Since(sent), 3*time.Second, "a second on a machine of one's own")
	assert.False(t, exists("new/out"))
	require.NoError(t, program(t, "run", "chat.yaml", "--set", "workload.requests=10", "--out", "new/out").Run())
}

// TestAKillLeavesAllOrNothing kills runs at instants from their start to after their end.
func TestAKillLeavesAllOrNothing(t *testing.T) {
	inDir(t, handed)
	began := time.Now()
	require.NoError(t, program(t, "run", "chat.yaml", "--out", "whole").Run())
	took := time.Since(began)
	want := namesIn(t, "whole")
	const kills = 12
	for i := range kills {
		c := program(t, "run", "chat.yaml", "--out", "out")
		require.NoError(t, c.Start())
		time.Sleep(took * time.Duration(i) / (kills - 1))
		_ = c.Process.Kill()
		_ = c.Wait()
		if exists("out") {
			assert.Equal(t, want, namesIn(t, "out"))
			assertWhole(t, "out/summary.json")
			require.NoError(t, os.RemoveAll("out"))
		}
	}
	require.NoError(t, program(t, "run", "chat.yaml", "--out", "out").Run(), "over what killed runs left")
	assert.Equal(t, want, namesIn(t, "out"))
	assert.Equal(t, []string{"chat.yaml", "out", "whole"}, namesIn(t, "."))
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func namesIn(t *testing.T, dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func assertWhole(t *testing.T, path string) {
	text, err := os.ReadFile(filepath.Clean(path))
	require.NoError(t, err)
	assert.True(t, json.Valid(text), path)
}
