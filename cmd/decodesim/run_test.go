package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim/metrics"
)

// small is a scenario that runs in milliseconds.
const small = `name: small
model: llama-3.1-8b
pools: [{gpu: h100-sxm, replicas: 2, max_num_seqs: 16}]
workload:
  arrivals: {process: poisson, rate: 20}
  prompt_tokens: {distribution: lognormal, mean: 500, cv: 1}
  output_tokens: {distribution: lognormal, mean: 60, cv: 1}
  requests: 400
slo: {ttft_ms: 200, tpot_ms: 20}
`

// inDir moves to an empty directory that holds chat.yaml.
func inDir(t *testing.T, text string) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("chat.yaml", []byte(text), 0o600))
}

// entries returns the names in a directory.
func entries(t *testing.T, dir string) []string {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestASmallRunPrintsItsGolden(t *testing.T) {
	golden, err := filepath.Abs("testdata/what-does-a-small-run-print.txt")
	require.NoError(t, err)
	inDir(t, small)
	status, table, errOut := try("run", "chat.yaml")
	require.Equal(t, exitOK, status, errOut)
	require.Empty(t, errOut)
	_, summary, _ := try("run", "chat.yaml", "--json")
	got := small + "\n" + table + "\n" + summary
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

func TestARunIsTheSameToTheByte(t *testing.T) {
	inDir(t, small)
	for _, procs := range []int{1, 2} {
		before := runtime.GOMAXPROCS(procs)
		defer runtime.GOMAXPROCS(before)
		for i := range soak.Part(2) {
			status, _, errOut := try("run", "chat.yaml", "--out", fmt.Sprintf("out-%d-%d", procs, i))
			require.Equal(t, exitOK, status, errOut)
		}
	}
	names := entries(t, "out-1-0")
	require.Equal(t, []string{
		"itl_cdf.png", "itl_cdf.svg", "itl_parts.png", "itl_parts.svg", "report.html", "requests.csv",
		"scenario.yaml", "summary.json", "timeline.csv",
		"timeline.png", "timeline.svg", "ttft_cdf.png", "ttft_cdf.svg",
	}, names)
	for _, dir := range []string{"out-2-0", "out-1-1", "out-2-1"}[:soak.Part(3)] {
		require.Equal(t, names, entries(t, dir))
		for _, name := range names {
			want, err := os.ReadFile(filepath.Join("out-1-0", name))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "%s of %s", name, dir)
		}
	}
}

// TestTheScenarioOfARunRerunsIt covers every way a value gets into a scenario, and paths that move with it.
func TestTheScenarioOfARunRerunsIt(t *testing.T) {
	trace := "model: llama-3.1-8b\npools: [{gpu: l4}]\nworkload: {trace: {file: t.csv, speed: 2}, duration_s: 3}\n"
	closed := "model: llama-3.1-8b\nweights: fp8\npools: [{gpu: l4, num_gpu_blocks: 300}]\nworkload: {closed_loop: " +
		"{concurrency: 4}, duration_s: 30, " +
		"prompt_tokens: {distribution: fixed, mean: 40}, output_tokens: {distribution: uniform, min: 1, max: 50}}\n"
	for name, run := range map[string]struct {
		text string
		args []string
	}{
		"a file": {small, nil},
		"flags": {small,
			[]string{"--set", "workload.arrivals.rate=9", "--seed", "7", "--set", "pools.serve.max_model_len=4096"}},
		"a lowered limit": {strings.Replace(small, "replicas: 2", "num_gpu_blocks: 200", 1), nil},
		"a trace":         {trace, nil},
		"a closed loop":   {closed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "flags" && name != "a trace" {
				soak.TakesLong(t)
			}
			inDir(t, run.text)
			require.NoError(t, os.WriteFile("t.csv",
				[]byte("arrival_s,input_tokens,output_tokens\n0,5,9\n1,90,3\n1,4,1\n7,7,7\n"), 0o600))
			status, summary, errOut := try(append([]string{"run", "chat.yaml", "--json", "--out", "deep/out"}, run.args...)...)
			require.Equal(t, exitOK, status, errOut)
			written, err := os.ReadFile("deep/out/summary.json")
			require.NoError(t, err)
			require.Equal(t, summary, string(written))
			first, err := os.ReadFile("deep/out/scenario.yaml")
			require.NoError(t, err)
			status, again, errOut := try("run", "deep/out/scenario.yaml", "--json", "--out", "deep/again")
			require.Equal(t, exitOK, status, errOut)
			require.Equal(t, summary, again)
			second, err := os.ReadFile("deep/again/scenario.yaml")
			require.NoError(t, err)
			require.Equal(t, string(first), string(second))
		})
	}
}

func TestEveryBuiltInScenarioRuns(t *testing.T) {
	for _, name := range []string{"chat-70b", "chat-8b", "code-completion", "textbook-8b"} {
		s := summaryOf(t, name, "--set", "workload.requests=1000")
		assert.EqualValues(t, 1000, s.Requests.Completed, name)
		assert.InDelta(t, 0.8, s.SLO.Attainment, 0.2, name)
		assert.InDelta(t, 1, s.Bound.Share.Weights+s.Bound.Share.KV+s.Bound.Share.Compute+s.Bound.Share.Communication+
			s.Bound.Share.Overhead, 1e-9)
		assert.Less(t, s.Bound.FractionOfBound, 1.0, name)
		assert.InEpsilon(t, s.Cost.USDPerHour/3600/s.Throughput.OutputTokensPerS*1e6, s.Cost.USDPerMillionOutputTokens, 1e-9)
	}
}

// TestTheBuiltInRatesAreWhatTheirCommentsSay: that share of what is served.
func TestTheBuiltInRatesAreWhatTheirCommentsSay(t *testing.T) {
	soak.TakesLong(t)
	for name, share := range map[string]float64{"chat-70b": .6, "chat-8b": .66, "code-completion": .75} {
		usual := summaryOf(t, name, "--set", "workload.requests=1000")
		flooded := summaryOf(t, name, "--set", "workload.requests=8000", "--set", "workload.arrivals.rate=1000")
		assert.InDelta(t, share, usual.Load.OfferedPerS/flooded.Throughput.RequestsPerS, 0.07, name)
	}
}

// summaryOf runs a scenario.
func summaryOf(t *testing.T, args ...string) *metrics.Summary {
	status, out, errOut := try(append([]string{"run", "--json", "--headroom", "off"}, args...)...)
	require.Equal(t, exitOK, status, errOut)
	var s metrics.Summary
	require.NoError(t, json.Unmarshal([]byte(out), &s))
	return &s
}

func TestTheRequestsAddUpToTheSummary(t *testing.T) {
	inDir(t, small)
	s := summaryOf(t, "chat.yaml", "--out", "out")
	text, err := os.ReadFile("out/requests.csv")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 401)
	prompt, output, instances := int64(0), int64(0), map[string]int{}
	for i, line := range lines[1:] {
		cell := strings.Split(line, ",")
		require.Equal(t, fmt.Sprint(i), cell[0])
		var p, o int64
		_, err := fmt.Sscan(cell[2]+" "+cell[3], &p, &o)
		require.NoError(t, err)
		prompt, output = prompt+p, output+o
		instances[cell[11]]++
	}
	assert.Equal(t, s.Tokens, metrics.Tokens{Prompt: prompt, Output: output})
	assert.Len(t, instances, 2)
}

func TestManyRequestsHaveNoFileUnlessAskedFor(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, small)
	long := []string{"run", "chat.yaml", "--set", "workload.requests=100001", "--set", "workload.output_tokens=null",
		"--set", "workload.output_tokens.distribution=fixed", "--set", "workload.output_tokens.mean=2",
		"--headroom", "off", "--out"}
	status, _, errOut := try(append(long, "auto")...)
	require.Equal(t, exitOK, status, errOut)
	require.NoFileExists(t, "auto/requests.csv")
	status, _, errOut = try(append(long, "asked", "--set", "output.requests_csv=true")...)
	require.Equal(t, exitOK, status, errOut)
	require.FileExists(t, "asked/requests.csv")
	one, err := os.ReadFile("auto/summary.json")
	require.NoError(t, err)
	other, err := os.ReadFile("asked/summary.json")
	require.NoError(t, err)
	require.Equal(t, string(one), string(other))
	status, _, errOut = try("run", "chat.yaml", "--set", "output.requests_csv=false", "--out", "none")
	require.Equal(t, exitOK, status, errOut)
	require.NoFileExists(t, "none/requests.csv")
}

func TestCtrlCLeavesNothing(t *testing.T) {
	inDir(t, small)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out, errOut bytes.Buffer
	status := execute(ctx, &out, &errOut,
		[]string{"run", "chat.yaml", "--set", "workload.requests=10000000", "--out", "out"})
	assert.Equal(t, exitSignal+int(syscall.SIGINT), status)
	assert.Equal(t, "decodesim: interrupted\n", errOut.String())
	assert.Empty(t, out.String())
	assert.Equal(t, []string{"chat.yaml"}, entries(t, "."))
}

// Requests that all come at one instant come at no rate, and none is said.
func TestATraceOfOneInstantHasNoRate(t *testing.T) {
	inDir(t, small[:strings.Index(small, "  arrivals")]+"  trace: {file: t.csv}\n")
	require.NoError(t, os.WriteFile("t.csv", []byte("arrival_s,input_tokens,output_tokens\n0,5,9\n0,7,3\n"), 0o600))
	status, out, errOut := try("run", "chat.yaml")
	require.Equal(t, exitOK, status, errOut)
	require.Contains(t, out, "\nworkload     t.csv; prompts of mean 6 tokens; outputs of mean 6; 2 requests\n")
}

func TestTheHeadSaysWhereOutputsAreCut(t *testing.T) {
	inDir(t, small)
	status, out, errOut := try("run", "chat.yaml", "--set", "workload.max_tokens=40")
	require.Equal(t, exitOK, status, errOut)
	require.Contains(t, out, "lognormal outputs of mean 60, cut at 40; 400 requests\n")
}

// TestReplicasApartHaveTheSameSummary: without files to write, replicas that a router does not look at are simulated
// one after the other; with them, together.
func TestReplicasApartHaveTheSameSummary(t *testing.T) {
	t.Chdir(t.TempDir())
	fleet := []string{"run", "chat-8b", "--set", "router=round-robin", "--set", "pools.serve.replicas=7", "--set",
		"workload.arrivals.rate=60", "--set", "workload.requests=4000", "--json"}
	status, separate, errOut := try(fleet...)
	require.Equal(t, exitOK, status, errOut)
	status, _, errOut = try(append(fleet, "--out", "out")...)
	require.Equal(t, exitOK, status, errOut)
	together, err := os.ReadFile("out/summary.json")
	require.NoError(t, err)
	assert.Equal(t, string(together), separate)
}

// TestWhoWaitsInVainIsCounted: the only replica fails for good, and nothing is said to be served that was not.
func TestWhoWaitsInVainIsCounted(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("vain.yaml", []byte(`model: llama-3.1-8b
pools: [{name: serve, gpu: h100-sxm}]
failures: [{pool: serve, at_s: 2}]
workload:
  arrivals: {process: constant, rate: 20}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 10}
  requests: 100
`), 0o600))
	status, out, errOut := try("run", "vain.yaml")
	require.Equal(t, exitOK, status, errOut)
	assert.Regexp(t, `requests +100 arrived: (38|39) completed, 0 rejected, 0 failed, (62|61) unfinished`, out)
	assert.Regexp(
		t, `warning: (62|61) of 100 requests wait in vain for a replica or for room: the SLO and all latencies leave them out`, out)
}

// TestHeadroomIsSaidUnlessItIsOff, in the table and in the summary, and asking for one that there is not is refused
// before the run.
func TestHeadroomIsSaidUnlessItIsOff(t *testing.T) {
	inDir(t, small)
	for flag, want := range map[string]bool{"auto": true, "on": true, "off": false} {
		status, table, errOut := try("run", "chat.yaml", "--headroom", flag)
		require.Equal(t, exitOK, status, errOut)
		require.Equal(t, want, strings.Contains(table, "\nheadroom     sustains "), flag)
		_, summary, _ := try("run", "chat.yaml", "--headroom", flag, "--json")
		require.Equal(t, want, strings.Contains(summary, `"headroom": {`), flag)
	}
	for _, c := range []struct{ scenario, flag, want string }{
		{small, "maybe", `--headroom "maybe" is unknown; valid values: auto, on, off`},
		{strings.Replace(small, "slo:", "#slo:", 1), "on",
			"--headroom on: headroom needs an SLO; expected slo in the scenario"},
	} {
		inDir(t, c.scenario)
		status, _, errOut := try("run", "chat.yaml", "--headroom", c.flag)
		require.Equal(t, exitBadInput, status)
		require.Equal(t, "decodesim: "+c.want+"\n", errOut)
	}
}

// TestARunThatMeasuredNothingMissesNothing: whether it meets the SLO is unknown, in the table, in the summary and on
// the page.
func TestARunThatMeasuredNothingMissesNothing(t *testing.T) {
	inDir(t, small)
	unmeasured := []string{"run", "chat.yaml", "--headroom", "on", "--set", "workload.warmup_s=1000"}
	status, table, errOut := try(append(unmeasured, "--out", "out")...)
	require.Equal(t, exitOK, status, errOut)
	assert.Regexp(t, `(?m)^SLO .*: no request is measured$`, table)
	assert.Contains(t, table, "warning: headroom: nothing was measured that the SLO could be judged by\n")
	assert.NotContains(t, table, "\nheadroom ")
	_, summary, _ := try(append(unmeasured, "--json")...)
	assert.NotContains(t, summary, `"headroom": {`)
	var of struct{ SLO map[string]any }
	require.NoError(t, json.Unmarshal([]byte(summary), &of))
	assert.Equal(t, map[string]any{"ttft_s": 0.2, "tpot_s": 0.02, "attainment": nil, "goodput_per_s": nil,
		"unmeasured": "no request was measured from its arrival to its completion"}, of.SLO)
	page, err := os.ReadFile("out/report.html")
	require.NoError(t, err)
	assert.Contains(t, string(page), "No request was measured.")
	assert.NotContains(t, string(page), "– s")
}

// TestAClassWithoutRequestsMissesNothing: whether its SLO is met is unknown, and the others judge the deployment.
func TestAClassWithoutRequestsMissesNothing(t *testing.T) {
	inDir(t, `model: llama-3.1-8b
pools: [{gpu: h100-sxm}]
workload:
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 10}
  classes:
    - {name: usual, share: 0.9999, slo: {ttft_ms: 300}}
    - {name: rare, share: 0.0001, slo: ['ttft p95 <= 1s', '90% of requests: ttft <= 1s']}
  arrivals: {process: poisson, rate: 1}
  requests: 50
`)
	status, table, errOut := try("run", "chat.yaml", "--headroom", "on", "--out", "out")
	require.Equal(t, exitOK, status, errOut)
	assert.Regexp(t, `(?m)^headroom +sustains `, table)
	assert.Regexp(t, `(?m)^rare +0 +0 +– +–$`, table)
	assert.Regexp(t, `(?m)^rare: ttft p95 <= 1s +– +1 s +– +–$`, table)
	assert.Regexp(t, `(?m)^rare: 90% of requests: ttft <= 1s +– +90 % +– +–$`, table)
	_, text, _ := try("run", "chat.yaml", "--json")
	var s struct {
		Classes []struct {
			SLO   map[string]any
			Rules []map[string]any `json:"slo_rules"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	assert.EqualValues(t, 1, s.Classes[0].SLO["attainment"])
	assert.NotContains(t, s.Classes[0].SLO, "unmeasured")
	const why = "no request arrived"
	assert.Equal(t, map[string]any{"ttft_s": 1.0, "attainment": nil, "goodput_per_s": nil, "unmeasured": why},
		s.Classes[1].SLO)
	assert.Equal(t, []map[string]any{
		{"rule": "ttft p95 <= 1s", "value": nil, "limit": 1.0, "unit": "s", "met": nil, "margin": nil, "unmeasured": why},
		{"rule": "90% of requests: ttft <= 1s", "value": nil, "limit": 0.9, "unit": "share of requests", "met": nil,
			"margin": nil, "unmeasured": why}}, s.Classes[1].Rules)
}

func TestALongNameOfAPoolStandsApartFromItsRole(t *testing.T) {
	inDir(t, `name: pair
model: llama-3.1-8b
pools:
  - {name: prefill, role: prefill, gpu: h100-sxm, kv_transfer: pull, kv_link: nic}
  - {name: decode-small, role: decode, gpu: h100-sxm}
workload: {arrivals: {process: poisson, rate: 2}, prompt_tokens: 100, output_tokens: 10, requests: 10}
`)
	status, out, errOut := try("run", "chat.yaml")
	require.Zero(t, status, errOut)
	assert.Contains(t, out, "\npool decode-small decode: 1 replica")
	assert.Contains(t, out, "\npool prefill 1 replica")
}
