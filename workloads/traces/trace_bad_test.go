package traces

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// requireRefused requires an error of one short line that contains want and says what is accepted.
func requireRefused(t *testing.T, text, want string) {
	t.Helper()
	_, err := New("t.csv", strings.NewReader(text), Options{})
	require.ErrorContains(t, err, want)
	require.ErrorContains(t, err, "accepted")
	require.NotContains(t, err.Error(), "\n")
	require.Less(t, len(err.Error()), 700)
}

func TestBadTracesAreRefusedByLine(t *testing.T) {
	const head = "arrival_s,input_tokens,output_tokens\n0,10,10\n"
	const object = `{"arrival_s":0,"input_tokens":10,"output_tokens":10}` + "\n"
	const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "t.csv is empty"},
		{"blank", "\n \n", "t.csv is empty"},
		{"empty gzip", zipped(""), "t.csv is empty"},
		{"header only", "arrival_s,input_tokens,output_tokens\n", "t.csv has no requests"},
		{"only failures", "Timestamp,Request tokens,Response tokens\n1,5,0\n", "t.csv has no requests (1 row skipped)"},
		{"unknown header", "a,b,c\n1,2,3\n",
			`t.csv:1: columns "a,b,c" are of no known trace; accepted: arrival_s,input_tokens,output_tokens`},
		{"no header", "0.5,10,10\n", `t.csv:1: columns "0.5,10,10" are of no known trace`},
		{"column twice", "arrival_s,input_tokens,input_tokens,output_tokens\n", "input_tokens is there 2 times"},
		{"thrice", "session_id,arrival_s,input_tokens,session_id,output_tokens,session_id\n", "session_id is there 3 times"},
		{"optional key twice", `{"arrival_s":0,"input_tokens":1,"output_tokens":1,"session_id":2,"session_id":2}`,
			"t.csv:1: column session_id is there 2 times; accepted: once"},
		{"broken header", "\"arrival_s,input_tokens\n", "t.csv:1: "},
		{"lengths only", "input_tokens,output_tokens\n1,2\n", "t.csv:1: there are no arrival times"},
		{"word", head + "1,ten,10\n",
			`t.csv:3: input_tokens is "ten"; accepted: a whole number of tokens from 1 to 1073741823`},
		{"too few fields", head + "1,10\n", `t.csv:3: "1,10" has 2 fields; accepted: 3, as in the header`},
		{"too many fields", head + "1,10,10,10\n", "t.csv:3: \"1,10,10,10\" has 4 fields"},
		{"open quote", head + "1,\"10,10\n", `t.csv:3: "1,\"10,10" has a quote that does not end a field`},
		{"text after a quote", head + "1,\"10\"x,10\n", `t.csv:3: "1,\"10\"x,10" has a quote that does not end a field`},
		{"empty field", head + "1,,10\n", `t.csv:3: input_tokens is ""`},
		{"negative", head + "1,-10,10\n", `t.csv:3: input_tokens is "-10"`},
		{"negative time", head + "-1,10,10\n", `t.csv:3: arrival_s is "-1"; accepted: a number of seconds, 0 or more`},
		{"NaN", head + "NaN,10,10\n", `t.csv:3: arrival_s is "NaN"`},
		{"NaN tokens", head + "1,nan,10\n", `t.csv:3: input_tokens is "nan"`},
		{"infinite", head + "1e999,10,10\n", `t.csv:3: arrival_s is "1e999"`},
		{"point", head + ".,10,10\n", `t.csv:3: arrival_s is "."`},
		{"hexadecimal", head + "0x1p3,10,10\n", `t.csv:3: arrival_s is "0x1p3"`},
		{"zero prompt", head + "1,0,10\n", `t.csv:3: input_tokens is "0"`},
		{"zero output", head + "1,10,0\n", `t.csv:3: output_tokens is "0"`},
		{"half a token", head + "1,10.5,1\n", `t.csv:3: input_tokens is "10.5"`},
		{"huge", head + "1,9999999999999999999999,1\n", `t.csv:3: input_tokens is "9999999999999999999999"`},
		{"2^30", head + "1,1073741824,1\n", `t.csv:3: input_tokens is "1073741824"`},
		{"huge time", head + "99999999999999999999,1,1\n", `t.csv:3: arrival_s is "99999999999999999999"`},
		{"beyond the clock", head + "4579201,1,1\n", "t.csv:3: arrival_s is more than 4.5792e+06 s after the first row"},
		{"out of order", head + "5,1,1\n4.9,1,1\n", `t.csv:4: arrival_s is "4.9"; accepted: at least the time of line 3`},
		{"blank line", head + "\n1,1,1\n", "t.csv:3: the line is blank"},
		{"UTF-16", "\xff\xfea\x00r\x00", "t.csv is not text"},
		{"binary", "abc\x00\x01\x02\x03", "t.csv is not text: its byte 3 is 0x00"},
		{"zstandard", "\x28\xb5\x2f\xfd\x04\x00", "t.csv is not text"},
		{"binary later", generated(1000) + "9999,\x00\xff,1\n", `t.csv:1002: input_tokens is "\x00\xff"`},
		{"broken gzip", "\x1f\x8b\x08nonsense", "t.csv: "},
		{"no date", azure + "16.11.2023 18:15,1,1\n", `t.csv:2: TIMESTAMP is "16.11.2023 18:15"; accepted: a date such as`},
		{"no such day", azure + "2023-02-29 18:15:46,1,1\n", "t.csv:2: TIMESTAMP is "},
		{"no such hour", azure + "2023-02-28 24:15:46,1,1\n", "t.csv:2: TIMESTAMP is "},
		{"odd suffix", azure + "2023-02-28 23:15:46.1 CET,1,1\n", "t.csv:2: TIMESTAMP is "},
		{"unknown keys", `{"a":1}` + "\n", `t.csv:1: columns "a" are of no known trace`},
		{"broken first object", `{"arrival_s":0,` + "\n", "t.csv:1: "},
		{"broken object", object + `{"arrival_s":1,"input_tokens":10,"output_tokens"` + "\n", "t.csv:2: "},
		{"text after an object", object + `{"arrival_s":1,"input_tokens":10,"output_tokens":1} x` + "\n",
			"is not a JSON object"},
		{"cut array", object + `{"arrival_s":1,"input_tokens":10,"output_tokens":1,"ids":[1,2` + "\n", "t.csv:2: "},
		{"cut nesting", object + `{"arrival_s":1,"input_tokens":10,"output_tokens":1,"ids":[[1,2]` + "\n", "t.csv:2: "},
		{"array", object + "[1,2,3]\n", "t.csv:2: \"[1,2,3]\" is not a JSON object; accepted: one object per line"},
		{"key missing", object + `{"arrival_s":1,"input_tokens":10}` + "\n", "t.csv:2: output_tokens is missing"},
		{"key twice", object + `{"arrival_s":1,"arrival_s":1,"input_tokens":10,"output_tokens":1}` + "\n",
			"t.csv:2: arrival_s is there twice"},
		{"quoted number", object + `{"arrival_s":1,"input_tokens":"10","output_tokens":1}` + "\n",
			`t.csv:2: input_tokens is "\"10\""`},
		{"null", object + `{"arrival_s":null,"input_tokens":10,"output_tokens":1}` + "\n", `t.csv:2: arrival_s is "null"`},
		{"long line", head + strings.Repeat("x", lineMax+bufferSize) + "\n", "t.csv:3: the line is longer than"},
	} {
		t.Run(c.name, func(t *testing.T) { requireRefused(t, c.text, c.want) })
	}
}

// TestACharacterMayBeCutWhereTextIsLookedAt: of a trace that goes on, wherever the first 4,096 bytes end in it, and of
// none that ends there.
func TestACharacterMayBeCutWhereTextIsLookedAt(t *testing.T) {
	for _, character := range []string{"é", "€", "🙂"} {
		for before := 4096 - len(character); before <= 4096; before++ {
			text := strings.Repeat("x", before) + character
			require.Equal(t, -1, strange([]byte(text)[:min(4096, len(text))], false), "%d bytes before %q", before, character)
			require.Equal(t, -1, strange([]byte(text), true))
		}
	}
	requireRefused(t, "abc\xe2", "t.csv is not text: its byte 3 is 0xe2")
}

// TestWhatATraceLacksIsNamed: of a format whose other columns are all there, the one that is not.
func TestWhatATraceLacksIsNamed(t *testing.T) {
	requireRefused(t, "num_prefill_tokens,num_decode_tokens\n1,2\n", `t.csv:1: columns "num_prefill_tokens,`+
		`num_decode_tokens" lack arrived_at of a trace of vidur; accepted: a trace with arrivals, or these lengths with an `+
		`arrival process`)
	requireRefused(t, "TIMESTAMP,ContextTokens\n", `lack GeneratedTokens of a trace of azure; accepted: all of its columns`)
}

// TestOneThingHasOneName: which of two columns counts is not guessed, whether arrivals are asked for or not.
func TestOneThingHasOneName(t *testing.T) {
	for text, want := range map[string]string{
		"arrival_s,prompt_tokens,input_tokens,output_tokens\n0,10,20,30\n":                "input_tokens and prompt_tokens",
		"arrival_ms,input_tokens,output_tokens,arrived_at\n0,10,20,0\n":                   "arrival_ms and arrived_at",
		`{"arrival_s":0,"input_tokens":1,"completion_tokens":2,"output_tokens":3}` + "\n": "output_tokens and completion_tokens",
	} {
		requireRefused(t, text, "t.csv:1: columns "+want+" are two names of one thing; accepted: one of them")
	}
	file := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(file, []byte("prompt_tokens,completion_tokens,output_tokens\n1,2,3\n"), 0o600))
	require.True(t, Untimed(file))
	_, err := ReadPairs(file, nil)
	require.ErrorContains(t, err, "t.csv:1: columns output_tokens and completion_tokens are two names of one thing")
	require.NoError(t, os.WriteFile(file, []byte("arrival_s,arrived_at,input_tokens,output_tokens\n1,2,3,4\n"), 0o600))
	_, err = ReadPairs(file, nil)
	require.NoError(t, err, "lengths alone are asked for")
}

// TestALineIsOneObject: a member after another needs a comma, a key quotes and a colon behind it, and nothing follows
// the last brace.
func TestALineIsOneObject(t *testing.T) {
	const members = `"arrival_s":1,"input_tokens":10,"output_tokens":1`
	for line, sound := range map[string]bool{
		`{` + members + `}`: true, ` { ` + members + ` , "x" : [ ] } `: true, `{"x":{"y":[1,"]"]},` + members + `}`: true,
		`{` + members + ` "x":1}`: false, `{` + members + `,}`: false, `{` + members: false, `{` + members + `}}`: false,
		`{` + members + `,"x"}`: false, `{` + members + `,"x" 1}`: false, `{` + members + `,"x":}`: false,
		`{` + members + `,x:1}`: false, `[` + members + `]`: false, members: false, `{,` + members + `}`: false,
		`[` + members + `}`: false, `,` + members + `}`: false, `{` + members + `,"x:1}`: false, `{` + members + `,"x":[1}`: false, `{` + members + `;"x":1}`: false,
	} {
		_, err := New("t", strings.NewReader(`{"arrival_s":0,"input_tokens":10,"output_tokens":10}`+"\n"+line+"\n"), Options{})
		if sound {
			require.NoError(t, err, line)
			continue
		}
		require.ErrorContains(t, err, "t:2: ", line)
	}
}

func TestAnyCutOfAGzipIsAnError(t *testing.T) {
	whole := zipped(generated(300))
	for n := 1; n < len(whole); n += 7 {
		_, err := New("t.csv.gz", strings.NewReader(whole[:n]), Options{})
		require.ErrorContains(t, err, "t.csv.gz")
	}
	_, err := New("t.csv.gz", strings.NewReader(whole[:len(whole)/2]), Options{})
	require.ErrorContains(t, err, "the gzip data end too early; accepted: a whole file")
}

func TestEmptyRowsAreSkippedOnlyOnRequest(t *testing.T) {
	text := "arrival_s,input_tokens,output_tokens\n0,10,0\n1,0,10\n2,5,5\n"
	got, s := replay(t, text, Options{SkipEmpty: true})
	require.Equal(t, []wanted{{2000, 5, 5}}, got)
	require.EqualValues(t, 2, s.Skipped)
}

// TestAnUncheckedTraceBreaksWhereItIsBroken replays the sound rows and then says what is wrong.
func TestAnUncheckedTraceBreaksWhereItIsBroken(t *testing.T) {
	text := generated(1000) + "oops\n"
	tr, err := New("t.csv", strings.NewReader(text), Options{Unchecked: true})
	require.NoError(t, err)
	require.Len(t, sourcetest.Drain(tr), 1000)
	require.ErrorContains(t, tr.Err(), `t.csv:1002: "oops" has 1 fields`)
	require.False(t, tr.Next(&sim.Request{}))
	_, err = New("t.csv", strings.NewReader(text), Options{})
	require.Equal(t, tr.Err(), err)
	_, err = New("t.csv", strings.NewReader(text), Options{Limit: 1000})
	require.NoError(t, err, "nothing behind the limit is read")
}

func TestBadFilesAreRefusedByName(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "none.csv"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Check(dir, Options{})
	require.ErrorContains(t, err, dir+" is a directory")
	_, err = ReadPairs(dir, nil)
	require.ErrorContains(t, err, dir+" is a directory")
}

// FuzzTrace feeds arbitrary bytes: a trace is refused by name or replays sound requests in order.
func FuzzTrace(f *testing.F) {
	f.Add("arrival_s,input_tokens,output_tokens\n0,1,2\n1e0,2.0,3\n\n")
	f.Add("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n" +
		"2023-11-16 18:15:47+00:00,374,44\n")
	f.Add(`{"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47], "x": {"y": ["]"]}}` +
		"\n")
	f.Add("Timestamp,Model,Request tokens,Response tokens\n5,\"a \"\"b\"\"\",1,0\n5,a,1,1\n")
	f.Add(zipped("arrived_at,num_prefill_tokens,num_decode_tokens\n0,1,2\n"))
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := New("fuzzed", strings.NewReader(text), Options{Speed: 3})
		if err != nil {
			require.ErrorContains(t, err, "workloads: fuzzed")
			return
		}
		last, n := sim.Time(0), int64(0)
		for _, r := range sourcetest.Drain(tr) {
			require.True(t, r.Arrival >= last && r.Prompt >= 1 && r.Output >= 1 && r.Prompt+r.Output > 0)
			last = r.Arrival
			n++
		}
		require.NoError(t, tr.Err())
		require.Equal(t, tr.Stats().Requests, n)
	})
}

// twentyKeys is members of an object that nothing is read from.
func twentyKeys() string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `,"k%d":0`, i)
	}
	return b.String()
}

// TestAKeyThatALineMustHaveIsNamedWithTheOthers, of which that of a session is none: a request may stand alone.
func TestAKeyThatALineMustHaveIsNamedWithTheOthers(t *testing.T) {
	const first = `{"chat_id":1,"parent_chat_id":-1,"timestamp":0,"input_length":9,"output_length":1}` + "\n"
	requireRefused(t, first+`{"timestamp":1,"input_length":9,"output_length":1}`+"\n", "t.csv:2: chat_id is missing; "+
		"accepted: the keys timestamp,input_length,output_length,chat_id in every line")
	single := first + `{"chat_id":2,"timestamp":1,"input_length":9,"output_length":1}`
	_, err := New("t.csv", strings.NewReader(single), Options{})
	require.NoError(t, err)
}

// TestALineHasEachKeyOnce, those that nothing is read from too.
func TestALineHasEachKeyOnce(t *testing.T) {
	const object = `{"arrival_s":0,"input_tokens":10,"output_tokens":1}` + "\n"
	for _, c := range []struct{ name, text, want string }{
		{"key twice, with escapes", object + `{"arrival_s":1,"input_tokens":10,"output_tokens":1,"outp\u0075t_tokens":2}` + "\n",
			"t.csv:2: output_tokens is there twice; accepted: once"},
		{"broken escape", object + `{"arrival_s":1,"input_tokens":10,"output_tokens":1,"a\u00zz":2}` + "\n", "is not a JSON object"},
		{"other key twice", object + `{"x":1,"arrival_s":1,"input_tokens":10,"output_tokens":1,"x":2}` + "\n",
			"t.csv:2: x is there twice; accepted: once"},
		{"other key twice in the first line", `{"a\u202eb":1,"arrival_s":1,"input_tokens":10,"output_tokens":1,"a\u202eb":1}` + "\n",
			`t.csv:1: "a\u202eb" is there twice; accepted: once`},
		{"twentieth key twice", object + `{"arrival_s":1,"input_tokens":10,"output_tokens":1` + twentyKeys() + `,"k19":1}` + "\n",
			"t.csv:2: k19 is there twice; accepted: once"},
	} {
		t.Run(c.name, func(t *testing.T) { requireRefused(t, c.text, c.want) })
	}
}

// TestAKeyIsWhatItsEscapesStandFor, and keys that differ are not the same however many there are.
func TestAKeyIsWhatItsEscapesStandFor(t *testing.T) {
	text := `{"arrival\u005fs":1.5,"input_tokens":10,"output_\u0074okens":2` + twentyKeys() + "}\n"
	tr, err := New("t.jsonl", strings.NewReader(text+text), Options{})
	require.NoError(t, err)
	requests := sourcetest.Drain(tr)
	require.Len(t, requests, 2)
	require.EqualValues(t, 10, requests[1].Prompt)
	require.EqualValues(t, 2, requests[1].Output)
}

// TestAWindowWithoutRequestsIsSaid, be it a picosecond long.
func TestAWindowWithoutRequestsIsSaid(t *testing.T) {
	const failure = "Timestamp,Request tokens,Response tokens\n1,5,0\n"
	for _, end := range []float64{1e-12, 2e-12, 5} {
		_, err := New("t.csv", strings.NewReader(failure), Options{EndS: end})
		require.ErrorContains(t, err, fmt.Sprintf("no requests from 0 s to %g s (1 row skipped)", end))
	}
}

// TestAValueInAnErrorHas60Bytes, and says that there is more of it.
func TestAValueInAnErrorHas60Bytes(t *testing.T) {
	const head = "arrival_s,input_tokens,output_tokens\n0,10,"
	requireRefused(t, head+strings.Repeat("x", 60)+"\n", strings.Repeat("x", 60)+`"; accepted`)
	requireRefused(t, head+strings.Repeat("x", 61)+"\n", strings.Repeat("x", 60)+`"…; accepted`)
}
