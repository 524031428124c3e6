package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/soak"
)

// own is measurements of a machine slower than expected; one row is of a model that is not known, one speculates.
const own = `id,model,gpu,engine,efficiency,concurrency,prompt_tokens,output_tokens,requests,ttft_ms,tpot_ms
alone,llama-3.1-8b,h100-sxm,vllm-v1,prior,1,500,60,6,31,8.2
busy,llama-3.1-8b,h100-sxm,vllm-v1,prior,64,500,60,256,560,16.1
long,llama-3.1-8b,h100-sxm,vllm-v1,prior,8,6000,60,48,730,22.8
mixed,llama-3.1-8b,h100-sxm,vllm-v1,prior,16,2000,60,96,580,15.1
elsewhere,no-such-model,h100-sxm,vllm-v1,prior,4,500,40,16,50,7
drafts,llama-3.1-8b,h100-sxm,vllm-v1,prior,2,500,60,12,40,3.1
`

func TestWhatDoFourPointsTell(t *testing.T) {
	golden, err := filepath.Abs("testdata/what-do-four-points-tell.txt")
	require.NoError(t, err)
	inData(t, own)
	status, table, errOut := try("calibrate", "--data", "data.csv", "--out", "mine.yaml")
	require.Equal(t, exitOK, status, errOut)
	require.Empty(t, errOut)
	file, err := os.ReadFile("mine.yaml")
	require.NoError(t, err)
	got := own + "\n" + table + "\n" + string(file)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
	assert.Equal(t, []string{"data.csv", "mine.yaml"}, entries(t, "."), "and no temporary file")
}

func TestACalibrationAsJSON(t *testing.T) {
	inData(t, own)
	status, out, errOut := try("calibrate", "--data", "data.csv", "--json", "--out", "mine.yaml", "--set",
		"pools.serve.max_num_seqs=32")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, "mine.yaml\n", errOut, "results are for a program")
	var got struct {
		Schema    string
		Data, Set []string
		Runs      int
		Constants []calibration.Constant
		Errors    []struct {
			Metric  string
			LeftOut struct {
				N      int
				Median float64 `json:"median_abs_error_pct"`
			} `json:"left_out"`
		}
		Skips   []calibration.Skip
		TooFast []calibration.TooFast `json:"faster_than_bound"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	assert.Equal(t, "decodesim/calibration/v1", got.Schema)
	assert.Equal(t, []string{"data.csv"}, got.Data)
	assert.Equal(t, []string{"pools.serve.max_num_seqs=32"}, got.Set)
	assert.Equal(t, 4, got.Runs)
	assert.Len(t, got.Constants, len(calibration.Parameters()), "none is off")
	assert.Equal(t, []calibration.Skip{{Reason: "model no-such-model is not in the catalog", Runs: 1}}, got.Skips)
	require.Len(t, got.TooFast, 1)
	assert.Equal(t, "drafts", got.TooFast[0].ID)
	require.Len(t, got.Errors, 2)
	assert.Equal(t, []string{"ttft", "tpot"}, []string{got.Errors[0].Metric, got.Errors[1].Metric})
	assert.Equal(t, 4, got.Errors[1].LeftOut.N)
	assert.Positive(t, got.Errors[1].LeftOut.Median)
}

// TestTheFileOfACalibrationIsAccepted by run, explain and validate, and predicts what the calibration said.
func TestTheFileOfACalibrationIsAccepted(t *testing.T) {
	text := own[:strings.Index(own, "elsewhere")]
	inData(t, text)
	require.NoError(t, os.WriteFile("chat.yaml", []byte(small), 0o600))
	status, table, errOut := try("calibrate", "--data", "data.csv", "--out", "mine.yaml")
	require.Equal(t, exitOK, status, errOut)
	for _, command := range []string{"run", "explain"} {
		_, before, _ := try(command, "chat.yaml", "--json")
		status, after, errOut := try(command, "chat.yaml", "--json", "--set", "pools.serve.efficiency=mine.yaml")
		require.Equal(t, exitOK, status, errOut)
		assert.NotEqual(t, before, after, command)
	}
	for _, args := range [][]string{{"--efficiency", "mine.yaml"}, {"--set", "pools.serve.efficiency=mine.yaml"}} {
		status, out, errOut := try(append([]string{"validate", "--data", "data.csv"}, args...)...)
		require.Equal(t, exitOK, status, errOut)
		for _, metric := range []string{"TTFT", "TPOT"} {
			said, found := fields(t, table, metric+"  "), fields(t, out, "all ")
			if metric == "TPOT" {
				found = fields(t, out[strings.Index(out, "\nTPOT  "):], "all ")
			}
			assert.Equal(t, found[3], said[6], "median of %s\n%s", metric, table)
		}
	}
}

// fields returns the fields of the first line that starts so.
func fields(t *testing.T, text, start string) []string {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, start) {
			return strings.Fields(line)
		}
	}
	require.Fail(t, "no line "+start, text)
	return nil
}

func TestSeveralFilesAreOneCalibration(t *testing.T) {
	inData(t, own)
	lines := strings.SplitAfter(own, "\n")
	require.NoError(t, os.WriteFile("a.csv", []byte(strings.Join(lines[:3], "")), 0o600))
	require.NoError(t, os.WriteFile("b.csv", []byte(lines[0]+strings.Join(lines[3:], "")), 0o600))
	_, one, _ := try("calibrate", "--data", "data.csv")
	status, two, errOut := try("calibrate", "--data", "a.csv", "--data", "b.csv")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, strings.Replace(one, "data.csv", "a.csv, b.csv", 1), two)
}

func TestACalibrationStartsFromWhatIsSet(t *testing.T) {
	inData(t, own)
	status, _, errOut := try("calibrate", "--data", "data.csv", "--out", "mine.yaml")
	require.Equal(t, exitOK, status, errOut)
	status, out, errOut := try("calibrate", "--data", "data.csv", "--set", "pools.serve.efficiency=mine.yaml", "--json")
	require.Equal(t, exitOK, status, errOut)
	var got struct{ Constants []calibration.Constant }
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	file, err := os.ReadFile("mine.yaml")
	require.NoError(t, err)
	i := slices.IndexFunc(got.Constants, func(k calibration.Constant) bool { return k.Name == "compute" })
	assert.Contains(t, string(file), "\ncompute: "+strings.TrimRight(jsonOf(t, got.Constants[i].Prior), "\n")+" ")
}

func jsonOf(t *testing.T, x any) string {
	text, err := json.Marshal(x)
	require.NoError(t, err)
	return string(text)
}

func TestACalibrationIsTheSameToTheByte(t *testing.T) {
	soak.TakesLong(t)
	inData(t, own)
	var want string
	for i := range 4 {
		before := runtime.GOMAXPROCS(1 + i%2)
		status, out, errOut := try("calibrate", "--data", "data.csv", "--json")
		runtime.GOMAXPROCS(before)
		require.Equal(t, exitOK, status, errOut)
		if i == 0 {
			want = out
		}
		assert.Equal(t, want, out)
	}
}

func TestCtrlCLeavesNothingOfACalibration(t *testing.T) {
	inData(t, own)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out, errOut bytes.Buffer
	status := execute(ctx, &out, &errOut, []string{"calibrate", "--data", "data.csv", "--out", "mine.yaml"})
	assert.Equal(t, exitSignal+int(syscall.SIGINT), status)
	assert.Equal(t, "decodesim: interrupted\n", errOut.String())
	assert.Empty(t, out.String())
	assert.Equal(t, []string{"data.csv"}, entries(t, "."))
}

func TestMistakesOfACalibrationAreNamed(t *testing.T) {
	inData(t, own)
	head, rows, _ := strings.Cut(own, "\n")
	unknown, _, _ := strings.Cut(rows[strings.Index(rows, "elsewhere"):], "\n")
	fast := rows[strings.Index(rows, "drafts"):]
	first, _, _ := strings.Cut(rows, "\n")
	for name, text := range map[string]string{
		"empty.csv": "", "none.csv": head + "\n", "unknown.csv": head + "\n" + unknown + "\n", "fast.csv": head + "\n" + fast,
		"negative.csv": strings.Replace(own, ",8.2", ",-8.2", 1), "idle.csv": strings.Replace(own, "60,6,31", "60,0,31", 1),
		"two.csv": head + "\n" + first + "\n" +
			strings.NewReplacer("alone", "other", "h100-sxm", "h200-sxm").Replace(first) + "\n",
		"old.yaml": "bandwidth: 0.9\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	require.NoError(t, os.Mkdir("dir.yaml", 0o700))
	files := entries(t, ".")
	data := []string{"--data", "data.csv"}
	for _, mistake := range []struct {
		want string
		args []string
	}{
		{`calibrate: missing --data: a file of measurements; see decodesim calibrate --help`, nil},
		{`calibrate: "data.csv" is one argument too many; expected only flags, such as --data data.csv`,
			[]string{"data.csv"}},
		{`--data is empty; expected a file of measurements`, []string{"--data", ""}},
		{`--data "data.csv" is given twice; expected each file once`, append(data, data...)},
		{`data file "absent.csv" does not exist`, append(data, "--data", "absent.csv")},
		{`data file "empty.csv" is empty`, []string{"--data", "empty.csv"}},
		{`none.csv: no rows; expected a header and a row per measurement`, []string{"--data", "none.csv"}},
		{`negative.csv:2: tpot_ms: "-8.2"; expected a number above 0`, []string{"--data", "negative.csv"}},
		{`idle.csv:2: requests: "0"; expected a whole number from 1`, []string{"--data", "idle.csv"}},
		{`no run of 1 can be fitted to; the first, "elsewhere": model no-such-model is not in the catalog`,
			[]string{"--data", "unknown.csv"}},
		{
			`every run that can be simulated beats the bound of the data sheet: "drafts" measured a TPOT of 3.1 ms, and h100-sxm takes 4.`,
			[]string{"--data", "fast.csv"}},
		{`run "alone" is of vllm-v1 on h100-sxm and run "other" of vllm-v1 on h200-sxm; expected one GPU and one engine`,
			[]string{"--data", "two.csv"}},
		{`--set pools.serve.sequences=3: no key "sequences" in pools[0]; `, append(data, "--set", "pools.serve.sequences=3")},
		{`no run of 6 can be fitted to; the first, "alone": --set pools.serve.efficiency=old.yaml: `,
			append(data, "--set", "pools.serve.efficiency=old.yaml")},
		{`--scenario "chat-80b": no such file, and none of the scenarios that are built in (`,
			append(data, "--scenario", "chat-80b")},
		{`--out is empty`, append(data, "--out", "")},
		{`--out "old.yaml": it exists, and this command replaces no file; name another file or remove it`, append(data, "--out", "old.yaml")},
		{`--out "dir.yaml": it is a directory; expected a file`, append(data, "--out", "dir.yaml")},
		{`--out "mine.txt": expected a file whose name ends in .yaml`, append(data, "--out", "mine.txt")},
		{`--out "absent/mine.yaml": cannot be written in "absent": no such file or directory`,
			append(data, "--out", "absent/mine.yaml")},
		{`--out "data.csv/mine.yaml": cannot be written in "data.csv": not a directory`,
			append(data, "--out", "data.csv/mine.yaml")},
		{`unknown flag: --dta; did you mean --data? see decodesim calibrate --help`, []string{"--dta", "x"}},
	} {
		status, out, errOut := try(append([]string{"calibrate"}, mistake.args...)...)
		assert.Equal(t, exitBadInput, status, mistake.want)
		assert.Empty(t, out, mistake.want)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
		assert.Truef(t, strings.HasPrefix(errOut, "decodesim: "+mistake.want), "got  %swant decodesim: %s", errOut,
			mistake.want)
	}
	assert.Equal(t, files, entries(t, "."), "nothing is written")
}

// TestADirectoryThatCannotBeWrittenIsRefusedFirst, unless the user of the tests may write anywhere.
func TestADirectoryThatCannotBeWrittenIsRefusedFirst(t *testing.T) {
	inData(t, own)
	require.NoError(t, os.Mkdir("locked", 0o500))
	if probe, err := os.Create("locked/probe"); err == nil {
		require.NoError(t, probe.Close())
		t.Skip("this user writes where nobody may")
	}
	status, _, errOut := try("calibrate", "--data", "data.csv", "--out", "locked/mine.yaml")
	assert.Equal(t, exitBadInput, status)
	assert.Equal(t, "decodesim: --out \"locked/mine.yaml\" cannot be written to directory \"locked\": permission denied\n",
		errOut)
}
