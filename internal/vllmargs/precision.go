package vllmargs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
)

// otherFormat stands for formats that scenarios have no name for.
const otherFormat = "other"

// precisions are the number formats of --quantization; "" leaves it to the checkpoint. Names as of vLLM 0.11 and SGLang
// 0.5, unverified.
func precisions() [][2]string {
	var all [][2]string
	for _, p := range []struct{ precision, methods string }{
		{"fp8", "fp8 fbgemm_fp8 ptpc_fp8 w8a8_fp8 modelopt modelopt_fp8"},
		{"int8", "int8 w8a8_int8 blockwise_int8"},
		{"int4", "int4 awq awq_marlin gptq gptq_marlin marlin gptq_marlin_24 moe_wna16 bitsandbytes auto-round " +
			"int4_weight_only"},
		{"nvfp4", "nvfp4 modelopt_fp4 petit_nvfp4"},
		{"mxfp4", "mxfp4"},
		{"", "none null compressed-tensors quark modelopt_mixed"},
		{otherFormat, "gguf aqlm hqq experts_int8 deepspeedfp torchao tpu_int8 ipex inc bitblas gptq_bitblas rtn qqq qoq " +
			"w4afp8 mxfp8 fp_quant cpu_awq"},
	} {
		for _, m := range strings.Fields(p.methods) {
			all = append(all, [2]string{m, p.precision})
		}
	}
	return all
}

// quantized takes note of the number format of the weights, which the model's name may say more of.
func (d *draft) quantized(g *given) error {
	methods := precisions()
	i := slices.IndexFunc(methods, func(m [2]string) bool { return strings.EqualFold(m[0], g.value()) })
	if i < 0 {
		var names []string
		for _, m := range methods {
			if m[1] != otherFormat {
				names = append(names, m[0])
			}
		}
		return g.bad("one of " + strings.Join(names, ", "))
	}
	if methods[i][1] == otherFormat {
		d.differ(g, "this number format; weights takes bf16 fp8 int8 int4 mxfp4 nvfp4")
		return nil
	}
	d.quantization = &given{flag: g.flag, written: g.written, values: []string{g.value(), methods[i][1]}}
	return nil
}

// weights returns the key of the weights' format, if one is to be said: what the model's name says, or else
// --quantization.
func (d *draft) weights(model, inName string) setting {
	switch q := d.quantization; {
	case inName != "":
		return setting{key: "weights", value: inName, by: "as the model's name says"}
	case q == nil:
	case q.value() == "" && q.values[0] == "compressed-tensors":
		d.note("%s %s: the model's name does not say in which format; set weights if the catalog's model is in another",
			q.written, q.values[0])
	default:
		precision := q.value()
		if model != "" {
			precision = catalog.WeightsOf(model, precision)
		}
		return setting{key: "weights", value: precision, by: q.written + " " + q.values[0]}
	}
	return setting{}
}

// computed reads the type in which the model computes: 16 bits of either kind cost the same.
func (d *draft) computed(g *given) error {
	switch strings.ToLower(g.value()) {
	case "auto", "bfloat16", "bf16", "float16", "half", "fp16":
		d.idle(g, "16 bits of either kind cost the same")
	case "float", "float32":
		d.differ(g, "32-bit arithmetic")
	default:
		return g.bad("one of auto, bfloat16, float16, half, float, float32")
	}
	return nil
}

// cached reads the number format of the KV cache.
func (d *draft) cached(g *given) error {
	formats := []struct{ names, format string }{
		{"auto", ""}, {"fp8 fp8_e4m3 fp8_e5m2 fp8_inc fp8_ds_mla", "fp8"}, {"bfloat16 bf16 float16 half fp16", "bf16"},
		{"int8 int8_per_token_head", "int8"}, {"int4_per_token_head", "int4"}, {"nvfp4 fp4_e2m1", "nvfp4"},
	}
	var names []string
	for _, f := range formats {
		if slices.Contains(strings.Fields(f.names), strings.ToLower(g.value())) {
			if f.format == "" {
				d.idle(g, "as without it")
			} else {
				d.kvCache = setting{key: "kv_cache", value: f.format, by: g.text()}
			}
			return nil
		}
		names = append(names, strings.Fields(f.names)...)
	}
	return g.bad("one of " + strings.Join(names, ", "))
}

// cache returns the key of the KV cache's format. NVIDIA's quantised copies of checkpoints ask for fp8 (TensorRT-LLM
// and vLLM follow; unverified for others than nvidia/Llama-3.1-70B-Instruct-FP8).
func (d *draft) cache(repository, weights string) setting {
	if d.kvCache.key == "" && strings.HasPrefix(repository, "nvidia/") && slices.Contains([]string{"fp8", "nvfp4"},
		weights) {
		return setting{key: "kv_cache", value: "fp8", by: "as NVIDIA's quantised checkpoints ask for"}
	}
	return cmp.Or(d.kvCache, setting{})
}
