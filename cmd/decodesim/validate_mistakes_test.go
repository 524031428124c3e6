package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMistakesInMeasurementsAreNamed: each ends before anything is simulated or written, with one line that says where,
// what, and what would do.
func TestMistakesInMeasurementsAreNamed(t *testing.T) {
	changed := func(old, with string) string {
		require.Contains(t, points, old)
		return strings.Replace(points, old, with, 1)
	}
	head, _, _ := strings.Cut(points, "\n")
	for name, mistake := range map[string]struct{ text, want string }{
		"nothing":       {"", `data file "data.csv" is empty`},
		"no rows":       {head + "\n", `data.csv: no rows; expected a header and a row per measurement`},
		"other columns": {"a,b\n1,2\n", `data file "data.csv" has no known schema; expected `},
		"a ragged row": {changed(",6,6.1,150", ",6"),
			`data.csv:2: 10 fields, of which the header has 12; expected one for each column, in double quotes where `},
		"not a number":      {changed("12.5", "NaN"), `data.csv:2: ttft_ms: "NaN"; expected a number`},
		"an infinity":       {changed("12.5", "Inf"), `data.csv:2: ttft_ms: "Inf"; expected a number`},
		"less than nothing": {changed("8.25", "-8.25"), `data.csv:3: tpot_ms: "-8.25"; expected a number above 0`},
		"zero":              {changed("8.25", "0"), `data.csv:3: tpot_ms: "0"; expected a number above 0`},
		"a column misspelt": {changed("tpot_ms", "tpto_ms"),
			`data.csv:1: tpto_ms: no such column; expected some of ttft_ms, `},
		"half a client": {changed("textbook,1,", "textbook,0.5,"),
			`data.csv:2: concurrency: "0.5"; expected a whole number from 1`},
		"no JSON after a brace": {"{x", `data.csv:1:`},
		"an id twice": {changed("busy,", "alone,"),
			`data.csv:3: id: "alone" stands on line 2 too; expected one row per id`},
		"a column twice": {changed("tpot_p99_ms", "tpot_ms"),
			`data.csv:1: column "tpot_ms" stands twice, as columns 10 and 11; expected one of each name`},
		"a load misspelt": {changed("concurrency", "concurrancy"),
			`data.csv:1: concurrancy: no such column in the nearest schema, "points"; did you mean "concurrency"? expected `},
		"semicolons": {strings.ReplaceAll(points, ",", ";"), `data.csv: separated by ";"; expected ","`},
		"half of a gzip file": {"\x1f\x8b\x08",
			`data file "data.csv" cannot be read: its gzip data cannot be unpacked: unexpected EOF; expected a whole file`},
		"a month of waiting": {changed("12.5", "2.7e9"),
			`data.csv:2: ttft_ms: "2.7e9"; expected milliseconds above 0, up to 1e9`},
	} {
		t.Run(name, func(t *testing.T) {
			inData(t, mistake.text)
			refused(t, mistake.want, "--data", "data.csv", "--out", "out")
			assert.Equal(t, []string{"data.csv"}, entries(t, "."))
		})
	}
}

func TestMistakesOfAValidationAreNamed(t *testing.T) {
	inData(t, points)
	require.NoError(t, os.WriteFile("part.yaml", []byte("bandwidth: 0.9\n"), 0o600))
	data := []string{"--data", "data.csv"}
	for _, mistake := range []struct {
		want string
		args []string
	}{
		{`validate: missing --data: a file of measurements; see decodesim validate --help`, nil},
		{`validate: "data.csv" is one argument too many; expected only flags`, []string{"data.csv", "b.csv"}},
		{`data file "absent.csv" does not exist`, []string{"--data", "absent.csv"}},
		{`--data is empty; expected a file of measurements`, []string{"--data", ""}},
		{`--out is empty; expected a directory`, append(data, "--out", "")},
		{`output "data.csv" is a file, want a directory`, append(data, "--out", "data.csv")},
		{`--show is empty; expected the id of a run`, append(data, "--show", "")},
		{`--show "x": no such run in data.csv; valid names: "alone", "busy", "long", "elsewhere"`,
			append(data, "--show", "x")},
		{`--show "elsewhere": the run is not simulated: model no-such-model is not in the catalog`,
			append(data, "--show", "elsewhere")},
		{"--replay without --scenario: expected a scenario with a trace, such as that of decodesim serve --out",
			append(data, "--replay")},
		{"--speed 2 without --replay: expected both, or neither", append(data, "--speed", "2")},
		{`--scenario "chat-80b": no such file, and none of the scenarios that are built in (`,
			append(data, "--scenario", "chat-80b")},
		{`--set pools.serve.sequences=3: no key "sequences" in pools[0]; `, append(data, "--set", "pools.serve.sequences=3")},
		{`--set pools.serve.tensor_parallel=3: 3 does not divide`, append(data, "--set", "pools.serve.tensor_parallel=3")},
		{`efficiency file "absent.yaml" does not exist`, append(data, "--efficiency", "absent.yaml")},
		{`efficiency "vlm" not found; did you mean "vllm"?`, append(data, "--efficiency", "vlm")},
		{`part.yaml:`, append(data, "--efficiency", "part.yaml")},
		{`unknown flag: --dta; did you mean --data? see decodesim validate --help`, []string{"--dta", "x"}},
	} {
		refused(t, mistake.want, mistake.args...)
	}
	t.Setenv("DECODESIM_SHARED", "absent")
	refused(t, `DECODESIM_SHARED=absent: no such directory; expected the folder of shared data, or the variable unset`,
		data...)
	t.Setenv("DECODESIM_SHARED", "")
	t.Setenv("DECODESIM_SPEED", "3")
	refused(t, `DECODESIM_SPEED=3: no such key; `, data...)
	assert.Equal(t, []string{"data.csv", "part.yaml"}, entries(t, "."))
}

// refused runs a validation that must end with an error of one line before it starts.
func refused(t *testing.T, want string, args ...string) {
	t.Helper()
	status, out, errOut := try(append([]string{"validate"}, args...)...)
	assert.Equal(t, exitBadInput, status, want)
	assert.Empty(t, out, want)
	assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	assert.Truef(t, strings.HasPrefix(errOut, "decodesim: "+want), "got  %swant decodesim: %s", errOut, want)
}

func TestAValidationIsNotWrittenOverAnother(t *testing.T) {
	inData(t, points)
	status, _, errOut := try("validate", "--data", "data.csv", "--out", "out")
	require.Equal(t, exitOK, status, errOut)
	refused(t, `output "out" already holds a run (predictions.csv); name another directory or remove it`, "--data",
		"data.csv", "--out", "out")
}

func TestAnOptionThatSuitsSomeRunsSkipsTheOthers(t *testing.T) {
	inData(t, strings.Replace(points, "long,llama-3.1-8b", "long,qwen2.5-7b", 1)) // of 28 heads, the other of 32
	status, out, errOut := try("validate", "--data", "data.csv", "--set", "pools.serve.tensor_parallel=8")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "4 rows: 2 simulated, 2 skipped")
	assert.Contains(t, out, "8 does not divide the 28 attention heads of qwen2.5-7b")
}

func TestAFileOfWhichNothingCanBeSimulatedSaysSoFirst(t *testing.T) {
	head, rest, _ := strings.Cut(points, "\n")
	_, elsewhere, _ := strings.Cut(rest, "elsewhere")
	row := head + "\nelsewhere" + elsewhere
	for text, want := range map[string]string{
		row: "Nothing could be simulated: every row is skipped: model no-such-model is not in the catalog\n",
		row + strings.Replace("other"+elsewhere, "no-such-model", "another",
			1): "Nothing could be simulated: every row is skipped, each for a reason given with it\n",
	} {
		inData(t, text)
		status, out, errOut := try("validate", "--data", "data.csv")
		require.Equal(t, exitOK, status, errOut)
		assert.True(t, strings.HasPrefix(out, want), out)
		assert.Contains(t, out, "0 simulated")
		status, out, errOut = try("validate", "--data", "data.csv", "--json")
		require.Equal(t, exitOK, status, errOut)
		assert.Equal(t, want, errOut)
		assert.True(t, strings.HasPrefix(out, "{"), out)
	}
	inData(t, points)
	_, out, _ := try("validate", "--data", "data.csv")
	assert.NotContains(t, out, "Nothing could be simulated")
}

// TestAScenarioIsNoMeasurement: what was meant is said, and a scenario alone is checked.
func TestAScenarioIsNoMeasurement(t *testing.T) {
	for _, name := range []string{"chat-8b", "mine.yaml"} {
		status, _, errOut := try("validate", "--data", name)
		assert.Equal(t, exitBadInput, status)
		assert.Contains(t, errOut, "decodesim validate "+name+" without other flags checks the scenario")
	}
	status, out, errOut := try("validate", "chat-8b", "--set", "pools.serve.gpu=8xH200")
	assert.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "chat-8b can be simulated, and has no measurements")
	assert.Contains(t, out, "8 × h200-sxm")
	for _, mistake := range []string{"pools.serve.gpu=h1000", "pools.serve.max_num_seqs=0", "hybrid_kv=false"} {
		status, out, errOut = try("validate", "chat-8b", "--set", mistake)
		assert.Equal(t, exitBadInput, status)
		assert.Empty(t, out)
		assert.Contains(t, errOut, "--set "+mistake)
	}
}
