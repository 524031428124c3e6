package points_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

func TestAPointSaysTheLoadAndWhatWasMeasured(t *testing.T) {
	f, err := measuredtest.ReadText(t,
		`id,concurrency,rate,prompt_tokens,output_tokens,requests,ttft_ms,ttft_p99_ms,tpot_ms,output_tokens_per_s,node
one,8,,1000,200,,120,300,11.5,690,a
two,,2.5,1000,200,,,,12,,b
three,16,,1000,200,40,,,13,,b
`)
	require.NoError(t, err)
	require.Len(t, f.Runs, 3)
	lengths := []string{"prompt_tokens: {distribution: fixed, mean: 1000}",
		"output_tokens: {distribution: fixed, mean: 200}"}
	load := func(lines ...string) string { return measuredtest.Workload(append(lines, lengths...)...) }
	assert.Equal(t, measured.Run{
		ID: "one", Over: load("closed_loop: {concurrency: 8}", "requests: 80"),
		Labels: measured.Labels{Source: "points", Load: "1000/200", Concurrency: 8},
		Rows: []measured.Row{{ID: "one", Request: -1, Values: []measured.Value{
			measured.Lead(measured.TTFT, measured.Mean, 120), measured.Other(measured.TTFT, measured.P99, 300),
			measured.Lead(measured.TPOT, measured.Mean, 11.5), measured.Lead(measured.OutputPerS, measured.Mean, 690),
		}}},
	}, f.Runs[0])
	assert.Equal(t, load("arrivals: {process: poisson, rate: 2.5}", "requests: 300"), f.Runs[1].Over)
	assert.Equal(t, load("closed_loop: {concurrency: 16}", "requests: 40"), f.Runs[2].Over)
	assert.Contains(t, f.Notes, `columns that are not read: "node"`)
	assert.ErrorContains(t, f.Whole(), "data: one does not say on which GPUs and with which engine it was measured; "+
		"expected that deployment as --scenario, a name or a file, whose workload the data replace")
}

func TestAPointMayBeAWholeDeployment(t *testing.T) {
	f, err := measuredtest.ReadText(t,
		`model,gpu,engine,tensor_parallel,max_num_seqs,weights,concurrency,prompt_tokens,output_tokens,tpot_ms
meta-llama/Llama-3.1-70B-Instruct,NVIDIA H100,vllm,4,64,fp8,8,1000,200,11.5
`)
	r := measuredtest.OneRun(t, f, err)
	require.NoError(t, f.Whole())
	assert.True(t, strings.HasPrefix(r.Scenario,
		"model: llama-3.1-70b\nweights: fp8\npools:\n  - gpu: h100-sxm\n    engine: vllm-v1\n    tensor_parallel: 4\n    "+
			"max_num_seqs: 64\nworkload:\n"), r.Scenario)
	s, err := configs.Read(r.ID, []byte(r.Scenario), configs.Options{})
	require.NoError(t, err)
	_, err = build.New(s)
	require.NoError(t, err)
	require.NoError(t, r.Label(s))
	assert.Equal(t, "llama-3.1-70b h100-sxm vllm fp8 tp4", r.Labels.Deployment())
}

func TestThePrecisionInTheNameOfAPointsModelIsKept(t *testing.T) {
	for row, want := range map[string]string{
		"RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8,": "model: llama-3.1-8b\nweights: fp8\n",
		"meta-llama/Llama-3.1-8B,":                 "model: llama-3.1-8b\nworkload:",
		"nvidia/DeepSeek-R1-0528-NVFP4,fp8":        "model: deepseek-r1\nweights: fp8\n",
		"here/my-FP8.json,":                        "model: here/my-FP8.json\nworkload:",
	} {
		f, err := measuredtest.ReadText(t, "model,weights,concurrency,prompt_tokens,output_tokens,tpot_ms\n"+
			row+",8,1000,200,11.5\n")
		assert.True(t, strings.HasPrefix(measuredtest.OneRun(t, f, err).Over, want), "%s: %s", row, f.Runs[0].Over)
	}
}

func TestAPointBeyondTheModelSaysWhy(t *testing.T) {
	for _, c := range []struct{ row, why string }{
		{"my-model,h100,vllm", "model my-model is not in the catalog"},
		{"llama-3.1-8b,abacus,vllm", "GPU abacus is not in the catalog"},
		{"llama-3.1-8b,h100,tgi", "engine tgi is not modelled"},
		{"meta-llama/Lama-3.1-8B-Instruct,h100,vllm",
			`model meta-llama/Lama-3.1-8B-Instruct is not in the catalog; did you mean "llama-3.1-8b"?`},
		{"llama-3.1-8b,NVIDIA H1000,vllm", `GPU NVIDIA H1000 is not in the catalog; did you mean "h100"?`},
		{"llama-3.1-8b,h200_smx,vllm", `GPU h200_smx is not in the catalog; did you mean "h200-sxm"?`},
		{"llama-3.1-8b,h100,vlm", `engine vlm is not modelled; did you mean "vllm"?`},
		{"llama-3.1-8b,h100,sg-lang", `engine sg-lang is not modelled; did you mean "sglang"?`},
	} {
		f, err := measuredtest.ReadText(t, "model,gpu,engine,concurrency,prompt_tokens,output_tokens,tpot_ms\n"+
			c.row+",8,1000,200,11.5\n")
		r := measuredtest.OneRun(t, f, err)
		assert.Equal(t, c.why, r.Skip)
		assert.Equal(t, []measured.Value{measured.Lead(measured.TPOT, measured.Mean, 11.5)}, r.Rows[0].Values)
		assert.NoError(t, f.Whole())
	}
}

func TestPointsOfAnEngineAreScheduledByIt(t *testing.T) {
	f, err := measuredtest.ReadText(t, "engine,concurrency,prompt_tokens,output_tokens,tpot_ms\n"+
		"sglang,8,1000,200,11.5\nTRTLLM,8,1000,200,11.5\n"+
		"textbook,8,1000,200,11.5\nvllm,8,1000,200,11.5\nvllm-v0,8,1000,200,11.5\n")
	require.NoError(t, err)
	for i, want := range []struct{ label, engine string }{
		{"sglang", "sglang"}, {"tensorrt-llm", "tensorrt-llm"}, {"textbook", "textbook"}, {"vllm", "vllm-v1"},
		{"vllm-v0", "vllm-v0"},
	} {
		assert.Equal(t, want.label, f.Runs[i].Labels.Engine)
		assert.True(t, strings.HasPrefix(f.Runs[i].Over, "pools:\n  - engine: "+want.engine+"\nworkload:"), f.Runs[i].Over)
	}
}

func TestArgumentsOfAPointMayHaveTheNamesOfItsEngine(t *testing.T) {
	f, err := measuredtest.ReadText(t, "model,gpu,engine,"+
		"max_running_requests,chunked_prefill_size,max_num_seqs,concurrency,prompt_tokens,output_tokens,tpot_ms\n"+
		"llama-3.1-8b,h100,sglang,64,2048,,8,1000,200,11.5\nllama-3.1-8b,h100,sglang,,,64,8,1000,200,11.5\n")
	require.NoError(t, err)
	for _, run := range f.Runs {
		s, err := configs.Read(run.ID, []byte(run.Scenario), configs.Options{})
		require.NoError(t, err, run.Scenario)
		assert.Equal(t, 64, s.Pools[0].MaxNumSeqs)
	}
	assert.NotContains(t, strings.Join(f.Notes, "\n"), "not read")
}

func TestAnArgumentOfAPoolIsAColumn(t *testing.T) {
	f, err := measuredtest.ReadText(t, "expert_parallel,max_num_seqs,concurrency,prompt_tokens,output_tokens,tpot_ms\n"+
		"true,,8,1000,200,11.5\n")
	assert.Contains(t, measuredtest.OneRun(t, f, err).Over, "pools:\n  - expert_parallel: true\nworkload:")
}

func TestBadPointsAreRefused(t *testing.T) {
	const head = "concurrency,rate,prompt_tokens,output_tokens,tpot_ms\n"
	for _, c := range []struct{ content, message string }{
		{head + "8,,1000,200,11\n8,2,1000,200,11\n", `data:3: concurrency: "8"; expected either a concurrency or a rate`},
		{head + ",,1000,200,11\n", `data:2: concurrency: ""; expected either a concurrency or a rate`},
		{head + ",-1,1000,200,11\n", `data:2: rate: "-1"; expected requests/s above 0`},
		{head + "1.5,,1000,200,11\n", `data:2: concurrency: "1.5"; expected a whole number from 1 to 1e9`},
		{head + "8,,0,200,11\n", `data:2: prompt_tokens: "0"; expected a whole number from 1 to 1e9`},
		{head + "8,,,200,11\n", `data:2: prompt_tokens: ""; expected a whole number of tokens`},
		{head + "8,,1000,200,0\n", `data:2: tpot_ms: "0"; expected a number above 0, or nothing`},
		{head + "8,,1000,200,-3\n", `data:2: tpot_ms: "-3"; expected a number above 0, or nothing`},
		{head + "8,,1000,200,\n", `data:2: nothing was measured; expected a value in one of the columns that are`},
	} {
		_, err := measuredtest.ReadText(t, c.content)
		assert.EqualError(t, err, c.message)
	}
	_, err := measuredtest.ReadText(t, "concurrency,prompt_tokens,output_tokens,tpot_ms,tftt_ms\n8,1000,200,11,3\n")
	assert.ErrorContains(t, err, "data:1: tftt_ms: no such column; expected some of ttft_ms, ttft_p50_ms")
}
