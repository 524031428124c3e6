package traces

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// A trace may say what the client's limit was, and when it cancelled: in both forms, exactly, and with none of either.
func TestATraceMayHaveLimitsAndCancellations(t *testing.T) {
	for _, text := range []string{
		"arrival_s,input_tokens,output_tokens,max_output_tokens,cancelled_after_s\n0,10,5,8,\n1,10,5,0,0.000000000001\n" +
			"1,10,5,,3\n",
		`{"arrival_s":0,"input_tokens":10,"output_tokens":5,"max_output_tokens":8,"cancelled_after_s":null}` + "\n" +
			`{"arrival_s":1,"input_tokens":10,"output_tokens":5,"max_output_tokens":0,"cancelled_after_s":1e-12}` + "\n" +
			`{"arrival_s":1,"input_tokens":10,"output_tokens":5,"max_output_tokens":null,"cancelled_after_s":3}` + "\n",
	} {
		trace, err := New("t", strings.NewReader(text), Options{Patience: requests.Patience{TimeoutS: 2}})
		require.NoError(t, err)
		all := sourcetest.Drain(trace)
		require.Len(t, all, 3)
		require.Equal(t, []int32{8, 0, 0}, []int32{all[0].MaxOutput, all[1].MaxOutput, all[2].MaxOutput})
		const second = sim.Time(sim.Second)
		require.Equal(t, []sim.Time{2 * second, second + 1, 3 * second},
			[]sim.Time{all[0].Deadline, all[1].Deadline, all[2].Deadline}, "the earlier of the time-out and the cancellation")
	}
	const head = "arrival_s,input_tokens,output_tokens,max_output_tokens,cancelled_after_s\n"
	requireRefused(t, head+"0,10,5,4,\n", `t.csv:2: max_output_tokens is "4"`)
	requireRefused(t, head+"0,10,5,5,-1\n", `t.csv:2: cancelled_after_s is "-1"`)
	for column, limits := range map[string]bool{"max_output_tokens": true, "cancelled_after_s": true, "note": false} {
		trace, err := New("t", strings.NewReader("arrival_s,input_tokens,output_tokens,"+column+"\n0,10,5,6\n"), Options{})
		require.NoError(t, err)
		require.Equal(t, Columns{Limits: limits}, trace.Columns(), "either is enough")
	}
}

// Qwen's Bailian traces have the keys of Mooncake's in other units: seconds in place of milliseconds, and blocks of 16
// tokens. A turn names the turn before it; one whose predecessor is not in the trace begins a session.
func TestABailianTraceHasSecondsAndTurnsThatNameTheTurnBefore(t *testing.T) {
	row := func(id, parent int, at float64, input int, ids string) string {
		return fmt.Sprintf(`{"chat_id": %d, "parent_chat_id": %d, "timestamp": %g, "input_length": %d, "output_length": 5, `+
			`"type": "text", "turn": 1, "hash_ids": [%s]}`+"\n", id, parent, at, input, ids)
	}
	text := row(1, -1, 0.5, 40, "7, 8, 9") + row(2, -1, 61.25, 16, "7") + row(5, 1, 90.5, 64, "7, 8, 10, 11") +
		row(6, 4, 91, 20, "3, 4") + row(9, 5, 120, 64, "7, 8, 10, 12")
	trace, err := New("t", strings.NewReader(text), Options{Contents: true})
	require.NoError(t, err)
	require.Equal(t, "bailian", trace.Stats().Format)
	require.Equal(t, int32(16), trace.BlockTokens())
	all := sourcetest.Drain(trace)
	require.Len(t, all, 5)
	var sessions []int32
	for i := range all {
		sessions = append(sessions, all[i].Session)
	}
	require.Equal(t, []int32{1, 2, 1, 3, 1}, sessions)
	require.Equal(t, sim.Time(90*sim.Second), all[2].Arrival, "counted in seconds, from the first row on")
	require.Equal(t, int32(48), trace.Contents().Tokens(trace.Contents().Parent(all[4].Content)),
		"the last turn has three blocks in common with the one before")
	_, err = New("t", strings.NewReader(row(1, -1, 0, 16, "7, 8")), Options{Contents: true})
	require.ErrorContains(t, err, "in blocks of 16")
}

// A trace may say of which sessions its requests are turns, by numbers or by texts, and what is written reads back.
func TestATraceMayHaveSessions(t *testing.T) {
	for _, text := range []string{
		"arrival_s,input_tokens,output_tokens,session_id\n0,10,5,b7\n1,20,5,\n2,30,5,a\n3,40,5,b7\n",
		"arrival_s,session_id,prompt_tokens,output_tokens\n0,b7,10,5\n1,,20,5\n2,a,30,5\n3,b7,40,5\n",
		"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n" +
			"0,7,1,GPT-4,10,5,15,API log\n1,,1,GPT-4,20,5,25,API log\n" +
			"2,8,1,GPT-4,30,5,35,API log\n3,7,1,GPT-4,40,5,45,API log\n",
	} {
		trace, err := New("t", strings.NewReader(text), Options{})
		require.NoError(t, err)
		require.True(t, trace.Columns().Sessions)
		all := sourcetest.Drain(trace)
		var sessions []int32
		var out strings.Builder
		w, err := NewWriter(&out, "decodesim", trace.Columns())
		require.NoError(t, err)
		for i := range all {
			sessions = append(sessions, all[i].Session)
			require.NoError(t, w.Write(&all[i]))
		}
		require.NoError(t, w.Close())
		require.Equal(t, []int32{1, 0, 2, 1}, sessions)
		require.Equal(t, "arrival_s,input_tokens,output_tokens,session_id\n0,10,5,1\n1,20,5,\n2,30,5,2\n3,40,5,1\n",
			out.String())
		require.Len(t, Lost("vidur", trace.Columns()), 1)
	}
}

// A trace may say which LoRA adapter each request has. It is read where adapters are asked for, what is written reads
// back, and a number beyond those there are is refused.
func TestATraceMayNameAdapters(t *testing.T) {
	const text = "arrival_s,input_tokens,output_tokens,adapter_id\n0,10,5,2\n1,20,5,\n2,30,5,0\n3,40,5,7\n"
	for _, c := range []struct {
		asked int64
		want  []uint16
	}{{0, []uint16{0, 0, 0, 0}}, {7, []uint16{2, 0, 0, 7}}} {
		trace, err := New("t", strings.NewReader(text), Options{Adapters: c.asked})
		require.NoError(t, err)
		require.True(t, trace.Columns().Adapters)
		var list []uint16
		var out strings.Builder
		w, err := NewWriter(&out, "decodesim", trace.Columns())
		require.NoError(t, err)
		for _, r := range sourcetest.Drain(trace) {
			list = append(list, r.Adapter)
			require.NoError(t, w.Write(&r))
		}
		require.NoError(t, w.Close())
		require.Equal(t, c.want, list)
		if c.asked > 0 {
			require.Equal(t, strings.ReplaceAll(text, ",0\n", ",\n"), out.String())
		}
		require.Equal(t, []string{"which LoRA adapter a request has is left out: only decodesim has numbers of adapters, " +
			"not vidur"}, Lost("vidur", trace.Columns()))
	}
	for _, bad := range []string{"7", "-1", "a", "1.5"} {
		_, err := New("t.csv", strings.NewReader("arrival_s,input_tokens,output_tokens,adapter_id\n0,10,5,"+bad+"\n"),
			Options{Adapters: 6})
		require.EqualError(t, err, `workloads: t.csv:2: adapter_id is "`+bad+`"; accepted: the number of an adapter, 1 to `+
			`6, or 0 for the model itself`)
	}
}

// What a file has beside its requests is named, in whichever line it first appears: a column that nobody reads may be
// what its author meant to have replayed.
func TestWhatIsNotReadIsNamed(t *testing.T) {
	for text, want := range map[string][]string{
		"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-10-15 00:00:00,3,9,9\n": {"NumImages"},
		"Timestamp,Model,Request tokens,Response tokens,Log Type\n0,GPT-4,9,9,API\n":     {"Model", "Log Type"},
		"arrival_s,input_tokens,output_tokens,session_id,hash_ids\n0,9,9,a,[1]\n":        {"hash_ids"},
		`{"timestamp": 0, "input_length": 9, "output_length": 9, "hash_ids": [1], "session_id": "a"}` + "\n" +
			`{"timestamp": 5, "delay": 3, "input_length": 9, "output_length": 9, "hash_ids": [1], "session_id": "a"}`: {"delay"},
		`{"timestamp": 0, "input_length": 9, "output_length": 9, "hash_ids": [1]}`: nil,
	} {
		trace, err := New("t", strings.NewReader(text), Options{Contents: true})
		require.NoError(t, err)
		sourcetest.Drain(trace)
		require.NoError(t, trace.Err())
		require.ElementsMatch(t, want, trace.Unread(), text)
	}
}

// A name is said so that it moves no cursor, is not taken for two, and fills no screen; of many, some are said.
func TestWhatIsNotReadIsNamedInOneLine(t *testing.T) {
	line := func(i int, key string) string {
		return fmt.Sprintf(`{"timestamp": %d, "input_length": 9, "output_length": 9, "%s": 1}`+"\n", i, key)
	}
	unread := func(lines string) []string {
		trace, err := New("t", strings.NewReader(lines), Options{})
		require.NoError(t, err)
		sourcetest.Drain(trace)
		require.NoError(t, trace.Err())
		return trace.Unread()
	}
	require.Equal(t, []string{`"x\x1b[31m"`, `"a, b"`, `"` + strings.Repeat("k", 60) + `"…`, "plain"},
		unread(line(0, "x\x1b[31m")+line(1, "a, b")+line(2, strings.Repeat("k", 100_000))+line(3, "plain")+line(4, "plain")))
	many := ""
	for i := range unreadMost {
		many += line(i, fmt.Sprint("k", i))
	}
	require.Len(t, unread(many), unreadMost)
	require.Equal(t, "and others", unread(many + line(unreadMost, "one more"))[unreadMost])
}

// TestAShareOfATracesOutputsIsReasoning, rounded down.
func TestAShareOfATracesOutputsIsReasoning(t *testing.T) {
	trace, err := New("t", strings.NewReader("arrival_s,input_tokens,output_tokens\n0,10,1\n1,10,7\n2,10,8\n"),
		Options{Reasoning: 0.5})
	require.NoError(t, err)
	all := sourcetest.Drain(trace)
	require.Equal(t, []int32{0, 3, 4}, []int32{all[0].Reasoning, all[1].Reasoning, all[2].Reasoning})
}
