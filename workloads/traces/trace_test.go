package traces

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/requests"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

// wanted is what the three rows of most traces below mean: arrival in milliseconds, prompt, output.
type wanted struct{ ms, prompt, output int64 }

func zipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

func replay(t *testing.T, text string, o Options) (all []wanted, s Stats) {
	t.Helper()
	tr, err := New("trace", strings.NewReader(text), o)
	require.NoError(t, err)
	for i, r := range sourcetest.Drain(tr) {
		require.EqualValues(t, i, r.ID)
		require.Zero(t, r.Arrival%sim.Time(sim.Microsecond))
		all = append(all, wanted{int64(r.Arrival) / int64(sim.Millisecond), int64(r.Prompt), int64(r.Output)})
	}
	require.NoError(t, tr.Err())
	require.False(t, tr.Next(&sim.Request{}))
	return all, tr.Stats()
}

func TestEveryFormatIsRead(t *testing.T) {
	want := []wanted{{0, 374, 44}, {250, 396, 109}, {250, 879, 55}}
	for _, c := range []struct{ name, format, text string }{
		{"seconds", "decodesim", "arrival_s,input_tokens,output_tokens\n0.000000,374,44\n0.25,396,109\n.250,879,55\n"},
		{"rebased", "decodesim",
			"arrival_s,input_tokens,output_tokens\n1700000000.125,374,44\n1700000000.375,396,109\n1700000000.375000,879,55"},
		{"exponents", "decodesim", "arrival_s,input_tokens,output_tokens\n0e0,374,44\n2.5e-1,396.0,109.\n25E-02,879,55"},
		{"requests.csv", "decodesim",
			"id,arrival_s,prompt_tokens,output_tokens,ttft_s\n0,1,374,44,\n1,1.25,396,109,\n2,1.25,879,55,0.1\n"},
		{"windows", "decodesim",
			"\xef\xbb\xbfarrival_s,input_tokens,output_tokens\r\n0,374,44\r\n0.25,396,109\r\n0.25,879,55\r\n\r\n\r\n"},
		{"blanks, quotes, more columns", "decodesim",
			"who, output_tokens ,\"input_tokens\",arrival_s\n\"a, \"\"b\"\"\",44,374,0\n,109,\t396,0.25\nc,\"55\",879,0.25\n"},
		{"azure 2023", "azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n" +
			"2023-11-16 18:15:46.9305900,396,109\n2023-11-16 18:15:46.9305900,879,55\n"},
		{"azure 2024", "azure", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-02-29 23:59:59.900000000+00:00,374,44\n" +
			"2024-03-01 00:00:00.150000+00:00,396,109\n2024-03-01 02:00:00.150+02:00,879,55\n"},
		{"azure 2025", "azure", "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-12-31 23:59:59.75,0,374,44\n" +
			"2025-01-01 00:00:00,2,396,109\n2025-01-01T00:00:00Z,1,879,55\n"},
		{"azure as JSON", "azure",
			`{"TIMESTAMP":"2023-11-16 18:15:46.68","ContextTokens":374,"GeneratedTokens":44}` + "\n" +
				`{"ContextTokens":396,"GeneratedTokens":109,"TIMESTAMP":"2023-11-16T18:15:46.93Z"}` + "\n" +
				`{"TIMESTAMP": "2023-11-16 18:15:46.930000" ,"ContextTokens":879,"GeneratedTokens":55}`},
		{"burstgpt", "burstgpt",
			"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n" +
				"5,1,0.7,ChatGPT,374,44,418,Conversation log\n5,1,,GPT-4,99,0,99,API log\n" +
				"5.25,,,GPT-4,396,109,505,API log\n5.25,,,GPT-4,879,55,934,API log\n"},
		{"older burstgpt", "burstgpt", "Timestamp(s), Model, Request tokens, Response tokens, Total tokens, Log Type\n" +
			"5, ChatGPT, 374, 44, 418, Conversation log\n5.25, GPT-4, 396, 109, 505, API log\n" +
			"5.25, GPT-4, 879, 55, 934, API log\n5.5, GPT-4, 0, 0, 0, API log\n"},
		{"vidur", "vidur", "arrived_at,num_prefill_tokens,num_decode_tokens\n0.1,374,44\n0.35,396,109\n0.35,879,55\n"},
		{"mooncake", "mooncake",
			`{"timestamp": 27482, "input_length": 374, "output_length": 44, "hash_ids": [46, 47]}` + "\n" +
				`{"timestamp": 27732, "input_length": 396, "output_length": 109, "hash_ids": []}` + "\n" +
				`{"hash_ids": [1], "output_length": 55, "input_length": 879, "timestamp": 27732}` + "\n"},
		{"block ids", "decodesim", `{"arrival_ms":0,"input_tokens":374,"output_tokens":44,"block512_ids":[0,1]}` + "\n" +
			`{"arrival_ms":250,"input_tokens":396,"output_tokens":109,"block512_ids":[[1,"]"],{"a":[2]}]}` + "\n" +
			`{"arrival_ms":2.5e2,"input_tokens":879,"output_tokens":55}` + "\n\n"},
		{"sharegpt", "decodesim",
			`{"i":0,"arrival_s":0.046927,"input_tokens":374,"output_tokens":44,"block16_input":[0],"block16_all_after_output":[0,1]}` + "\n" +
				`{"i":1,"arrival_s":0.296927,"input_tokens":396,"output_tokens":109,"note":"\"}{[","block16_input":null}` + "\n" +
				`{"i":1,"arrival_s":0.296927,"input_tokens":879,"output_tokens":55,"x":{"y":"}"},"z":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, text := range []string{c.text, zipped(c.text)} {
				got, s := replay(t, text, Options{})
				require.Equal(t, want, got)
				require.Equal(t, c.format, s.Format)
				require.EqualValues(t, 3, s.Requests)
				require.Equal(t, strings.Contains(c.name, "burstgpt"), s.Skipped == 1)
				require.InDelta(t, 0.25, s.DurationS, 1e-12)
				require.InDelta(t, (374+396+879)/3.0, s.PromptMean, 1e-9)
				require.InDelta(t, (44+109+55)/3.0, s.OutputMean, 1e-9)
				require.Equal(t, [2]int32{879, 109}, [2]int32{s.PromptMax, s.OutputMax})
			}
		})
	}
}

func TestOptionsSelectAndStretch(t *testing.T) {
	var b strings.Builder
	b.WriteString("arrival_s,input_tokens,output_tokens\n")
	for i := range 10 {
		b.WriteString(strconv.Itoa(100+i) + "," + strconv.Itoa(i+1) + ",1\n")
	}
	text := b.String()
	for _, c := range []struct {
		o    Options
		want []wanted
		rate float64
	}{
		{Options{Limit: 2}, []wanted{{0, 1, 1}, {1000, 2, 1}}, 2},
		{Options{Limit: 2, Speed: 2}, []wanted{{0, 1, 1}, {500, 2, 1}}, 4},
		{Options{StartS: 7}, []wanted{{0, 8, 1}, {1000, 9, 1}, {2000, 10, 1}}, 1.5},
		{Options{StartS: 2.5, EndS: 5, Speed: 0.5}, []wanted{{1000, 4, 1}, {3000, 5, 1}}, 0.4},
		{Options{StartS: 2, EndS: 3}, []wanted{{0, 3, 1}}, 1},
	} {
		got, _ := replay(t, text, c.o)
		require.Equal(t, c.want, got)
		c.o.Unchecked = true
		got, s := replay(t, text, c.o)
		require.Equal(t, c.want, got)
		require.Zero(t, s)
		c.o.Unchecked = false
		tr, err := New("trace", strings.NewReader(text), c.o)
		require.NoError(t, err)
		require.InDelta(t, c.rate, tr.Rate(), 1e-9)
	}
	for want, o := range map[string]Options{
		"trace.speed is -1":             {Speed: -1},
		"trace.limit is -1":             {Limit: -1},
		"trace.start_s is -1":           {StartS: -1},
		"trace.end_s is 2":              {StartS: 3, EndS: 2},
		"no requests from 50 s on":      {StartS: 50},
		"no requests from 1e-12 s to":   {StartS: 1e-12, EndS: 0.5},
		"no requests from 2.2 s to 2.8": {StartS: 2.2, EndS: 2.8},
	} {
		_, err := New("trace", strings.NewReader(text), o)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "accepted: ")
	}
}

func TestTracesTimeOutLikeOtherSources(t *testing.T) {
	tr, err := New("trace", strings.NewReader("arrival_s,input_tokens,output_tokens\n0,1,1\n2,1,1\n"),
		Options{Patience: requests.Patience{TimeoutS: 3}})
	require.NoError(t, err)
	all := sourcetest.Drain(tr)
	require.Equal(t, sim.Time(5*sim.Second), all[1].Deadline)
}

// TestTracesAreReadAsTheyWereWritten compares the parser with strconv on random rows.
func TestTracesAreReadAsTheyWereWritten(t *testing.T) {
	rnd := rng.Stream(1, "test.trace")
	var b strings.Builder
	b.WriteString("arrival_s,input_tokens,output_tokens\n")
	var want []sim.Request
	at := int64(0)
	for i := range 3000 {
		if i > 0 && rnd.IntN(4) > 0 {
			at += rnd.Int64N(3e6)
		}
		r := sim.Request{ID: int32(i), Arrival: sim.Time(at * 1e6), Prompt: 1 + rnd.Int32N(check.TokensMax),
			Output: 1 + rnd.Int32N(1<<rnd.IntN(30))}
		want = append(want, r)
		b.WriteString(strconv.FormatFloat(float64(at)/1e6, "gf"[i%2], -1, 64))
		b.WriteString("," + strconv.Itoa(int(r.Prompt)) + "," + strconv.Itoa(int(r.Output)) + "\n")
	}
	path := filepath.Join(t.TempDir(), "trace.csv")
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	tr, err := Open(path, Options{})
	require.NoError(t, err)
	defer tr.Close()
	require.Equal(t, want, sourcetest.Drain(tr))
}

func TestCalendarDaysFollowEachOther(t *testing.T) {
	last := dayNumber(1969, 12, 31)
	require.EqualValues(t, -1, last)
	for year := int64(1970); year < 2110; year++ {
		for month := int64(1); month <= 12; month++ {
			for day := int64(1); day <= monthDays(year, month); day++ {
				require.Equal(t, last+1, dayNumber(year, month, day))
				last++
			}
		}
	}
	at, ok := parseDate([]byte("2023-11-16 18:15:46.6805900"))
	require.True(t, ok)
	require.Equal(t, instant{1700158546, 680590000000}, at)
}

// A window that outlasts the file says nothing about what would have come after its last row.
func TestTheRateOfATraceIsOverWhatItHas(t *testing.T) {
	text := "arrival_s,input_tokens,output_tokens\n0,1,1\n10,1,1\n12,1,1\n15,1,1\n"
	for _, c := range []struct {
		options Options
		rate    float64
	}{
		{Options{}, 4. / 15},
		{Options{StartS: 10, EndS: 99999}, 3. / 5},
		{Options{StartS: 10, EndS: 99999, Speed: 2}, 3. / 2.5},
		{Options{StartS: 5, EndS: 15}, 2. / 10},
		{Options{StartS: 5, EndS: 15, Limit: 2}, 2. / 7},
		{Options{StartS: 5, EndS: 15, Limit: 9, Speed: 2}, 2. / 5},
		{Options{StartS: 15, EndS: 20}, 0},
	} {
		tr, err := New("trace", strings.NewReader(text), c.options)
		require.NoError(t, err)
		require.InDelta(t, c.rate, tr.Rate(), 1e-12, c.options)
	}
}

// TestHowFarATraceIsReadIsReported: over all passes, up to all of it and never back.
func TestHowFarATraceIsReadIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(path, []byte(generated(30_000)), 0o600))
	last, all, times := int64(0), int64(0), 0
	tr, err := Open(path, Options{Rate: 5, Reading: func(done, of int64) error {
		require.True(t, done >= last && done <= of, "%d after %d of %d", done, last, of)
		last, all, times = done, of, times+1
		return nil
	}})
	require.NoError(t, err)
	defer tr.Close()
	require.Greater(t, last, all/2, "it has been read twice, and is to be replayed")
	sourcetest.Drain(tr)
	require.NoError(t, tr.Err())
	require.Equal(t, all, last)
	require.Greater(t, times, 10)
	info, err := os.Stat(path)
	require.NoError(t, err)
	last = 0
	_, err = ReadPairs(path, func(done, of int64) error {
		require.Equal(t, info.Size(), of, "lengths are read once")
		last = done
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, info.Size(), last)
	stopped := errors.New("stopped")
	_, err = ReadPairs(path, func(int64, int64) error { return stopped })
	require.ErrorIs(t, err, stopped)
	_, err = Open(path, Options{Reading: func(int64, int64) error { return stopped }})
	require.ErrorIs(t, err, stopped)
}
