package logs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

func readText(t *testing.T, text string) *measured.File {
	f, err := measuredtest.ReadText(t, text)
	require.NoError(t, err)
	return f
}

const stepsHead = "deployment_id,model,gpu,engine,version,tp,dp,ep,weights,kv_cache,step_index,prefill_tokens," +
	"prefill_requests,decode_requests,kv_tokens,prefill_kv_tokens,step_ms\n"

func TestAStepHasTheBatchThatWasLogged(t *testing.T) {
	f := readText(t, stepsHead+
		"s,Qwen3-32B,B300,vllm,0.20,2,1,1,bf16,bf16,1,0,0,4,8000,0,9\n"+
		"s,Qwen3-32B,B300,vllm,0.20,2,1,1,bf16,bf16,2,3000,2,5,5000,1000,90\n"+
		"d,Qwen3.6-35B-A3B,B300,vllm,0.20,1,4,4,bf16,bf16,3,0,0,4,8000,0,9\n"+
		"v,No-Such-Model,B300,vllm,0.20,1,4,4,fp8,fp8,3,0,0,4,8000,0,9\n")
	assert.Equal(t, &measured.Step{Decodes: 4, DecodeContext: 2000}, f.Runs[0].Priced.Step)
	assert.Equal(t, &measured.Step{Decodes: 5, DecodeContext: 1000, Prefills: 2, ChunkTokens: 1500, ChunkContext: 500},
		f.Runs[1].Priced.Step)
	assert.Equal(t, "mixed step", f.Runs[1].Labels.Kind)
	assert.Equal(t, &measured.Step{Decodes: 16, DecodeContext: 2000}, f.Runs[2].Priced.Step, "every rank alike")
	assert.Equal(t, "steps, one of several ranks", f.Runs[2].Labels.Source)
	assert.Contains(t, f.Runs[3].Skip, "is not in the catalog")
}

func TestStepsThatCompileKernelsAreLeftOut(t *testing.T) {
	rows := ""
	for range 9 {
		rows += "s,Qwen3-32B,B300,vllm,0.20,2,1,1,bf16,bf16,1,0,0,4,8000,0,9\n"
	}
	f := readText(t, stepsHead+"s,Qwen3-32B,B300,vllm,0.20,2,1,1,bf16,bf16,1,0,0,4,8000,0,900\n"+rows)
	assert.Contains(t, f.Runs[0].Skip, "kernels were compiled in it")
	for _, run := range f.Runs[1:] {
		assert.Empty(t, run.Skip)
	}
}

func TestTrapsOfKernelTablesAreLeftOut(t *testing.T) {
	f := readText(t, "deployment_id,gpu,engine,hidden,inter,topk,experts,moe_dtype,moe_tp,moe_ep,num_tokens,"+
		"rows_per_expert,routing,latency_us,flag\n"+
		"m,H100,vllm,4096,1536,8,128,fp8_block,4,1,64,4,bal,90,\n"+
		"m,H100,vllm,4096,1536,8,128,fp8_block,1,1,64,4,bal,9,s\n"+
		"m,H100,vllm,4096,1536,8,128,fp8_block,1,8,64,4,bal,90,\n"+
		"m,H100,trtllm,4096,1536,8,128,fp8_block,1,8,64,4,bal,90,\n")
	assert.Equal(t, &measured.Kernel{Op: measured.Experts, GPU: "h100-sxm", Engine: "vllm", GPUs: 1, Dtype: "fp8",
		Rows: 64, Width: 384, Hidden: 4096, TopK: 8, Experts: 128}, f.Runs[0].Priced.Kernel)
	assert.Contains(t, f.Runs[1].Skip, "faster than the bytes of the weights allow")
	assert.Contains(t, f.Runs[2].Skip, "experts over several GPUs")
	assert.Equal(t, &measured.Kernel{Op: measured.Experts, GPU: "h100-sxm", Engine: "tensorrt-llm", GPUs: 1,
		Dtype: "fp8", Rows: 64, Width: 1536, Hidden: 4096, TopK: 1, Experts: 16}, f.Runs[3].Priced.Kernel,
		"a rank of eight has 16 experts, and an eighth of the 512 choices of 64 tokens")

	f = readText(t, "deployment_id,gpu,engine,op,impl,gpus,nodes,bytes,tokens,hidden,topk,experts,sms,latency_us\n"+
		"c,H100,vllm,all_reduce,vllm_graph,8,1,1048576,,,,,,20\n"+
		"c,H100,vllm,all_reduce,vllm_eager,8,1,1048576,,,,,,40\n"+
		"c,H100,deepep,normal_dispatch,deepep-normal,32,4,,4096,7168,8,256,20,900\n"+
		"c,H100,deepep,normal_dispatch,deepep-normal,32,4,,4096,7168,8,256,24,900\n"+
		"c,H100,nccl,all_gather,NCCL,8,1,1048576,,,,,,20\n"+
		"c,H100,nccl,alltoall,NCCL,8,1,1048576,,,,,,20\n")
	assert.Equal(t, []string{"", "an all-reduce outside a graph, with the time of its launch", "", "", "",
		"alltoall of NCCL, which no engine sends tokens to experts by"},
		[]string{f.Runs[0].Skip, f.Runs[1].Skip, f.Runs[2].Skip, f.Runs[3].Skip, f.Runs[4].Skip, f.Runs[5].Skip})
	assert.Equal(t, 24, f.Runs[3].Priced.Kernel.SMs)
	assert.InEpsilon(t, 0.5, f.Runs[4].Priced.Kernel.Part, 1e-12)
	assert.True(t, f.Runs[4].Priced.Kernel.NCCL)
	assert.Equal(t, "normal dispatch, several nodes", f.Runs[2].Labels.Source)
}

// Kernels of TensorRT-LLM send tokens over the NVLink of a rack, in the format that the row says.
func TestTokensOverARackGoOneSided(t *testing.T) {
	f := readText(t, "deployment_id,gpu,engine,op,impl,gpus,nodes,dtype,bytes,tokens,hidden,topk,experts,sms,latency_us\n"+
		"c,GB200,trtllm,alltoall_dispatch,NVLinkOneSided,64,16,fp8,,128,7168,8,256,,40\n"+
		"c,GB200,trtllm,alltoall_combine,NVLinkOneSided,64,16,bfloat16,,128,7168,8,256,,60\n"+
		"c,GB200,trtllm,alltoall_dispatch,NVLinkOneSided,8,2,,,128,7168,8,256,,40\n"+
		"c,GB200,trtllm,alltoall_prepare,NVLinkOneSided,8,2,,,128,7168,8,256,,10\n")
	var dtypes []string
	for _, run := range f.Runs[:3] {
		require.Empty(t, run.Skip)
		assert.Equal(t, "one-sided", run.Priced.Kernel.Way)
		dtypes = append(dtypes, run.Priced.Kernel.Dtype)
	}
	assert.Equal(t, []string{"fp8", "bf16", "bf16"}, dtypes)
	assert.Equal(t, "alltoall_prepare of tensorrt-llm is not predicted", f.Runs[3].Skip)
}

const serversHead = "deployment_id,model,gpu,engine,version,layout,weights,isl,osl,load_kind,load,requests,spec," +
	"prefix,quality,ttft_mean_ms,tpot_mean_ms,notes\n"

func TestServersOfKnownLoadAreSimulated(t *testing.T) {
	f := readText(t, serversHead+
		"a,Llama-3.1-8B,H100-80G,vllm,,3 replicas tp1,bf16,9999,100,qps,5.5,250,none,random prompts,B,300,11,\n"+
		"b,Llama-3.1-8B,H100-80G,vllm(llm-d),,tp1,bf16,9999,100,qps,5.5,250,none,LMCache?; router,B,300,11,\n"+
		"c,Llama-3.1-8B,H100-80G,vllm,,1P+1D tp1 (NIXL),bf16,9999,100,qps,5.5,250,none,random prompts,B,300,11,\n"+
		"d,Llama-3.1-8B,H100-80G,vllm,,TP8/EP1,bf16,9999,100,qps,5.5,250,none,default,B,300,11,\n"+
		"e,Llama-3.1-8B,unknown,vllm,,tp1,bf16,9999,100,qps,5.5,250,none,default,B,300,11,\n"+
		"f,Llama-3.1-8B,H100-80G,vllm,,tp1,bf16,99,100,concurrency,5,250,none,default,B,300,11,\n")
	assert.Contains(t, f.Runs[0].Scenario, "replicas: 3\nrouter: random\n")
	assert.Contains(t, f.Runs[0].Scenario, "arrivals: {process: constant, rate: 5.5}\n  requests: 250\n")
	assert.Len(t, f.Runs[0].Rows[0].Values, 2)
	assert.Contains(t, f.Runs[1].Skip, "prompts of which an unknown part was cached (LMCache?; router)")
	assert.Contains(t, f.Runs[2].Scenario, "role: prefill\n    gpu: h100-sxm\n    replicas: 1\n")
	assert.Contains(t, f.Runs[2].Scenario, "role: decode\n")
	assert.Contains(t, f.Runs[3].Skip, `layout "TP8/EP1" does not say the GPUs of each replica`)
	assert.Equal(t, "the GPU is not known", f.Runs[4].Skip)
	assert.Contains(t, f.Runs[5].Skip, `a load of the kind "concurrency"`)
	measuredtest.BuildAll(t, f)
}

// TestServersOf2025PlanOneStepAtATime: releases of vLLM did so before 0.14, and images that name none by their date.
func TestServersOf2025PlanOneStepAtATime(t *testing.T) {
	const between = "async_scheduling: false\n"
	for _, c := range []struct {
		version, layout string
		pools           int // that are asked to
	}{
		{"latest@2025-05", "tp1", 1}, {"llm-d-dev 0.0.4", "2 replicas x tp1", 1}, {"lmcache-0.0.6", "tp1", 1},
		{"vllm-nixl-0.0.6", "1P+1D tp1 (NIXL)", 2}, {"0.10.2", "tp1", 1}, {"0.15.1", "tp1", 0},
		{"latest@2026-05", "tp1", 0}, {"llm-d-dev 0.4.0", "tp1", 0}, {"", "tp1", 0},
	} {
		f := readText(t, serversHead+"a,Llama-3.1-8B,H100-80G,vllm(llm-d),"+c.version+","+c.layout+
			",bf16,9999,100,qps,5.5,250,none,random prompts,B,300,11,\n")
		require.Empty(t, f.Runs[0].Skip)
		assert.Equal(t, c.pools, strings.Count(f.Runs[0].Scenario, between), "%+v", c)
		measuredtest.BuildAll(t, f)
	}
}

// TestPromptsThatComeAroundAgainAreCachedWhereTheyFit: 252 of 1,365 tokens take 45 GB of an 8B model, which one H100
// has beside its weights, and 113 GB of a 70B one, which two A100 have not.
func TestPromptsThatComeAroundAgainAreCachedWhereTheyFit(t *testing.T) {
	const lengths = "sharegpt; isl p90 1751 osl p90 386"
	f := readText(t, serversHead+
		"a,Llama-3.1-8B,H100-80G,vllm,,tp1,fp8,1147.7,217.4,qps,5,252,none,default,B,300,11,"+lengths+"\n"+
		"b,Llama-3.1-8B,H100-80G,vllm(llm-d),,tp1,fp8,1147.7,217.4,qps,5,252,none,LMCache,B,300,11,"+lengths+"\n"+
		"c,Llama-3.1-70B,A100-80G,vllm,,tp2,bf16,1147.7,217.4,qps,5,252,none,default,B,300,11,"+lengths+"\n"+
		"d,Llama-3.1-70B,A100-80G,vllm,,tp2,bf16,1147.7,217.4,qps,5,252,none,default,B,300,11,isl p90 9 osl p90 9\n")
	for _, run := range f.Runs[:2] {
		assert.Contains(t, run.Scenario, "prefix: {groups: 1, tokens: 1132}\n"+
			"  prompt_tokens: {distribution: fixed, mean: 16}\n")
	}
	assert.NotContains(t, f.Runs[2].Scenario, "prefix:")
	assert.Contains(t, f.Runs[2].Scenario, "prompt_tokens: {distribution: lognormal, mean: 1147.7, cv: 0.404}\n")
	assert.Contains(t, f.Runs[2].Scenario, "output_tokens: {distribution: lognormal, mean: 217.4, cv: 0.63}\n")
	assert.Contains(t, f.Runs[3].Scenario, "output_tokens: {distribution: fixed, mean: 217}\n")
	measuredtest.BuildAll(t, f)
}

func TestAttentionMayStandWithoutItsProjections(t *testing.T) {
	f := readText(t, "deployment_id,gpu,engine,op,mla_dtype,kv_dtype,gemm_dtype,heads,tp,batch,isl,past,latency_us\n"+
		"a,H200,sglang,generation_mla,bfloat16,fp8,,16,4,8,1,4095,20\n"+
		"b,H200,vllm,mla_context_module,bfloat16,bfloat16,bfloat16,128,1,2,512,,90\n")
	assert.Equal(t, &measured.Kernel{Op: measured.Latent, GPU: "h200-sxm", Engine: "sglang", GPUs: 1, Heads: 16, Rows: 8,
		Hidden: 7168, Context: 4096, KVDtype: "fp8", AttentionOnly: true, LaunchS: 11e-6}, f.Runs[0].Priced.Kernel)
	assert.Equal(t, "latent attention without projections, decode", f.Runs[0].Labels.Source)
	assert.Equal(t, 512, f.Runs[1].Priced.Kernel.Chunk)
	assert.False(t, f.Runs[1].Priced.Kernel.AttentionOnly)
}

// TestTheTablesAreReadWhole: each row is a prediction or says why not, and no message offers these tables to users.
func TestTheTablesAreReadWhole(t *testing.T) {
	for name, rows := range map[string]int{"H_steps.csv": 29003, "H_comm.csv": 5618, "H_moe.csv": 37315, "H_mla.csv": 9257,
		"H_serving.csv": 191} {
		assert.Equal(t, rows, measuredtest.CountRows(t, measuredtest.ReadShared(t, name)), name)
	}
	_, err := measuredtest.ReadText(t, "a,b\n1,2\n")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "; ;", "no empty offer")
	assert.NotContains(t, err.Error(), "engine steps")
}
