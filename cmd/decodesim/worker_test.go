package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
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

// process is the program as another one, which the test ends if nobody else does. The variables of tests are none of
// its scenario's.
func process(t *testing.T, said *lockedText, args ...string) *exec.Cmd {
	c := program(t, args...)
	c.Env = slices.DeleteFunc(c.Env, func(v string) bool { return strings.HasPrefix(v, "DECODESIM_") })
	c.Stdout, c.Stderr = said, said
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// lockedText is what a process has said so far.
type lockedText struct {
	lines
	text bytes.Buffer
}

func newLockedText() *lockedText {
	l := &lockedText{}
	l.to = &l.text
	return l
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// ends waits for a process that has to end well.
func ends(t *testing.T, c *exec.Cmd, said *lockedText) {
	t.Helper()
	require.NoError(t, c.Wait(), said.String())
}

// port is one that is free.
func port(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// rowsIn counts the rows of the journal of a sweep.
func rowsIn(dir string) int {
	text, _ := os.ReadFile(filepath.Join(dir, "sweep.journal"))
	return max(0, bytes.Count(text, []byte("\n"))-1)
}

// TestWorkersMakeTheSweep: the same bytes as one process, though a worker is killed.
func TestWorkersMakeTheSweep(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, handed)
	require.NoError(t, os.MkdirAll("elsewhere", 0o700))
	require.NoError(t, program(t, sweepArgs("serial")...).Run())
	at, said := port(t), newLockedText()
	c := process(t, said, append(sweepArgs("out"), "--listen", at)...)
	token := filepath.Join("out", "sweep.queue", "token")
	require.Eventually(t, func() bool { return exists(token) }, time.Minute, 5*time.Millisecond)
	token, err := filepath.Abs(token)
	require.NoError(t, err)
	joins := func() *exec.Cmd {
		w := program(t, "worker", "nats://"+at, "--token-file", token)
		w.Dir, w.Stderr = "elsewhere", said // it needs no file of the sweep
		require.NoError(t, w.Start())
		t.Cleanup(func() { _ = w.Process.Kill() })
		return w
	}
	first := joins()
	require.Eventually(t, func() bool { return rowsIn("out") > 5 }, time.Minute, time.Millisecond, said.String())
	second := joins()
	require.Eventually(t, func() bool { return rowsIn("out") > 20 }, time.Minute, time.Millisecond)
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	var ended *exec.ExitError
	require.ErrorAs(t, first.Wait(), &ended)
	assert.Equal(t, 128+int(syscall.SIGTERM), ended.ExitCode())
	ends(t, c, said)
	require.NoError(t, second.Process.Kill())
	_ = second.Wait()
	sameFiles(t, "serial", "out")
	assert.Contains(t, said.String(), "workers join by: decodesim worker nats://")
	assert.Contains(t, said.String(), "works on sweep handed")
}

// TestWorkersAreHired: --workers starts them, and a sweep that a signal ends goes on.
func TestWorkersAreHired(t *testing.T) {
	if !soak.Asked() {
		t.Skip("set DECODESIM_SOAK=1: the leases of interrupted workers have to end")
	}
	unasked(t)
	inDir(t, handed)
	require.NoError(t, program(t, sweepArgs("serial")...).Run())
	said := newLockedText()
	c := process(t, said, append(sweepArgs("out"), "--workers", "2")...)
	require.Eventually(t, func() bool { return rowsIn("out") > 9 }, time.Minute, time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGINT))
	require.Error(t, c.Wait())
	require.Contains(t, said.String(), "of 60 runs are kept in out; the same command goes on with the others")
	again := newLockedText()
	ends(t, process(t, again, append(sweepArgs("out"), "--workers", "2")...), again)
	sameFiles(t, "serial", "out")
}

// TestWorkersOnRealMachines is the long version: 1, 2 and 4 workers; workers and the coordinator killed; a worker that
// is suspended for longer than its lease. It says how long each took.
func TestWorkersOnRealMachines(t *testing.T) {
	if !soak.Asked() {
		t.Skip("set DECODESIM_SOAK=1: a lease of 30 s has to end")
	}
	unasked(t)
	inDir(t, handed)
	args := func(out string) []string {
		return []string{"sweep", "chat.yaml", "--over", "rate=5:100:1", "--seeds", "2", "--set", "workload.requests=5000",
			"--out", out}
	}
	began := time.Now()
	said := newLockedText()
	serial := process(t, said, args("serial")...)
	ends(t, serial, said)
	t.Logf("serial: %.1f s, %.1f s of CPU", time.Since(began).Seconds(), cpu(serial))
	for _, n := range []int{1, 2, 4} {
		out := fmt.Sprint("out-", n)
		began, said := time.Now(), newLockedText()
		c := process(t, said, append(args(out), "--workers", fmt.Sprint(n))...)
		ends(t, c, said)
		t.Logf("%d workers: %.1f s, %.1f s of CPU in all", n, time.Since(began).Seconds(), cpu(c))
		sameFiles(t, "serial", out)
	}
	at, said := port(t), newLockedText()
	coordinator := func() *exec.Cmd { return process(t, said, append(args("out"), "--listen", at)...) }
	c := coordinator()
	token := filepath.Join("out", "sweep.queue", "token")
	require.Eventually(t, func() bool { return exists(token) }, time.Minute, 5*time.Millisecond)
	joins := func() *exec.Cmd { return process(t, said, "worker", "nats://"+at, "--token-file", token) }
	suspended, killed := joins(), joins()
	require.Eventually(t, func() bool { return rowsIn("out") > 10 }, time.Minute, time.Millisecond)
	require.NoError(t, suspended.Process.Signal(syscall.SIGSTOP))
	stopped := time.Now()
	require.Eventually(t, func() bool { return rowsIn("out") > 40 }, time.Minute, time.Millisecond)
	require.NoError(t, killed.Process.Signal(syscall.SIGKILL))
	joins()
	require.Eventually(t, func() bool { return rowsIn("out") > 70 }, time.Minute, time.Millisecond)
	require.NoError(t, c.Process.Signal(syscall.SIGKILL))
	_ = c.Wait()
	c = coordinator()
	time.Sleep(time.Until(stopped.Add(45 * time.Second)))
	require.NoError(t, suspended.Process.Signal(syscall.SIGCONT))
	ends(t, c, said)
	sameFiles(t, "serial", "out")
	t.Log(said)
}

// cpu is how long a process that has ended kept a core busy, in seconds.
func cpu(c *exec.Cmd) float64 {
	return (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
}

func TestWorkerMistakes(t *testing.T) {
	inDir(t, handed)
	for line, want := range map[string]string{
		"worker":                   "worker: missing the URL of a queue",
		"worker http://x":          `queue "http://x": expected nats://HOST:PORT or tls://HOST:PORT`,
		"worker nats://x --pin 12": "--pin 12: expected the 64 hexadecimal digits",
		"worker nats://127.0.0.1 --token-file nowhere":                          "--token-file: stat nowhere",
		"worker nats://127.0.0.1 --idle -1s":                                    "--idle -1s: expected no negative time",
		"worker tls://127.0.0.1 --tls-ca chat.yaml":                             "--tls-ca chat.yaml: no certificate in it",
		"sweep chat.yaml --ladder --out x --workers 0":                          "--workers 0: expected 1 to 1000",
		"sweep chat.yaml --ladder --out x --tls-cert c":                         "--tls-cert stands without --listen",
		"sweep chat.yaml --ladder --out x --token-file c":                       "--token-file stands without --queue",
		"sweep chat.yaml --ladder --out x --listen 4222":                        "--listen 4222: expected HOST:PORT",
		"sweep chat.yaml --ladder --out x --listen 127.0.0.1:0 --queue nats://": "--queue stands beside --listen",
		"sweep chat.yaml --ladder --out x --queue nats://127.0.0.1:1":           "queue nats://127.0.0.1:1: ",
		"sweep chat.yaml --ladder --out x --workers 2 --shard 1/2":              "--shard stands beside workers",
		"sweep chat.yaml --ladder --out x --queue nats://h --queue-replicas 2":  "--queue-replicas 2: expected 1, 3 or 5",
	} {
		status, out, errOut := try(strings.Fields(line)...)
		assert.Equal(t, exitBadInput, status, line)
		assert.Empty(t, out)
		assert.Contains(t, errOut, want, line)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
		assert.Equal(t, []string{"chat.yaml"}, namesIn(t, "."), line)
	}
}
