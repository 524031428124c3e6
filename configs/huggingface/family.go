package huggingface

import (
	"strings"

	"github.com/decodesim/decodesim/hardware/llm"
)

// family is what a model's code says and its config does not. The zero family is a Llama-like decoder, which is what an
// unknown model_type gets: what its fields say beyond that is read or refused.
//
// Facts are from the reference table of shapes (hidden fields by family) where the family stands in it; the others are
// from general knowledge of huggingface/transformers and marked unverified.
type family struct {
	name             string
	known            bool
	refused          string   // why it cannot be read
	needs            []string // fields that each of its configs has
	tied             bool     // default of tie_word_embeddings
	plain            bool     // feed-forward networks of two matrices
	normVectors      int
	norms            int // per layer
	embeddingNorm    bool
	learnedPositions bool
	positionsExtra   int
	context          int // defaults of fields that its configs leave out
	vocab            int
	heads            int
	kvHeads          int
	headDim          int
	headBias         bool
	width4           bool // feed-forward width defaults to four times the hidden size
	qkvBias          bool
	outputBias       bool
	queryOnlyBias    bool // attention_bias does not reach the output projection
	ffnBias          bool
	expertBias       bool
	qkNorm           llm.QKNorm
	qkNormFree       bool // use_qk_norm adds no weights
	sinks            bool
	outputGate       bool
	routerBias       bool
	sharedByWidth    bool // a shared expert as wide as a routed one, with no field that counts it
	slideEvery       int  // every n-th layer is full when no field says so
	slideOff         bool // use_sliding_window defaults to false
	chunked          bool // attention_chunk_size restarts attention
	headGate         bool // a gate on every head of attention
	globalHeads      bool // full layers have heads of their own
	latentExperts    bool // moe_latent_size is the width at which experts read and write
	blockConfigs     bool // block_configs describes each layer
	mixedHeads       bool // attention and Mamba-2 side by side in each layer
}

// familyOf is the family of a model_type, with or without the suffix of a nested decoder.
func familyOf(modelType string) family {
	name := strings.TrimSuffix(strings.ToLower(modelType), "_text")
	f := family{known: true}
	switch {
	case familyLlama(name, &f), familyLayerNorm(name, &f), familyMoE(name, &f), familyOther(name, &f):
	default:
		f.known = false
	}
	f.name = name
	if f.norms == 0 {
		f.norms = 2
	}
	switch f.normVectors {
	case 0:
		f.normVectors = 1
	case noWeights:
		f.normVectors = 0
	}
	return f
}

// noWeights marks a norm without weights, since 0 is the default of one vector.
const noWeights = -1

// familyLlama fills dense families with RMSNorm and gated networks.
func familyLlama(name string, f *family) bool {
	switch name {
	case "llama", "mistral", "yi", "internlm2", "baichuan", "phi3", "granite", "minicpm3", "smollm3", "exaone", "ernie4_5",
		"ministral", "ministral3", "mistral3", "seed_oss":
	case "arcee":
		f.plain = true // unverified
	case "minicpm":
		f.tied = true // unverified
	case "qwen2", "qwen2_vl", "qwen2_5_vl", "qwen2_audio":
		f.qkvBias, f.queryOnlyBias, f.slideOff = true, true, true
	case "mimo":
		f.qkvBias, f.queryOnlyBias, f.slideOff = true, true, true // unverified
	case "qwen3", "qwen3_vl":
		f.qkNorm, f.slideOff = llm.QKNormPerHead, true
	case "gemma":
		f.tied = true // unverified
	case "gemma2":
		f.tied, f.norms, f.slideEvery = true, 4, 2
	case "gemma3":
		f.tied, f.norms = true, 4
		f.slideEvery, f.qkNorm = 6, llm.QKNormPerHead
		f.context, f.vocab, f.heads = 131072, 262208, 8
		f.kvHeads, f.headDim = 4, 256 // unverified but for the vocabulary
	case "olmo2", "olmo3":
		f.qkNorm = llm.QKNormAllHeads // unverified
	case "exaone4", "hunyuan_v1_dense":
		f.qkNorm = llm.QKNormPerHead // unverified
	case "glm":
		f.queryOnlyBias = true // unverified
	case "glm4":
		f.queryOnlyBias, f.norms = true, 4 // unverified
	default:
		return false
	}
	return true
}

// familyLayerNorm fills dense families with LayerNorm; most have plain networks and biases.
func familyLayerNorm(name string, f *family) bool {
	f.normVectors = 2
	switch name {
	case "opt":
		f.tied, f.plain = true, true
		f.learnedPositions, f.positionsExtra = true, 2
		f.qkvBias, f.outputBias, f.ffnBias = true, true, true
	case "bloom":
		f.tied, f.plain, f.width4 = true, true, true
		f.embeddingNorm, f.context = true, 2048
		f.qkvBias, f.outputBias, f.ffnBias = true, true, true
	case "falcon", "refinedweb", "refinedwebmodel":
		f.tied, f.plain = true, true
		f.width4, f.context = true, 2048
	case "gpt2", "gpt_bigcode": // unverified
		f.tied, f.plain = true, true
		f.width4, f.learnedPositions = true, true
		f.qkvBias, f.outputBias, f.ffnBias = true, true, true
	case "gpt_neox": // unverified
		f.plain, f.qkvBias = true, true
		f.outputBias, f.ffnBias = true, true
	case "gptj": // unverified
		f.plain, f.width4, f.ffnBias = true, true, true
		f.headBias, f.norms = true, 1
	case "phi": // unverified
		f.plain, f.qkvBias, f.outputBias = true, true, true
		f.ffnBias, f.headBias, f.norms = true, true, 1
	case "starcoder2": // unverified
		f.tied, f.plain, f.qkvBias = true, true, true
		f.outputBias, f.ffnBias = true, true
	case "stablelm": // unverified
	case "nemotron": // unverified
		f.plain = true
	case "phimoe": // unverified
		f.queryOnlyBias = false
	case "olmo": // unverified
		f.normVectors = noWeights
	case "cohere": // unverified
		f.tied, f.norms, f.normVectors = true, 1, 1
	case "cohere2": // unverified
		f.tied, f.norms = true, 1
		f.normVectors, f.slideEvery = 1, 4
	default:
		f.normVectors = 0
		return false
	}
	return true
}

// familyMoE fills families with experts.
func familyMoE(name string, f *family) bool {
	switch name {
	case "mixtral", "deepseek_v2", "granitemoe", "granitemoeshared", "granitemoehybrid", "hunyuan_v1_moe", "ernie4_5_moe",
		"bailing_moe",
		"bailing_moe_v2", "dbrx":
		if strings.HasPrefix(name, "hunyuan") {
			f.qkNorm = llm.QKNormPerHead // unverified
		}
	case "deepseek_v3", "kimi_k2", "glm4_moe_lite":
		f.routerBias = true
	case "deepseek_v32", "glm_moe_dsa":
		f.routerBias, f.needs = true, []string{"index_topk"}
	case "dots1":
		f.routerBias, f.qkNorm = true, llm.QKNormPerHead // unverified
	case "qwen2_moe":
		f.qkvBias, f.queryOnlyBias, f.slideOff = true, true, true
	case "qwen3_moe", "qwen3_vl_moe", "qwen3_omni_moe":
		f.qkNorm, f.slideOff = llm.QKNormPerHead, true
	case "olmoe":
		f.qkNorm = llm.QKNormAllHeads // unverified
	case "glm4_moe", "glm4v_moe":
		f.queryOnlyBias, f.routerBias = true, true
	case "minimax_m2":
		f.routerBias = true
	case "mimo_v2_flash":
		f.routerBias, f.needs = true, []string{"hybrid_layer_pattern"}
	case "deepseek_v4":
		f.routerBias, f.needs = true, []string{"compress_ratios", "hc_mult", "index_topk"}
	case "kimi_linear":
		f.routerBias, f.needs = true, []string{"linear_attn_config"}
	case "minimax_m3", "minimax_m3_vl":
		f.routerBias, f.qkNorm, f.needs = true, llm.QKNormPerHead, []string{"sparse_attention_config"}
	case "step3p5", "step3p7":
		f.routerBias, f.headGate, f.qkNorm = true, true, llm.QKNormPerHead
	case "gemma4":
		f.tied, f.norms, f.slideEvery = true, 4, 6
		f.qkNorm, f.globalHeads, f.routerBias = llm.QKNormPerHead, true, true
		f.needs = []string{"global_head_dim", "attention_k_eq_v"}
	case "gpt_oss":
		f.routerBias, f.expertBias, f.sinks = true, true, true
	case "llama4":
		f.sharedByWidth, f.qkNormFree, f.chunked = true, true, true
	default:
		return false
	}
	return true
}

// familyOther fills hybrids and the families that must be refused by name, because their fields look ordinary.
func familyOther(name string, f *family) bool {
	switch name {
	case "nemotron_h":
		f.plain, f.norms, f.routerBias = true, 1, true
		f.latentExperts = true
	case "qwen3_next": // its gate is unverified
		f.qkNorm, f.outputGate, f.slideOff = llm.QKNormPerHead, true, true
	case "qwen3_5", "qwen3_5_moe":
		f.qkNorm, f.outputGate, f.slideOff = llm.QKNormPerHead, true, true
	case "falcon_h1": // unverified
		f.mixedHeads = true
	case "qwen":
		f.refused = "its intermediate_size means two networks at once; use Qwen2 or later"
	case "deci", "nemotron-nas":
		f.blockConfigs = true
	case "gemma3n":
		f.refused = "layers that share a cache and embed per layer are not understood"
	case "mpt", "gpt_neo", "codegen", "xglm", "ctrl", "xlnet", "mamba", "mamba2", "rwkv", "chatglm":
		f.refused = "its layout is not understood; Llama-like dense, MoE and latent-attention layouts are"
	default:
		return false
	}
	return true
}
