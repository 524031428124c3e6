package measured

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Rows of mode disagg have a pool for prompts and one for outputs, each of several workers, under NVIDIA's Dynamo. They do
// not state the arguments of their servers; what is assumed beside the defaults of the engine is written here.

// siliconPools fills in both pools of a row, or says what is unknown of them.
func siliconPools(r *record, l *Labels, p *setup) (unknown string) {
	if strings.Contains(r.text("flags"), "ep_field_unreliable") {
		return "the parallel layout is not to be trusted (flag ep_field_unreliable)"
	}
	prefill, noPrefill := siliconPool(r, p, "p_", "pool_gpus_prefill")
	decode, noDecode := siliconPool(r, p, "d_", "pool_gpus_decode")
	switch {
	case noPrefill != "":
		return noPrefill
	case noDecode != "":
		return noDecode
	}
	prefill.role, decode.role = "prefill", "decode"
	p.apart = []*setup{prefill, decode}
	l.Parallel = fmt.Sprintf("%dP-%s/%dD-%s", prefill.replicas, layoutOf(prefill.tensor, prefill.data, prefill.expert),
		decode.replicas, layoutOf(decode.tensor, decode.data, decode.expert))
	return ""
}

// siliconPool returns one of the pools: its workers, the GPUs of each, which is data-parallel in its attention over all of
// them or not at all, and how many of them share out the experts.
func siliconPool(r *record, p *setup, prefix, total string) (pool *setup, unknown string) {
	workers, gpus := prefix+"workers", prefix+"gpus_per_worker"
	if r.text(workers) == "" || r.text(gpus) == "" || r.text("layout_confidence") == "unknown" {
		return nil, "the parallel layout is not known"
	}
	pool = &setup{gpu: p.gpu, engine: p.engine, replicas: r.count(workers, 1), tensor: r.count(gpus, 1), data: 1}
	if r.text(total) != "" && r.count(total, 1) != pool.replicas*pool.tensor {
		return nil, contradiction
	}
	if experts, ok := r.optional(prefix + "ep"); ok && experts > 1 {
		if int(experts) > pool.tensor {
			return nil, contradiction
		}
		pool.expert = true
	}
	if apart, _ := r.flag(prefix + "dp_attn"); apart {
		pool.tensor, pool.data = 1, pool.tensor
	}
	return pool, ""
}

// handsOver adds what both pools of a row run with, and how one hands over to the other: over NVLink where a rack is one
// domain of it, and else over the network adapter of each GPU.
//
// Under either engine the client has its first token from the decode worker, which gets it with the cache. SGLang's decode
// worker takes memory for a prompt before the prefill worker reads it; TensorRT-LLM's asks for the cache once it is there.
// Dynamo hands requests to the workers of a pool in turn (dynamo components, router-mode round-robin; all of this from
// memory: unverified).
func (s *setup) handsOver(r *record, prompt int) {
	prefill, decode := s.apart[0], s.apart[1]
	s.router = "round-robin"
	transfer, link := "pull", "nic"
	if s.engine == "sglang" {
		transfer = "push"
	}
	if inRack(s.gpu) {
		link = "nvlink"
	}
	prefill.arguments = append(prefill.arguments, "kv_transfer: "+transfer, "first_token: decode", "kv_link: "+link)
	if s.engine == "tensorrt-llm" {
		for _, pool := range s.apart {
			pool.arg("max_num_batched_tokens", max(prompt, defaultTokens))
		}
		decode.arg("max_num_seqs", recipeSeats(r.text("recipe")))
	}
}

// inRack reports whether the GPUs of a rack are joined like those of a host.
func inRack(gpu string) bool { return strings.HasPrefix(gpu, "gb") }

// defaultTokens is max_num_tokens of TensorRT-LLM, than which longer prompts need more: those run whole.
const defaultTokens = 8192

// recipeOf is how the recipes of TensorRT-LLM are called: ctx1_gen3_tep8_batch16_eplb0_mtp0 has one worker for prompts and
// three for outputs, each with up to 16 sequences, or as many on each rank where attention is data-parallel (dep, dp).
var recipeOf = regexp.MustCompile(`ctx\d+_gen\d+_[a-z]+\d+_batch(\d+)_`)

// recipeSeats returns how many sequences a rank of a decode worker runs at once as the name of its recipe says; 0: it does not.
func recipeSeats(recipe string) int {
	found := recipeOf.FindStringSubmatch(recipe)
	if found == nil {
		return 0
	}
	seats, err := strconv.Atoi(found[1])
	if err != nil {
		return 0
	}
	return seats
}
