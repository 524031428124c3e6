package workloads

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// pairsIn reads lengths from a text.
func pairsIn(text string) (*Pairs, error) {
	return readPairs(&input{name: "l.csv", file: strings.NewReader(text)})
}

// lengthsOf lists the prompt and output of each request.
func lengthsOf(requests []sim.Request) (all [][]int64) {
	for _, r := range requests {
		all = append(all, []int64{int64(r.Prompt), int64(r.Output)})
	}
	return all
}

func recorded(t require.TestingT, values ...[]int64) *Pairs {
	p, err := NewPairs(values)
	require.NoError(t, err)
	return p
}

func TestRecordedLengthsAreReadFromEveryKnownFile(t *testing.T) {
	want := recorded(t, []int64{374, 44}, []int64{396, 109})
	for name, text := range map[string]string{
		"lengths":       "input_tokens,output_tokens\n374,44\n396,109\n",
		"requests.csv":  "id,arrival_s,prompt_tokens,output_tokens,ttft_s\n0,0.5,374,44,\n1,0.25,396,109,0.1\n",
		"openai":        `{"prompt_tokens": 374, "completion_tokens": 44}` + "\n" + `{"completion_tokens": 109, "x": [1], "prompt_tokens": 396}`,
		"azure, no day": "TIMESTAMP,ContextTokens,GeneratedTokens\nnever,374,44\nsoon,396,109\n",
		"mooncake":      `{"input_length": 374, "output_length": 44, "hash_ids": [1]}` + "\n" + `{"input_length": 396, "output_length": 109}` + "\n",
		"vidur":         "num_decode_tokens,num_prefill_tokens\n44,374\n109,396\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{text, zipped(text)} {
				p, err := pairsIn(text)
				require.NoError(t, err)
				require.Equal(t, want, p)
			}
		})
	}
	p, err := pairsIn("Timestamp,Request tokens,Response tokens\n5,374,44\n5,9,0\n5,396,109\n")
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Skipped())
	require.Equal(t, 2, p.Len())
}

func TestBadRecordedLengthsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"input_tokens,output_tokens\n1,2\n1,x\n":        `workloads: l.csv:3: output_tokens is "x"; accepted: a whole number of tokens from 1 to 1073741823`,
		"input_tokens,output_tokens\n1,0\n":             `workloads: l.csv:2: output_tokens is "0"; accepted: a whole number of tokens from 1 to 1073741823`,
		"prompt_tokens,output_tokens\n1\n":              `workloads: l.csv:2: "1" has 1 fields; accepted: 2, as in the header`,
		"input_tokens,output_tokens\n":                  "workloads: l.csv has no requests (0 rows skipped); accepted: at least one request",
		"input_tokens,completion_tokens\n1,2\n":         `workloads: l.csv:1: columns "input_tokens,completion_tokens" are of no known trace; accepted, each column once: input_tokens,output_tokens (decodesim); prompt_tokens,output_tokens (decodesim); ContextTokens,GeneratedTokens (azure); input_length,output_length (mooncake); Request tokens,Response tokens (burstgpt); num_prefill_tokens,num_decode_tokens (vidur); prompt_tokens,completion_tokens (openai); as CSV with a header or as JSON lines`,
		`{"input_tokens":1,"output_tokens":2}x`:         `workloads: l.csv:1: "{\"input_tokens\":1,\"output_tokens\":2}x" is neither a CSV header nor a JSON object; accepted: `,
		`{"input_tokens":1,"output_tokens":2}` + "\n{}": `workloads: l.csv:2: input_tokens is missing; accepted: the keys input_tokens,output_tokens in every line`,
	} {
		_, err := pairsIn(text)
		require.Error(t, err)
		require.Contains(t, err.Error(), want)
	}
	for want, values := range map[string][][]int64{
		"lengths.values is []; accepted: at least one pair, such as [[512, 128]]": nil,
		"lengths.values[1] is [5]; accepted: two whole numbers from 1":            {{1, 2}, {5}},
		"lengths.values[0] is [1 2 3]; accepted: two":                             {{1, 2, 3}},
		"lengths.values[0] is [0 2]; accepted: two":                               {{0, 2}},
		"lengths.values[0] is [2 1073741824]; accepted: two":                      {{2, 1 << 30}},
	} {
		_, err := NewPairs(values)
		require.ErrorContains(t, err, want)
	}
}

// TestTheKthRequestHasTheKthLengths, whatever the seed, the law of arrivals, the number of clients and how fast they are
// served.
func TestTheKthRequestHasTheKthLengths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64Range(1, 5000), 2, 2), 1, 300).Draw(t, "values")
		seed := rapid.Uint64().Draw(t, "seed")
		lengths := Lengths{Pairs: recorded(t, values...)}
		o, err := NewOpenLoop(OpenLoop{Arrivals: Arrivals{Process: "poisson", Rate: 5}, Lengths: lengths}, seed)
		require.NoError(t, err)
		require.Equal(t, values, lengthsOf(drain(o)))
		require.EqualValues(t, len(values), o.Requests())
		clients := rapid.Int64Range(1, 20).Draw(t, "clients")
		l, err := NewClosedLoop(ClosedLoop{Concurrency: clients, ThinkTimeS: 1, ThinkLaw: "exponential", Lengths: lengths}, seed)
		require.NoError(t, err)
		all, _ := serve(l, func(r *sim.Request) sim.Duration { return sim.Duration(r.Output) * sim.Millisecond }, nil)
		require.Equal(t, values, lengthsOf(all))
		require.EqualValues(t, len(values), l.Requests())
	})
}

func TestRecordedLengthsEndOrRepeat(t *testing.T) {
	three := recorded(t, []int64{10, 1}, []int64{20, 2}, []int64{60, 3})
	config := OpenLoop{Arrivals: Arrivals{Process: "constant", Rate: 10}, Lengths: Lengths{Pairs: three}, Requests: 4}
	const want = "workloads: requests is 4; accepted: at most 3, for so many lengths are recorded, or lengths with repeat: true"
	_, err := NewOpenLoop(config, 1)
	require.EqualError(t, err, want)
	_, err = NewClosedLoop(ClosedLoop{Concurrency: 1, Lengths: config.Lengths, Requests: 4}, 1)
	require.EqualError(t, err, want)

	config.Lengths.Repeat = true
	o, err := NewOpenLoop(config, 1)
	require.NoError(t, err)
	require.Equal(t, [][]int64{{10, 1}, {20, 2}, {60, 3}, {10, 1}}, lengthsOf(drain(o)))
	config.Requests = 0
	_, err = NewOpenLoop(config, 1)
	require.ErrorContains(t, err, "requests is 0; accepted: a number of requests, a duration_s, or both")

	config.Lengths.Repeat, config.Requests = false, 2
	o, err = NewOpenLoop(config, 1)
	require.NoError(t, err)
	require.Equal(t, [][]int64{{10, 1}, {20, 2}}, lengthsOf(drain(o)))
	prompt, output := o.Means()
	require.Equal(t, [2]float64{15, 1.5}, [2]float64{prompt, output}, "of those that are sent")
	require.Equal(t, 3, three.Len())
	prompt, output = three.Means()
	require.Equal(t, [2]float64{30, 2}, [2]float64{prompt, output})

	config.Requests, config.DurationS = 0, 0.25
	o, err = NewOpenLoop(config, 1)
	require.NoError(t, err)
	require.Len(t, drain(o), 2, "the duration ends it before the lengths do")
	config.DurationS = 100
	o, err = NewOpenLoop(config, 1)
	require.NoError(t, err)
	require.Len(t, drain(o), 3, "the lengths end it before the duration does")
	require.NoError(t, o.Err())
}

func TestRecordedLengthsMakeDistinctPrompts(t *testing.T) {
	three := recorded(t, []int64{10, 1}, []int64{20, 2}, []int64{60, 3})
	config := OpenLoop{
		Arrivals: Arrivals{Process: "constant", Rate: 10}, Requests: 40,
		Lengths: Lengths{Pairs: three, Sharing: Sharing{DistinctPrompts: 2}, MaxOutput: Length{Distribution: "fixed", Mean: 1}},
	}
	o, err := NewOpenLoop(config, 1)
	require.NoError(t, err)
	seen := map[int32]int{}
	for _, r := range drain(o) {
		seen[r.Prompt]++
		require.EqualValues(t, 1, r.Output)
	}
	require.Equal(t, map[int32]int{10: 20, 20: 20}, seen)
	config.Lengths.Sharing.DistinctPrompts = 4
	_, err = NewOpenLoop(config, 1)
	require.EqualError(t, err, "workloads: distinct_prompts is 4; accepted: at most 3, for so many lengths are recorded, or lengths with repeat: true")
}

func TestLawsBesideRecordedLengthsAreRefused(t *testing.T) {
	lengths := Lengths{Pairs: recorded(t, []int64{10, 1}), Prompt: plain().Prompt}
	_, err := NewClosedLoop(ClosedLoop{Concurrency: 1, Lengths: lengths}, 1)
	require.ErrorContains(t, err, `prompt_tokens is "lognormal"; accepted: nothing`)
}
