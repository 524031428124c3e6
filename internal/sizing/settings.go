package sizing

import (
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
)

// settings returns every choice that the study names for a topology, in its order.
func (z *sizer) settings(topology string) (all []setting) {
	q := &z.study.Search
	for _, r := range z.replicas() {
		prefills := []replica{{}}
		if topology == configs.Disaggregated {
			prefills = z.prefillsBeside(r)
		}
		for _, p := range prefills {
			for _, seqs := range orOne(q.MaxNumSeqs) {
				for _, tokens := range orOne(q.MaxNumBatchedTokens) {
					all = append(all, setting{r.gpu, p.gpu, r.layout, p.layout, seqs, tokens})
				}
			}
		}
	}
	return all
}

// orOne is a list, or the scenario's own value alone.
func orOne[T any](list []T) []T {
	if list == nil {
		return make([]T, 1)
	}
	return list
}

// replica is GPUs and how they share the model; zero: the scenario's.
type replica struct {
	gpu    string
	layout configs.Layout
}

// replicas returns the choices for pools that decode.
func (z *sizer) replicas() []replica {
	q := &z.study.Search
	return z.choices(orOne(q.GPU), q.Parallel, q.TensorParallel)
}

// prefillsBeside returns the choices for the prefill pool beside a pool that decodes.
func (z *sizer) prefillsBeside(decode replica) []replica {
	q := &z.study.Search
	gpus := q.PrefillGPU
	if gpus == nil {
		gpus = []string{decode.gpu}
	}
	if q.PrefillParallel == nil && q.PrefillTensorParallel == nil {
		all := make([]replica, 0, len(gpus))
		for _, gpu := range gpus {
			all = append(all, replica{gpu, decode.layout})
		}
		return all
	}
	return z.choices(gpus, q.PrefillParallel, q.PrefillTensorParallel)
}

// choices returns every layout on every GPU.
func (z *sizer) choices(gpus []string, parallel configs.Layouts, tensor []int) (all []replica) {
	for _, gpu := range gpus {
		for _, layout := range z.layouts(gpu, parallel, tensor) {
			all = append(all, replica{gpu, layout})
		}
	}
	return all
}

func (z *sizer) layouts(gpu string, parallel configs.Layouts, tensor []int) (all []configs.Layout) {
	switch {
	case parallel.Auto():
		return z.autoLayouts(gpu)
	case parallel != nil:
		for _, text := range parallel {
			l, _ := configs.ParseLayout(text)
			all = append(all, l)
		}
		return all
	}
	for _, n := range orOne(tensor) {
		all = append(all, configs.Layout{Tensor: n})
	}
	return all
}

// tightShare is the share of a domain's memory from which weights ask for stages over several domains.
const tightShare = 0.6

// autoLayouts returns what deployments of the model usually choose between on a GPU: tensor parallelism within a
// domain of fast links, stages of it, and for experts ranks of attention-DP that share them. What does not fit the
// memory is left out later, as every other layout is.
func (z *sizer) autoLayouts(gpu string) (all []configs.Layout) {
	ref := configs.GPURef{From: gpu}
	if gpu == "" {
		ref = z.base.Pools[0].GPU
	}
	domain, tight := 8, false
	if g, _, err := ref.Hardware(); err == nil && g.Domain.Value > 0 {
		domain = min(domain, int(g.Domain.Value))
		tight = z.model.WeightBytes() > tightShare*float64(domain)*g.MemoryBytes.Value
	}
	add := func(l configs.Layout) {
		l.Whole = true
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	for tensor := 1; tensor <= domain; tensor *= 2 {
		add(configs.Layout{Tensor: tensor, Pipeline: 1, Data: 1})
	}
	for tensor := max(1, domain/4); 2*tensor <= domain; tensor *= 2 {
		add(configs.Layout{Tensor: tensor, Pipeline: 2, Data: 1})
	}
	for stages := 2; tight && stages <= 4; stages *= 2 {
		add(configs.Layout{Tensor: domain, Pipeline: stages, Data: 1})
	}
	if z.model.Experts() == 0 {
		return all
	}
	for _, ranks := range []int{4, 8, 16, 32} {
		add(configs.Layout{Tensor: 1, Pipeline: 1, Data: ranks, Expert: true})
	}
	for _, tensor := range []int{2, 4, 8} {
		for _, ranks := range []int{2, 4} {
			if tensor <= domain {
				add(configs.Layout{Tensor: tensor, Pipeline: 1, Data: ranks, Expert: true})
			}
		}
	}
	return all
}

// String names what a study varies of a replica; empty: nothing.
func (c setting) String() string {
	name := func(gpu string, l configs.Layout) string {
		var words []string
		if l != (configs.Layout{}) {
			words = append(words, l.String())
		}
		if gpu != "" {
			words = append(words, gpu)
		}
		return strings.Join(words, " ")
	}
	decode := name(c.GPU, c.Layout)
	if prefill := name(c.PrefillGPU, c.PrefillLayout); prefill != "" && prefill != decode {
		return prefill + "/" + decode
	}
	return decode
}
