package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

func TestSweepMistakes(t *testing.T) {
	inDir(t, handed)
	for line, want := range map[string]string{
		"sweep":                                   "sweep: missing a scenario: a name or a path to a YAML file, or --study",
		"sweep chat.yaml":                         "sweep: missing --out DIR",
		"sweep chat.yaml --out x":                 "sweep: nothing to vary",
		"sweep chat.yaml --over rate --out x":     "--over rate: expected KEY=VALUES",
		"sweep chat.yaml --over rate=1,a --out x": "--over rate=a: ",
		"sweep chat.yaml --over replicas=1,2 --out x": "--over replicas=1,2: 2 pools have this key; expected one of " +
			"them, such as pools.prefill.replicas",
		"sweep chat.yaml --ladder --seeds 0 --out x":   "--seeds 0: expected 1 to 1000",
		"sweep chat.yaml --ladder --shard 3/2 --out x": "--shard 3/2: expected i/n",
		"sweep chat.yaml --ladder --shard 1/99 --out x": "--shard 1/99: the sweep has 18 runs; expected at most so " +
			"many shards",
		"sweep chat.yaml --study s.yaml --out x":           `sweep: both --study s.yaml and "chat.yaml"`,
		"sweep --study s.yaml --over rate=1 --out x":       "sweep: both --study and --over",
		"sweep --study s.yaml --out x":                     `study file "s.yaml" does not exist`,
		"sweep chat.yaml --ladder --plot rate,x --out x":   `--plot rate,x: no column "x"`,
		"sweep nowhere --ladder --out x":                   `scenario "nowhere" not found`,
		"sweep merge --out x":                              "merge: missing the directories of shards",
		"sweep merge a":                                    "merge: missing --out DIR",
		"sweep chat.yaml --over rate=1 --out chat.yaml":    `output "chat.yaml" is a file`,
		"sweep chat.yaml --over workload.seed=1,2 --out x": `no key "seed" in workload`,
	} {
		status, out, errOut := try(strings.Fields(line)...)
		assert.Equal(t, exitBadInput, status, line)
		assert.Empty(t, out)
		assert.Contains(t, errOut, want, line)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
		assert.Equal(t, []string{"chat.yaml"}, namesIn(t, "."), line)
	}
}

// sweepArgs is a sweep of a second or two.
func sweepArgs(out string) []string {
	return []string{"sweep", "chat.yaml", "--over", "rate=5:100:5", "--seeds", "3", "--set", "workload.requests=800",
		"--out", out}
}

// TestASweepThatIsKilledGoesOn: interrupted by a signal and killed at instants all over it, it ends with the files of
// one that was left in peace.
func TestASweepThatIsKilledGoesOn(t *testing.T) {
	inDir(t, handed)
	require.NoError(t, program(t, sweepArgs("whole")...).Run())
	begun := func() int {
		text, _ := os.ReadFile("out/sweep.journal")
		return bytes.Count(text, []byte("\n"))
	}
	signals := []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGKILL}
	if soak.Brief() {
		signals = signals[:2]
	}
	for i, signal := range signals {
		c := program(t, sweepArgs("out")...)
		var said strings.Builder
		c.Stderr = &said
		require.NoError(t, c.Start())
		require.Eventually(t, func() bool { return begun() > 8*(i+1) }, time.Minute, time.Millisecond)
		require.NoError(t, c.Process.Signal(signal))
		sent := time.Now()
		var ended *exec.ExitError
		require.ErrorAs(t, c.Wait(), &ended)
		assert.Less(t, time.Since(sent), 10*time.Second, "a second on a machine of one's own")
		if signal != syscall.SIGKILL {
			assert.Equal(t, 128+int(signal), ended.ExitCode())
			assert.Contains(t, said.String(), "of 60 runs are kept in out; the same command goes on with the others")
		}
		assert.FileExists(t, "out/sweep.journal")
	}
	require.NoError(t, program(t, sweepArgs("out")...).Run())
	sameFiles(t, "whole", "out")
	status, _, errOut := try(sweepArgs("out")...)
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, `output "out" already holds a run (`)
}

// TestAStudyOfASweepSaysWhatTheFlagsDo.
func TestAStudyOfASweepSaysWhatTheFlagsDo(t *testing.T) {
	inDir(t, handed)
	require.NoError(t, os.WriteFile("s.yaml", []byte("scenario: ./chat.yaml\nover: ['rate=5:15:5']\nseeds: 2\n"), 0o600))
	status, byFlags, errOut := try("sweep", "chat.yaml", "--over", "rate=5:15:5", "--seeds", "2", "--out", "a", "--json")
	require.Equal(t, exitOK, status, errOut)
	status, byStudy, errOut := try("sweep", "--study", "s.yaml", "--out", "b", "--json")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, byFlags, byStudy)
}

// TestFigureOfTheDocumentationOfSweeps: the figure is the one that its command draws.
func TestFigureOfTheDocumentationOfSweeps(t *testing.T) {
	soak.TakesLong(t)
	figure := filepath.Join(root, "docs", "load_curve.svg")
	t.Chdir(t.TempDir())
	outputOf(t, []string{"sweep", "chat-70b", "--ladder", "--out", "curve"})
	drawn, err := os.ReadFile(filepath.Join("curve", "load_curve.svg"))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(figure, drawn, 0o644))
	}
	documented, err := os.ReadFile(figure)
	require.NoError(t, err)
	require.True(t, bytes.Equal(drawn, documented), "docs/load_curve.svg is not what decodesim sweep chat-70b --ladder "+
		"draws; %s", updateWith)
}

// TestASweepWithAFigureInItsWayIsRefused: the names of figures are known before the first run, as asked for or not.
func TestASweepWithAFigureInItsWayIsRefused(t *testing.T) {
	for name, args := range map[string]string{
		"ttft_p95_s_by_rate.svg": "--over rate=5,10 --plot rate,ttft_p95_s",
		"output_tokens_per_s_per_gpu_by_rate_and_max_num_seqs.png": "--over rate=5,10 " +
			"--over pools.serve.max_num_seqs=8,16",
	} {
		inDir(t, small)
		require.NoError(t, os.Mkdir("out", 0o700))
		require.NoError(t, os.WriteFile(filepath.Join("out", name), []byte("mine"), 0o600))
		status, out, errOut := try(append(strings.Fields("sweep chat.yaml --out out"), strings.Fields(args)...)...)
		assert.Equal(t, exitBadInput, status)
		assert.Empty(t, out)
		assert.Contains(t, errOut, `decodesim: output "out" already holds a run (`+name+`)`)
		assert.Equal(t, []string{name}, entries(t, "out"), "what was there before")
	}
}

// TestAFitWithAFileInItsWayIsRefused, before the trace is read.
func TestAFitWithAFileInItsWayIsRefused(t *testing.T) {
	inDir(t, small)
	require.NoError(t, os.Mkdir("out", 0o700))
	require.NoError(t, os.WriteFile("out/workload.yaml", []byte("mine"), 0o600))
	_, _, errOut := try("workload", "fit", "nowhere.csv", "--out", "out")
	assert.Contains(t, errOut, `decodesim: output "out" already holds a run (workload.yaml)`)
}
