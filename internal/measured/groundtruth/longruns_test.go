package groundtruth_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

const longRunLines = `{"run":"p1","i":0,"input_tokens":7084,"output_tokens":958,"ttft_s":1.25}
{"run":"p2","i":0,"input_tokens":10,"output_tokens":20,"ttft_s":0.5}
{"run":"p1","i":1,"input_tokens":6959,"output_tokens":981,"ttft_s":0.375}
`

func TestRequestsOfALongRunAreRowsOfItInOrder(t *testing.T) {
	f, err := measuredtest.ReadText(t, longRunLines, "setups.csv", measuredtest.ProfiledTable(), "other.csv",
		siliconTable(), "broken.csv", "a,b\n1\n")
	require.NoError(t, err)
	assert.Equal(t, "requests of profiled closed loops", f.Schema)
	require.Len(t, f.Runs, 2)
	known, unknown := f.Runs[0], f.Runs[1]
	assert.Equal(t, "p1", known.ID)
	assert.Equal(t, "gpt-oss-120b", known.Labels.Model)
	assert.Equal(t, 4, known.Labels.Concurrency)
	assert.Empty(t, known.Skip)
	assert.Contains(t, known.Scenario, "workload:\n  closed_loop: {concurrency: 4}\n  lengths: {values: [[7084, 958], "+
		"[6959, 981]]}\n")
	s, err := configs.Read(known.ID, []byte(known.Scenario), configs.Options{})
	require.NoError(t, err)
	assert.Equal(t, [][]int64{{7084, 958}, {6959, 981}}, s.Workload.Lengths.Values)
	assert.Len(t, f.Notes, 3, "those of the table too")
	assert.Equal(t, []measured.Row{
		{ID: "p1#0", Request: 0, Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean, 1250)}},
		{ID: "p1#1", Request: 1, Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean, 375)}},
	}, known.Rows)
	assert.Equal(t, "the table of profiled runs that describes it is not beside the data", unknown.Skip)
	assert.Len(t, unknown.Rows, 1)
}

func TestRequestsOfALongRunUnderAnotherEngineAreScheduledByIt(t *testing.T) {
	f, err := measuredtest.ReadText(t, longRunLines, "setups.csv", measuredtest.ProfiledTable("backend", "sglang"))
	require.NoError(t, err)
	assert.Empty(t, f.Runs[0].Skip)
	assert.Contains(t, f.Runs[0].Scenario, "    engine: sglang\n    efficiency: sglang@0.22.0\n"+
		"    max_running_requests: 256\n    chunked_prefill_size: 8192\n")
	assert.Contains(t, f.Runs[0].Scenario, "    radix_cache: false\n")
	for _, row := range f.Runs[0].Rows {
		assert.Empty(t, row.Values[0].Skip)
	}
	_, err = configs.Read("p1", []byte(f.Runs[0].Scenario), configs.Options{})
	require.NoError(t, err)
}

func TestBadRequestsOfALongRunAreNamed(t *testing.T) {
	for want, line := range map[string]string{
		`data:1: run: missing; expected the id of a run`:                                      `{"run":null,"i":0,"input_tokens":1,"output_tokens":1,"ttft_s":1}`,
		`data:1: i: 3; expected 0, for the requests of a run are in the order they were sent`: `{"run":"a","i":3,"input_tokens":1,"output_tokens":1,"ttft_s":1}`,
		`data:1: input_tokens: 1.5; expected a whole number of tokens from 1 to 1e9`:          `{"run":"a","i":0,"input_tokens":1.5,"output_tokens":1,"ttft_s":1}`,
		`data:1: output_tokens: missing; expected a whole number of tokens from 1 to 1e9`:     `{"run":"a","i":0,"input_tokens":1,"output_tokens":null,"ttft_s":1}`,
		`data:1: ttft_s: 0; expected seconds above 0`:                                         `{"run":"a","i":0,"input_tokens":1,"output_tokens":1,"ttft_s":0}`,
	} {
		_, err := measuredtest.ReadText(t, line)
		assert.EqualError(t, err, want)
	}
	_, err := measuredtest.ReadText(t, longRunLines, "setups.csv", measuredtest.ProfiledTable("concurrency", "none"))
	assert.EqualError(t, err, `setups.csv:2: concurrency: "none"; expected a number, or nothing`)
}

func TestEverySharedRequestOfALongRunIsRead(t *testing.T) {
	f := measuredtest.ReadShared(t, "A3_long_runs_requests.jsonl")
	require.Len(t, f.Runs, 2)
	assert.Equal(t, 2960, measuredtest.CountRows(t, f))
	assert.Equal(t, map[string]int{"": 2}, measuredtest.SkipReasons(f))
}
