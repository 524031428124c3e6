package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// TestMemoryIsFlatInTheRowsOfATrace: twenty-five times as many rows take as much memory, of CSV, zipped or not, and of
// JSON lines. What a run keeps of one row, or reads ahead, would be 4 MB at 80 bytes.
func TestMemoryIsFlatInTheRowsOfATrace(t *testing.T) {
	soak.TakesLong(t)
	dir := t.TempDir()
	scenario := filepath.Join(dir, "s.yaml")
	require.NoError(t, os.WriteFile(scenario, []byte("name: rows\nmodel: llama-3.1-8b\npools:\n"+
		"  - {name: serve, gpu: h100-sxm}\nworkload:\n  trace: {file: 2000.csv}\n"), 0o600))
	for _, n := range []int{2000, 50_000} {
		file := filepath.Join(dir, fmt.Sprint(n))
		csv, err := os.Create(file + ".csv")
		require.NoError(t, err)
		zipped, err := os.Create(file + ".csv.gz")
		require.NoError(t, err)
		lines, err := os.Create(file + ".jsonl")
		require.NoError(t, err)
		z := gzip.NewWriter(zipped)
		both := io.MultiWriter(csv, z)
		_, _ = fmt.Fprintln(both, "arrival_s,input_tokens,output_tokens")
		for i := range n {
			_, _ = fmt.Fprintf(both, "%.3f,%d,%d\n", float64(i)/50, 1+i*7%90, 1+i%5)
			_, _ = fmt.Fprintf(lines, `{"timestamp": %d, "input_length": %d, "output_length": %d}`+"\n", i*20, 1+i*7%90, 1+i%5)
		}
		for _, c := range []io.Closer{z, zipped, csv, lines} {
			require.NoError(t, c.Close())
		}
	}
	for _, suffix := range []string{".csv", ".csv.gz", ".jsonl"} {
		few, many := "2000"+suffix, "50000"+suffix
		run := func(file string) int64 {
			return peak(t, dir, "run", scenario, "--headroom", "off", "--set", "workload.trace.file="+file)
		}
		assert.Less(t, run(many), run(few)+4e6, "run %s", suffix)
		describe := func(file string) int64 { return peak(t, dir, "workload", "describe", file) }
		assert.Less(t, describe(many), describe(few)+4e6, "describe %s", suffix)
	}
	convert := func(file string) int64 { return peak(t, dir, "workload", "convert", file, "--format", "azure") }
	assert.Less(t, convert("50000.csv"), convert("2000.csv")+4e6)
}

// peak returns the most bytes that the program had in memory at once. A collection begins at 4 MB.
func peak(t *testing.T, dir string, args ...string) int64 {
	t.Helper()
	c := program(t, args...)
	c.Dir = dir
	c.Env = append(c.Environ(), "GOGC=10")
	said, err := c.CombinedOutput()
	require.NoError(t, err, "%s", said[max(0, len(said)-500):])
	return c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024
}
