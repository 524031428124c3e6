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
	add(llm.Attention, a*v*h, parents, []string{"o_proj", "out_proj", "dense", "wo"})
	if s.Latent.Rank == 0 {
		queries := h * a * k
		if s.OutputGate {
			queries *= 2
		}
		add(llm.Attention, queries, parents, []string{"q_proj", "qkv_proj", "query_key_value", "wqkv"})
		add(llm.Attention, h*g*k, parents, []string{"k_proj", "qkv_proj", "query_key_value", "wqkv"})
		add(llm.Attention, h*g*v, parents, []string{"v_proj", "qkv_proj", "query_key_value", "wqkv"})
		return
	}
	rq, r, p := int64(s.Latent.QueryRank), int64(s.Latent.Rank), int64(s.Latent.RopeDim)
	if rq > 0 {
		add(llm.AttentionReplicated, h*rq, parents, []string{"q_a_proj", "fused_qkv_a_proj_with_mqa"})
		add(llm.Attention, rq*a*(k+p), parents, []string{"q_b_proj"})
	} else {
		add(llm.Attention, h*a*(k+p), parents, []string{"q_proj"})
	}
	add(llm.AttentionReplicated, h*(r+p), parents, []string{"kv_a_proj_with_mqa", "fused_qkv_a_proj_with_mqa"})
	add(llm.Attention, r*a*(k+v), parents, []string{"kv_b_proj"})
	n, d := int64(s.Index.Heads), int64(s.Index.Dim)
	add(llm.Indexer, rq*n*d, parents, []string{"indexer.wq_b"})
	add(llm.Indexer, h*d, parents, []string{"indexer.wk"})
}

func recurrentModules(h int64, r llm.Recurrence, add addModule) {
	if r.ValueHeads == 0 {
		return
	}
	parents := []string{"linear_attn", "mixer", "mamba"}
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
		if !f.Plain {
			add(class, copies*h*width, parents, []string{"gate_proj", "gate_up_proj", "w1"})
		}
		add(class, copies*h*width, parents, []string{"up_proj", "gate_up_proj", "fc1", "w3", "dense_h_to_4h"})
		add(class, copies*h*width, parents, []string{"down_proj", "fc2", "w2", "dense_4h_to_h"})
	}
	network(llm.DenseFFN, 1, int64(f.Width), []string{"mlp", "feed_forward", "mixer", "shared_mlp"})
	network(llm.SharedExperts, 1, int64(f.SharedWidth), []string{"mlp.shared_experts", "mlp.shared_expert",
		"feed_forward.shared_expert", "mixer.shared_experts"})
	network(llm.RoutedExperts, int64(f.Experts), int64(f.ExpertWidth), []string{"mlp.experts.0", "mlp.experts",
		"block_sparse_moe.experts.0", "feed_forward.experts.0", "feed_forward.experts", "mixer.experts.0"})
}
