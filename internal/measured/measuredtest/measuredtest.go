// Package measuredtest reads measurements for the tests of the packages that understand them.
package measuredtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/formats"
)

// ReadShared reads a file of the measured data, which lie outside the repository.
func ReadShared(t *testing.T, name string) *measured.File {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	path := filepath.Join(shared, "groundtruth", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s: set DECODESIM_SHARED to the data folder (looked in %s)", name, shared)
	}
	f, err := formats.Read(path, shared)
	require.NoError(t, err)
	return f
}

// ReadText reads a file of that content, with companions of the given names and contents beside it.
func ReadText(t *testing.T, content string, companions ...string) (*measured.File, error) {
	dir := t.TempDir()
	for i := 0; i < len(companions); i += 2 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, companions[i]), []byte(companions[i+1]), 0o600))
	}
	path := filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	f, err := formats.Read(path, "")
	if err != nil {
		return nil, trimmed{strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "")}
	}
	return f, nil
}

// trimmed is an error without the folder of the test.
type trimmed struct{ text string }

func (e trimmed) Error() string { return e.text }

// OneRun returns the only run of a file.
func OneRun(t *testing.T, f *measured.File, err error) measured.Run {
	require.NoError(t, err)
	require.Len(t, f.Runs, 1)
	return f.Runs[0]
}

// SkipReasons counts why runs are skipped; "" counts those that are not.
func SkipReasons(f *measured.File) map[string]int {
	n := map[string]int{}
	for _, r := range f.Runs {
		n[r.Skip]++
	}
	return n
}

// CountRows counts the rows, of which each has an id of its own.
func CountRows(t *testing.T, f *measured.File) int {
	seen := map[string]bool{}
	for _, run := range f.Runs {
		for _, row := range run.Rows {
			assert.False(t, seen[row.ID], "%s is there twice", row.ID)
			seen[row.ID] = true
		}
	}
	return len(seen)
}

// BuildAll loads and builds the scenario of every run that is not skipped, one of each pool.
func BuildAll(t *testing.T, f *measured.File) {
	tried := map[string]bool{}
	for _, run := range f.Runs {
		pool, _, _ := strings.Cut(run.Scenario, "workload:")
		if run.Skip != "" || tried[pool] {
			continue
		}
		tried[pool] = true
		s, err := configs.Read(run.ID, []byte(run.Scenario), configs.Options{})
		if !assert.NoError(t, err, run.Scenario) {
			continue
		}
		b, err := build.New(s)
		if assert.NoError(t, err, run.Scenario) {
			assert.NoError(t, b.Close())
		}
	}
	require.NotEmpty(t, tried)
}

// TableOf writes a CSV file of one row from pairs of column and value, some of which others replace.
func TableOf(fields, edits []string) string {
	var header, row []string
	for i := 0; i < len(fields); i += 2 {
		value := fields[i+1]
		for j := 0; j < len(edits); j += 2 {
			if edits[j] == fields[i] {
				value = edits[j+1]
			}
		}
		header, row = append(header, fields[i]), append(row, value)
	}
	return strings.Join(header, ",") + "\n" + strings.Join(row, ",") + "\n"
}

// ProfiledTable is a table of one profiled run; edits are pairs of column and value.
func ProfiledTable(edits ...string) string {
	return TableOf([]string{
		"id", "p1", "model", "openai/gpt-oss-120b", "system", "h200_sxm", "gpus_total", "1", "tp", "1", "backend", "vllm",
		"backend_version", "0.22.0", "precision", "mxfp4(marlin)", "isl", "8000", "osl", "1000", "length_dist", "uniform_0.8",
		"concurrency", "4", "num_prompts", "40", "warmup_prompts", "8", "spec_method", "none", "run_kind", "repeat",
		"request_throughput", "0.5", "output_throughput", "500", "ttft_mean_ms", "300", "ttft_median_ms", "250",
		"ttft_p99_ms", "900",
		"tpot_mean_ms", "7", "itl_mean_ms", "6.5", "itl_p90_ms", "8", "e2e_mean_ms", "7000", "e2e_std_ms", "40",
		"kv_max", "2.5", "spec_accept_len", "",
	}, edits)
}

// ReadResult reads a result file of a benchmark tool, with edits as pairs of old and new text.
func ReadResult(t *testing.T, name string, edits ...string) (*measured.File, error) {
	text, err := os.ReadFile(filepath.Join("..", "benchtools", "testdata", name))
	require.NoError(t, err)
	content := string(text)
	for i := 0; i < len(edits); i += 2 {
		require.Contains(t, content, edits[i])
		content = strings.ReplaceAll(content, edits[i], edits[i+1])
	}
	return ReadText(t, content)
}

// Workload writes the lines of a load as it goes over a scenario.
func Workload(lines ...string) string { return "workload:\n  " + strings.Join(lines, "\n  ") + "\n" }
