package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
)

// simulated returns a scenario, built, and the results of its run.
func simulated(t *testing.T, s *configs.Scenario) (*build.Built, *Result) {
	t.Helper()
	b, err := build.New(s)
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	r, err := Simulate(t.Context(), b, Options{Rows: -1})
	require.NoError(t, err)
	return b, r
}

// A diff of 3,000 tokens takes 90 s at 30 ms a token and 4.2 s at 1.4 ms, and a task of ten turns takes ten of them,
// longer from turn to turn by the context that is read, and the time of its tools: in closed form, to the picosecond
// that each step is rounded to.
func TestADiffTakesAsLongAsItsTokensAndCompoundsOverTheLoop(t *testing.T) {
	for _, c := range []struct {
		scenario              string
		itl, first, last, all float64
	}{
		{"agent-diff", 0.030, 90, 95, 977}, {"agent-diff-fast", 0.0014, 4.2, 4.43, 89.2},
	} {
		s, err := configs.Load(c.scenario, configs.Options{})
		require.NoError(t, err)
		b, r := simulated(t, s)
		// A step takes fixed + each·context, whatever the context, since it reads weights and cache.
		price := func(context int) float64 { g := b.Model.Step(1, context); return g.First.Seconds() }
		each := (price(20_000) - price(4000)) / 16_000
		fixed := price(4000) - 4000*each
		const turns, output = 10, 3000
		const tools, grows = 9 * 5.0, 500
		require.Len(t, r.Rows, 3*turns)
		for task := range 3 {
			context, sum := 2500.0, tools
			for turn := range turns {
				row := &r.Rows[task*turns+turn]
				require.EqualValues(t, context, row.PromptTokens)
				// Tokens 2 to n: Σ (fixed + each·(context + i)) for i from 1 to n−1.
				const n = output - 1
				closed := n*(fixed+each*context) + each*n*(n+1)/2
				require.InDelta(t, closed, (row.E2E - row.TTFT).Seconds(), 1e-6)
				sum += row.TTFT.Seconds() + closed
				context += output + grows
			}
			done := &r.SortedTasks()[task]
			took := done.Ended.Sub(done.Begun)
			require.InDelta(t, sum, took.Seconds(), 1e-5)
			require.Equal(t, took, done.Spent.Waiting+done.Spent.Prompts+done.Spent.Generation+done.Spent.Tools)
			require.Equal(t, 45*sim.Second, done.Spent.Tools)
		}
		first, last := r.Rows[0].E2E-r.Rows[0].TTFT, r.Rows[turns-1].E2E-r.Rows[turns-1].TTFT
		require.InEpsilon(t, c.first, first.Seconds(), 0.005)
		require.InEpsilon(t, c.itl, r.Rows[0].TPOT.Seconds(), 0.005)
		require.InEpsilon(t, c.last, last.Seconds(), 0.03)
		require.InEpsilon(t, c.all, r.Summary.Latency.Task.Mean, 0.01)
		require.EqualValues(t, 3, r.Summary.Latency.Task.N)
		require.InDelta(t, r.Summary.Latency.Task.Mean, parts(r), 1e-5)
	}
}

// parts sums what the mean task was made of.
func parts(r *Result) float64 {
	p := &r.Summary.Tasks.Parts
	return p.Waiting + p.Prompts + p.Generation + p.Tools
}

const agents = `
model: llama-3.1-8b
pools: [{gpu: h100-sxm, max_num_seqs: 16}]
workload:
  arrivals: {process: poisson, rate: 1}
  agents:
    turns: {distribution: uniform, min: 1, max: 6}
    tool_time_s: {distribution: exponential, mean: 0.5}
    tool_tokens: {distribution: lognormal, mean: 200, cv: 1}
    subagents: {probability: 0.3, agents: {distribution: uniform, min: 1, max: 3}, turns: {distribution: fixed, mean: 2},
      prompt_tokens: {distribution: fixed, mean: 50}}
    tasks: 60
  prefix: {groups: 1, tokens: 500}
  prompt_tokens: {distribution: lognormal, mean: 100, cv: 1}
  output_tokens: {distribution: lognormal, mean: 60, cv: 1}
`

// agentsWith returns the scenario of agents with some values set.
func agentsWith(t *testing.T, set ...string) (*configs.Scenario, error) {
	t.Helper()
	return configs.Read("agents.yaml", []byte(agents), configs.Options{Set: set})
}

// The time of each task is what its rows of requests say, every task ends in one way, and rules on task time are judged
// by all that ended.
func TestTasksAreWhatTheirRequestsSay(t *testing.T) {
	for _, set := range [][]string{
		nil, {"workload.closed_loop.concurrency=4", "workload.arrivals=null"}, {"workload.duration_s=20"},
		{"pools.serve.max_model_len=1200"}, {"workload.timeout_s=1.2"}, {"stream.stream_interval=4"},
	} {
		s, err := agentsWith(t, append(set, "slo.rules=task p50 <= 5s")...)
		if err != nil {
			t.Fatal(set, err)
		}
		_, r := simulated(t, s)
		k := r.Summary.Tasks
		require.Equal(t, k.Begun, k.Completed+k.Failed+k.Full+k.Unfinished, set)
		require.EqualValues(t, k.Completed, r.Summary.Latency.Task.N)
		if k.Completed > 0 {
			require.InEpsilon(t, r.Summary.Latency.Task.Mean, parts(r), 1e-9)
		}
		ends := map[int32]sim.Time{}
		for i := range r.Rows {
			row := &r.Rows[i]
			ends[row.Session] = max(ends[row.Session], row.Arrival.Add(max(0, row.E2E)))
		}
		for _, task := range r.Tasks {
			if task.Outcome.String() == "completed" {
				require.Equal(t, ends[int32(task.Number)+1], task.Ended, "task %d ends with its last token", task.Number)
			}
		}
		require.Len(t, r.Summary.Rules, 1)
	}
}

// A rule on task time counts tasks without a result as longer than any limit.
func TestTasksWithoutAResultMissEveryLimit(t *testing.T) {
	s, err := agentsWith(t, "workload.timeout_s=0.001", "slo.rules=task p50 <= 1000s")
	require.NoError(t, err)
	_, r := simulated(t, s)
	require.EqualValues(t, 60, r.Summary.Tasks.Failed)
	require.False(t, r.Summary.Rules[0].Met)
	require.Contains(t, strings.Join(r.Summary.Warnings, "\n"), "60 of 60 tasks ended without a result")
}

// tasks.csv has a line for each task, whose parts sum to its time.
func TestTasksBecomeLines(t *testing.T) {
	s, err := agentsWith(t, "workload.agents.tasks=3")
	require.NoError(t, err)
	_, r := simulated(t, s)
	var b bytes.Buffer
	require.NoError(t, WriteTasks(&b, r.SortedTasks(), []configs.Class{{Name: "all"}}))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Equal(t, tasksHead+",class", lines[0])
	require.Len(t, lines, 4)
	for i, line := range lines[1:] {
		var id, agents, requests, prompts, outputs int
		var begun, took, waiting, first, generation, tools float64
		fields := strings.ReplaceAll(line, ",", " ")
		_, err := fmt.Sscan(fields, &id, &begun, &took, &waiting, &first, &generation, &tools, &agents, &requests, &prompts,
			&outputs)
		require.NoError(t, err, line)
		require.Equal(t, i, id)
		require.InDelta(t, took, waiting+first+generation+tools, 1e-9)
		require.True(t, strings.HasSuffix(line, ",completed,all"), line)
	}
}

// What agents cannot have is an error that says what would do.
func TestScenariosOfAgentsRefuse(t *testing.T) {
	for set, want := range map[string]string{
		"workload.agents.turns=null":                       "workload.agents.turns",
		"workload.agents.tool_tokens=null":                 "workload.agents.tool_tokens",
		"workload.agents.subagents.agents=null":            "workload.agents.subagents.agents",
		"workload.agents.subagents.probability=2":          "2 is out of range; expected a number above 0 and at most 1",
		"workload.agents.subagents.context=old":            `"old"`,
		"workload.distinct_prompts=4":                      "workload.agents: stands beside distinct_prompts",
		"decoding.n=2":                                     "an agent goes on from one answer",
		"slo.rules=90% of requests: task <= 90s":           `"task p90 <= 90s"`,
		"slo.rules=task <= 90s":                            "task of which statistic?",
		"workload.agents.tool_time_s.distribution=slowest": `"slowest"`,
	} {
		_, err := agentsWith(t, set)
		require.ErrorContains(t, err, want, set)
	}
	_, err := configs.Load("chat-8b", configs.Options{Set: []string{"slo.rules=task p95 <= 90s"}})
	require.ErrorContains(t, err, "is about tasks of agents; expected workload.agents")
}

// A trace without block ids does not say which prompts go on from which.
func TestAnswersAreFollowedByBlockIDsAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.csv")
	require.NoError(t, os.WriteFile(file, []byte("arrival_s,input_tokens,output_tokens\n0,10,5\n1,20,5\n"), 0o644))
	s, err := configs.Read("trace.yaml", []byte("model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload: {trace: {file: "+
		file+", follow_answers: true}}\nslo: ['task p95 <= 90s']\n"), configs.Options{})
	require.NoError(t, err)
	_, err = build.New(s)
	require.ErrorContains(t, err, "workload.trace.follow_answers: true, but")
	require.ErrorContains(t, err, "names neither sessions nor blocks of prompts")
}

// Turns of a recorded task wait for their answers, and its time is that of all of them.
func TestRecordedTasksAreReplayed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(`{"timestamp": 0, "input_length": 600, "output_length": 400, "hash_ids": [1, 2]}
{"timestamp": 10, "input_length": 1200, "output_length": 10, "hash_ids": [1, 3, 4]}
{"timestamp": 9000, "input_length": 1300, "output_length": 10, "hash_ids": [1, 3, 5]}
`), 0o644))
	s, err := configs.Read("trace.yaml", []byte("model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload: {trace: {file: "+
		file+", follow_answers: true}}\n"), configs.Options{})
	require.NoError(t, err)
	_, r := simulated(t, s)
	require.Len(t, r.Tasks, 1)
	require.EqualValues(t, 3, r.Tasks[0].Requests)
	require.Equal(t, r.Rows[0].Arrival.Add(r.Rows[0].E2E), r.Rows[1].Arrival, "the answer takes longer than the gap")
	require.Equal(t, r.Rows[1].Arrival.Add(sim.Seconds(8.99)), r.Rows[2].Arrival, "the gap is longer than the answer")
}
