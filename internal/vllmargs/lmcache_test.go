package vllmargs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

const connector = `--kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'`

// servedByLMCache is a server of vLLM's that uses LMCache.
const servedByLMCache = "vllm serve llama-3.1-8b " + connector

// TestLMCacheIsHostMemory: each of its workers has as much as LMCache's own settings say, those of the connector above
// the variables, and 5 GiB without any.
func TestLMCacheIsHostMemory(t *testing.T) {
	for text, c := range map[string]struct {
		gib     float64
		differs []string
	}{
		servedByLMCache: {5, []string{}},
		"LMCACHE_MAX_LOCAL_CPU_SIZE=40.5 LMCACHE_CHUNK_SIZE=256 " + servedByLMCache: {40.5, []string{}},
		"export LMCACHE_LOCAL_CPU=True " +
			"LMCACHE_MAX_LOCAL_CPU_SIZE=20\n" + servedByLMCache + " -tp 2 -pp 2": {80, []string{}},
		"docker run -e LMCACHE_MAX_LOCAL_CPU_SIZE=20 " +
			"-e LMCACHE_LOCAL_DISK=file:///d -e LMCACHE_MAX_LOCAL_DISK_SIZE=9 " +
			"-e LMCACHE_REMOTE_URL=lm://host:1 vllm/vllm-openai --model llama-3.1-8b " + connector: {20, []string{
			"LMCACHE_LOCAL_DISK: drives are kv_tiers.nvme of the pool: " +
				"{size_gib, read_bps}, whose bandwidth no setting says",
			"LMCACHE_REMOTE_URL: a remote store is kv_tiers.cluster of the pool: " +
				"{size_gib, read_bps}, which no setting says",
		}},
		`LMCACHE_MAX_LOCAL_CPU_SIZE=20 vllm serve llama-3.1-8b --kv-transfer-config '{` +
			`"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both", ` +
			`"kv_connector_extra_config": {"lmcache.max_local_cpu_size": 7.5}}'`: {7.5, []string{}},
		"LMCACHE_LOCAL_CPU=false " + servedByLMCache: {0, []string{
			"--kv-transfer-config: a KV cache of LMCache that keeps nothing in host memory"}},
		"LMCACHE_MAX_LOCAL_CPU_SIZE=9 python -m sglang.launch_server " +
			"--model-path llama-3.1-8b --tp 2 --enable-lmcache": {9, []string{}},
		"python -m sglang.launch_server --model-path llama-3.1-8b --enable-lmcache --lmcache-config-file mp.yaml": {5,
			[]string{"--lmcache-config-file: settings of LMCache in a file, which is not read"}},
	} {
		i, err := read(text, "h100", nil)
		require.NoError(t, err, text)
		s, err := configs.Read("x", i.Text, configs.Options{})
		require.NoError(t, err, text)
		assert.Equal(t, c.gib, s.Pools[0].KVOffloadingSize, text)
		assert.Equal(t, c.differs, i.Differs, text)
	}
	for text, want := range map[string]string{
		"LMCACHE_MAX_LOCAL_CPU_SIZE=lots " + servedByLMCache: `LMCACHE_MAX_LOCAL_CPU_SIZE: "lots"; ` +
			`expected a number of GiB above 0 and at most 1048576`,
		"LMCACHE_MAX_LOCAL_CPU_SIZE=-1 " + servedByLMCache: `LMCACHE_MAX_LOCAL_CPU_SIZE: "-1"; ` +
			`expected a number of GiB above 0 and at most 1048576`,
	} {
		_, err := read(text, "h100", nil)
		require.EqualError(t, err, want)
	}
	for text, want := range map[string]string{
		servedByLMCache: "sync", "LMCACHE_USE_LAYERWISE=True " + servedByLMCache: "layerwise",
		"LMCACHE_USE_LAYERWISE=false " + servedByLMCache:                                   "sync",
		"vllm serve llama-3.1-8b --kv-offloading-size 8":                                   "async",
		"python -m sglang.launch_server --model-path llama-3.1-8b --enable-lmcache --tp 2": "layerwise",
	} {
		i, err := read(text, "h100", nil)
		require.NoError(t, err, text)
		s, err := configs.Read("x", i.Text, configs.Options{})
		require.NoError(t, err, text)
		assert.Equal(t, want, s.Pools[0].KVLoad, text)
	}
	i, err := read("python -m sglang.launch_server --model-path llama-3.1-8b --enable-lmcache", "h100", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{lmcacheServer}, i.Notes)
	i, err = read("LMCACHE_MAX_LOCAL_CPU_SIZE=9 vllm serve llama-3.1-8b", "h100", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"LMCACHE_MAX_LOCAL_CPU_SIZE: LMCache reads it, for which no flag asks"}, i.Idle)
}
