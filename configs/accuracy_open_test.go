package configs

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/hardware"
)

// TestUncalibratedAccuracyInOpenLoops compares TPOT with measured vLLM runs under open load, stage by stage. Their
// prompts are in the prefix cache but for the first hundred, so prefill costs next to nothing there and TTFT says nothing
// of this model: what is compared is the price of a decode step, in the steady state of the stage.
//
// It accepts a median absolute error of 40 %, for the same reason as in closed loops.
func TestUncalibratedAccuracyInOpenLoops(t *testing.T) {
	file := filepath.Join(measuredDir(t), "C_vllm_blis_experiments.csv")
	scored := scoreRows(t, file, func(row map[string]string) (score, string) {
		if reason := openUnusable(row); reason != "" {
			return score{}, reason
		}
		s, reason := loadText(t, openScenarioText(t, row))
		if reason != "" {
			return score{}, reason
		}
		return priceStage(t, row, s), ""
	})
	t.Logf("%s", accuracyTable(scored, []func(score) string{
		func(s score) string { return s.gpu },
		func(s score) string { return s.class },
		func(s score) string { return s.model },
	}))
	logBelowBound(t, scored)
	assert.Less(t, errorsOf(scored, tpotOf).median, 0.40, "TPOT")
}

// openUnusable says why a row cannot be priced; empty: it can.
func openUnusable(row map[string]string) string {
	switch {
	case row["rate_rps"] == "" || row["duration_s"] == "":
		return "a mean over stages, or of unknown rate"
	case strings.Contains(row["flags"], "near_saturation"):
		return "near saturation"
	case row["dp"] != "1":
		return "data parallel, not modelled"
	case !slices.Contains(ModelNames(), catalogModel(row["model"])):
		return "model not in the catalog: " + row["model"]
	case !slices.Contains(GPUNames(), catalogGPU(row["system"])):
		return "GPU not in the catalog: " + row["system"]
	}
	return ""
}

// openScenarioText writes a stage as a scenario; fp16 costs what bf16 does.
func openScenarioText(t *testing.T, row map[string]string) string {
	weights := strings.Replace(strings.ToLower(row["precision"]), "fp16", "bf16", 1)
	return fmt.Sprintf(`model: %s
weights: %s
pools: [{gpu: %s, tensor_parallel: %s, max_num_seqs: %s, max_num_batched_tokens: %s, gpu_memory_utilization: %s, max_model_len: %s}]
workload:
  arrivals: {process: poisson, rate: %s}
  prompt_tokens: {distribution: fixed, mean: %g}
  output_tokens: {distribution: fixed, mean: %s}
  duration_s: %s
`, catalogModel(row["model"]), weights, catalogGPU(row["system"]), row["tp"], row["max_num_seqs"], row["max_num_batched_tokens"],
		row["gpu_mem_util"], row["max_model_len"], row["rate_rps"], promptLength(t, row), row["output_len"], row["duration_s"])
}

func promptLength(t *testing.T, row map[string]string) float64 {
	return measured(t, row["system_prompt_len"]) + measured(t, row["question_len"])
}

// priceStage predicts the TPOT of a stage as the decode step in its steady state. A request that sees n others decode, as
// arrivals at random do, waits T(n + 1) for a token; by Little's law
//
//	n = rate · (output − 1) · T(n + 1)
//
// with contexts at the middle of their output.
func priceStage(t *testing.T, row map[string]string, s *Scenario) score {
	r, err := s.Replica()
	require.NoError(t, err)
	rate, output := measured(t, row["rate_rps"]), measured(t, row["output_len"])
	context := int(promptLength(t, row) + output/2)
	batch, stepS := 1.0, 0.0
	for range 200 {
		stepS = between(r.Model, batch, context, false)
		batch = min(float64(s.Pools[0].MaxNumSeqs), 1+rate*(output-1)*stepS)
	}
	m, err := Model(s.Model)
	require.NoError(t, err)
	name := fmt.Sprintf("%s %s tp%s %s rate %s", s.Model, row["system"], row["tp"], row["profile"], row["rate_rps"])
	return score{
		id:         fmt.Sprintf("%s %s batch %.1f", row["id"], name, batch),
		deployment: strings.Join([]string{s.Model, row["system"], row["precision"], row["tp"]}, " "),
		gpu:        "gpu " + s.Pools[0].GPU, class: "class " + modelClass(m), model: "model " + s.Model,
		tpot:  pair{measured(t, row["tpot_mean_ms"]), 1e3 * stepS},
		floor: 1e3 * between(r.Model, batch, context, true),
	}
}

// between returns the seconds of a decode step of a fractional batch, or of its bound.
func between(r *hardware.Roofline, batch float64, context int, bound bool) float64 {
	at := func(n int) float64 {
		step := r.Step(n, context)
		if bound {
			return float64(step.Bound.A) / 1e12
		}
		return step.First.Seconds()
	}
	low := int(math.Floor(batch))
	share := batch - float64(low)
	return (1-share)*at(low) + share*at(low+1)
}
