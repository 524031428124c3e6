package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

func TestWhatCannotHaveBeenMeasuredIsRefused(t *testing.T) {
	const head = "rate,prompt_tokens,output_tokens,tpot_ms,e2e_p99_ms,output_tokens_per_s,requests_per_s\n"
	for _, c := range []struct{ row, message string }{
		{"2,1000,200,1e9,1e9,1e12,1e12", ""},
		{"2,1000,200,1000000001,,,", `data:2: tpot_ms: "1000000001"; expected milliseconds above 0, up to 1e9`},
		{"2,1000,200,,1.1e9,,", `data:2: e2e_p99_ms: "1.1e9"; expected milliseconds above 0, up to 1e9`},
		{"2,1000,200,,,1.1e12,", `data:2: output_tokens_per_s: "1.1e12"; expected a number per second above 0, up to 1e12`},
		{"2,1000,200,,,,1e300", `data:2: requests_per_s: "1e300"; expected a number per second above 0, up to 1e12`},
		{"1e300,1000,200,11,,,", `data:2: rate: "1e300"; expected a number per second above 0, up to 1e12`},
	} {
		_, err := measuredtest.ReadText(t, head+c.row+"\n")
		if c.message == "" {
			assert.NoError(t, err)
			continue
		}
		assert.EqualError(t, err, c.message)
	}
	_, err := measuredtest.ReadText(t, measuredtest.ProfiledTable("itl_p90_ms", "2e9"))
	assert.EqualError(t, err, `data:2: itl_p90_ms: "2e9"; expected milliseconds above 0, up to 1e9`)
}

func TestWhatAToolCannotHaveMeasuredIsRefused(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "benchtools", "testdata", "vllm_rate.json"))
	require.NoError(t, err)
	for value, got := range map[string]string{"3e9": "3e+09", "1e308": "1e+308"} {
		_, err = measuredtest.ReadText(t, withField(t, string(text), `"mean_ttft_ms": `, value))
		assert.EqualError(t, err, "data: data: ttft: "+got+"; expected milliseconds above 0, up to 1e9")
	}
	_, err = measuredtest.ReadText(t, withField(t, string(text), `"output_throughput": `, "2e12"))
	assert.EqualError(t, err, "data: data: output_tokens_per_s: 2e+12; expected a number per second above 0, up to 1e12")
}

// withField replaces what stands behind a key of JSON, up to the next comma.
func withField(t *testing.T, text, key, value string) string {
	before, rest, ok := strings.Cut(text, key)
	require.True(t, ok, key)
	_, after, ok := strings.Cut(rest, ",")
	require.True(t, ok, key)
	return before + key + value + "," + after
}
