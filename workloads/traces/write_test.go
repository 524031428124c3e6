package traces

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// rewritten reads a trace, writes it in a format and reads that.
func rewritten(t *testing.T, text, format string) (before, after []sim.Request, written string) {
	in, err := New("in", strings.NewReader(text), Options{Contents: true})
	require.NoError(t, err)
	var out bytes.Buffer
	w, err := NewWriter(&out, format, in.Columns())
	require.NoError(t, err)
	before = sourcetest.Drain(in)
	for i := range before {
		require.NoError(t, w.Write(&before[i]))
	}
	require.NoError(t, w.Close())
	again, err := New("out", bytes.NewReader(out.Bytes()), Options{Contents: true})
	require.NoError(t, err)
	return before, sourcetest.Drain(again), out.String()
}

// TestEveryFormatIsReadBack: arrivals and lengths are the same behind every format with arrivals, to the picosecond but
// for azure, which counts the ticks of 100 ns that have passed, and mooncake, which rounds to milliseconds.
func TestEveryFormatIsReadBack(t *testing.T) {
	const text = "arrival_s,input_tokens,output_tokens,max_output_tokens,cancelled_after_s\n" +
		"0,10,5,8,\n0.000000000001,700,5,0,0.25\n7.0014999,4,4,,\n86401.2505,513,90,,\n"
	const tick, millisecond = sim.Time(100 * sim.Nanosecond), sim.Time(sim.Second / 1000)
	exactly := func(at sim.Time) sim.Time { return at }
	for format, written := range map[string]func(sim.Time) sim.Time{"decodesim": exactly, "vidur": exactly,
		"burstgpt": exactly, "azure": func(at sim.Time) sim.Time { return at - at%tick },
		"mooncake": func(at sim.Time) sim.Time { return (at + millisecond/2) / millisecond * millisecond }} {
		before, after, _ := rewritten(t, text, format)
		require.Len(t, after, len(before), format)
		for i, was := range before {
			is := after[i]
			require.Equal(t, []int32{was.Prompt, was.Output}, []int32{is.Prompt, is.Output}, format)
			require.Equal(t, written(was.Arrival), is.Arrival, format)
			if format == "decodesim" {
				require.Equal(t, was.MaxOutput, is.MaxOutput)
				require.Equal(t, was.Deadline, is.Deadline)
			}
		}
	}
}

// TestBlocksAreWrittenAsTheyWereShared: what prompts of a trace have in common, they have in what is written of it.
func TestBlocksAreWrittenAsTheyWereShared(t *testing.T) {
	const text = `{"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [70, 71, 72]}
{"timestamp": 5, "input_length": 1536, "output_length": 5, "hash_ids": [70, 71, 73]}
{"timestamp": 9, "input_length": 600, "output_length": 5, "hash_ids": [74, 75]}
{"timestamp": 9, "input_length": 1100, "output_length": 5, "hash_ids": [70, 71, 72]}
`
	_, _, written := rewritten(t, text, "mooncake")
	lines := strings.Split(strings.TrimSpace(written), "\n")
	require.Equal(t, ids(lines[0]), ids(lines[3]))
	require.Equal(t, ids(lines[0])[:2], ids(lines[1])[:2])
	require.NotEqual(t, ids(lines[0])[2], ids(lines[1])[2])
	require.NotContains(t, ids(lines[0]), ids(lines[2])[0])
}

// TestNamesOfBlocksAreDecimal: thirteen blocks have the numbers from 0 to 12 as names, and none has a letter.
func TestNamesOfBlocksAreDecimal(t *testing.T) {
	before, after, written := rewritten(t, `{"timestamp": 0, "input_length": 6656, "output_length": 5, `+
		`"hash_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]}`+"\n", "mooncake")
	require.ElementsMatch(t, strings.Split("0 1 2 3 4 5 6 7 8 9 10 11 12", " "), ids(strings.TrimSpace(written)))
	require.Len(t, after, 1)
	require.Equal(t, before[0].Prompt, after[0].Prompt)
}

func ids(line string) []string {
	_, list, _ := strings.Cut(line, `"hash_ids": [`)
	return strings.Split(strings.TrimSuffix(list, "]}"), ", ")
}

// TestMooncakeHasSessions: as AIPerf adds them, with numbers or names, and they are read as they were written.
func TestMooncakeHasSessions(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, "mooncake", Columns{Sessions: true})
	require.NoError(t, err)
	for _, session := range []int32{12, 0, 12, 1} {
		require.NoError(t, w.Write(&sim.Request{Prompt: 31, Output: 142, Session: session}))
	}
	require.NoError(t, w.Close())
	require.Equal(t, 1, strings.Count(out.String(), `], "session_id": 1}`), out.String())
	require.Equal(t, 2, strings.Count(out.String(), `], "session_id": 12}`), out.String())
	named := strings.ReplaceAll(out.String(), `"session_id": 12`, `"session_id": "conversation-a"`)
	for _, text := range []string{out.String(), named, strings.Replace(named, `, "session_id": null`, "", 1)} {
		trace, err := New("t", strings.NewReader(text), Options{})
		require.NoError(t, err)
		var sessions []int32
		for r := (sim.Request{}); trace.Next(&r); {
			sessions = append(sessions, r.Session)
		}
		require.NoError(t, trace.Err())
		require.Equal(t, sessions[0], sessions[2])
		require.NotEqual(t, sessions[0], sessions[1])
		require.NotZero(t, sessions[0])
	}
}

// TestLengthsAreWrittenAlone: they are read as recorded lengths, and as no trace.
func TestLengthsAreWrittenAlone(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, "lengths", Columns{})
	require.NoError(t, err)
	require.NoError(t, w.Write(&sim.Request{Arrival: 7, Prompt: 31, Output: 142}))
	require.NoError(t, w.Close())
	require.Equal(t, "input_tokens,output_tokens\n31,142\n", out.String())
	path := filepath.Join(t.TempDir(), "l.csv")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	require.True(t, Untimed(path))
	require.False(t, Untimed(path+".none"), "that it is not there is said elsewhere")
	_, err = NewWriter(&out, "parquet", Columns{})
	require.ErrorContains(t, err, "parquet")
}

// TestATraceWithDatesSaysWhenItBegan: the window's start counts.
func TestATraceWithDatesSaysWhenItBegan(t *testing.T) {
	const text = "TIMESTAMP,ContextTokens,GeneratedTokens\n1970-01-02 01:00:00.5,5,5\n1970-01-02 01:00:09,5,5\n"
	trace, err := New("t", strings.NewReader(text), Options{StartS: 3, Patience: requests.Patience{}})
	require.NoError(t, err)
	began, dated := trace.Began()
	require.True(t, dated)
	require.Equal(t, int64(90003), began)
	sourcetest.Drain(trace)
}

// TestAFormatSaysWhatItCannotHold: one note for each thing that requests have and the format has no column for.
func TestAFormatSaysWhatItCannotHold(t *testing.T) {
	all := Columns{Limits: true, Contents: new(sim.Contents), Sessions: true, Adapters: true, Classes: true, Hidden: true}
	about := []string{"arrivals", "what prompts share", "limits on outputs", "turns of one session", "LoRA adapter",
		"which class", "reasoning"}
	for format, want := range map[string][]string{
		"decodesim": {about[1], about[5], about[6]}, "mooncake": slices.Delete(slices.Clone(about), 3, 4),
		"azure": about, "lengths": about, "vidur": about[1:], "burstgpt": about[1:],
	} {
		notes := Lost(format, all)
		require.Len(t, notes, len(want), format)
		for i := range want {
			require.Contains(t, notes[i], want[i], format)
		}
	}
	require.Empty(t, Lost("vidur", Columns{}))
	require.Len(t, Lost("azure", Columns{}), 1, "it counts in 100 ns, from a date")
	require.Len(t, Lost("mooncake", Columns{}), 2, "its clock counts milliseconds, and its blocks say what nobody does")
	for block, notes := range map[int32]int{0: 2, 16: 2, 512: 1, 1024: 1} {
		require.Len(t, Lost("mooncake", Columns{Contents: new(sim.Contents), Block: block}), notes,
			"a beginning of %d tokens may be shorter than a block of its own", block)
	}
	require.Equal(t, []bool{true, false, false}, []bool{JSONLines("mooncake"), JSONLines("azure"), JSONLines("none")})
}

// TestWhatOnlyDecodesimHasIsReadBack: limits, cancellations, sessions and adapters, whose numbers are decimal.
func TestWhatOnlyDecodesimHasIsReadBack(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, "decodesim", Columns{Limits: true, Sessions: true, Adapters: true})
	require.NoError(t, err)
	var all []sim.Request
	for i := range int32(300) {
		r := sim.Request{ID: i, Arrival: sim.Time(i) * 7, Prompt: 1 + i, Output: 2 + i/2, Session: i % 150}
		r.Adapter = uint16(i % 30)
		if i%3 == 0 {
			r.MaxOutput = 2 + i
		}
		if i%5 == 0 {
			r.Deadline = r.Arrival + 1 + sim.Time(i)
		}
		all = append(all, r)
		require.NoError(t, w.Write(&r))
	}
	require.NoError(t, w.Close())
	require.Contains(t, out.String(), "\n0.000000000805,116,59,,0.000000000116,115,25\n")
	in, err := New("in", bytes.NewReader(out.Bytes()), Options{Adapters: 29})
	require.NoError(t, err)
	seen := map[int32]int32{}
	for i, r := range sourcetest.Drain(in) {
		was := all[i]
		if n, ok := seen[was.Session]; ok {
			require.Equal(t, n, r.Session, "requests of one session are of one")
		}
		seen[was.Session] = r.Session
		r.Session = was.Session
		require.Equal(t, was, r)
	}
	require.Len(t, seen, 150)
}
