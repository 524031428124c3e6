package vllmargs

import (
	"strings"
	"testing"

	"github.com/decodesim/decodesim/configs"
)

// FuzzImport reads any text as a command line, and any as the file of settings that it names: what they become is a
// scenario, or says in its own words why not.
func FuzzImport(f *testing.F) {
	for _, text := range []string{
		"vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --max-num-seqs 256 --kv-cache-dtype fp8",
		"vllm serve llama-3.1-8b -tp=2 -pp 2 --max_num_batched_tokens=8K --max-model-len 32k",
		"vllm serve llama-3.1-8b -q fp8 --gpu-memory-util .9 --enforce-eager --block-size 32",
		`vllm serve llama-3.1-8b --compilation-config '{"cudagraph_mode": "NONE", "pass_config": {}}'`,
		`vllm serve llama-3.1-8b --speculative-config '{"method":"eagle3","num_speculative_tokens":3}'`,
		"A=$((1+2*3))\nif [ $X -gt 3 ]; then\nexport Y=${Z:-8}\nfi\npython3 -m sglang.launch_server --model-path " +
			"openai/gpt-oss-120b --tp $Y --mem-fraction-static 0.8 \\\n --attention-backend fa3 # c\n",
		"docker run --gpus all -e A=b -v /x:/y vllm/vllm-openai:v0.11.0 --model openai/gpt-oss-120b -tp 2",
		"cat > a.yml <<EOF\nkv_cache_config:\n  dtype: fp8\nEOF\ntrtllm-serve openai/gpt-oss-120b --backend pytorch " +
			"--max_batch_size 64 --extra_llm_api_options a.yml --tp_size $TP",
		"sglang serve --model-path deepseek-ai/DeepSeek-R1-0528 --tp 8 --dp 8 --enable-dp-attention --cuda-graph-bs 1 2 4",
	} {
		f.Add(text, "h100-sxm", "", "TP=2", "")
		f.Add(text, "b200-sxm", "vllm-v1", "X=5", "max-num-seqs: 16\n")
	}
	f.Add("services:\n  a: &a\n    image: vllm/vllm-openai\n    command: --model llama-3.1-8b\n  b:\n    <<: *a\n",
		"h100-sxm", "", "X=1", "")
	f.Add("vllm serve llama-3.1-8b --config s.yaml", "h100-sxm", "", "X=1", "a: {b: [1, 2], c: 3}\nmax-num-seqs: 4\n")
	f.Fuzz(func(t *testing.T, text, gpu, engine, variable, settings string) {
		i, err := Read(text, Options{GPU: gpu, Engine: engine, Vars: []string{variable},
			ReadFile: func(string) ([]byte, error) { return []byte(settings), nil }})
		if err != nil || strings.Contains(string(i.Text), "file:") {
			return
		}
		_, err = configs.Read("imported.yaml", i.Text, configs.Options{})
		if err != nil && (strings.Contains(err.Error(), "not YAML") || strings.Contains(err.Error(), "unknown key")) {
			t.Fatalf("%v\n%s", err, i.Text)
		}
	})
}
