package main

import (
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/page/pagetest"
	"github.com/decodesim/decodesim/internal/soak"
)

// reportOf returns the page that a command leaves and checks what is true of every page: it is small, needs nothing
// else, and each of its numbers is that of the JSON beside it.
func reportOf(t *testing.T, json string, numbers int, args ...string) []byte {
	t.Helper()
	status, _, errOut := try(append(args, "--out", "out")...)
	require.Equal(t, exitOK, status, errOut)
	page, err := os.ReadFile("out/report.html")
	require.NoError(t, err)
	results, err := os.ReadFile(filepath.Join("out", json))
	require.NoError(t, err)
	require.Less(t, len(page), 500_000)
	require.NotContains(t, string(page), "<script src")
	require.GreaterOrEqual(t, pagetest.Same(t, page, results), numbers)
	return page
}

// opens opens a page on a desk and on a phone, where pages are to be opened.
func opens(t *testing.T, page []byte, plots int) {
	t.Helper()
	if !pagetest.Asked() {
		return
	}
	for _, width := range []int{1200, pagetest.Phone} {
		seen := pagetest.Open(t, page, width)
		require.Empty(t, seen.Errors)
		require.Zero(t, seen.Beyond, "pixels beyond a screen of %d", width)
		require.Equal(t, plots, seen.Canvas)
		require.Equal(t, "none", seen.Harm)
	}
}

func TestTheReportOfARunHasTheNumbersOfItsSummary(t *testing.T) {
	inDir(t, small)
	page := reportOf(t, "summary.json", 40, "run", "chat.yaml", "--set", "slo.ttft_ms=300", "--set",
		"energy.grid_gco2_per_kwh=400", "--set", "energy.host_w=80", "--set",
		`name=<script>window.harm="done"</script>`)
	require.NotContains(t, string(page), "<script>window")
	opens(t, page, 8)
}

// TestAPageSaysHowToGetItsResultAgain by a command that runs in the page's folder, whatever its name.
func TestAPageSaysHowToGetItsResultAgain(t *testing.T) {
	soak.TakesLong(t)
	study := "scenario: chat.yaml\nbudget: {gpus: 1}\nslo: {ttft_ms: 2000, tpot_ms: 100}\nattainment: 0.9\n" +
		"rate: {min: 1, max: 4}\nsearch: {topology: [colocated], tensor_parallel: [1]}\nrequests: 400\nseeds: 2\n"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "chat.yaml", "--set", "workload.requests=50", "--json"},
			"decodesim run scenario.yaml"},
		{[]string{"compare", "chat.yaml", "--with", "weights=fp8", "--set", "workload.requests=50", "--json"},
			"decodesim compare small/scenario.yaml weights=fp8/scenario.yaml"},
		{[]string{"size", "study.yaml", "--json"}, "decodesim size study.yaml"},
	} {
		t.Run(c.args[0], func(t *testing.T) {
			inDir(t, small)
			require.NoError(t, os.WriteFile("study.yaml", []byte(study), 0o600))
			status, first, errOut := try(append(c.args, "--out", "my results/a")...)
			require.Equal(t, exitOK, status, errOut)
			page, err := os.ReadFile("my results/a/report.html")
			require.NoError(t, err)
			text := html.UnescapeString(string(page))
			require.True(t, strings.Contains(text, "<pre>"+c.want+"</pre>"), c.want)
			t.Chdir("my results/a")
			status, again, errOut := try(append(strings.Fields(c.want)[1:], "--json")...)
			require.Equal(t, exitOK, status, errOut)
			if c.args[0] == "run" {
				require.Equal(t, first, again)
				here, err := os.Getwd()
				require.NoError(t, err)
				require.False(t, strings.Contains(text, here), "the page names a folder of this machine")
			}
		})
	}
}

func TestTheReportOfAFleetHasItsReplicasOverTime(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, small+"failures: [{pool: serve, replica: 0, at_s: 1, down_s: 1}]\n")
	require.Contains(t, string(reportOf(t, "summary.json", 40, "run", "chat.yaml")), `"title":"Replicas"`)
}

func TestTheReportOfAComparisonHasItsNumbers(t *testing.T) {
	inDir(t, small)
	page := reportOf(t, "compare.json", 50, "compare", "chat.yaml", "--with", "weights=fp8")
	require.Contains(t, string(page), "What differs in the scenarios")
	require.Contains(t, string(page), `"title":"Requests waiting"`)
	require.Equal(t, 9, strings.Count(string(page), `{"name":"weights=fp8","x":`), "plots with a curve of its own")
	opens(t, page, 9)
}

func TestTheReportOfASearchHasItsNumbers(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, small)
	page := reportOf(t, "size.json", 10, "size", "size-70b-64gpu", "--set", "budget.gpus=8", "--set", "requests=400",
		"--set", "seeds=2")
	opens(t, page, 8)
}

// TestTheReportOfAFleetOfModelsHasItsNumbers, and its command finds the same fleet in its folder.
func TestTheReportOfAFleetOfModelsHasItsNumbers(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, handed)
	for name, text := range map[string]string{"a.yaml": member, "b.yaml": strings.Replace(member, "at: 20", "at: 30", 1),
		"fleet.yaml": "budget: {gpus: 16, usd_per_hour: 100}\nfleet: [a.yaml, b.yaml]\n"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	page := reportOf(t, "fleet.json", 20, "size", "fleet.yaml")
	require.Contains(t, string(page), "Who takes the budget")
	opens(t, page, 1)
	first, err := os.ReadFile("out/fleet.json")
	require.NoError(t, err)
	t.Chdir("out")
	status, again, errOut := try("size", "fleet.yaml", "--json")
	require.Equal(t, exitOK, status, errOut)
	require.Equal(t, string(first), again)
}

func TestTheReportOfASweepHasItsNumbers(t *testing.T) {
	inDir(t, small)
	page := reportOf(t, "sweep.json", 60, "sweep", "chat.yaml", "--ladder")
	require.Contains(t, string(page), "decodesim sweep chat.yaml --ladder --out again")
	opens(t, page, 5)
}

func TestTheReportOfAGridHasItsNumbers(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, small)
	page := reportOf(t, "sweep.json", 20, "sweep", "chat.yaml", "--over", "rate=5:45:20", "--over", "max_num_seqs=4,16",
		"--over", "model=llama-3.1-8b,llama-3.1-70b", "--plot", "rate,ttft_p95_s", "--plot", "max_num_seqs,rate,busy",
		"--plot", "ttft_p95_s,busy")
	require.Contains(t, string(page), "does not fit on 1 × h100-sxm", "errors of points are among the warnings")
	opens(t, page, 7)
}

func TestTheReportOfASensitivityHasItsNumbers(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, small)
	page := reportOf(t, "sensitivity.json", 100, "sensitivity", "chat.yaml", "--seeds", "2")
	require.Contains(t, string(page), "Where the ranges come from")
	opens(t, page, 0)
}

func TestTheReportOfAValidationHasItsNumbers(t *testing.T) {
	inDir(t, small)
	rows := "model,gpu,rate,prompt_tokens,output_tokens,ttft_ms,tpot_ms\n" +
		"llama-3.1-8b,h100-sxm,2,100,50,30,8\nllama-3.1-8b,h100-sxm,8,100,50,40,9\n"
	require.NoError(t, os.WriteFile("points.csv", []byte(rows), 0o600))
	page := reportOf(t, "validation.json", 3, "validate", "--data", "points.csv")
	opens(t, page, 2)
}
