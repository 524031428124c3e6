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

// TestPromptsOfRanksWaitAsTheFileSays: attention_dp_config in the file that a script writes, by TensorRT-LLM's names.
func TestPromptsOfRanksWaitAsTheFileSays(t *testing.T) {
	const flag = "--attention_dp_config."
	for _, c := range []struct{ config, more, wait, differs, idle, note string }{
		{"{enable_balance: true, timeout_iters: 60, batching_wait_iters: 0}", "", "60", "", flag + "batching_wait_iters", ""},
		{"{enable_balance: true, timeout_iters: 60, batching_wait_iters: 5}", "", "60", flag + "batching_wait_iters", "", ""},
		{"{enable_balance: true, timeout_iters: 60}", "", "60", "", "", "batching_wait_iters is 10 by default"},
		{"{enable_balance: true, batching_wait_iters: 0}", "", "50", "", flag + "batching_wait_iters", ""},
		{"{enable_balance: true, timeout_iters: 0, batching_wait_iters: 0}", "", "", "", flag + "timeout_iters", ""},
		{"{enable_balance: false, timeout_iters: 60}", "", "", "", flag + "timeout_iters", ""},
		{"{timeout_iters: 60, batching_wait_iters: 5}", "", "", "", flag + "batching_wait_iters", ""},
		{"{enable_balance: true, timeout_iters: 60, batching_wait_iters: 0}", "enable_chunked_prefill: true\n", "",
			flag + "timeout_iters", "", ""},
		{"{enable_balance: true, timeout_iters: $WAIT, batching_wait_iters: 0}", "", "", flag + "timeout_iters", "", ""},
	} {
		i, err := read("cat > x.yml <<EOF\nenable_attention_dp: true\n"+c.more+"attention_dp_config: "+c.config+"\nEOF\n"+
			"trtllm-serve qwen3-30b-a3b --tp_size 4 --ep_size 4 --extra_llm_api_options x.yml", "h200", nil)
		require.NoError(t, err, c.config)
		want := ""
		if c.wait != "" {
			want = "batch_wait_timeout_iters: " + c.wait
		}
		pool, differs, idle := keys(i.Text), strings.Join(i.Differs, "\n"), strings.Join(i.Idle, "\n")
		assert.Equal(t, want != "", strings.Contains(pool, "batch_wait"), c.config)
		assert.Contains(t, pool, want, c.config)
		assert.Equal(t, c.differs != "", strings.Contains(differs, flag), c.config)
		assert.Contains(t, differs, c.differs, c.config)
		assert.Contains(t, idle, c.idle, c.config)
		assert.Contains(t, strings.Join(i.Notes, "\n"), c.note, c.config)
	}
	i, err := read("cat > x.yml <<EOF\nattention_dp_config: {enable_balance: true}\nEOF\n"+
		"trtllm-serve qwen3-30b-a3b --tp_size 4 --extra_llm_api_options x.yml", "h200", nil)
	require.NoError(t, err)
	assert.Contains(t, strings.Join(i.Idle, "\n"), "there is one attention rank")
	assert.NotContains(t, i.Text, "batch_wait")
	_, err = read("cat > x.yml <<EOF\nattention_dp_config: {timeout_iters: -1}\nEOF\n"+
		"trtllm-serve qwen3-30b-a3b --tp_size 4 --extra_llm_api_options x.yml", "h200", nil)
	require.ErrorContains(t, err, "a whole number from 0 to 1048576")
}
