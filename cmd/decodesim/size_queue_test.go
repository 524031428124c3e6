package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// distributed is a study of a few hundred short runs.
const distributed = "scenario: chat.yaml\nbudget: {gpus: 8}\nrate: {at: 40}\nslo: {ttft_ms: 500, tpot_ms: 40}\n" +
	"search: {topology: [colocated, disaggregated], tensor_parallel: [1, 2], max_num_seqs: [64, 256]}\n" +
	"requests: 1000\nseeds: 3\n"

func searchArgs(out string) []string { return []string{"size", "study.yaml", "--out", out} }

// TestWorkersMakeASearch: the same bytes as one process, though the coordinator is killed, and a worker with it.
func TestWorkersMakeASearch(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, handed)
	require.NoError(t, os.WriteFile("study.yaml", []byte(distributed), 0o600))
	require.NoError(t, program(t, searchArgs("serial")...).Run())
	at, said := port(t), newLockedText()
	c := process(t, said, append(searchArgs("out"), "--listen", at)...)
	token := filepath.Join("out.queue", "token")
	require.Eventually(t, func() bool { return exists(token) }, time.Minute, 5*time.Millisecond)
	text, err := os.ReadFile(token)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("elsewhere", 0o700))
	joins := func() {
		w := program(t, "worker", "nats://"+strings.TrimSpace(string(text))+"@"+at)
		w.Dir, w.Stderr = "elsewhere", said // it needs no file of the study
		require.NoError(t, w.Start())
		t.Cleanup(func() { _ = w.Process.Kill(); _ = w.Wait() })
	}
	joins()
	working := func() bool { return strings.Contains(said.String(), "works on size study") }
	if !assert.Eventually(t, working, time.Minute, time.Millisecond) {
		t.Fatal(said.String())
	}
	time.Sleep(300 * time.Millisecond) // somewhere among its runs
	_ = c.Process.Signal(syscall.SIGKILL)
	_ = c.Wait()
	if exists("out") { // a machine that is fast enough was done
		sameFiles(t, "serial", "out")
		return
	}
	c = process(t, said, append(searchArgs("out"), "--listen", at)...)
	joins()
	ends(t, c, said)
	sameFiles(t, "serial", "out")
	assert.NoFileExists(t, token, "nothing is left to go on with")
}

// TestWorkersAreHiredForASearch, whose answer goes to stdout alone; a signal ends them all.
func TestWorkersAreHiredForASearch(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, handed)
	require.NoError(t, os.WriteFile("study.yaml", []byte(distributed), 0o600))
	serial, err := program(t, "size", "study.yaml", "--json").Output()
	require.NoError(t, err)
	by, err := program(t, "size", "study.yaml", "--json", "--workers", "2").Output()
	require.NoError(t, err)
	assert.Equal(t, string(serial), string(by))
	said := newLockedText()
	c := process(t, said, append(searchArgs("out"), "--workers", "2")...)
	require.Eventually(t, func() bool { return exists("out.queue") }, time.Minute, time.Millisecond)
	_ = c.Process.Signal(syscall.SIGINT)
	if c.Wait() == nil {
		return // it was faster than the signal
	}
	assert.Equal(t, 128+int(syscall.SIGINT), c.ProcessState.ExitCode())
	assert.NoFileExists(t, "out")
}

func TestMistakesOfASearchByWorkers(t *testing.T) {
	t.Setenv(asProgram, "1") // workers that a command starts: without it they would be all these tests
	inDir(t, handed)
	require.NoError(t, os.WriteFile("study.yaml", []byte(distributed), 0o600))
	for line, want := range map[string]string{
		"size study.yaml --shard 1/2":                       "a search decides by what it has simulated",
		"size study.yaml --listen 127.0.0.1:0":              "--listen stands without --out DIR",
		"size study.yaml --workers 0":                       "--workers 0: expected 1 to 1000",
		"size study.yaml --queue nats://127.0.0.1:1":        "queue nats://127.0.0.1:1: ",
		"size study.yaml --set rate.at=-1 --workers 1":      "rate.at",
		"size study.yaml --set model=x --workers 1 --out o": "",
	} {
		status, out, errOut := try(strings.Fields(line)...)
		assert.Equal(t, exitBadInput, status, line)
		assert.Empty(t, out)
		assert.Contains(t, errOut, want, line)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
		assert.Equal(t, []string{"chat.yaml", "study.yaml"}, namesIn(t, "."), line)
	}
}
