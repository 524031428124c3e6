package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/sessions"
)

// ofLengths is base with recorded lengths, and without an end of its own.
func ofLengths(lengths string) string {
	text := with("  prompt_tokens: {distribution: fixed, mean: 100}\n", "")
	text = strings.Replace(text, "output_tokens: {distribution: fixed, mean: 10}", "lengths: "+lengths, 1)
	return strings.Replace(text, "  requests: 10\n", "", 1)
}

// recordedScenario is chat8b with lengths in lengths.csv.
func recordedScenario(t *testing.T, rows string) {
	t.Helper()
	text := strings.Replace(chat8b, "  prompt_tokens: {distribution: fixed, mean: 300}\n", "", 1)
	text = strings.Replace(text, "output_tokens: {distribution: fixed, mean: 100}\n  requests: 50",
		"lengths: {file: lengths.csv}", 1)
	require.NotContains(t, text, "requests")
	inDir(t, text)
	require.NoError(t, os.WriteFile("lengths.csv", []byte(rows), 0o600))
}

const threeRows = "prompt_tokens,output_tokens\n10,20\n300,1\n7,5\n"

// sent returns the lengths of all requests of the source.
func sent(b *Built) (all [][]int64) {
	var r sim.Request
	for b.Config.Source.Next(&r) {
		all = append(all, []int64{int64(r.Prompt), int64(r.Output)})
		if f, ok := b.Config.Source.(sim.Follower); ok {
			f.Done(r.Arrival+1, &r)
		}
	}
	return all
}

func TestRecordedLengthsThatCannotBeAreRefused(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{
			ofLengths(
				"{}"), `chat.yaml:10:3: workload.lengths: says no lengths; expected file, or values such as [[512, 128], [90, 400]]`},
		{ofLengths("{file: null}"),
			`chat.yaml:10:3: workload.lengths: says no lengths; expected file, or values such as [[512, 128], [90, 400]]`},
		{ofLengths("[[1, 2]]"), `chat.yaml:10:3: workload.lengths: expected a mapping of keys to values, got a list`},
		{ofLengths("{fil: a.csv}"), `chat.yaml:10:13: workload.lengths.fil: unknown key; did you mean "file"?`},
		{ofLengths(`{file: ""}`),
			`chat.yaml:10:13: workload.lengths.file: missing; expected a path to a CSV or JSON-lines file`},
		{ofLengths("{file: a.csv, values: [[1, 2]]}"),
			`chat.yaml:10:26: workload.lengths.values: stands beside file; expected only one of them`},
		{ofLengths("{values: []}"),
			`chat.yaml:10:13: workload.lengths.values: is []; accepted: at least one pair, such as [[512, 128]]`},
		{ofLengths("{values: [1, 2]}"), `chat.yaml:10:22: workload.lengths.values[0]: expected a list, got the number 1`},
		{ofLengths("{values: [[1, 2], [3, x]]}"),
			`chat.yaml:10:34: workload.lengths.values[1][1]: expected an integer, got "x"`},
		{ofLengths("{values: [[1, 2], [3]]}"),
			`chat.yaml:10:30: workload.lengths.values[1]: is [3]; accepted: two whole numbers from 1 to 1073741823, the tokens of a prompt and of its output`},
		{ofLengths("{values: [[1, 0]]}"),
			`chat.yaml:10:22: workload.lengths.values[0]: is [1 0]; accepted: two whole numbers from 1 to 1073741823, the tokens of a prompt and of its output`},
		{ofLengths("{values: [" + strings.Repeat("[1, 1], ", 100_000) + "[1, 1]]}"),
			`chat.yaml:10:13: workload.lengths.values: has 100001 pairs; expected at most 100000, or file`},
		{ofLengths("{values: [[1, 2]]}\n  requests: 2"),
			`chat.yaml:11:3: workload.requests: is 2; accepted: at most 1, for so many lengths are recorded, or lengths with repeat: true`},
		{ofLengths("{values: [[1, 2]]}\n  distinct_prompts: 2\n  requests: 4"),
			`chat.yaml:11:3: workload.distinct_prompts: is 2; accepted: at most 1, for so many lengths are recorded, or lengths with repeat: true`},
		{ofLengths("{values: [[1, 2]], repeat: true}"),
			`chat.yaml:8:1: workload: has no end; expected requests, duration_s or both`},
		{ofLengths("{file: a.csv}\n  distinct_prompts: 2"),
			`chat.yaml:8:1: workload: has no end; expected requests, duration_s or both`},
		{ofLengths("{file: a.csv, repeat: 2}"),
			`chat.yaml:10:26: workload.lengths.repeat: expected true or false, got the number 2`},
		{with("output_tokens", "lengths: {file: a.csv}\n  output_tokens"),
			`chat.yaml:10:3: workload.prompt_tokens: stands beside lengths, which say how long prompts are; expected only one of them`},
		{with("prompt_tokens: {distribution: fixed, mean: 100}", "lengths: {file: a.csv}"),
			`chat.yaml:11:3: workload.output_tokens: stands beside lengths, which say how long outputs are; expected only one of them`},
		{base[:strings.Index(base, "workload")] + "workload: {trace: {file: a}, lengths: {file: b}}\n",
			`chat.yaml:8:30: workload.lengths: stands beside trace, which has lengths of its own; expected only one of them`},
		{strings.Replace(ofLengths("{file: a.csv}"), "arrivals: {process: poisson, rate: 2}", "closed_loop: {concurrency: 0}",
			1), `chat.yaml:9:17: workload.closed_loop.concurrency: 0 is out of range; `},
		{strings.Replace(ofLengths("{file: a.csv}"), "rate: 2", "rate: 0", 1),
			`chat.yaml:9:32: workload.arrivals.rate: is 0; `},
	} {
		t.Run(c.want, func(t *testing.T) {
			if len(c.yaml) > 100_000 {
				soak.TakesLong(t)
			}
			refuses(t, c.yaml, c.want)
		})
	}
	closed := strings.Replace(ofLengths("{values: [[1, 2]]}\n  requests: 2"), "arrivals: {process: poisson, rate: 2}",
		"closed_loop: {concurrency: 1}", 1)
	refuses(
		t, closed, `chat.yaml:11:3: workload.requests: is 2; accepted: at most 1, for so many lengths are recorded, or lengths with repeat: true`)
}

func TestAFileOfLengthsThatCannotBeReadIsRefused(t *testing.T) {
	recordedScenario(t, "prompt_tokens,output_tokens\n10,20\n300,\n")
	here, err := os.Getwd()
	require.NoError(t, err)
	refused := func(want string, set ...string) {
		t.Helper()
		s, err := configs.Load("chat.yaml", configs.Options{Set: set})
		require.NoError(t, err, "files are read when the run is built")
		_, err = New(s)
		require.EqualError(t, err, strings.ReplaceAll(want, "HERE", here))
	}
	refused(
		`chat.yaml:5:13: workload.lengths.file: HERE/lengths.csv:3: output_tokens is ""; accepted: a whole number of tokens from 1 to 1073741823`)
	refused(`--set workload.lengths.file=none.csv: "HERE/none.csv" does not exist; expected a CSV or JSON-lines file`,
		"workload.lengths.file=none.csv")
	refused(`--set workload.lengths.file=.: HERE is a directory; accepted: a file`, "workload.lengths.file=.")
	require.NoError(t, os.WriteFile("lengths.csv", []byte(threeRows), 0o600))
	refused(
		`--set workload.requests=4: is 4; accepted: at most 3, for so many lengths are recorded, or lengths with repeat: true`, "workload.requests=4")
}

func TestTheKthRequestHasTheKthRecordedLengths(t *testing.T) {
	recordedScenario(t, threeRows)
	want := [][]int64{{10, 20}, {300, 1}, {7, 5}}
	closed := []string{"workload.arrivals=null", "workload.closed_loop.concurrency=2"}
	for _, set := range [][]string{
		nil, closed, {"seed=9"}, {"workload.arrivals.rate=900"}, {"workload.duration_s=1000"},
		{"workload.lengths.file=null", "workload.lengths.values=[[10, 20], [300, 1], [7, 5]]"},
	} {
		b := build(t, set...)
		require.Equal(t, want, sent(b), "%v", set)
		require.EqualValues(t, 3, b.Scenario.Workload.Requests)
		require.Equal(t, 3.0, b.Requests, "%v", set)
		require.InDelta(t, 317/3.0, b.PromptMean, 1e-9)
	}
	require.Equal(t, want[:2], sent(build(t, "workload.requests=2")))
	require.Equal(t, [][]int64{{10, 4}, {300, 1}, {7, 4}}, sent(build(t, "workload.max_tokens=4")))
	again := build(t, "workload.requests=5", "workload.lengths.repeat=true")
	require.Equal(t, append(want, want[:2]...), sent(again))
	var r sim.Request
	require.True(t, build(t, "workload.prefix.groups=1", "workload.prefix.tokens=100").Config.Source.Next(&r))
	require.EqualValues(t, 110, r.Prompt)
}

func TestAResolvedScenarioWithRecordedLengthsRerunsItself(t *testing.T) {
	recordedScenario(t, threeRows)
	require.NoError(t, os.MkdirAll("out/deep", 0o700))
	for _, set := range [][]string{nil, {"workload.lengths.file=null", "workload.lengths.values=[[10, 20], [300, 1]]"}} {
		b := build(t, set...)
		text, err := b.Scenario.YAMLFor("out/deep")
		require.NoError(t, err)
		file := filepath.Join("out/deep", "scenario.yaml")
		require.NoError(t, os.WriteFile(file, text, 0o600))
		again, err := configs.Load(file, configs.Options{})
		require.NoError(t, err)
		require.Equal(t, plainly(b.Scenario), plainly(again))
		_, first := simulate(t, b.Scenario)
		_, second := simulate(t, again)
		require.Equal(t, first, second)
		require.Contains(t, string(text), fmt.Sprintf("requests: %d ", b.Scenario.Workload.Requests))
		if set == nil {
			require.Contains(t, string(text), "    file: ../../lengths.csv ")
		} else {
			require.Contains(t, string(text), "    values: [[10, 20], [300, 1]] ")
		}
	}
}

func TestPathsOfRecordedLengthsStartWhereTheyAreNamed(t *testing.T) {
	inDir(t, "")
	here, err := os.Getwd()
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("sub", 0o700))
	require.NoError(t, os.WriteFile("sub/s.yaml", []byte(ofLengths("{file: ../t.csv}")), 0o600))
	for want, opts := range map[string]configs.Options{
		"t.csv": {},
		"u.csv": {Set: []string{"workload.lengths.file=u.csv"}},
		"v.csv": {Env: []string{"DECODESIM_WORKLOAD_LENGTHS_FILE=./v.csv"}},
	} {
		s, err := configs.Load("sub/s.yaml", opts)
		require.NoError(t, err)
		require.Equal(t, filepath.Join(here, want), s.Workload.Lengths.File)
	}
}

func TestFailedRequestsAmongRecordedLengthsAreReported(t *testing.T) {
	recordedScenario(t, "Timestamp,Request tokens,Response tokens\n0,10,20\n1,99,0\n2,7,5\n")
	s, err := configs.Load("chat.yaml", configs.Options{})
	require.NoError(t, err)
	_, summary := simulate(t, s)
	assert.True(t, warned(summary, "1 rows of the recorded lengths were skipped: failed requests"), "%v", summary.Warnings)
	assert.EqualValues(t, 2, summary.Requests.Arrived)
}

func TestARampPutsOffTheEnd(t *testing.T) {
	recordedScenario(t, threeRows)
	closed := []string{"workload.arrivals=null", "workload.closed_loop.concurrency=2"}
	b := build(t, append(closed, "workload.closed_loop.ramp_s=6")...)
	require.InDelta(t, build(t, closed...).SpanS+3, b.SpanS, 1e-9)
	var r sim.Request
	require.True(t, b.Config.Source.Next(&r))
	require.True(t, b.Config.Source.Next(&r))
	require.Equal(t, sim.Time(0).Add(3*sim.Second), r.Arrival)
}

// TestAFileIsReadAsLongAsSomebodyWaits: what reads lengths and what reads a trace says how far it is, and ends with the
// context, long before the end of the file.
func TestAFileIsReadAsLongAsSomebodyWaits(t *testing.T) {
	rows := strings.Repeat("1.5,10,20\n", 300_000)
	for _, workload := range []string{
		"trace: {file: rows.csv}", "lengths: {file: rows.csv}\n  arrivals: {process: poisson, rate: 1}",
	} {
		inDir(t, "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n  "+workload+"\n")
		require.NoError(t, os.WriteFile("rows.csv", []byte("arrived_at,num_prefill_tokens,num_decode_tokens\n"+rows), 0o600))
		s, err := configs.Load("chat.yaml", configs.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		last, all := int64(0), int64(0)
		ctx = WithHearing(ctx, func(file string) func(done, of int64) {
			assert.Equal(t, "rows.csv", filepath.Base(file))
			return func(done, of int64) {
				last, all = done, of
				if done > of/4 {
					cancel()
				}
			}
		})
		_, err = NewUntil(ctx, s)
		require.ErrorIs(t, err, context.Canceled)
		assert.Less(t, last, all/2)
		b, err := NewUntil(t.Context(), s)
		require.NoError(t, err)
		require.NoError(t, b.Close())
	}
}

// TestWhatATraceKeepsIsAskedFor: of a trace that waits for answers every request is kept, and of one that names blocks
// each block. There has to be room for it.
func TestWhatATraceKeepsIsAskedFor(t *testing.T) {
	var rows strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rows, `{"timestamp":%d,"input_length":5,"output_length":1,"hash_ids":[%d]}`+"\n", i, i)
	}
	for follows, want := range map[string]string{
		"true": "chat.yaml:4:29: workload.trace.follow_answers: true, for which all 1000 requests of %s are kept: no room; " +
			"expected false, or a smaller limit",
		"false": "chat.yaml:4:11: workload.trace.file: %s:768: 768 distinct blocks so far: no room",
	} {
		inDir(t, "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n  trace: {file: rows.jsonl, follow_answers: "+
			follows+"}\n")
		file, err := filepath.Abs("rows.jsonl")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(rows.String()), 0o600))
		s, err := configs.Load("chat.yaml", configs.Options{})
		require.NoError(t, err)
		_, err = NewUntil(WithRoom(t.Context(), func(bytes int64) error {
			if follows == "true" && bytes != 1000*sessions.RecordedBytes {
				return nil
			}
			return errors.New("no room")
		}), s)
		require.EqualError(t, err, fmt.Sprintf(want, file))
		b, err := NewUntil(WithRoom(t.Context(), func(int64) error { return nil }), s)
		require.NoError(t, err)
		require.NoError(t, b.Close())
	}
}
