package sessions

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/traces"
)

// recording is requests as they were.
type recording struct {
	requests []sim.Request
	tree     *sim.Contents
}

func (r *recording) Next(q *sim.Request) bool {
	if len(r.requests) == 0 {
		return false
	}
	*q, r.requests = r.requests[0], r.requests[1:]
	return true
}

func (r *recording) Requests() float64 { return float64(len(r.requests)) }

func (r *recording) Contents() *sim.Contents { return r.tree }

func (r *recording) Err() error { return nil }

// replay serves a recording, each turn for the time that answer gives, and returns what was sent and the tasks.
func replay(t *testing.T, s *Recorded, answer func(*sim.Request) sim.Duration) (all []answered, tasks []Task) {
	t.Helper()
	s.Report = func(t *Task) { tasks = append(tasks, *t) }
	var under []answered
	for {
		first := slices.IndexFunc(under, func(p answered) bool {
			return !slices.ContainsFunc(under, func(q answered) bool { return q.end < p.end })
		})
		when := s.When()
		switch {
		case first < 0 && when == sim.Forever:
			return all, tasks
		case first < 0 || when <= under[first].end:
			a := answered{}
			require.True(t, s.Next(&a.Request))
			require.True(t, len(all) == 0 || a.ID == all[len(all)-1].ID+1)
			a.end, a.Emitted = a.Arrival.Add(answer(&a.Request)), a.Output
			a.Admitted, a.First, a.Last = a.Arrival, a.Arrival, a.end
			all, under = append(all, a), append(under, a)
		default:
			p := under[first]
			under = slices.Delete(under, first, first+1)
			s.Done(p.end, &p.Request)
		}
	}
}

// threeTurns is three turns of a task, in blocks of 10 tokens, and a request that shares nothing but the first block.
func threeTurns() *recording {
	tree := new(sim.Contents)
	system := tree.Add(0, 10)
	first := tree.Add(system, 20) // whole blocks of the first prompt, whose last block is not whole
	second := tree.Add(first, 20)
	third := tree.Add(second, 30)
	other := tree.Add(system, 20)
	at := func(s float64) sim.Time { return sim.Time(sim.Seconds(s)) }
	return &recording{tree: tree, requests: []sim.Request{
		{Arrival: at(0), Prompt: 34, Output: 5, Content: first},
		{Arrival: at(1), Prompt: 33, Output: 5, Content: other},
		{Arrival: at(2), Prompt: 55, Output: 5, Content: second},
		{Arrival: at(5), Prompt: 80, Output: 5, Content: third},
	}}
}

// TestRecordedTurnsWaitForTheirAnswers: turns are found by the blocks of their prompts; with answers that take no time
// they come when they were recorded, and with slow ones when these have come.
func TestRecordedTurnsWaitForTheirAnswers(t *testing.T) {
	for _, c := range []struct {
		answerS float64
		sent    []float64
		tools   float64
	}{{0, []float64{0, 1, 2, 5}, 5}, {2.5, []float64{0, 1, 2.5, 5.5}, 0.5}, {10, []float64{0, 1, 10, 20}, 0}} {
		s, err := NewRecorded(threeTurns(), 10)
		require.NoError(t, err)
		require.InDelta(t, 2, s.Turns(), 0)
		require.Equal(t, 4.0, s.Requests())
		require.Equal(t, 4.0/5, s.Rate())
		prompt, output := s.Means()
		require.Equal(t, [2]float64{(34 + 33 + 55 + 80) / 4.0, 5}, [2]float64{prompt, output})
		all, tasks := replay(t, s, func(*sim.Request) sim.Duration { return sim.Seconds(c.answerS) })
		var sent []float64
		for i := range all {
			sent = append(sent, all[i].Arrival.Seconds())
		}
		require.Equal(t, c.sent, sent)
		require.Len(t, tasks, 2)
		require.EqualValues(t, 2, s.Begun())
		require.EqualValues(t, 1, tasks[0].Number+tasks[1].Number, "the first and the second")
		for i := range all {
			other := all[i].Prompt == 33
			require.Equal(t, other, all[i].Session == 2, "requests of a task are of a session")
			require.Equal(t, !other, all[i].Session == 1)
		}
		long := tasks[slices.IndexFunc(tasks, func(t Task) bool { return t.Requests == 3 })]
		require.Equal(t, sim.Seconds(c.tools), long.Spent.Tools)
		require.EqualValues(t, 34+55+80, long.PromptTokens)
		s3 := long.Spent
		require.Equal(t, long.Ended.Sub(long.Begun), s3.Waiting+s3.Prompts+s3.Generation+s3.Tools)
	}
}

// TestARecordedTaskEndsWithATurnThatFails: what goes on from it is never sent.
func TestARecordedTaskEndsWithATurnThatFails(t *testing.T) {
	s, err := NewRecorded(threeTurns(), 10)
	require.NoError(t, err)
	var r sim.Request
	var failed []Task
	s.Report = func(t *Task) { failed = append(failed, *t) }
	require.True(t, s.Next(&r))
	r.Emitted = 3
	s.Done(r.Arrival.Add(sim.Second), &r)
	require.Equal(t, []Task{{Outcome: TaskFailed, Ended: sim.Time(sim.Second), Agents: 1, Requests: 1, PromptTokens: 34,
		OutputTokens: 3}}, failed)
	all, tasks := replay(t, s, func(*sim.Request) sim.Duration { return 0 })
	require.Len(t, all, 1)
	require.Equal(t, TaskCompleted, tasks[0].Outcome)
	require.Len(t, tasks, 1)
	require.Equal(t, Ended{Lost: 1, LostTurns: 2}, s.Early())
}

// TestAMooncakeTraceIsReplayedTurnByTurn: every request of the public trace once, and with answers at once each when it
// was recorded.
func TestAMooncakeTraceIsReplayedTurnByTurn(t *testing.T) {
	path := filepath.Join(os.Getenv("DECODESIM_SHARED"), "workloads", "mooncake_fast25_conversation.jsonl.gz")
	if _, err := os.Stat(path); err != nil {
		t.Skip("DECODESIM_SHARED names no folder with the trace")
	}
	open := func() *traces.Trace {
		trace, err := traces.Open(path, traces.Options{Contents: true, Limit: 3000})
		require.NoError(t, err)
		t.Cleanup(func() { trace.Close() })
		return trace
	}
	trace := open()
	s, err := NewRecorded(trace, trace.BlockTokens())
	require.NoError(t, err)
	t.Logf("%.3g turns of a task in the mean", s.Turns())
	require.Greater(t, s.Turns(), 1.2)
	plain, n := open(), 0
	for {
		var want, got sim.Request
		if !plain.Next(&want) {
			break
		}
		n++
		require.True(t, s.Next(&got))
		require.Equal(t, want.Arrival, got.Arrival)
		got.Emitted = got.Output
		s.Done(got.Arrival, &got)
	}
	require.Equal(t, 3000, n)
	require.Equal(t, sim.Forever, s.When())
}

// TestRecordedSessionsWaitForTheirAnswers: without contents, what has the id of a session goes on from the one before
// of it, however long its prompt is.
func TestRecordedSessionsWaitForTheirAnswers(t *testing.T) {
	second := sim.Time(sim.Second)
	r := &recording{requests: []sim.Request{
		{Arrival: 0, Prompt: 50, Output: 9, Session: 1}, {Arrival: second, Prompt: 70, Output: 9},
		{Arrival: 2 * second, Prompt: 20, Output: 9, Session: 1}, {Arrival: 3 * second, Prompt: 70, Output: 9, Session: 2},
	}}
	s, err := NewRecorded(r, 0)
	require.NoError(t, err)
	all, tasks := replay(t, s, func(*sim.Request) sim.Duration { return 10 * sim.Second })
	require.Len(t, tasks, 3)
	require.EqualValues(t, 20, all[3].Prompt)
	require.Equal(t, 10*second, all[3].Arrival, "its session's answer came then")
	require.Equal(t, 4./3, s.Turns())
}

// TestDeadlinesOfRecordedTurnsGoWithThem: a client that would wait for 3 s does so from when a turn is sent. Turns of
// one session go on from each other whatever their prompts share, and a turn without a deadline has none later.
func TestDeadlinesOfRecordedTurnsGoWithThem(t *testing.T) {
	tree := new(sim.Contents)
	node := tree.Add(0, 10)
	at := func(s float64) sim.Time { return sim.Time(sim.Seconds(s)) }
	r := &recording{tree: tree, requests: []sim.Request{
		{Arrival: at(0), Deadline: at(3), Session: 7, Prompt: 10, Output: 5, Content: node},
		{Arrival: at(1), Deadline: at(4), Session: 8, Prompt: 20, Output: 5, Content: node},
		{Arrival: at(2), Deadline: at(5), Session: 7, Prompt: 20, Output: 5, Content: node},
		{Arrival: at(4), Session: 7, Prompt: 20, Output: 5, Content: node},
	}}
	s, err := NewRecorded(r, 10)
	require.NoError(t, err)
	all, _ := replay(t, s, func(*sim.Request) sim.Duration { return 10 * sim.Second })
	var sent, deadlines []sim.Time
	for _, a := range all {
		sent, deadlines = append(sent, a.Arrival), append(deadlines, a.Deadline)
	}
	require.Equal(t, []sim.Time{at(0), at(1), at(10), at(20)}, sent)
	require.Equal(t, []sim.Time{at(3), at(4), at(13), 0}, deadlines)
}

// TestAPromptThatComesAgainIsNoTurn: a turn has more than the prompt that it goes on from.
func TestAPromptThatComesAgainIsNoTurn(t *testing.T) {
	for prompt, turns := range map[int32]float64{30: 1, 31: 2} {
		tree := new(sim.Contents)
		node := tree.Add(0, 30)
		r := &recording{tree: tree, requests: []sim.Request{{Prompt: 30, Output: 5, Content: node},
			{Arrival: 1, Prompt: prompt, Output: 5, Content: node}}}
		s, err := NewRecorded(r, 10)
		require.NoError(t, err)
		require.Equal(t, turns, s.Turns(), "%d tokens", prompt)
	}
}

// TestARecordingOfNothingHasNoRate, nor does one of requests that all come at once.
func TestARecordingOfNothingHasNoRate(t *testing.T) {
	for n, turns := range []float64{0, 1, 1} {
		s, err := NewRecorded(&recording{requests: []sim.Request{{Prompt: 5, Output: 5}, {Prompt: 7, Output: 5}}[:n]}, 10)
		require.NoError(t, err)
		require.Zero(t, s.Rate())
		require.Equal(t, turns, s.Turns())
		require.Equal(t, float64(n), s.Requests())
		all, tasks := replay(t, s, func(*sim.Request) sim.Duration { return 0 })
		require.Len(t, all, n)
		require.Len(t, tasks, n)
	}
}

// TestARecordedRequestIsSentAsItWas: whatever a recording says of a request is what is sent, but for its number, its
// session, which is its task, and instants that are later by as much as it is.
func TestARecordedRequestIsSentAsItWas(t *testing.T) {
	at := func(s float64) sim.Time { return sim.Time(sim.Seconds(s)) }
	first := sim.Request{Arrival: at(1), Prompt: 7, Output: 5, MaxOutput: 6, Deadline: at(31), Reasoning: 2, Session: 9,
		Class: 3, Priority: -4, Adapter: 8}
	second := sim.Request{Arrival: at(3), Prompt: 17, Output: 4, MaxOutput: 9, Deadline: at(23), Reasoning: 1, Session: 9,
		Class: 2, Priority: 5, Adapter: 6}
	s, err := NewRecorded(&recording{requests: []sim.Request{first, second}}, 0)
	require.NoError(t, err)
	all, _ := replay(t, s, func(*sim.Request) sim.Duration { return sim.Seconds(10) })
	first.Session, second.Session, second.ID = 1, 1, 1
	second.Arrival, second.Deadline = at(11), at(31)
	for i, want := range []sim.Request{first, second} {
		got := all[i].Request
		got.Record = sim.Record{}
		require.Equal(t, want, got)
	}
}

// TestTasksThatHaveEndedLeaveTheirPlace: memory is by the tasks under way, and 56 bytes of each request.
func TestTasksThatHaveEndedLeaveTheirPlace(t *testing.T) {
	var requests []sim.Request
	for i := range 1000 {
		requests = append(requests, sim.Request{Arrival: sim.Time(sim.Seconds(float64(i))), Prompt: 5, Output: 5})
	}
	s, err := NewRecorded(&recording{requests: requests}, 0)
	require.NoError(t, err)
	_, tasks := replay(t, s, func(*sim.Request) sim.Duration { return sim.Seconds(2.5) })
	require.Len(t, tasks, 1000)
	require.False(t, s.Next(new(sim.Request)), "all have been sent")
	require.Len(t, s.tasks, 3, "of which three are under way at a time")
	for i := range tasks {
		require.EqualValues(t, 1, tasks[i].Requests)
	}
	require.EqualValues(t, 56, reflect.TypeFor[recorded]().Size())
	require.Equal(t, 1000, cap(s.all))
}
