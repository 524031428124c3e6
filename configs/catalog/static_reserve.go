package catalog

import "math"

// StaticReserve is the memory of a GPU that SGLang leaves to everything but weights and cache, in MiB, from which it
// computes mem_fraction_static where nobody gives it. The zero value is another engine's, which has a share instead.
type StaticReserve struct {
	Base      float64 `yaml:"base"`
	Token     float64 `yaml:"token"`      // of a chunk
	TokensMin int     `yaml:"tokens_min"` // a chunk counts as at least so many
	GPU       float64 `yaml:"gpu"`        // of a replica

	Graph       float64 `yaml:"graph"`         // of a sequence of the largest graph of decodes
	RankGraph   float64 `yaml:"rank_graph"`    // beside it, of such a sequence and a data-parallel rank
	RanksMore   float64 `yaml:"ranks_more"`    // and more of it, if the largest graph has
	RanksAbove  int     `yaml:"ranks_above"`   // more sequences than this
	PromptGraph float64 `yaml:"prompt_graph"`  // of a graph of prompts
	LatentGraph float64 `yaml:"latent_graphs"` // of all graphs of prompts, with latent attention

	Least      float64 `yaml:"least"`       // of everything, on GPUs
	LeastAbove float64 `yaml:"least_above"` // with more memory than this
}

// Static is what the reserve depends on.
type Static struct {
	MemoryBytes     float64
	Chunk           int  // tokens of a chunk, of all data-parallel ranks together
	GPUs, Ranks     int  // of a replica
	Largest         int  // sequences of the largest graph; 0: no step runs as one
	Prompts, Latent bool // prompts run as graphs; attention is latent
}

// Share returns mem_fraction_static (SGLang 0.5.23, sglang/srt/arg_groups/memory_hook.py, from line 280):
//
//	share   = (memory − reserve) / memory, to three digits
//	reserve = base + token · max(chunk, tokens_min) + gpu · GPUs + graphs, at least least where memory > least_above
//	graphs  = graph · largest + [ranks > 1] (rank_graph + [largest > ranks_above] ranks_more) · largest · ranks + prompts
//	prompts = prompt_graph · graphs of prompts, or latent_graphs
func (r *StaticReserve) Share(s *Static) float64 {
	const mib = 1 << 20
	memory, largest := float64(s.MemoryBytes/mib), float64(s.Largest)
	reserve := r.Base + float64(r.Token*float64(max(s.Chunk, r.TokensMin))) + float64(r.GPU*float64(s.GPUs)) +
		float64(r.Graph*largest)
	if s.Ranks > 1 {
		each := r.RankGraph
		if s.Largest > r.RanksAbove {
			each += r.RanksMore
		}
		reserve += float64(each * largest * float64(s.Ranks))
	}
	switch {
	case s.Prompts && s.Latent:
		reserve += r.LatentGraph
	case s.Prompts:
		reserve += float64(r.PromptGraph * float64(promptGraphs(s.Chunk)))
	}
	if memory > r.LeastAbove {
		reserve = max(reserve, r.Least)
	}
	return math.RoundToEven(1e3*(memory-reserve)/memory) / 1e3
}

// promptGraphs returns how many graphs of prompts SGLang 0.5.23 captures: by 4 tokens to 32, 16 to 256, 32 to 512, 64
// to 1024, 256 to 4096 and 512 beyond (sglang/srt/arg_groups/cuda_graph_hook.py, from line 480).
func promptGraphs(most int) (n int) {
	for _, r := range [][3]int{{4, 32, 4}, {48, 256, 16}, {288, 512, 32}, {576, 1024, 64}, {1280, 4096, 256},
		{4608, most, 512}} {
		for tokens := r[0]; tokens <= min(r[1], most); tokens += r[2] {
			n++
		}
	}
	return n
}
