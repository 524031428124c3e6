package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// program is the command line as a process of its own. It takes what the tests are asked by for a wrong key, and has no
// signal ignored, though the tests may run under nohup.
func program(t *testing.T, args ...string) *exec.Cmd {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	self, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(self, args...)
	c.Env = slices.DeleteFunc(append(os.Environ(), asProgram+"=1"), func(variable string) bool {
		return strings.HasPrefix(variable, "DECODESIM_SOAK=")
	})
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

// TestNohupIsObeyed: a command that is started with SIGHUP ignored goes on when its terminal is closed. It ignores none
// of the other signals.
func TestNohupIsObeyed(t *testing.T) {
	inDir(t, long)
	c := program(t, "run", "chat.yaml", "--trace", "trace.json")
	c.Path, c.Args = "/bin/sh", append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`}, c.Args...)
	require.NoError(t, c.Start())
	require.Eventually(t, func() bool { return exists(".trace.json.decodesim-unfinished") }, time.Minute, time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGHUP))
	time.Sleep(50 * time.Millisecond) // in which it would begin to end
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	var ended *exec.ExitError
	require.ErrorAs(t, c.Wait(), &ended)
	assert.Equal(t, 128+int(syscall.SIGTERM), ended.ExitCode(), "SIGHUP did nothing")
}

func TestASignalEndsACommandAndLeavesNothing(t *testing.T) {
	inDir(t, long)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		c := program(t, "run", "chat.yaml", "--out", "new/out", "--trace", "trace.json")
		stderr, err := c.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		require.Eventually(t, func() bool { return exists(".trace.json.decodesim-unfinished") }, time.Minute,
			time.Millisecond)
		require.NoError(t, c.Process.Signal(signal))
		sent, said := time.Now(), make([]byte, len("decodesim: interrupted\n"))
		_, err = io.ReadFull(stderr, said)
		require.NoError(t, err)
		assert.Equal(t, "decodesim: interrupted\n", string(said))
		assert.Equal(t, []string{"chat.yaml"}, namesIn(t, "."), "nothing is left to do but to exit")
		more, err := io.ReadAll(stderr)
		require.NoError(t, err)
		assert.Empty(t, string(more))
		var ended *exec.ExitError
		require.ErrorAs(t, c.Wait(), &ended)
		assert.Equal(t, 128+int(signal), ended.ExitCode())
		assert.Less(t, time.Since(sent), 10*time.Second, "a second on a machine of one's own")
	}
}

// TestASignalEndsWhatAsksNobody: a router that asks each of many replicas for its load has them built, which takes
// seconds in which nothing asks whether to go on.
func TestASignalEndsWhatAsksNobody(t *testing.T) {
	inDir(t, long)
	c := program(t, "run", "chat.yaml", "--out", "new/out", "--set", "pools.serve.replicas=600000",
		"--set", "router=least-tokens", "--headroom", "off")
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

// ended are what ends a command from outside.
var ended = []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}

// TestAKillLeavesAllOrNothing ends runs at random instants from their start to after their end, with outputs in a new
// directory, in one that holds a file of the user's, and in a file of their own.
func TestAKillLeavesAllOrNothing(t *testing.T) {
	kills := soak.Cases(soak.Part(8), 1000)
	inDir(t, handed)
	args := []string{"run", "chat.yaml", "--headroom", "off", "--trace", "trace.json", "--out"}
	began := time.Now()
	require.NoError(t, program(t, append(args, "whole")...).Run())
	took := time.Since(began)
	want := namesIn(t, "whole")
	trace, err := os.ReadFile("trace.json")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("mine", 0o755))
	require.NoError(t, os.WriteFile("mine/notes.txt", []byte("mine"), 0o600))
	seed := uint64(time.Now().UnixNano())
	r, whole := rand.New(rand.NewPCG(seed, 0)), 0
	for i := range kills {
		if end, ok := t.Deadline(); ok && time.Until(end) < time.Minute {
			kills = i // of a busy machine
			break
		}
		dir, names := "out", want
		if i%2 == 1 {
			dir, names = "mine", append([]string{"notes.txt"}, want...)
			slices.Sort(names)
		}
		_ = os.Remove("trace.json")
		c := program(t, append(args, dir)...)
		require.NoError(t, c.Start())
		time.Sleep(time.Duration(r.Float64() * 1.2 * float64(took)))
		by := ended[i/2%len(ended)]
		_ = c.Process.Signal(by)
		_ = c.Wait()
		if exists("trace.json") {
			got, err := os.ReadFile("trace.json")
			require.NoError(t, err)
			assert.Equal(t, trace, got, "seed %d, %d: %v", seed, i, by)
		}
		got := finished(t, dir)
		if len(got) == 0 || dir == "mine" && len(got) == 1 {
			continue
		}
		if assert.Equal(t, names, got, "seed %d, %d: %v", seed, i, by) {
			assertSameFiles(t, want, "whole", dir)
			whole++
		}
		for _, name := range want {
			require.NoError(t, os.Remove(filepath.Join(dir, name)))
		}
		if dir == "out" {
			require.NoError(t, os.Remove(dir))
		}
	}
	t.Logf("%d of %d left the whole result", whole, kills)
	_ = os.Remove("trace.json")
	for _, dir := range []string{"out", "mine"} {
		require.NoError(t, program(t, append(args, dir)...).Run(), "over what killed runs left")
		assertSameFiles(t, want, "whole", dir)
	}
	assert.Equal(t, []string{"chat.yaml", "mine", "out", "trace.json", "whole"}, namesIn(t, "."), "and all of it is swept")
	assert.Len(t, namesIn(t, "mine"), len(want)+1)
	notes, err := os.ReadFile("mine/notes.txt")
	require.NoError(t, err)
	assert.Equal(t, "mine", string(notes))
}

// finished returns the files of a directory; none if there is a folder in it of a command that was killed, which shows
// that what is beside it is not whole, and which the next command takes back.
func finished(t *testing.T, dir string) []string {
	if !exists(dir) {
		return nil
	}
	names := namesIn(t, dir)
	if slices.Contains(names, ".decodesim-unfinished") {
		return nil
	}
	return names
}

// assertSameFiles compares the files of two directories byte for byte.
func assertSameFiles(t *testing.T, names []string, a, b string) {
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(a, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(b, name))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got), "%s of %s differs", name, b)
	}
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
