package vllmargs

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/decodesim/decodesim/configs/catalog"
)

// layout is how a replica is split, as keys of the pool.
func (d *draft) layout(sparse bool) ([]setting, error) {
	tensor, ranks, replicas := d.tensor.orOne(), 1, 1
	tensorBy, dataBy := by(d.tensor.by), by(d.data.by)
	switch n := d.data.orOne(); {
	case d.attention.n > 1: // SGLang from 0.5.23 on: the ranks share the GPUs that --tp counts, and --dp counts replicas
		ranks = d.attention.n
		if tensor%ranks != 0 {
			return nil, fmt.Errorf("%s: expected a number of ranks that divides tensor parallelism, %d", d.attention.by.text(),
				tensor)
		}
		replicas, tensor = n, tensor/ranks
		tensorBy += " over " + by(d.attention.by)
		dataBy = by(d.attention.by)
	case d.engine == tensorRTLLM && d.rankSwitch != nil: // all GPUs are ranks of attention
		ranks, tensor = tensor, 1
		tensorBy, dataBy = by(d.rankSwitch), by(d.rankSwitch)+", "+by(d.tensor.by)
	case d.engine == sglang && d.rankSwitch != nil: // the ranks share the GPUs that --tp counts
		if tensor%n != 0 {
			return nil, fmt.Errorf("%s with %s: expected a number of ranks that divides tensor parallelism, %d",
				d.data.by.text(), d.rankSwitch.written, tensor)
		}
		ranks, tensor = n, tensor/n
		if n > 1 {
			tensorBy += " over " + dataBy
			dataBy += ", " + d.rankSwitch.written
		}
	case d.engine == sglang || !sparse:
		replicas = n
	default:
		ranks = n
	}
	replicasBy := by(d.data.by)
	if _, n := catalog.CountedGPU(d.options.GPU); n > 0 {
		each := tensor * ranks * d.pipeline.orOne()
		if n%each != 0 || replicas > 1 && n != replicas*each {
			return nil, fmt.Errorf("--gpu %s says %d GPUs, but the command line takes %d for each of %d replicas; expected as "+
				"many, or the GPU alone", d.options.GPU, n, each, replicas)
		}
		replicas, replicasBy = n/each, "--gpu "+d.options.GPU
	}
	d.perRank(ranks)
	var all []setting
	add := func(key string, n int, by string) {
		if n > 1 || by != "" && key == "tensor_parallel" {
			all = append(all, setting{key: key, value: strconv.Itoa(n), by: by})
		}
	}
	add("replicas", replicas, replicasBy)
	add("tensor_parallel", tensor, tensorBy)
	add("pipeline_parallel", d.pipeline.orOne(), by(d.pipeline.by))
	add("data_parallel", ranks, dataBy)
	experts, err := d.wholeOrSliced(d.tensor.orOne())
	if err != nil {
		return nil, err
	}
	if experts != "" {
		all = append(all, setting{key: "expert_parallel", value: "true", by: experts})
	}
	switch g := d.nccl; {
	case g != nil && tensor > 1:
		all = append(all, setting{key: "disable_custom_all_reduce", value: "true", by: by(g)})
	case g != nil:
		d.idle(g, "no GPUs share the layers of a rank")
	}
	return append(all, d.exchanged(experts != "" && ranks > 1)...), nil
}

// exchanged is what an engine does about experts of other data-parallel ranks, if there are such, and about busy ones.
func (d *draft) exchanged(ranked bool) (all []setting) {
	switch x := d.exchange; {
	case x.key != "" && ranked:
		all = append(all, x)
	case x.key != "":
		d.idle(d.exchangeGiven, "no data-parallel ranks have experts for each other")
	}
	switch g := d.overlapGiven; {
	case g != nil && ranked:
		all = append(all, setting{key: "batch_overlap", value: d.overlap, by: by(g)})
	case g != nil:
		d.idle(g, "no data-parallel ranks have experts for each other")
	}
	switch n := d.redundant.n; {
	case d.eplb == nil && n > 0:
		d.differ(d.redundant.by, "redundant experts without --enable-eplb, which are not taken")
	case d.eplb == nil:
	case n > 0:
		all = append(all, setting{key: "enable_eplb", value: "true", by: by(d.eplb)},
			setting{key: "num_redundant_experts", value: strconv.Itoa(n), by: by(d.redundant.by)})
	default:
		all = append(all, setting{key: "enable_eplb", value: "true", by: by(d.eplb)})
	}
	return all
}

// perRank divides what SGLang counts of all attention ranks together: their sequences and the tokens of a chunk
// (sglang/srt/mem_cache/kv_cache_configurator.py and arg_groups/parallel_hook.py, 0.5.23).
func (d *draft) perRank(ranks int) {
	if d.engine != sglang || ranks == 1 {
		return
	}
	for i := range d.pool {
		s := &d.pool[i]
		n, err := strconv.Atoi(s.value)
		if err != nil || n < 1 || s.key != "max_running_requests" && s.key != "chunked_prefill_size" {
			continue
		}
		s.value = strconv.Itoa(max(1, n/ranks))
		d.note("%s is of all %d attention ranks together, its key of each: %s", s.by, ranks, s.value)
	}
}

// wholeOrSliced returns the flag that puts whole experts on each GPU; empty: every GPU has slices of all.
func (d *draft) wholeOrSliced(gpus int) (flag string, err error) {
	switch e := d.experts; {
	case e.n > gpus || e.n > 0 && gpus%e.n != 0:
		return "", fmt.Errorf("%s: expected a number that divides tensor parallelism, %d", e.by.text(), gpus)
	case e.n > 1 && e.n < gpus:
		d.differ(e.by, fmt.Sprintf("experts over %d of %d GPUs and slices of them over the others: whole ones on each are "+
			"taken instead", e.n, gpus))
		return e.by.text(), nil
	case e.n > 1:
		return e.by.text(), nil
	}
	return by(d.expertSwitchGiven), nil
}

// by is the flag as the user gave it; empty: the user did not.
func by(g *given) string {
	if g == nil {
		return ""
	}
	return g.text()
}

// blocks turns the tokens that a cache is to hold into blocks.
func (d *draft) blocks() error {
	if d.tokenBudget == nil {
		return nil
	}
	n, err := d.tokenBudget.whole(1, 1<<40)
	if err != nil {
		return err
	}
	engine, err := catalog.Engine(d.engine)
	if err != nil {
		return err
	}
	page := int64(engine.Arguments.BlockSize)
	if key := engine.Own("block_size"); d.has(key) {
		page, err = strconv.ParseInt(d.value(key), 10, 64)
		if err != nil {
			return err
		}
	}
	n /= page
	if n < 1 || n >= 1<<31 {
		return d.tokenBudget.bad(fmt.Sprintf("from %d to %d tokens, in pages of %d", page, page*(1<<31-1), page))
	}
	d.set("num_gpu_blocks", strconv.FormatInt(n, 10), d.tokenBudget)
	return nil
}

// expertCount matches what configurations call their number of experts.
var expertCount = regexp.MustCompile(`"(?:num_experts|n_routed_experts|num_local_experts|moe_num_experts)"\s*:\s*[1-9]`)
