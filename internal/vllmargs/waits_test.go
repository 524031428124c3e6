package vllmargs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPromptsWaitAsTensorRTLLMHasThem: chunks wait in another way, and attention ranks not at all.
func TestPromptsWaitAsTensorRTLLMHasThem(t *testing.T) {
	const wait = "--batch_wait_timeout_iters"
	for _, c := range []struct{ model, flags, key, differs, idle string }{
		{"llama-3.1-8b", " 20", "batch_wait_timeout_iters: 20", "", ""},
		{"llama-3.1-8b", " 0", "", "", "as without it"},
		{"llama-3.1-8b", " 20 --enable_chunked_prefill", "", "chunks held back", ""},
		{"llama-3.1-8b", " $WAIT", "", "prompts held back", ""},
		{"qwen3-30b-a3b", " 20 --tp_size 2 --enable_attention_dp", "", "", "attention ranks do not wait so"},
	} {
		i, err := read("trtllm-serve "+c.model+" "+wait+c.flags, "h200", nil)
		require.NoError(t, err, c.flags)
		pool := keys(i.Text)
		assert.Equal(t, c.key != "", strings.Contains(pool, "batch_wait"), c.flags)
		assert.Contains(t, pool, c.key)
		assert.Contains(t, strings.Join(i.Differs, ""), c.differs)
		assert.Contains(t, strings.Join(i.Idle, ""), c.idle)
		assert.Equal(t, c.differs != "", strings.Contains(strings.Join(i.Differs, ""), wait), c.flags)
	}
	_, err := read("trtllm-serve llama-3.1-8b "+wait+" -1", "h200", nil)
	require.ErrorContains(t, err, "a whole number from 0 to 1048576")
}
