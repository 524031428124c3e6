package groundtruth

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// Rows of mode disagg have a pool for prompts and one for outputs, each of several workers, under NVIDIA's Dynamo. They
// do not state the arguments of their servers; what is assumed beside the defaults of the engine is written here.

// siliconPools fills in both pools of a row, or says what is unknown of them.
func siliconPools(r *datafile.Record, l *measured.Labels, p *setup.Scenario) (unknown string) {
	if strings.Contains(r.Text("flags"), "ep_field_unreliable") {
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
	prefill.Role, decode.Role = "prefill", "decode"
	p.Pools = []*setup.Scenario{prefill, decode}
	l.Parallel = fmt.Sprintf("%dP-%s/%dD-%s", prefill.Replicas, names.LayoutOf(prefill.TensorParallel,
		prefill.DataParallel, prefill.ExpertParallel),
		decode.Replicas, names.LayoutOf(decode.TensorParallel, decode.DataParallel, decode.ExpertParallel))
	return ""
}

// siliconPool returns one of the pools: its workers, the GPUs of each, which is data-parallel in its attention over all
// of them or not at all, and how many of them share out the experts.
func siliconPool(r *datafile.Record, p *setup.Scenario, prefix, total string) (pool *setup.Scenario, unknown string) {
	workers, gpus := prefix+"workers", prefix+"gpus_per_worker"
	if r.Text(workers) == "" || r.Text(gpus) == "" || r.Text("layout_confidence") == "unknown" {
		return nil, "the parallel layout is not known"
	}
	pool = &setup.Scenario{GPU: p.GPU, Engine: p.Engine, Replicas: r.Count(workers, 1), TensorParallel: r.Count(gpus, 1),
		DataParallel: 1}
	if r.Text(total) != "" && r.Count(total, 1) != pool.Replicas*pool.TensorParallel {
		return nil, contradiction
	}
	if experts, ok := r.Optional(prefix + "ep"); ok && experts > 1 {
		if int(experts) > pool.TensorParallel {
			return nil, contradiction
		}
		pool.ExpertParallel = true
	}
	if attentionDP, _ := r.Flag(prefix + "dp_attn"); attentionDP {
		pool.TensorParallel, pool.DataParallel = 1, pool.TensorParallel
	}
	return pool, ""
}

// transferKV adds what both pools of a row run with, and how the KV cache moves from one to the other: over NVLink
// where a rack is one domain of it, and else over the network adapter of each GPU.
//
// Under either engine the client has its first token from the decode worker, which gets it with the cache. SGLang's
// decode worker takes memory for a prompt before the prefill worker reads it; TensorRT-LLM's asks for the cache once it
// is there. Dynamo hands requests to the workers of a pool in turn (dynamo components, router-mode round-robin; all of
// this from memory: unverified).
//
// Most is how many clients the sweep has at most of which the row is.
func transferKV(s *setup.Scenario, r *datafile.Record, prompt, most int) {
	prefill, decode := s.Pools[0], s.Pools[1]
	s.Router = "round-robin"
	transfer, link := "pull", "nic"
	if s.Engine == "sglang" {
		transfer = "push"
	}
	if inRack(s.GPU) {
		link = "nvlink"
	}
	prefill.Arguments = append(prefill.Arguments, "kv_transfer: "+transfer, "first_token: decode", "kv_link: "+link)
	if s.Engine == "sglang" {
		sglangRanks(prefill, decode)
	}
	if s.Engine == "tensorrt-llm" {
		for _, pool := range s.Pools {
			pool.Argument("max_num_batched_tokens", max(prompt, defaultTokens))
		}
		seqs := recipeMaxNumSeqs(r.Text("recipe"))
		if r.Text("recipe") == "" && r.Text("source") == "inferencex" {
			seqs = unnamedMaxNumSeqs(most, decode.Replicas*decode.DataParallel)
		}
		decode.Argument("max_num_seqs", seqs)
	}
}

// sglangRanks says how the data-parallel ranks of SGLang's workers got their requests, and tokens their experts: by the
// number of the room in which both sides meet, which is the same draw for either (sglang 0.5.6.post2,
// managers/data_parallel_controller.py, round_robin_scheduler; the rows are of 0.5.8: unverified), and for prompts by
// DeepEP's normal kernels, for its others have no room for so many tokens (from memory: unverified; the TTFT and TPOT
// of the rows in which prompts queue agree).
func sglangRanks(prefill, decode *setup.Scenario) {
	for _, pool := range []*setup.Scenario{prefill, decode} {
		if pool.DataParallel > 1 {
			pool.Argument("load_balance_method", "follow_bootstrap_room")
		}
	}
	if prefill.DataParallel > 1 && prefill.ExpertParallel {
		prefill.Argument("all_to_all", "normal")
	}
}

// inRack reports whether the GPUs of a rack are joined like those of a host.
func inRack(gpu string) bool { return strings.HasPrefix(gpu, "gb") }

// defaultTokens is max_num_tokens of TensorRT-LLM, than which longer prompts need more: those run whole.
const defaultTokens = 8192

// recipeOf is how the recipes of TensorRT-LLM are called: ctx1_gen3_tep8_batch16_eplb0_mtp0 has one worker for prompts
// and three for outputs, each with up to 16 sequences, or as many on each rank where attention is data-parallel (dep,
// dp).
var recipeOf = regexp.MustCompile(`ctx\d+_gen\d+_[a-z]+\d+_batch(\d+)_`)

// recipeMaxNumSeqs returns how many sequences a rank of a decode worker runs at once as the name of its recipe says; 0:
// it does not.
func recipeMaxNumSeqs(recipe string) int {
	found := recipeOf.FindStringSubmatch(recipe)
	if found == nil {
		return 0
	}
	maxNumSeqs, err := strconv.Atoi(found[1])
	if err != nil {
		return 0
	}
	return maxNumSeqs
}

// unnamedMaxNumSeqs returns what a recipe without a name is taken to give each of so many ranks, from the most clients
// of its sweep: their even share where that is a multiple of 16, and else the greatest power of two below it. Recipes
// are written for the last point of a sweep, which has a few clients more than there is room for. Of 86 sweeps under
// recipes with names this is what 69 names say, 33 of 41 without drafts; no latency is read.
func unnamedMaxNumSeqs(most, ranks int) int {
	if share := most / ranks; most%ranks == 0 && share%16 == 0 {
		return share
	}
	seqs := 1
	for 2*seqs*ranks <= most {
		seqs *= 2
	}
	return seqs
}

// mostClients returns the most clients of every sweep.
func mostClients(t *datafile.Table) map[string]int {
	most := map[string]int{}
	for i := range t.Rows {
		r := t.Record(i)
		if clients, ok := r.Optional("concurrency"); ok {
			most[r.Text("group_id")] = max(most[r.Text("group_id")], int(clients))
		}
	}
	return most
}

// scriptedCaches returns the type of the KV cache that the launch scripts of single servers ask for, by what they run:
// recipes of pools are by the same people and for the same checkpoints, and do not state it. Scripts that contradict
// each other say nothing; those of the seven models, precisions, engines and generations of GPUs of pools never do.
func scriptedCaches(t *datafile.Table, args map[string]engineArgs) map[string]string {
	caches := map[string]string{}
	for i := range t.Rows {
		r := t.Record(i)
		script, ok := args[r.Text("engine_args_id")]
		if !ok {
			continue
		}
		key, cache := cacheKey(r), ""
		if strings.HasPrefix(script.KVCache, "fp8") {
			cache = "fp8"
		}
		if before, ok := caches[key]; ok && before != cache {
			cache = ""
		}
		caches[key] = cache
	}
	return caches
}

// cacheKey names what a row ran, as far as launch scripts go by it.
func cacheKey(r *datafile.Record) string {
	gpu, _ := names.CatalogGPU(r.Text("system"))
	return strings.Join([]string{r.Text("backend"), r.Text("model"), r.Text("precision"), catalog.Family(gpu)}, " ")
}
