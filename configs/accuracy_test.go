package configs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim/metrics"
)

// TestUncalibratedAccuracyInClosedLoops replays every measured vLLM run that is labelled well enough to be replayed, with
// the priors of engine vllm-v1, and prints how wrong the mean TPOT and the mean TTFT are. Nothing is fitted here; but the
// priors were read off fits to public tables of the same origin as these runs, so they are no stranger's error either.
//
// It accepts a median absolute error of 40 % of TPOT and of 70 % of TTFT, over all rows and nothing finer. That guards a
// model with priors against a lost factor of two; it is no claim of accuracy. The claim is the table, which -v prints.
//
// Some of the error is the inputs'. The cache is bf16 where the launch script names no type. Source nvidia_gap has fixed
// lengths and says neither how many requests it sent nor how it spaced them: clients that start together then stay in
// lock step for good, and each TTFT is that of a burst.
func TestUncalibratedAccuracyInClosedLoops(t *testing.T) {
	dir := measuredDir(t)
	args := readEngineArgs(t, filepath.Join(dir, "A_engine_args.json"))
	scored := scoreRows(t, filepath.Join(dir, "A_aic_silicon.csv"), func(row map[string]string) (score, string) {
		if reason := closedUnusable(row); reason != "" {
			return score{}, reason
		}
		s, reason := closedScenario(t, row, args[row["engine_args_id"]])
		if reason != "" {
			return score{}, reason
		}
		return replay(t, row, s), ""
	})
	t.Logf("%s", accuracyTable(scored, []func(score) string{
		func(s score) string { return s.gpu },
		func(s score) string { return s.class },
		func(s score) string { return s.model },
		func(s score) string { return s.source },
		func(s score) string { return s.weights },
		func(s score) string { return s.tensor },
		func(s score) string { return s.clients },
	}))
	logBelowBound(t, scored)
	assert.Less(t, errorsOf(scored, tpotOf).median, 0.40, "TPOT")
	assert.Less(t, errorsOf(scored, ttftOf).median, 0.70, "TTFT")
}

// replay simulates a row. It demands that every request completes and that the mean step is above its bound.
func replay(t *testing.T, row map[string]string, s *Scenario) score {
	_, summary := simulate(t, s)
	require.Equal(t, summary.Requests.Arrived, summary.Requests.Completed, row["id"])
	require.GreaterOrEqual(t, summary.Latency.ITL.Mean, summary.Bound.ITLFloorS, row["id"])
	require.Less(t, summary.Bound.FractionOfBound, 1.0, row["id"])
	return newScore(t, row, s, summary)
}

func newScore(t *testing.T, row map[string]string, s *Scenario, summary *metrics.Summary) score {
	m, err := Model(s.Model)
	require.NoError(t, err)
	clients := s.Workload.ClosedLoop.Concurrency
	octave := 1 << (bits.Len(uint(clients)) - 1)
	join := func(parts ...string) string { return strings.Join(parts, " ") }
	deployment := join(s.Model, row["system"], row["precision"], row["layout"])
	return score{
		id: join(row["id"], deployment, row["isl"]+"/"+row["osl"], row["concurrency"], "clients"), deployment: deployment,
		gpu: "gpu " + s.Pools[0].GPU, class: "class " + modelClass(m), model: "model " + s.Model, source: "source " + row["source"],
		weights: "weights " + row["precision"], tensor: "tensor parallel " + row["tp"], clients: fmt.Sprintf("clients %d–%d", octave, 2*octave-1),
		tpot:  pair{measured(t, row["tpot_mean_ms"]), 1e3 * summary.Latency.TPOT.Mean},
		ttft:  pair{measured(t, row["ttft_mean_ms"]), 1e3 * summary.Latency.TTFT.Mean},
		floor: 1e3 * summary.Bound.ITLFloorS,
	}
}

// engineArgs are the arguments of a launch script, as it writes them; empty: it does not. The number of clients is $CONC
// there and the nominal prompt $ISL.
type engineArgs struct {
	MaxNumBatchedTokens string `json:"max_num_batched_tokens"`
	MaxNumSeqs          string `json:"max_num_seqs"`
	GPUMemory           string `json:"gpu_mem"`
	KVCache             string `json:"kv_cache_dtype"`
}

func readEngineArgs(t *testing.T, file string) map[string]engineArgs {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var scripts []struct {
		ID    string     `json:"engine_args_id"`
		Flags engineArgs `json:"flags"`
	}
	require.NoError(t, json.Unmarshal(text, &scripts))
	args := map[string]engineArgs{}
	for _, s := range scripts {
		args[s.ID] = s.Flags
	}
	return args
}

// closedUnusable says why a row cannot be replayed; empty: it can.
func closedUnusable(row map[string]string) string {
	switch {
	case row["backend"] != "vllm":
		return "engine other than vLLM"
	case row["mode"] != "agg":
		return "prefill and decode pools"
	case row["spec_method"] != "none":
		return "speculation, or unknown whether"
	case row["quality"] != "A":
		return "quality below A"
	case row["attn_dp"] != "1":
		return "attention data parallel, not modelled"
	case !slices.Contains(ModelNames(), catalogModel(row["model"])):
		return "model not in the catalog: " + row["model"]
	case !slices.Contains(GPUNames(), catalogGPU(row["system"])):
		return "GPU not in the catalog: " + row["system"]
	}
	return ""
}

// closedScenario writes a row as a scenario, or says why it is none. All clients start at once and send ten requests
// each, which is assumed where the row does not say. Weights in fp4 are NVIDIA's nvfp4; those of gpt-oss are the
// checkpoint's own.
func closedScenario(t *testing.T, row map[string]string, args engineArgs) (*Scenario, string) {
	clients, isl, osl := measured(t, row["concurrency"]), measured(t, row["isl"]), measured(t, row["osl"])
	weights := row["precision"]
	switch {
	case catalogModel(row["model"]) == "gpt-oss-120b":
		weights = "null"
	case weights == "fp4":
		weights = "nvfp4"
	}
	law := func(mean float64) string {
		if row["length_dist"] == "uniform_0.8" {
			return fmt.Sprintf("{distribution: uniform, min: %d, max: %d}", int(0.8*mean), int(mean))
		}
		return fmt.Sprintf("{distribution: fixed, mean: %g}", mean)
	}
	pool := fmt.Sprintf("{gpu: %s, tensor_parallel: %s, %s}", catalogGPU(row["system"]), row["tp"], args.keys(clients, isl))
	return loadText(t, fmt.Sprintf(`model: %s
weights: %s
kv_cache: %s
pools: [%s]
workload:
  closed_loop: {concurrency: %g}
  prompt_tokens: %s
  output_tokens: %s
  requests: %g
`, catalogModel(row["model"]), weights, cmp.Or(args.KVCache, "null"), pool, clients, law(isl), law(osl), 10*clients))
}

// keys writes what the script says of the pool.
func (a engineArgs) keys(clients, isl float64) string {
	var keys []string
	for _, arg := range []struct{ key, value string }{
		{"max_num_batched_tokens", a.MaxNumBatchedTokens}, {"max_num_seqs", a.MaxNumSeqs}, {"gpu_memory_utilization", a.GPUMemory},
	} {
		value := strings.NewReplacer(`"$((ISL * 2 ))"`, fmt.Sprint(2*isl), "$CONC", fmt.Sprint(clients)).Replace(arg.value)
		if value != "" {
			keys = append(keys, arg.key+": "+value)
		}
	}
	return strings.Join(keys, ", ")
}
