package groundtruth

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// engineArgs are the arguments of a launch script, as it writes them; empty: it does not. $CONC is the number of
// clients there and $ISL the nominal prompt.
type engineArgs struct {
	MaxNumBatchedTokens string `json:"max_num_batched_tokens"` // vLLM
	MaxNumSeqs          string `json:"max_num_seqs"`
	GPUMemory           string `json:"gpu_mem"`
	AsyncScheduling     bool   `json:"async_scheduling"`

	ChunkedPrefillSize string `json:"chunked_prefill_size"` // SGLang
	MaxPrefillTokens   string `json:"max_prefill_tokens"`
	MaxRunningRequests string `json:"max_running_requests"`
	MemFractionStatic  string `json:"mem_fraction_static"`
	AttentionBackend   string `json:"attention_backend"`

	MaxNumTokens    string `json:"trt_max_num_tokens"` // TensorRT-LLM
	FreeMemFraction string `json:"trt_free_mem_fraction"`
	BlockReuse      string `json:"trt_block_reuse"`
	BatchWaitIters  string `json:"batch_wait_timeout_iters"`

	KVCache          string `json:"kv_cache_dtype"`
	PrefixCachingOff bool   `json:"prefix_caching_off"`
	prompt, clients  int    // $ISL and $CONC
}

// readEngineArgs reads the launch scripts that the rows refer to; without the file, every argument is the engine's
// default.
func readEngineArgs(s *datafile.Source) (map[string]engineArgs, error) {
	data, path, err := s.Companion("A_engine_args.json", "engine_args.json")
	if err != nil || data == nil {
		return nil, err
	}
	var scripts []struct {
		ID    string     `json:"engine_args_id"`
		Flags engineArgs `json:"flags"`
	}
	err = inputs.DuplicateKey(data)
	if err == nil {
		err = json.Unmarshal(data, &scripts)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	args := map[string]engineArgs{}
	for _, a := range scripts {
		args[a.ID] = a.Flags
	}
	return args, nil
}

// apply adds what the script says of the pool, as far as it is a number: other variables of a script are not known.
func (a engineArgs) apply(p *setup.Scenario, clients, prompt int) {
	a.clients, a.prompt = clients, prompt
	switch p.Engine {
	case "vllm":
		a.number(p, "max_num_batched_tokens", a.MaxNumBatchedTokens, 1)
		a.number(p, "max_num_seqs", a.MaxNumSeqs, 1)
		a.number(p, "gpu_memory_utilization", a.GPUMemory, 1)
	case "sglang":
		a.sglang(p)
	case "tensorrt-llm":
		a.tensorRT(p)
	}
	if strings.HasPrefix(a.KVCache, "fp8") {
		p.KVCache = "fp8"
	}
}

// sglang adds SGLang's arguments. It divides those of a server with attention data parallelism over the ranks
// (sglang python/sglang/srt/server_args.py, managers/tp_worker.py; from memory, no row of quality A tells).
func (a engineArgs) sglang(p *setup.Scenario) {
	ranks := max(1, p.DataParallel)
	a.number(p, "max_num_batched_tokens", a.ChunkedPrefillSize, ranks)
	a.number(p, "max_prefill_tokens", a.MaxPrefillTokens, 1)
	a.number(p, "max_num_seqs", a.MaxRunningRequests, ranks)
	if !a.number(p, "gpu_memory_utilization", a.MemFractionStatic, 1) && a.MemFractionStatic != "" {
		p.Argument("gpu_memory_utilization", unknownShare)
	}
	if a.PrefixCachingOff {
		p.Argument("enable_prefix_caching", false)
	}
	if strings.HasPrefix(a.AttentionBackend, "trtllm_") && ranks == 1 {
		p.Argument("scheduler_recv_interval", a.recvInterval())
	}
}

// recvInterval returns after how many steps of decodes a server of a script for Blackwell looks for requests: 30, and
// 10 below 16 clients. The scripts of DeepSeek-R1 and Qwen3.5 that choose TensorRT-LLM's attention kernels set it so
// (from memory: unverified; between 8 and 16 clients TTFT jumps by some ten steps in their rows, and in no others).
func (a engineArgs) recvInterval() int {
	if a.clients < 16 {
		return 10
	}
	return 30
}

// unknownShare is the memory share of SGLang servers whose scripts set it to what is not known: the least in steps of a
// twentieth with which each of them holds its model and its clients; no client was measured to queue.
const unknownShare = 0.95

// tensorRT adds TensorRT-LLM's arguments. Its prompts run whole, so that servers are given a max_num_tokens that goes
// with their load. Where it is not known it is taken to be the least with which no prompt waits for a batch to end: a
// prompt beside one token of everybody else on its rank. The default of a server, which longer prompts rule out, is
// also contradicted by the TTFT and TPOT of shorter ones, but for those of attention ranks, which wait for others and
// then run together: there it is the least.
func (a engineArgs) tensorRT(p *setup.Scenario) {
	if !a.number(p, "max_num_batched_tokens", a.MaxNumTokens, 1) {
		ranks := max(1, p.DataParallel)
		tokens := a.prompt + (a.clients+ranks-1)/ranks // rounded up
		if ranks > 1 {
			tokens = max(tokens, defaultTokens)
		}
		p.Argument("max_num_batched_tokens", tokens)
	}
	a.number(p, "gpu_memory_utilization", a.FreeMemFraction, 1)
	if a.BlockReuse == "false" {
		p.Argument("enable_prefix_caching", false)
	}
}

// number adds an argument that is a number of the script over so many ranks, or reports that it is none.
func (a engineArgs) number(p *setup.Scenario, key, value string, ranks int) bool {
	fill := strings.NewReplacer(`"$((ISL * 2 ))"`, fmt.Sprint(2*a.prompt), "$CONC", fmt.Sprint(a.clients))
	value = fill.Replace(value)
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return false
	}
	if ranks > 1 {
		value = fmt.Sprint(max(1, int(n)/ranks))
	}
	p.Argument(key, value)
	return true
}
