package chrometrace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim"
)

const (
	workload = `workload:
  arrivals: {process: poisson, rate: 30}
  prompt_tokens: {distribution: uniform, min: 10, max: 900}
  output_tokens: {distribution: uniform, min: 1, max: 90}
  requests: 150
`
	colocated = "name: \"a \\\"quoted\\\" </script> name\"\nmodel: llama-3.1-8b\npools: [{gpu: h100-sxm, replicas: 2, " +
		"max_num_seqs: 8, num_gpu_blocks: 200, max_model_len: 1024}]\n"
	disaggregated = "name: split\nmodel: llama-3.1-8b\npools:\n  - {name: prefill, role: prefill, gpu: h100-sxm}\n" +
		"  - {name: decode, role: decode, gpu: h100-sxm}\n"
)

// fields are those of an event, as the Trace Event Format has them.
type fields struct {
	Ph, Name, Cat, BP, S string
	TS                   float64
	Dur                  *float64
	PID, TID             int
	ID                   *int
	Args                 map[string]any
}

// traceOf runs a scenario with a trace of a window, and returns what a viewer reads, and what was said.
func traceOf(t *testing.T, scenario, file, window string) (events []fields, about map[string]string, talk string) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "chat.yaml")
	require.NoError(t, os.WriteFile(source, []byte(scenario), 0o600))
	s, err := configs.Load(source, configs.Options{})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	defer b.Close()
	file = filepath.Join(dir, file)
	f, err := OpenFile(t.Context(), file, window)
	require.NoError(t, err)
	defer f.Abandon()
	_, err = run.Simulate(t.Context(), b, run.Options{Timeline: true, Observers: []run.Observer{f}})
	require.NoError(t, err)
	var said strings.Builder
	require.NoError(t, f.Write(&said, b.Scenario, "1.2"))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	if strings.HasSuffix(file, ".gz") {
		zip, err := gzip.NewReader(bytes.NewReader(text))
		require.NoError(t, err)
		text, err = io.ReadAll(zip)
		require.NoError(t, err)
	}
	var all struct {
		TraceEvents []fields
		OtherData   map[string]string
	}
	require.NoError(t, json.Unmarshal(text, &all))
	return all.TraceEvents, all.OtherData, said.String()
}

// lawful checks what is true of every trace: each event is on a track that has a name and within the window, slices of
// a track follow each other, and what begins ends later, once.
func lawful(t *testing.T, events []fields, from, to float64) (of map[string]int) {
	t.Helper()
	const ps = 1e-5 // of rounding, in µs
	type track struct{ process, thread int }
	named, free := map[track]bool{}, map[track]float64{}
	type pair struct {
		cat, name string
		id        int
	}
	begun, of := map[pair]float64{}, map[string]int{}
	for i := range events {
		e := &events[i]
		of[e.Ph+" "+e.Cat]++
		at := track{e.PID, e.TID}
		switch e.Ph {
		case "M":
			named[at] = true
			require.NotEmpty(t, e.Args["name"])
			continue
		case "X":
			require.NotNil(t, e.Dur)
			require.GreaterOrEqual(t, e.TS, free[at]-ps, "a step begins before the one before has ended: %v", e)
			free[at] = e.TS + *e.Dur
			require.LessOrEqual(t, e.TS, to)
			require.GreaterOrEqual(t, free[at], from)
			require.Positive(t, e.Args["steps"])
		case "b", "s":
			require.NotContains(t, begun, pair{e.Cat, e.Name, *e.ID})
			begun[pair{e.Cat, e.Name, *e.ID}] = e.TS
		case "e", "f":
			start, ok := begun[pair{e.Cat, e.Name, *e.ID}]
			require.True(t, ok, "it ends, and has not begun: %v", e)
			require.GreaterOrEqual(t, e.TS, start)
			delete(begun, pair{e.Cat, e.Name, *e.ID})
		case "i", "C":
			require.GreaterOrEqual(t, e.TS, from)
			require.Less(t, e.TS, to)
			require.GreaterOrEqual(t, e.TS, free[track{-1, 0}], "instants are in order")
			free[track{-1, 0}] = e.TS
		default:
			t.Fatalf("an event of no kind: %v", e)
		}
		require.True(t, named[track{e.PID, 0}], "its pool has no name: %v", e)
		if e.TID > 0 {
			require.True(t, named[at], "its replica has no name: %v", e)
		}
	}
	require.Empty(t, begun, "they never end")
	return of
}

func TestATraceOfReplicasThatRunOutOfBlocks(t *testing.T) {
	events, about, talk := traceOf(t, colocated+workload, "t.json.gz", "0s:1000s")
	of := lawful(t, events, 0, 1e9)
	assert.Positive(t, of["b stall"], "no request was preempted")
	assert.Equal(t, 150, of["i arrival"])
	assert.Positive(t, of["C state"])
	assert.Equal(t, map[string]string{"scenario": `a "quoted" </script> name`, "seed": "1", "version": "1.2",
		"window": "0 to 1000 s"}, about)
	assert.Contains(t, talk, "from 0 s to 1000 s in ")
	names := map[string]bool{}
	tokens, prompts := 0.0, 0.0
	for i := range events {
		e := &events[i]
		if e.Ph != "X" {
			continue
		}
		names[strings.Fields(e.Name)[0]] = true
		tokens += e.Args["decodes"].(float64)
		prompts += e.Args["prompt_tokens"].(float64)
		parts := 0.0
		for key, ms := range e.Args {
			if strings.HasSuffix(key, "_ms") {
				parts += ms.(float64)
			}
		}
		assert.InEpsilon(t, *e.Dur, 1e3*parts, 1e-3, "the parts of a step make it up")
	}
	assert.Equal(t, map[string]bool{"prefill": true, "mixed": true, "decode": true}, names)
	assert.Positive(t, tokens)
	assert.Greater(t, prompts, 150*10.0)
}

func TestATraceOfPoolsHasTransfersFromOneToTheOther(t *testing.T) {
	events, _, _ := traceOf(t, disaggregated+workload, "t.json", "0s:1000s")
	of := lawful(t, events, 0, 1e9)
	assert.Positive(t, of["b transfer"])
	assert.Equal(t, of["b transfer"], of["s transfer"])
	for i := range events {
		switch e := &events[i]; {
		case e.Ph == "s":
			assert.Equal(t, 1, e.PID, "it leaves the pool of prompts")
		case e.Ph == "f":
			assert.Equal(t, []any{2, "e"}, []any{e.PID, e.BP}, "it comes to that of decodes")
		}
	}
}

func TestATraceOfReplicasThatFail(t *testing.T) {
	failing := colocated + "failures: [{pool: serve, replica: 0, at_s: 1, down_s: 1}]\n" +
		strings.Replace(workload, "max: 900", "max: 2000", 1)
	events, _, _ := traceOf(t, failing, "t.json", "500ms:4s")
	of := lawful(t, events, 0.5e6, 4e6)
	assert.Positive(t, of["i replica"])
	assert.Positive(t, of["i outcome"], "no request was refused, though some are too long")
	lives := map[string]bool{}
	for i := range events {
		if events[i].Cat == "replica" {
			lives[events[i].Name] = true
		}
	}
	assert.Equal(t, map[string]bool{"up": true, "down": true}, lives)
}

func TestATraceOfRanksNamesThem(t *testing.T) {
	ranks := "model: deepseek-v3\npools: [{gpu: h200-sxm, tensor_parallel: 1, data_parallel: 8, expert_parallel: true}]\n"
	events, _, _ := traceOf(t, ranks+strings.Replace(workload, "150", "20", 1), "t.json", "0s:1000s")
	lawful(t, events, 0, 1e9)
	var names []string
	for i := range events {
		if events[i].Name == "thread_name" {
			names = append(names, events[i].Args["name"].(string))
		}
	}
	assert.Contains(t, names, "serve/0 rank 7")
}

func TestAWindowInWhichNothingHappensSaysSo(t *testing.T) {
	events, _, talk := traceOf(t, colocated+workload, "t.json", "5000s:6000s")
	for i := range events {
		assert.Equal(t, "M", events[i].Ph)
	}
	assert.Contains(t, talk, "trace: nothing happens in that window")
}

// TestObserversKeepTheirInstants: a trace that looks at the queues does not change when another one does.
func TestObserversKeepTheirInstants(t *testing.T) {
	var seen []sim.Time
	other := func(_ *sim.Cluster, now sim.Time) sim.Time {
		seen = append(seen, now)
		return now.Add(7)
	}
	trace := New(nil, Window{From: 0, To: 5}, io.Discard)
	trace.cluster = &sim.Cluster{}
	l := &observations{t: trace, other: other}
	for now := sim.Time(0); now < 21; {
		next := l.observe(trace.cluster, now)
		require.Greater(t, next, now)
		now = next
	}
	assert.Equal(t, []sim.Time{0, 7, 14}, seen)
	single := &observations{t: trace}
	assert.Equal(t, sim.Forever, single.observe(trace.cluster, math.MaxInt32), "after the window there is nothing to see")
}

func TestAFileOfATraceIsThereWhole(t *testing.T) {
	f, err := OpenFile(t.Context(), "", DefaultWindow)
	require.NoError(t, err)
	assert.Nil(t, f)
	path := filepath.Join(t.TempDir(), "t.json")
	_, err = OpenFile(t.Context(), path, "nonsense")
	require.ErrorContains(t, err, `--trace-window "nonsense"`)
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	_, err = OpenFile(t.Context(), path, DefaultWindow)
	require.ErrorContains(t, err, "--trace ", "a file that is no trace stays")
	require.NoError(t, os.Remove(path))
	f, err = OpenFile(t.Context(), path, DefaultWindow)
	require.NoError(t, err)
	f.Abandon()
	assert.NoFileExists(t, path)
}
