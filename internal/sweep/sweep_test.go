package sweep

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chat is a scenario that runs in milliseconds.
const chat = `name: chat
model: llama-3.1-8b
pools: [{gpu: h100-sxm, max_num_seqs: 16}]
workload:
  arrivals: {process: poisson, rate: 5}
  prompt_tokens: {distribution: lognormal, mean: 300, cv: 1}
  output_tokens: {distribution: lognormal, mean: 60, cv: 1}
  requests: 300
slo: {ttft_ms: 500, tpot_ms: 30}
seed: 3
`

// inDir makes a directory with the scenario the working directory.
func inDir(t testing.TB) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("chat.yaml", []byte(chat), 0o600))
}

// grid has two axes and two seeds, and a model that does not fit one GPU.
func grid() Plan {
	return Plan{Source: "chat.yaml", Over: []string{"rate=4,40", "model=llama-3.1-8b,llama-3.1-70b", "max_num_seqs=8,32"},
		Seeds: 2, Version: "test"}
}

// swept runs a plan into a directory.
func swept(t testing.TB, p Plan, dir string, shard Shard) *Result {
	t.Helper()
	s, _, err := New(t.Context(), p)
	require.NoError(t, err)
	w, err := Open(t.Context(), dir, s, shard)
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Run(context.Background(), nil))
	r, err := w.Finish(context.Background())
	require.NoError(t, err)
	return r
}

// files are the names and the contents of a directory.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(text)
	}
	return all
}

func rows(t testing.TB, dir string) []map[string]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "sweep.csv"))
	require.NoError(t, err)
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	var table []map[string]string
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = cells[i]
		}
		table = append(table, row)
	}
	return table
}

func TestASweepHasARowForEachPointAndSeed(t *testing.T) {
	inDir(t)
	r := swept(t, grid(), "out", Shard{})
	table := rows(t, "out")
	require.Len(t, table, 16)
	for k, row := range table {
		assert.Equal(t, fmt.Sprint(k/2), row["point"])
		assert.Equal(t, fmt.Sprint(3+k%2), row["seed"])
		assert.Equal(t, []string{"4", "40"}[k/8], row["rate"])
		assert.Equal(t, []string{"8", "32"}[k/2%2], row["max_num_seqs"])
		if row["model"] == "llama-3.1-70b" {
			assert.Contains(t, row["error"], "does not fit on 1 × h100-sxm")
			assert.Empty(t, row["ttft_p50_s"])
			continue
		}
		assert.Empty(t, row["error"])
		assert.Equal(t, "300", row["arrived"])
		assert.Equal(t, "300", row["completed"])
	}
	assert.Equal(t, 8, r.Failed)
	require.Len(t, r.Failures, 1)
	assert.Equal(t, 2, r.Failures[0].Point)
	assert.Equal(t, table[0]["prompt_tokens"], table[8]["prompt_tokens"], "one seed, the same requests at every point")
	assert.NotEqual(t, table[0]["prompt_tokens"], table[1]["prompt_tokens"], "another seed, others")
}

// TestParquetHasWhatTheCSVHas: the same columns in the same order, numbers to the last bit, and null for empty.
func TestParquetHasWhatTheCSVHas(t *testing.T) {
	inDir(t)
	swept(t, grid(), "out", Shard{})
	text, err := os.ReadFile("out/sweep.parquet")
	require.NoError(t, err)
	f, err := parquet.OpenFile(strings.NewReader(string(text)), int64(len(text)))
	require.NoError(t, err)
	csvHead, _, _ := strings.Cut(files(t, "out")["sweep.csv"], "\n")
	var names []string
	for _, field := range f.Schema().Fields() {
		names = append(names, field.Name())
	}
	require.Equal(t, csvHead, strings.Join(names, ","))
	table := rows(t, "out")
	reader := parquet.NewReader(f)
	buffer := make([]parquet.Row, len(table))
	n, _ := reader.ReadRows(buffer)
	require.Equal(t, len(table), n)
	for k, row := range buffer {
		for i, v := range row {
			want := table[k][names[i]]
			switch {
			case v.IsNull():
				assert.Empty(t, want, names[i])
			case v.Kind() == parquet.Double:
				x, err := strconv.ParseFloat(want, 64)
				require.NoError(t, err)
				assert.Equal(t, math.Float64bits(x), math.Float64bits(v.Double()), names[i])
			default:
				assert.Equal(t, want, v.String(), names[i])
			}
		}
	}
}

// TestTheBytesDependOnNothingElse: neither on the number of cores, nor on interruptions, nor on shards.
func TestTheBytesDependOnNothingElse(t *testing.T) {
	inDir(t)
	swept(t, grid(), "out", Shard{})
	want := files(t, "out")
	require.NotContains(t, want, journalName)

	cores := runtime.GOMAXPROCS(1)
	swept(t, grid(), "one-core", Shard{})
	runtime.GOMAXPROCS(max(4, cores))
	swept(t, grid(), "four-cores", Shard{})
	runtime.GOMAXPROCS(cores)
	assert.Equal(t, want, files(t, "one-core"))
	assert.Equal(t, want, files(t, "four-cores"))

	s, _, err := New(t.Context(), grid())
	require.NoError(t, err)
	for runs := 0; ; runs++ { // each time a few more
		w, err := Open(t.Context(), "again", s, Shard{})
		require.NoError(t, err)
		require.Equal(t, w.Ended(), w.Resumed)
		ctx, cancel := context.WithCancel(context.Background())
		err = w.Run(ctx, func(done float64) {
			if done >= 3 {
				cancel()
			}
		})
		if err == nil {
			require.Greater(t, runs, 1)
			_, err = w.Finish(context.Background())
			require.NoError(t, err)
			w.Close()
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		require.GreaterOrEqual(t, w.Ended(), w.Resumed+3)
		w.Close()
		tear(t, "again", runs)
	}
	assert.Equal(t, want, files(t, "again"))

	for i := range 3 {
		assert.Nil(t, swept(t, grid(), fmt.Sprint("part-", i+1), Shard{i + 1, 3}))
	}
	_, _, err = Merge(context.Background(), []string{"part-3", "part-1", "part-2"}, "merged")
	require.NoError(t, err)
	assert.Equal(t, want, files(t, "merged"))
}

// tear leaves half a line at the end of a journal, as a process does that is killed while it writes.
func tear(t *testing.T, dir string, bytes int) {
	f, err := os.OpenFile(filepath.Join(dir, journalName), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"run":15,"values":[0,1,2`[:5*min(4, bytes)])
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestEndedRunsAreNotRunAgain(t *testing.T) {
	inDir(t)
	s, _, err := New(t.Context(), grid())
	require.NoError(t, err)
	w, err := Open(t.Context(), "out", s, Shard{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	require.ErrorIs(t, w.Run(ctx, afterOne(cancel)), context.Canceled)
	ended := w.Ended()
	w.Close()
	w, err = Open(t.Context(), "out", s, Shard{})
	require.NoError(t, err)
	again := 0.0
	require.NoError(t, w.Run(context.Background(), func(done float64) { again = done }))
	assert.InDelta(t, 16-ended, again, 0)
	w.Close()
}

// afterOne calls end when a run is done.
func afterOne(end func()) func(done float64) {
	return func(done float64) {
		if done >= 1 {
			end()
		}
	}
}

// TestASweepWhoseFilesNobodyWaitsForLeavesNothing: a trace is long, and its checksum is known before the directory is
// made.
func TestASweepWhoseFilesNobodyWaitsForLeavesNothing(t *testing.T) {
	inDir(t)
	require.NoError(t, os.WriteFile("t.csv", []byte("arrival_s,input_tokens,output_tokens\n0,5,9\n1,6,8\n"), 0o600))
	p := grid()
	p.Over, p.Seeds, p.Set = []string{"max_num_seqs=8,32"}, 1, []string{
		"workload.arrivals=null", "workload.prompt_tokens=null", "workload.output_tokens=null", "workload.requests=null",
		"workload.trace={file: t.csv}"}
	s, _, err := New(t.Context(), p)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ctx, "out", s, Shard{})
	require.ErrorIs(t, err, context.Canceled)
	assert.NoDirExists(t, "out")
}

// TestPointsAreReadAsLongAsSomebodyWaits, and it is said how many: those of a large sweep take a minute.
func TestPointsAreReadAsLongAsSomebodyWaits(t *testing.T) {
	inDir(t)
	heard := 0
	_, _, err := NewHeard(t.Context(), grid(), func(done, of int) {
		heard++
		assert.Equal(t, heard, done)
		assert.LessOrEqual(t, done, of)
	})
	require.NoError(t, err)
	assert.Positive(t, heard)
	ctx, cancel := context.WithCancel(t.Context())
	many := grid()
	many.Over = []string{"max_num_seqs=1:1000:1"}
	read := 0
	_, _, err = NewHeard(ctx, many, func(done, _ int) { read = done; cancel() })
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, read, 1000)
}

func TestAJournalBelongsToOneSweep(t *testing.T) {
	inDir(t)
	s, _, err := New(t.Context(), grid())
	require.NoError(t, err)
	w, err := Open(t.Context(), "out", s, Shard{})
	require.NoError(t, err)
	_, err = Open(t.Context(), "out", s, Shard{})
	require.ErrorContains(t, err, "another decodesim is writing to it")
	ctx, cancel := context.WithCancel(context.Background())
	require.Error(t, w.Run(ctx, afterOne(cancel)))
	w.Close()
	other := grid()
	other.Seeds = 3
	changed := grid()
	changed.Set = []string{"workload.requests=301"}
	for _, p := range []Plan{other, changed} {
		s, _, err := New(t.Context(), p)
		require.NoError(t, err)
		_, err = Open(t.Context(), "out", s, Shard{})
		require.ErrorIs(t, err, errOther)
	}
	_, err = Open(t.Context(), "out", s, Shard{1, 2})
	require.ErrorIs(t, err, errOther)
}

func TestNothingRemainsOfASweepThatRanNothing(t *testing.T) {
	inDir(t)
	s, _, err := New(t.Context(), grid())
	require.NoError(t, err)
	w, err := Open(t.Context(), "out", s, Shard{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, w.Run(ctx, nil), context.Canceled)
	w.Close()
	assert.NoFileExists(t, "out")
}

func TestShardsThatDoNotBelongTogetherAreRefused(t *testing.T) {
	inDir(t)
	swept(t, grid(), "1", Shard{1, 2})
	swept(t, grid(), "2", Shard{2, 2})
	swept(t, grid(), "of-3", Shard{2, 3})
	other := grid()
	other.Seeds = 1
	swept(t, other, "other", Shard{2, 2})
	for want, dirs := range map[string][]string{
		"missing the directories":       {},
		"of 2 shards, missing: 2":       {"1"},
		`"1" and "1" are both shard`:    {"1", "1"},
		"are of different sweeps":       {"1", "other"},
		`"1" and "of-3" are of`:         {"1", "of-3"},
		"is no shard that has ended":    {"1", "nowhere"},
		"it has no run 1 where it shou": {"1", "damaged"},
	} {
		require.NoError(t, os.RemoveAll("damaged"))
		require.NoError(t, os.CopyFS("damaged", os.DirFS("2")))
		require.NoError(t, os.WriteFile("damaged/"+rowsName, []byte("{}\n"), 0o600))
		_, _, err := Merge(context.Background(), dirs, "merged")
		require.ErrorContains(t, err, want)
		assert.NoFileExists(t, "merged")
	}
}

// TestEveryPointIsReadBeforeTheFirstRuns: one error, in the words of the flag, and no directory.
func TestEveryPointIsReadBeforeTheFirstRuns(t *testing.T) {
	inDir(t)
	for want, change := range map[string]func(*Plan){
		`no key "max_num_seq" in pools[0]; did you mean`: func(p *Plan) { p.Over = []string{"max_num_seq=1,2"} },
		"--over rate=-1:":   func(p *Plan) { p.Over = []string{"rate=1,-1"} },
		"--over rate=fast:": func(p *Plan) { p.Over = []string{"rate=1,fast"} },
		`--over engine=vllm: engine "vllm" not found`:   func(p *Plan) { p.Over = []string{"engine=vllm-v1,vllm"} },
		"--over concurrency=4: the workload has no":     func(p *Plan) { p.Over = []string{"concurrency=4"} },
		"--over seed=1,2: every point is run under the": func(p *Plan) { p.Over = []string{"seed=1,2"} },
		"--over rate=1: --over rate varies it too":      func(p *Plan) { p.Over = []string{"rate=4", "rate=1"} },
		"--over rate=1: --ladder varies it too":         func(p *Plan) { p.Over, p.Ladder = []string{"rate=1"}, true },
		"sweep: nothing to vary":                        func(p *Plan) { p.Over = nil },
		"more than 10000000 runs": func(p *Plan) {
			p.Over = []string{"rate=1:90000:1", "max_num_seqs=1:900:1"}
		},
		`--plot rate,speed: no column "speed"`:      func(p *Plan) { p.Plots = []string{"rate,speed"} },
		`--plot rate,tps,busy: "tps" is not varied`: func(p *Plan) { p.Plots = []string{"rate,tps,busy"} },
		"--plot rate: expected x,y":                 func(p *Plan) { p.Plots = []string{"rate"} },
		"workload.precision":                        func(p *Plan) { p.Set = []string{"workload.precision=0.1"} },
	} {
		p := grid()
		change(&p)
		_, _, err := New(t.Context(), p)
		assert.ErrorContains(t, err, want)
	}
}

func TestShortNamesAreTheKeysOfTheScenario(t *testing.T) {
	inDir(t)
	p := grid()
	p.Over = []string{"rate=1", "max_num_seqs=2", "weights=fp8", "gpu=h200-sxm", "slo.ttft_ms=9", "router=round-robin"}
	s, _, err := New(t.Context(), p)
	require.NoError(t, err)
	var keys []string
	for _, a := range s.Axes {
		keys = append(keys, a.Key)
	}
	assert.Equal(t, []string{"workload.arrivals.rate", "pools.serve.max_num_seqs", "weights", "pools.serve.gpu",
		"slo.ttft_ms", "router"}, keys)
	p.Source, p.Over = "pd-70b", []string{"max_num_seqs=8,16"}
	_, _, err = New(t.Context(), p)
	require.ErrorContains(t, err, "--over max_num_seqs=8,16: 2 pools have this key; expected one of them, such as pools.")
}

// BenchmarkSweep is a hundred points of 10,000 requests: a grid of loads, up to far too much, and batch limits of an 8B
// model.
func BenchmarkSweep(b *testing.B) {
	dir := b.TempDir()
	points := 0
	for i := range b.N {
		p := Plan{Source: "chat-8b", Set: []string{"workload.requests=10000"}, Seeds: 1, Version: "bench",
			Over: []string{"rate=5:50:5", "max_num_seqs=8:256:x2,384,512,768,1024"}}
		points += swept(b, p, filepath.Join(dir, fmt.Sprint(i)), Shard{}).Runs
	}
	b.ReportMetric(float64(points)/b.Elapsed().Seconds(), "points/s")
}
