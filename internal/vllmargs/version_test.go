package vllmargs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheReleaseIsRead from the tag of the image or from what pip installs; of releases that the engine does not know,
// the newest before them stands for them, and a note says so.
func TestTheReleaseIsRead(t *testing.T) {
	for text, want := range map[string]struct{ version, note string }{
		"docker run vllm/vllm-openai:v0.33.0 --model llama-3.1-8b": {"version: 0.33", ""},
		"docker run vllm/vllm-openai:v0.22.1 --model llama-3.1-8b": {"version: 0.22", ""},
		"docker run vllm/vllm-openai:v0.30.0 --model llama-3.1-8b": {"version: 0.22",
			"vllm/vllm-openai:v0.30.0 is vLLM 0.30; the rules of 0.22 stand for it"},
		"docker run vllm/vllm-openai:v0.9.1 --model llama-3.1-8b": {"version: 0.22",
			"vllm/vllm-openai:v0.9.1 is vLLM 0.9; the rules of 0.22 stand for it"},
		"pip install -U 'vllm[flashinfer]==0.22.0'\nvllm serve llama-3.1-8b": {"version: 0.22", ""},
		"docker run img bash -lc 'pip install vllm==0.40.1; vllm serve llama-3.1-8b'": {"version: 0.33",
			"vllm==0.40.1 is vLLM 0.40; the rules of 0.33 stand for it"},
		"docker run vllm/vllm-openai:latest --model llama-3.1-8b": {"",
			"vllm/vllm-openai:latest does not say which release of vLLM it is; the rules of 0.33, the newest"},
		"docker run vllm/vllm-openai --model llama-3.1-8b": {"",
			"vllm/vllm-openai does not say which release of vLLM it is; the rules of 0.33, the newest"},
		"docker run vllm/vllm-openai@sha256:0123456789abcdef --model llama-3.1-8b": {"",
			"vllm/vllm-openai@sha256:0123456789abcdef does not say which release of vLLM it is; the rules of 0.33, the newest"},
		"docker run vllm/vllm-openai:nightly --model llama-3.1-8b": {"",
			"vllm/vllm-openai:nightly does not say which release of vLLM it is; the rules of 0.33, the newest"},
		"docker run vllm/vllm-openai:v0.22.1@sha256:0123456789abcdef --model llama-3.1-8b": {"version: 0.22", ""},
		"docker run vllm/vllm-openai:v0.6.3 --model llama-3.1-8b":                          {"", "is older than vLLM 0.8"},
	} {
		i, err := read(text, "h200", folder{})
		require.NoError(t, err, text)
		if want.version == "" {
			assert.NotContains(t, string(i.Text), "version:", text)
		} else {
			assert.Contains(t, string(i.Text), "\n    "+want.version+" ", text)
		}
		if want.note == "" {
			assert.Empty(t, i.Notes, text)
		} else {
			require.Len(t, i.Notes, 1, text)
			assert.Contains(t, i.Notes[0], want.note)
		}
		_, err = i.Check()
		require.NoError(t, err, text)
	}
}
