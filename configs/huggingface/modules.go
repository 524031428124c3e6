package huggingface

import (
	"strconv"

	"github.com/decodesim/decodesim/hardware/llm"
)

// module is a linear layer: the class it counts to, its weights, and the names that families give it.
type module struct {
	class   llm.WeightClass
	weights int64
	names   []string
}

// modules lists the linear layers that a quantisation may store narrower, in layer i.
func modules(m llm.Model, r llm.LayerRun, i int) []module {
	h := int64(m.Hidden)
	var out []module
	add := func(class llm.WeightClass, weights int64, parents, leaves []string) {
		if weights > 0 {
			out = append(out, module{class, weights, moduleNames(i, parents, leaves)})
		}
	}
	attentionModules(h, r.Mixer.Attention, add)
	recurrentModules(h, r.Mixer.Recurrence, add)
	ffnModules(h, r.FFN, add)
	return out
}

type addModule func(class llm.WeightClass, weights int64, parents, leaves []string)

func moduleNames(layer int, parents, leaves []string) []string {
	out := make([]string, 0, len(parents)*len(leaves))
	for _, p := range parents {
		for _, l := range leaves {
			out = append(out, "layers."+strconv.Itoa(layer)+"."+p+"."+l)
		}
	}
	return out
}

func attentionModules(h int64, s llm.SelfAttention, add addModule) {
	parents := []string{"self_attn", "attention", "self_attention", "attn", "mixer"}
	a, g := int64(s.Heads), int64(s.KVHeads)
	k, v := int64(s.KeyDim), int64(s.ValueDim)
	if rank := int64(s.OutputRank); rank > 0 {
		add(llm.Attention, a*v*rank, parents, []string{"o_a_proj", "wo_a"})
		add(llm.Attention, int64(s.OutputGroups)*rank*h, parents, []string{"o_b_proj", "wo_b"})
	} else {
		add(llm.Attention, a*v*h, parents, []string{"o_proj", "out_proj", "dense", "wo"})
	}
	indexModules(h, s, parents, add)
	if s.Latent.Rank == 0 {
		queries := h * a * k
		if s.OutputGate {
			queries *= 2
		}
		add(llm.Attention, queries, parents, []string{"q_proj", "qkv_proj", "query_key_value", "wqkv"})
		add(llm.Attention, h*g*k, parents, []string{"k_proj", "qkv_proj", "query_key_value", "wqkv"})
		if !s.ValueFromKey {
			add(llm.Attention, h*g*v, parents, []string{"v_proj", "qkv_proj", "query_key_value", "wqkv"})
		}
		return
	}
	rq, r, p := int64(s.Latent.QueryRank), int64(s.Latent.Rank), int64(s.Latent.RopeDim)
	if s.OutputGate {
		add(llm.Attention, h*a*v, parents, []string{"g_proj"})
	}
	if s.Latent.Direct {
		p = 0
	}
	if rq > 0 {
		add(llm.AttentionReplicated, h*rq, parents, []string{"q_a_proj", "fused_qkv_a_proj_with_mqa", "wq_a"})
		add(llm.Attention, rq*a*(k+p), parents, []string{"q_b_proj", "wq_b"})
	} else {
		add(llm.Attention, h*a*(k+p), parents, []string{"q_proj"})
	}
	if s.Latent.Direct {
		add(llm.AttentionReplicated, h*r, parents, []string{"kv_proj", "wkv"})
		return
	}
	add(llm.AttentionReplicated, h*(r+p), parents, []string{"kv_a_proj_with_mqa", "fused_qkv_a_proj_with_mqa"})
	add(llm.Attention, r*a*(k+v), parents, []string{"kv_b_proj"})
}

// indexModules leaves out what makes entries of several tokens, which stays as it is.
func indexModules(h int64, s llm.SelfAttention, parents []string, add addModule) {
	n, d, rq := int64(s.Index.Heads), int64(s.Index.Dim), int64(s.Latent.QueryRank)
	if s.Index.Block > 0 {
		rq = h
	}
	add(llm.Indexer, rq*n*d, parents, []string{"indexer.wq_b", "indexer.q_proj"})
	if s.Compression.Ratio == 0 && n > 0 {
		add(llm.Indexer, h*d, parents, []string{"indexer.wk", "indexer.k_proj"})
	}
}

func recurrentModules(h int64, r llm.Recurrence, add addModule) {
	if r.ValueHeads == 0 {
		return
	}
	parents := []string{"linear_attn", "mixer", "mamba"}
	if r.KDA {
		parents = append(parents, "self_attn")
	}
	inner := int64(r.ValueHeads) * int64(r.ValueDim)
	channels := inner + 2*int64(r.KeyHeads)*int64(r.KeyDim)
	add(llm.Recurrent, inner*h, parents, []string{"out_proj"})
	if r.Mamba2 {
		add(llm.Recurrent, h*(channels+inner+int64(r.ValueHeads)), parents, []string{"in_proj"})
		return
	}
	add(llm.Recurrent, h*channels, parents, []string{"in_proj_qkv", "in_proj_qkvz"})
	add(llm.Recurrent, h*inner, parents, []string{"in_proj_z", "in_proj_qkvz"})
	add(llm.Recurrent, h*int64(r.ValueHeads), parents, []string{"in_proj_a", "in_proj_ba"})
	add(llm.Recurrent, h*int64(r.ValueHeads), parents, []string{"in_proj_b", "in_proj_ba"})
}

func ffnModules(h int64, f llm.FFN, add addModule) {
	network := func(class llm.WeightClass, copies, width int64, parents []string) {
		n := copies * h * width
		if class == llm.RoutedExperts && f.Latent > 0 {
			n = copies * int64(f.Latent) * width
		}
		if !f.Plain {
			add(class, n, parents, []string{"gate_proj", "gate_up_proj", "w1"})
		}
		add(class, n, parents, []string{"up_proj", "gate_up_proj", "fc1", "w3", "dense_h_to_4h"})
		add(class, n, parents, []string{"down_proj", "fc2", "w2", "dense_4h_to_h"})
	}
	network(llm.DenseFFN, 1, int64(f.Width), []string{"mlp", "feed_forward", "mixer", "shared_mlp"})
	network(llm.SharedExperts, 1, int64(f.SharedWidth), []string{"mlp.shared_experts", "mlp.shared_expert",
		"feed_forward.shared_expert", "mixer.shared_experts"})
	network(llm.RoutedExperts, int64(f.Experts), int64(f.ExpertWidth), []string{"mlp.experts.0", "mlp.experts",
		"block_sparse_moe.experts.0", "feed_forward.experts.0", "feed_forward.experts", "mixer.experts.0"})
}
