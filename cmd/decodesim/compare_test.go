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

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim/metrics"
)

// comparisonRead is what the tests read of compare.json.
type comparisonRead struct {
	Requests, Intervals string
	Seeds               []uint64
	Scenarios           []struct {
		Name, Requests, Why string
		Summary             metrics.Summary
	}
	Diff []struct {
		Key    string
		Values []string
	}
	Metrics []struct {
		Metric      string
		Values      []*float64
		Differences []*struct {
			Mean     *float64
			Interval *struct {
				Low, High   float64
				N           int
				Significant bool
			}
		}
	}
}

// comparison runs compare and reads its JSON.
func comparison(t *testing.T, args ...string) (c comparisonRead, errOut string) {
	status, out, errOut := try(append([]string{"compare", "--json"}, args...)...)
	require.Equal(t, exitOK, status, errOut)
	require.NoError(t, json.Unmarshal([]byte(out), &c))
	return c, errOut
}

// at returns the place of a metric.
func (c *comparisonRead) at(t *testing.T, metric string) int {
	for i := range c.Metrics {
		if c.Metrics[i].Metric == metric {
			return i
		}
	}
	t.Fatalf("no metric %s", metric)
	return 0
}

// TestEachColumnIsTheRunOfItsScenario: comparing changes nothing of what a run says.
func TestEachColumnIsTheRunOfItsScenario(t *testing.T) {
	inDir(t, small)
	c, errOut := comparison(t, "chat.yaml", "--with", "pools.serve.replicas=1", "--with",
		"weights=fp8 pools.serve.max_num_seqs=8")
	require.Empty(t, errOut)
	require.Equal(t, "same", c.Requests)
	for i, set := range [][]string{nil, {"pools.serve.replicas=1"}, {"weights=fp8", "pools.serve.max_num_seqs=8"}} {
		args := []string{"chat.yaml", "--headroom", "off"}
		for _, s := range set {
			args = append(args, "--set", s)
		}
		want := summaryOf(t, args...)
		assert.Equal(t, *want, c.Scenarios[i].Summary)
		assert.InDelta(t, want.Latency.ITL.P99, *c.Metrics[c.at(t, "latency.itl_s.p99")].Values[i], 0)
	}
	require.Len(t, c.Diff, 3)
	assert.Equal(t, "weights", c.Diff[0].Key)
	assert.Equal(t, []string{"null", "null", "fp8"}, c.Diff[0].Values)
	assert.Equal(t, "small", c.Scenarios[0].Name)
	assert.Equal(t, "replicas=1", c.Scenarios[1].Name)
	assert.Equal(t, "weights=fp8 max_num_seqs=8", c.Scenarios[2].Name)
	d := c.Metrics[c.at(t, "latency.tpot_s.mean")].Differences[1]
	assert.Positive(t, *d.Mean, "one replica is slower than two")
	assert.True(t, d.Interval.Significant)
	assert.Less(t, d.Interval.Low, *d.Mean)
	assert.Greater(t, d.Interval.High, *d.Mean)
}

func TestTheSameScenarioTwiceIsTheSame(t *testing.T) {
	inDir(t, small)
	c, _ := comparison(t, "chat.yaml", "chat.yaml")
	assert.Empty(t, c.Diff)
	assert.Equal(t, []string{"small", "small-2"}, []string{c.Scenarios[0].Name, c.Scenarios[1].Name})
	for _, m := range c.Metrics {
		assert.Zero(t, *m.Differences[1].Mean, m.Metric)
	}
	status, out, _ := try("compare", "chat.yaml", "chat.yaml")
	require.Equal(t, exitOK, status)
	assert.Contains(t, out, "\nthe scenarios do not differ\n")
	assert.Regexp(t, `\nTTFT mean, ms +[\d.]+ +[\d.]+  =\n`, out)
}

func TestSeedsArePaired(t *testing.T) {
	inDir(t, small)
	c, _ := comparison(t, "chat.yaml", "--with", "weights=fp8", "--seeds", "4", "--seed", "11")
	assert.Equal(t, []uint64{11, 12, 13, 14}, c.Seeds)
	assert.Equal(t, "same", c.Requests)
	i := c.at(t, "latency.itl_s.p99")
	sum := 0.0
	for _, seed := range []string{"11", "12", "13", "14"} {
		sum += summaryOf(t, "chat.yaml", "--seed", seed).Latency.ITL.P99
	}
	assert.InDelta(t, sum/4, *c.Metrics[i].Values[0], 1e-12)
	assert.Equal(t, 4, c.Metrics[i].Differences[1].Interval.N)
	assert.EqualValues(t, 11, c.Scenarios[1].Summary.Seed)
}

// TestOneSeedServesAll: scenarios with other seeds of their own would be sent other requests.
func TestOneSeedServesAll(t *testing.T) {
	inDir(t, small)
	require.NoError(t, os.WriteFile("other.yaml", []byte(strings.Replace(small, "name: small", "name: other\nseed: 9", 1)),
		0o600))
	c, errOut := comparison(t, "chat.yaml", "other.yaml")
	assert.Equal(t, "same", c.Requests)
	assert.Equal(t, "decodesim: seed 9 of other.yaml gives way to 1, that of chat.yaml\n", errOut)
	c, errOut = comparison(t, "chat.yaml", "other.yaml", "--seed", "3")
	assert.Equal(t, []uint64{3}, c.Seeds)
	assert.Empty(t, errOut)
}

func TestRequestsThatAreNotTheSameAreReported(t *testing.T) {
	inDir(t, small)
	for change, want := range map[string]string{
		"workload.output_tokens.mean=61": "different",
		"workload.arrivals.rate=21":      "same lengths",
		"pools.serve.gpu=h200-sxm":       "same",
	} {
		c, _ := comparison(t, "chat.yaml", "--with", change)
		assert.Equal(t, want, c.Requests, change)
	}
	status, out, _ := try("compare", "chat.yaml", "--with", "workload.output_tokens.mean=61")
	require.Equal(t, exitOK, status)
	assert.Contains(t, out, "2 scenarios, not all on the same requests, seed 1\n")
	assert.Contains(t, out, "\nworkload.output_tokens.mean     60       61\n")
	closed := "workload.arrivals=null workload.closed_loop.concurrency=4 pools.serve.replicas=1"
	c, _ := comparison(t, "chat.yaml", "--set", strings.Fields(closed)[0], "--set", strings.Fields(closed)[1], "--with",
		"pools.serve.replicas=1")
	assert.Equal(t, "same lengths", c.Requests, "clients wait for their answers")
	c, _ = comparison(t, "multi-turn-8b", "--with", "pools.serve.enable_prefix_caching=false")
	assert.Equal(t, "same lengths", c.Requests, "and users of conversations, who ask in another order then")
}

func TestAComparisonIsTheSameToTheByte(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, small)
	for _, procs := range []int{1, 2} {
		before := runtime.GOMAXPROCS(procs)
		defer runtime.GOMAXPROCS(before)
		status, _, errOut := try("compare", "chat.yaml", "--with", "weights=fp8", "--with", "router=round-robin", "--seeds",
			"3", "--out", fmt.Sprint("out-", procs))
		require.Equal(t, exitOK, status, errOut)
	}
	names := []string{"cdfs.png", "cdfs.svg", "compare.csv", "compare.json", "itl_cdf.png", "itl_cdf.svg", "report.html",
		"router=round-robin", "small",
		"ttft_cdf.png", "ttft_cdf.svg", "weights=fp8"}
	require.Equal(t, names, entries(t, "out-1"))
	require.Equal(t, names, entries(t, "out-2"))
	require.Equal(t, []string{"scenario.yaml", "summary.json"}, entries(t, "out-1/small"))
	err := filepath.WalkDir("out-1", func(name string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		if d.IsDir() {
			return nil
		}
		one, err := os.ReadFile(name)
		require.NoError(t, err)
		other, err := os.ReadFile("out-2" + strings.TrimPrefix(name, "out-1"))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(one, other), name)
		return nil
	})
	require.NoError(t, err)
}

func TestEveryFolderRerunsItself(t *testing.T) {
	inDir(t, small)
	status, _, errOut := try("compare", "chat.yaml", "--with", "weights=fp8", "--out", "out")
	require.Equal(t, exitOK, status, errOut)
	for _, name := range []string{"small", "weights=fp8"} {
		want, err := os.ReadFile(filepath.Join("out", name, "summary.json"))
		require.NoError(t, err)
		status, again, errOut := try("run", filepath.Join("out", name, "scenario.yaml"), "--json", "--headroom", "off")
		require.Equal(t, exitOK, status, errOut)
		assert.Equal(t, string(want), again)
	}
	status, _, errOut = try("compare", "chat.yaml", "--with", "weights=fp8", "--out", "out")
	assert.Equal(t, exitBadInput, status)
	assert.Equal(t, "decodesim: output \"out\" already holds a run (compare.json); name another directory or remove it\n",
		errOut)
}

// TestEveryEngineRunsTheScenario, and says of its tail what its run measured.
func TestEveryEngineRunsTheScenario(t *testing.T) {
	inDir(t, small)
	c, _ := comparison(t, "chat.yaml", "--engines", strings.Join(catalog.EngineNames(), ","))
	assert.Equal(t, "same", c.Requests)
	for i, name := range catalog.EngineNames() {
		assert.Equal(t, name, c.Scenarios[i].Name)
		assert.EqualValues(t, 400, c.Scenarios[i].Summary.Requests.Completed, name)
		assert.Contains(t, c.Scenarios[i].Why, "p99 ITL ", name)
		assert.Contains(t, c.Scenarios[i].Why, "gaps that long or longer", name)
	}
}

func TestBadComparisonsAreRefused(t *testing.T) {
	inDir(t, small)
	require.NoError(t, os.WriteFile("t.csv", []byte("arrival_s,input_tokens,output_tokens\n0,5,9\n1,9,3\n"), 0o600))
	require.NoError(t, os.WriteFile("trace.yaml",
		[]byte("model: llama-3.1-8b\npools: [{gpu: l4}]\nworkload: {trace: {file: t.csv}}\n"), 0o600))
	require.NoError(t, os.WriteFile("big.yaml", []byte(strings.Replace(small, "3.1-8b", "3.1-70b", 1)), 0o600))
	for line, want := range map[string]string{
		"": "compare: missing scenarios: two or more names or paths to YAML " +
			"files; see decodesim compare --help",
		"chat.yaml":          `compare: only "chat.yaml"; expected a second scenario, or --engines or --with and what to vary`,
		"chat.yaml chat-80b": `scenario "chat-80b" not found; did you mean "chat-8b"?`,
		"chat.yaml big.yaml": "big.yaml:3:9: pools[0]: llama-3.1-70b does not fit on 1 × h100-sxm",
		"chat.yaml --with model=llama-3.1-70b": "--with model=llama-3.1-70b: chat.yaml:3:9: pools[0]: " +
			"llama-3.1-70b does not fit",
		"chat.yaml --with weigths=fp8": `--with weigths=fp8: no key "weigths"; did you mean "weights"?`,
		"chat.yaml --with seed=2,weights=fp8": `--with seed=2,weights=fp8: expected an integer, got "2,weights=fp8"; ` +
			`changes of one variant have spaces between them: --with 'seed=2 weights=fp8'`,
		"chat.yaml --with weights":               "--with weights: expected key=value",
		"chat.yaml --engines vllm-v1,vlm-v0":     `--engines: engine "vlm-v0" not found; did you mean "vllm-v0"?`,
		"chat.yaml --engines sglang,orca,sglang": `--engines "sglang,orca,sglang": sglang twice; expected every engine once`,
		"chat.yaml --engines sglang":             `--engines "sglang": expected two or more with commas between; valid names: decode-priority, orca, `,
		"chat.yaml --engines=":                   `--engines "": expected two or more`,
		"chat.yaml big.yaml --engines a,b": "compare: 2 scenarios with --engines; expected one scenario, a " +
			"name or a path to a YAML file",
		"chat.yaml big.yaml --with a=b":      "compare: 2 scenarios with --with; expected one scenario",
		"chat.yaml --engines a,b --with a=b": "compare: both --engines and --with; expected only one of them",
		"chat.yaml chat.yaml --seeds 0":      "--seeds 0: expected 1 to 1000",
		"chat.yaml chat.yaml --seeds many":   `--seeds "many": expected a whole number; see decodesim compare --help`,
		"trace.yaml trace.yaml --seeds 2": "--seeds 2: the requests of trace.yaml come from a trace, and " +
			"are the same under every seed; expected 1",
		"chat.yaml chat.yaml --out chat.yaml":           `output "chat.yaml" is a file, want a directory`,
		"chat.yaml chat.yaml --out=":                    "--out is empty; expected a directory",
		strings.Repeat("chat.yaml ", 13):                "compare: 13 scenarios; expected at most 12",
		"chat.yaml --set pools.serve.gpu=abc chat.yaml": `chat.yaml: --set pools.serve.gpu=abc: gpu "abc" not found`,
	} {
		status, out, errOut := try(append([]string{"compare"}, strings.Fields(line)...)...)
		assert.Equal(t, exitBadInput, status, line)
		assert.Empty(t, out, line)
		assert.True(t, strings.HasPrefix(errOut, "decodesim: "+want), "%s:\ngot  %swant decodesim: %s", line, errOut, want)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	}
	assert.Equal(t, []string{"big.yaml", "chat.yaml", "t.csv", "trace.yaml"}, entries(t, "."))
}

func TestCtrlCLeavesNothingOfAComparison(t *testing.T) {
	inDir(t, small)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out, errOut bytes.Buffer
	status := execute(ctx, &out, &errOut,
		[]string{"compare", "chat.yaml", "chat.yaml", "--set", "workload.requests=10000000", "--out", "deep/out"})
	assert.Equal(t, exitSignal+int(syscall.SIGINT), status)
	assert.Equal(t, "decodesim: interrupted\n", errOut.String())
	assert.Empty(t, out.String())
	assert.Equal(t, []string{"chat.yaml"}, entries(t, "."))
}

func TestAComparisonWithAFileInItsWayIsRefused(t *testing.T) {
	inDir(t, small)
	require.NoError(t, os.MkdirAll(filepath.Join("out", "cdfs.svg", "x"), 0o700))
	status, out, errOut := try("compare", "chat.yaml", "chat.yaml", "--out", "out")
	assert.Equal(t, exitBadInput, status)
	assert.Empty(t, out)
	assert.Contains(t, errOut, `decodesim: output "out" already holds a run (cdfs.svg)`)
	assert.Equal(t, []string{"cdfs.svg"}, entries(t, "out"), "what was there before")
}
