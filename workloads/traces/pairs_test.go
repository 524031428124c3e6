package traces

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/stretchr/testify/require"
)

// pairsIn reads lengths from a text.
func pairsIn(text string) (*lengths.Pairs, error) {
	return readPairs(&input{name: "l.csv", file: strings.NewReader(text)})
}

func recorded(t require.TestingT, values ...[]int64) *lengths.Pairs {
	p, err := lengths.NewPairs(values)
	require.NoError(t, err)
	return p
}

func TestRecordedLengthsAreReadFromEveryKnownFile(t *testing.T) {
	want := recorded(t, []int64{374, 44}, []int64{396, 109})
	unread := map[string][]string{"requests.csv": {"id", "arrival_s", "ttft_s"}, "openai": {"x"},
		"azure, no day": {"TIMESTAMP"}, "mooncake": {"hash_ids"}}
	for name, text := range map[string]string{
		"lengths":      "input_tokens,output_tokens\n374,44\n396,109\n",
		"requests.csv": "id,arrival_s,prompt_tokens,output_tokens,ttft_s\n0,0.5,374,44,\n1,0.25,396,109,0.1\n",
		"openai": `{"prompt_tokens": 374, "completion_tokens": 44}` + "\n" +
			`{"completion_tokens": 109, "x": [1], "prompt_tokens": 396}`,
		"azure, no day": "TIMESTAMP,ContextTokens,GeneratedTokens\nnever,374,44\nsoon,396,109\n",
		"mooncake": `{"input_length": 374, "output_length": 44, "hash_ids": [1]}` + "\n" +
			`{"input_length": 396, "output_length": 109}` + "\n",
		"vidur": "num_decode_tokens,num_prefill_tokens\n44,374\n109,396\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{text, zipped(text)} {
				p, err := pairsIn(text)
				require.NoError(t, err)
				require.Equal(t, unread[name], p.Unread)
				p.Unread = nil
				require.Equal(t, want, p)
			}
		})
	}
	p, err := pairsIn("Timestamp,Request tokens,Response tokens\n5,374,44\n5,9,0\n5,396,109\n")
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Skipped)
	require.Equal(t, 2, p.Len())
}

func TestBadRecordedLengthsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"input_tokens,output_tokens\n1,2\n1,x\n":      `workloads: l.csv:3: output_tokens is "x"; accepted: a whole number of tokens from 1 to 1073741823`,
		"input_tokens,output_tokens\n1,0\n":           `workloads: l.csv:2: output_tokens is "0"; accepted: a whole number of tokens from 1 to 1073741823`,
		"num_prefill_tokens,num_decode_tokens\n1,0\n": `workloads: l.csv:2: num_decode_tokens is "0"; accepted: `,
		"ContextTokens,GeneratedTokens\n1,0\n":        `workloads: l.csv:2: GeneratedTokens is "0"; accepted: `,
		"input_length,output_length\n1,0\n":           `workloads: l.csv:2: output_length is "0"; accepted: `,
		"prompt_tokens,output_tokens\n1\n":            `workloads: l.csv:2: "1" has 1 fields; accepted: 2, as in the header`,
		"input_tokens,output_tokens\n": "workloads: l.csv has no requests (0 rows skipped); accepted: at " +
			"least one request",
		"input_tokens,completion_tokens\n1,2\n": `workloads: l.csv:1: columns "input_tokens,completion_tokens" are of no known trace; accepted: input_tokens,output_tokens (decodesim); prompt_tokens,output_tokens (decodesim); ContextTokens,GeneratedTokens (azure); input_length,output_length (mooncake); Request tokens,Response tokens (burstgpt); num_prefill_tokens,num_decode_tokens (vidur); prompt_tokens,completion_tokens (openai); as CSV with a header or as JSON lines`,
		`{"input_tokens":1,"output_tokens":2}x`: `workloads: l.csv:1: "{\"input_tokens\":1,\"output_tokens\":2}x" is neither a CSV header nor a JSON object; accepted: `,
		`{"input_tokens":1,"output_tokens":2}` +
			"\n{}": `workloads: l.csv:2: input_tokens is missing; accepted: the keys input_tokens,output_tokens in every line`,
	} {
		_, err := pairsIn(text)
		require.Error(t, err)
		require.Contains(t, err.Error(), want)
	}
}

// TestATraceWithAColumnTwiceHasNotLengthsAlone: how a file is to be read is not asked before that is mended.
func TestATraceWithAColumnTwiceHasNotLengthsAlone(t *testing.T) {
	for head, untimed := range map[string]bool{
		"input_tokens,output_tokens":                                 true,
		"ContextTokens,GeneratedTokens":                              true,
		"arrival_s,input_tokens,output_tokens":                       false,
		"arrival_s,input_tokens,output_tokens,session_id,session_id": false,
	} {
		path := filepath.Join(t.TempDir(), "t.csv")
		require.NoError(t, os.WriteFile(path, []byte(head+"\n"), 0o600))
		require.Equal(t, untimed, Untimed(path), head)
	}
}
