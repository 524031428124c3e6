package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/sizing"
)

// searched is a study that ends within a second.
const searched = `
scenario: chat.yaml
budget: {gpus: 2}
rate: {min: 1, max: 300}
slo: {ttft_ms: 300, tpot_ms: 30}
search: {topology: [colocated, disaggregated], max_num_seqs: [32, 128]}
requests: 800
seeds: 3
`

// inStudy works in a directory with a scenario and a study of it.
func inStudy(t *testing.T) {
	inDir(t, small)
	require.NoError(t, os.WriteFile("study.yaml", []byte(searched), 0o600))
}

func TestASearchAnswersOnStdoutAndTalksOnStderr(t *testing.T) {
	inStudy(t)
	status, out, errOut := try("size", "study.yaml")
	require.Equal(t, exitOK, status, errOut)
	for _, want := range []string{"requests/s", "of its roofline limit", "Runner-up: ", "paired by seed",
		"Pareto frontier", "what limits each", "(95 %: ", "\naccuracy: TPOT within "} {
		assert.Contains(t, out, want)
	}
	assert.Regexp(t, `^decodesim: \d+ simulations in [0-9.]+ s\n$`, errOut)
	_, again, _ := try("size", "study.yaml")
	assert.Equal(t, out, again, "the same study, the same bytes")
}

func TestASearchLeavesItsFiles(t *testing.T) {
	inStudy(t)
	status, out, errOut := try("size", "study.yaml", "--json", "--out", "out", "--set", "weights=fp8")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, []string{"best.yaml", "candidates.csv", "frontier.png", "frontier.svg", "goodput_by_split.png",
		"goodput_by_split.svg", "report.html",
		"size.json", "study.yaml"}, entries(t, "out"))
	left, err := os.ReadFile(filepath.Join("out", "size.json"))
	require.NoError(t, err)
	assert.Equal(t, string(left), out)
	var answer sizing.Sizing
	require.NoError(t, json.Unmarshal(left, &answer))
	require.NotEmpty(t, answer.Expected)
	assert.Positive(t, answer.Expected[0].Runs)
	assert.Equal(t, sizing.Schema, answer.Schema)
	assert.Equal(t, 2, answer.GPUsMax)

	table, err := os.Open(filepath.Join("out", "candidates.csv"))
	require.NoError(t, err)
	defer table.Close()
	rows, err := csv.NewReader(table).ReadAll()
	require.NoError(t, err)
	assert.Len(t, rows, 1+len(answer.Candidates))

	status, again, errOut := try("size", filepath.Join("out", "study.yaml"), "--json")
	require.Equal(t, exitOK, status, errOut)
	assert.Equal(t, out, again, "a resolved study reruns itself")
	status, _, errOut = try("size", "study.yaml", "--out", "out")
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, "already holds a run (size.json)")
}

// TestTheBestScenarioRunsAsFound: the file that a search leaves keeps the SLO at the rate that it says.
func TestTheBestScenarioRunsAsFound(t *testing.T) {
	inStudy(t)
	status, _, errOut := try("size", "study.yaml", "--out", "out", "--set", "rate.min=null", "--set", "rate.max=null",
		"--set", "rate.at=8")
	require.Equal(t, exitOK, status, errOut)
	status, out, errOut := try("run", filepath.Join("out", "best.yaml"), "--json")
	require.Equal(t, exitOK, status, errOut)
	var summary struct {
		SLO struct{ Attainment float64 }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &summary))
	assert.GreaterOrEqual(t, summary.SLO.Attainment, 0.9)
}

func TestARateThatNobodyCarriesIsSaid(t *testing.T) {
	inStudy(t)
	status, out, errOut := try("size", "study.yaml", "--out", "out", "--set", "rate.min=null", "--set", "rate.max=null",
		"--set", "rate.at=100000")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "no deployment sustains 100,000 requests/s; the highest roofline limit that was tried is ")
	assert.NotContains(t, entries(t, "out"), "best.yaml")
}

func TestBadSearchesAreRefused(t *testing.T) {
	inStudy(t)
	for line, want := range map[string]string{
		"": "size: missing a study: a name or a path to a YAML file, or --model with --gpu, --trace (or --prompt and " +
			"--output), --rate and --slo; see decodesim size --help",
		"study.yaml study.yaml": `size: "study.yaml" is one argument too many; expected only a study: a name or a path to a YAML file`,
		"size-70b-64gp":         `study "size-70b-64gp" not found; did you mean "size-70b-64gpu"?`,
		"missing.yaml":          `study file "missing.yaml" does not exist`,
		"study.yaml --set budget.gpus=0": "--set budget.gpus=0: 0 is out of range; expected a whole number from 1 to " +
			"4096",
		"study.yaml --set budget.gpsu=4":      `--set budget.gpsu=4: no key "gpsu" in budget; did you mean "gpus"?`,
		"study.yaml --set weigths=fp8":        `--set weigths=fp8: no key "weigths"; did you mean "weights"?`,
		"study.yaml --set search.split=1P":    `--set search.split=1P: "1P" is not a split`,
		"study.yaml --set scenario=chat-80b":  `--set scenario=chat-80b: scenario "chat-80b" not found; did you mean "chat-8b"?`,
		"study.yaml --set model=llama-3.1-9b": "--set model=llama-3.1-9b: ",
		"study.yaml --set slo=1":              `--set slo=1: "1": expected a latency, <= and a limit, such as "ttft p95 <= 1s"`,
		"study.yaml --seed -1":                `--seed "-1": expected a whole number from 0 to`,
		"study.yaml --out study.yaml":         `output "study.yaml" is a file, want a directory`,
		"study.yaml --out=":                   "--out is empty; expected a directory",
		"chat.yaml":                           "chat.yaml is a scenario; expected a study, whose key scenario can name it",
	} {
		status, out, errOut := try(append([]string{"size"}, strings.Fields(line)...)...)
		assert.Equal(t, exitBadInput, status, line)
		assert.Empty(t, out, line)
		assert.True(t, strings.HasPrefix(errOut, "decodesim: "+want), "%s:\ngot  %swant decodesim: %s", line, errOut, want)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	}
	assert.Equal(t, []string{"chat.yaml", "study.yaml"}, entries(t, "."))
}

func TestCtrlCLeavesNothingOfASearch(t *testing.T) {
	inStudy(t)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out, errOut bytes.Buffer
	status := execute(ctx, &out, &errOut, []string{"size", "study.yaml", "--out", "deep/out"})
	assert.Equal(t, exitSignal+int(syscall.SIGINT), status)
	assert.Equal(t, "decodesim: interrupted\n", errOut.String())
	assert.Empty(t, out.String())
	assert.Equal(t, []string{"chat.yaml", "study.yaml"}, entries(t, "."))
}
