package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/sim/metrics"
)

// points is a table of measurements that says its deployment; nothing is faster than the textbook's engine.
const points = `id,model,gpu,engine,concurrency,prompt_tokens,output_tokens,requests,ttft_ms,tpot_ms,tpot_p99_ms,output_tokens_per_s
alone,llama-3.1-8b,h100-sxm,textbook,1,500,40,4,12.5,6,6.1,150
busy,llama-3.1-8b,h100-sxm,textbook,16,500,40,64,60,8.25,9,1200
long,llama-3.1-8b,h200-sxm,textbook,4,4000,40,16,250,3,,
elsewhere,no-such-model,h100-sxm,textbook,4,500,40,16,50,7,7,500
`

// inData moves to an empty directory that holds data.csv, out of sight of shared data.
func inData(t *testing.T, text string) {
	t.Setenv("DECODESIM_SHARED", "")
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("data.csv", []byte(text), 0o600))
}

func TestHowFarOffIsASmallTable(t *testing.T) {
	golden, err := filepath.Abs("testdata/how-far-off-is-a-small-table.txt")
	require.NoError(t, err)
	inData(t, points)
	status, table, errOut := try("validate", "--data", "data.csv", "--out", "out")
	require.Equal(t, exitOK, status, errOut)
	require.Empty(t, errOut)
	predictions, err := os.ReadFile("out/predictions.csv")
	require.NoError(t, err)
	got := points + "\n" + table + "\n" + string(predictions)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// predicted returns the predictions of predictions.csv by id and metric, as they stand there, with the reasons.
func predicted(t *testing.T, dir string) map[string]string {
	text, err := os.ReadFile(filepath.Join(dir, "predictions.csv"))
	require.NoError(t, err)
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"id", "metric", "measured", "predicted", "error_pct", "skipped"}, rows[0])
	out := map[string]string{}
	for _, r := range rows[1:] {
		out[r[0]+" "+r[1]] = r[3] + "; " + r[5]
	}
	require.Len(t, out, len(rows)-1, "a line per value")
	return out
}

// garbled puts other numbers into the columns that are measured.
func garbled(t *testing.T, text string, measured func(column string) bool) string {
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	for j, column := range rows[0] {
		for i, row := range rows[1:] {
			if measured(column) && row[j] != "" {
				row[j] = []string{"1", "77.7", "123456", "0.003"}[(i+j)%4]
			}
		}
	}
	var out strings.Builder
	w := csv.NewWriter(&out)
	require.NoError(t, w.WriteAll(rows))
	return out.String()
}

func TestOtherMeasurementsChangeNoPrediction(t *testing.T) {
	inData(t, points)
	other := garbled(t, points, func(column string) bool {
		return strings.HasSuffix(column, "_ms") || strings.HasSuffix(column, "_per_s")
	})
	require.NotContains(t, other, "8.25")
	require.NoError(t, os.WriteFile("other.csv", []byte(other), 0o600))
	for _, name := range []string{"data", "other"} {
		status, _, errOut := try("validate", "--data", name+".csv", "--out", name)
		require.Equal(t, exitOK, status, errOut)
	}
	assert.Equal(t, predicted(t, "data"), predicted(t, "other"))
	assert.Len(t, predicted(t, "data"), 14)
}

// TestSharedMeasurementsAreAllAccountedFor takes every fortieth row of a large table.
func TestSharedMeasurementsAreAllAccountedFor(t *testing.T) {
	soak.TakesLong(t)
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	shared, err := filepath.Abs(shared)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(shared, "groundtruth", "A_aic_silicon.csv"))
	if err != nil {
		t.Skip("no measurements: set DECODESIM_SHARED to the folder that holds groundtruth/")
	}
	lines := strings.SplitAfter(string(text), "\n")
	var some strings.Builder
	ids := map[string]bool{}
	for i := 0; i < len(lines); i += 120 {
		some.WriteString(lines[i])
		if id, _, _ := strings.Cut(lines[i], ","); i > 0 && id != "" {
			ids[id] = true
		}
	}
	inData(t, some.String())
	t.Setenv("DECODESIM_SHARED", shared)
	other := garbled(t, some.String(), func(column string) bool { return strings.HasSuffix(column, "_mean_ms") })
	require.NoError(t, os.WriteFile("other.csv", []byte(other), 0o600))
	for _, name := range []string{"data", "other"} {
		status, _, errOut := try("validate", "--data", name+".csv", "--out", name)
		require.Equal(t, exitOK, status, errOut)
	}
	got := predicted(t, "data")
	assert.Equal(t, got, predicted(t, "other"), "no measured latency is read before it is predicted")
	for id := range ids {
		assert.Contains(t, got, id+" tpot")
	}
	assert.Len(t, got, 2*len(ids))
	simulated := 0
	for _, p := range got {
		if !strings.HasPrefix(p, ";") {
			simulated++
		}
	}
	assert.Greater(t, simulated, len(got)/4)
}

func TestValidationIsTheSameToTheByte(t *testing.T) {
	inData(t, points)
	for _, procs := range []int{1, 2} {
		before := runtime.GOMAXPROCS(procs)
		defer runtime.GOMAXPROCS(before)
		status, _, errOut := try("validate", "--data", "data.csv", "--out", []string{"", "one", "two"}[procs])
		require.Equal(t, exitOK, status, errOut)
	}
	names := entries(t, "one")
	assert.Equal(t, []string{
		"error_by_concurrency.png", "error_by_concurrency.svg", "parity_tpot.png", "parity_tpot.svg", "parity_ttft.png",
		"parity_ttft.svg",
		"predictions.csv", "report.html", "validation.json",
	}, names)
	for _, name := range names {
		one, err := os.ReadFile(filepath.Join("one", name))
		require.NoError(t, err)
		two, err := os.ReadFile(filepath.Join("two", name))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(one, two), name)
	}
}

func TestTheJSONIsTheFile(t *testing.T) {
	inData(t, points)
	status, out, errOut := try("validate", "--data", "data.csv", "--json", "--out", "out")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, errOut, "validation.json\n")
	file, err := os.ReadFile("out/validation.json")
	require.NoError(t, err)
	assert.Equal(t, string(file), out)
	var v struct {
		Schema string
		Counts validation.Counts
		Rows   []validation.Row
		Skips  []validation.Skip
	}
	require.NoError(t, json.Unmarshal(file, &v))
	assert.Equal(t, "decodesim/validation/v1", v.Schema)
	assert.Equal(t, validation.Counts{Rows: 4, Simulated: 3, Skipped: 1, Values: 14, Compared: 10}, v.Counts)
	assert.Equal(t, []validation.Skip{{Reason: "model no-such-model is not in the catalog", Rows: 1}}, v.Skips)
	assert.Equal(t, "h200-sxm", v.Rows[2].Labels.GPU)
	assert.Equal(t, "dense-gqa", v.Rows[2].Labels.Class)
}

// TestTheScenarioThatIsShownRuns reruns a row with decodesim run and finds its prediction.
func TestTheScenarioThatIsShownRuns(t *testing.T) {
	inData(t, points)
	set := []string{"validate", "--data", "data.csv", "--set", "pools.serve.max_num_seqs=8"}
	status, scenario, errOut := try(append(set, "--show", "busy")...)
	require.Equal(t, exitOK, status, errOut)
	require.NoError(t, os.WriteFile("busy.yaml", []byte(scenario), 0o600))
	assert.Contains(t, scenario, "max_num_seqs: 8 ")
	var s metrics.Summary
	status, out, errOut := try("run", "busy.yaml", "--json")
	require.Equal(t, exitOK, status, errOut)
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	status, out, errOut = try(append(set, "--json")...)
	require.Equal(t, exitOK, status, errOut)
	var v validation.Validation
	out = regexp.MustCompile(`(?s)"metrics": \[.*?\n  \],\n`).ReplaceAllString(out, "")
	require.NoError(t, json.Unmarshal([]byte(out), &v))
	i := slices.IndexFunc(v.Rows, func(r validation.Row) bool { return r.ID == "busy" })
	assert.InEpsilon(t, 1e3*s.Latency.TTFT.Mean, *v.Rows[i].Values[0].Predicted, 1e-6)
	assert.InEpsilon(t, 1e3*s.Latency.TPOT.Mean, *v.Rows[i].Values[1].Predicted, 1e-6)
	assert.Equal(t, []string{"pools.serve.max_num_seqs=8"}, v.Set)
}

func TestResultsOfAToolTakeADeployment(t *testing.T) {
	result, err := filepath.Abs(filepath.Join("..", "..", "internal", "measured", "benchtools", "testdata",
		"vllm_rate.json"))
	require.NoError(t, err)
	inData(t, points)
	status, _, errOut := try("validate", "--data", result)
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, "expected that deployment as --scenario")
	status, out, errOut := try("validate", "--data", result, "--scenario", "chat-8b")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "1 row: 1 simulated, 0 skipped\non scenario chat-8b\n")
}

func TestAnEfficiencyStandsAboveEveryRun(t *testing.T) {
	inData(t, strings.ReplaceAll(points, "textbook", "vllm-v1"))
	engine, err := os.ReadFile(filepath.Join(root, "configs", "catalog", "engines", "efficiencies", "textbook.yaml"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(engine), "\ndefault:\n")
	var ideal strings.Builder
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "  ") {
			break
		}
		ideal.WriteString(strings.TrimPrefix(line, "  "))
	}
	require.NoError(t, os.WriteFile("ideal.yaml", []byte(ideal.String()), 0o600))
	tpot := func(args ...string) string {
		dir := t.TempDir()
		status, _, errOut := try(append([]string{"validate", "--data", "data.csv", "--out", dir}, args...)...)
		require.Equal(t, exitOK, status, errOut)
		return predicted(t, dir)["alone tpot"]
	}
	usual, fast := tpot(), tpot("--efficiency", "ideal.yaml")
	assert.NotEqual(t, usual, fast)
	assert.Equal(t, fast, tpot("--set", "pools.serve.efficiency=ideal.yaml"))
}

func TestCtrlCLeavesNothingOfAValidation(t *testing.T) {
	inData(t, points)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out, errOut bytes.Buffer
	status := execute(ctx, &out, &errOut, []string{"validate", "--data", "data.csv", "--out", "out"})
	assert.Equal(t, exitSignal+int(syscall.SIGINT), status)
	assert.Equal(t, "decodesim: interrupted\n", errOut.String())
	assert.Empty(t, out.String())
	assert.Equal(t, []string{"data.csv"}, entries(t, "."))
}

// TestMeasurementsAreReadAsLongAsSomebodyWaits: a signal ends their reading, whatever it is at.
func TestMeasurementsAreReadAsLongAsSomebodyWaits(t *testing.T) {
	var rows strings.Builder
	rows.WriteString(strings.SplitAfter(points, "\n")[0])
	for i := range 500 {
		fmt.Fprintf(&rows, "r%d,llama-3.1-8b,h100-sxm,textbook,1,500,40,4,12.5,6,6.1,150\n", i)
	}
	inData(t, rows.String())
	began := time.Now()
	status, _, errOut := try("validate", "--data", "data.csv", "--show", "r1")
	require.Equal(t, exitOK, status, errOut)
	took := time.Since(began)
	ctx, cancel := context.WithTimeout(t.Context(), took/20)
	defer cancel()
	began = time.Now()
	_, _, errOut = piped(ctx, nil, "validate", "--data", "data.csv", "--show", "r1")
	assert.Contains(t, errOut, "canceled")
	assert.Less(t, time.Since(began), took/2)
}
