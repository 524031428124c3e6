package groundtruth_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
	"github.com/decodesim/decodesim/workloads/arrivals"
)

// stageColumns are those of a table of stages, with the values of one row that is sound.
var stageColumns = [][2]string{
	{"id", "X-7-s0"}, {"experiment", "7"}, {"model", "meta-llama/Llama-2-7b-hf"}, {"system", "h100_sxm"}, {"tp", "1"},
	{"dp", "1"},
	{"backend", "vllm"}, {"backend_version", "0.15.1"}, {"precision", "FP16"}, {"max_model_len", "4096"},
	{"max_num_batched_tokens", "2048"},
	{"max_num_seqs", "128"}, {"gpu_mem_util", "0.9"}, {"kv_blocks_gpu", "7463"}, {"block_size", "16"},
	{"prefix_caching", "1"},
	{"chunked_prefill", "1"}, {"profile", "codegen"}, {"stage", "0"}, {"arrival", "poisson_rescaled_to_duration"},
	{"rate_rps", "5"},
	{"duration_s", "600"}, {"prompt_groups", "10"}, {"prompts_per_group", "10"}, {"system_prompt_len", "100"},
	{"question_len", "466"},
	{"output_len", "247"}, {"prompt_len_mean", ""}, {"ttft_mean_ms", "25.5"}, {"ttft_p99_ms", "46"},
	{"tpot_mean_ms", "7.25"},
	{"e2e_mean_ms", "1810.25"}, {"output_throughput_tok_s", "1231.75"}, {"request_throughput_rps", "4.5"},
	{"overload", "0"},
	{"quality", "A"}, {"flags", ""},
}

// stageTable writes a table: for each row, what differs from the sound one as column=value.
func stageTable(rows ...string) string {
	var b strings.Builder
	for i, c := range stageColumns {
		b.WriteString(strings.Repeat(",", min(i, 1)) + c[0])
	}
	for _, row := range rows {
		change := map[string]string{}
		for _, field := range strings.Fields(row) {
			column, value, _ := strings.Cut(field, "=")
			change[column] = value
		}
		for i, c := range stageColumns {
			value, ok := change[c[0]]
			if !ok {
				value = c[1]
			}
			b.WriteString([]string{"\n", ","}[min(i, 1)] + value)
		}
	}
	return b.String() + "\n"
}

func soundStages(t *testing.T, rows ...string) *measured.File {
	t.Helper()
	f, err := measuredtest.ReadText(t, stageTable(rows...))
	require.NoError(t, err)
	return f
}

func TestStagesOfOneServerAreOneRun(t *testing.T) {
	f := soundStages(t, "", "id=X-8-s0 experiment=8", "id=X-7-s1 stage=1 rate_rps=10",
		"id=X-7-s-1 stage=-1 rate_rps= duration_s=")
	require.Len(t, f.Runs, 2)
	run := f.Runs[0]
	assert.Equal(t, "X-7", run.ID)
	assert.Equal(t, measured.Labels{
		Source: "inference-perf stages", Model: "llama-2-7b", Class: "dense-mha", GPU: "h100-sxm", Engine: "vllm",
		Version: "0.15.1", Mode: "agg",
		Quality: "A", Precision: "bf16", Parallel: "tp1", Load: "codegen",
	}, run.Labels)
	require.Len(t, run.Rows, 3)
	for i, want := range []measured.Row{
		{ID: "X-7-s0", FromS: 0, ToS: 600, Request: -1},
		{ID: "X-7-s1", FromS: 600, ToS: 1200, Request: -1},
		{ID: "X-7-s-1", Request: -1},
	} {
		want.Values = []measured.Value{
			measured.Lead(measured.TTFT, measured.Mean, 25.5), measured.Other(measured.TTFT, measured.P99, 46),
			measured.Lead(measured.TPOT, measured.Mean, 7.25), measured.Lead(measured.E2E, measured.Mean, 1810.25),
			measured.Lead(measured.OutputPerS, measured.Mean, 1231.75),
			measured.Lead(measured.RequestsPerS, measured.Mean, 4.5),
		}
		assert.Equal(t, want, run.Rows[i])
	}
}

func TestStagesAreSetUpAsTheyRan(t *testing.T) {
	s := loaded(t, soundStages(t, "", "id=X-7-s1 stage=1 rate_rps=10").Runs[0])
	p := s.Pools[0]
	assert.Equal(t, []int{128, 2048, 4096, 16, 1}, []int{p.MaxNumSeqs, p.MaxNumBatchedTokens, p.MaxModelLen, p.BlockSize,
		p.TensorParallel})
	assert.EqualValues(t, 7463, p.NumGPUBlocks)
	assert.Equal(t, 0.9, p.GPUMemoryUtilization)
	assert.Equal(t, []arrivals.Point{{AtS: 0, Rate: 5}, {AtS: 600, Rate: 5}, {AtS: 600, Rate: 10}},
		s.Workload.Arrivals.Points)
	assert.EqualValues(t, 9000, s.Workload.Requests, "and no duration, which would cut the last answers off")
	assert.Zero(t, s.Workload.DurationS)
	assert.Equal(t, configs.Prefix{Groups: 10, Tokens: 100}, *s.Workload.Prefix)
	assert.Equal(t, 466.0, s.Workload.PromptTokens.Mean, "behind the prefix")
	assert.EqualValues(t, 100, s.Workload.Distinct)
	assert.True(t, p.EnablePrefixCaching)
	assert.Equal(t, 247.0, s.Workload.OutputTokens.Mean)
}

func TestPromptsHaveTheLengthThatWasCounted(t *testing.T) {
	s := loaded(t, soundStages(t, "", "id=X-7-s1 stage=1 rate_rps=10 prompt_len_mean=591.63").Runs[0])
	assert.Equal(t, 592.0, s.Workload.PromptTokens.Mean+float64(s.Workload.Prefix.Tokens))
}

func TestALoadIsKnownByItsRowsOrByItsName(t *testing.T) {
	all := "id=X-7-s-1 stage=-1 rate_rps= duration_s= "
	for _, c := range []struct {
		name string
		rows []string
		want string // in the scenario, or why it is skipped
	}{
		{"two stages by name", []string{all + "profile=general"},
			"points: [{at_s: 0, rate: 8}, {at_s: 600, rate: 8}, {at_s: 600, rate: 20}]}\n  requests: 16800"},
		{"lite", []string{all + "profile=general-lite"},
			"points: [{at_s: 0, rate: 2.5}, {at_s: 600, rate: 2.5}, {at_s: 600, rate: 6}]}\n  requests: 5100"},
		{"codegen", []string{all}, "{at_s: 600, rate: 10}]}\n  requests: 9000"},
		{"roleplay", []string{all + "profile=roleplay"}, "{process: poisson, rate: 6}\n  requests: 7200"},
		{"reasoning", []string{all + "profile=reasoning"}, "{process: poisson, rate: 4}\n  requests: 4800"},
		{"a constant rate", []string{all + "profile=reasoning arrival=constant"}, "{process: poisson, rate: 4}"},
		{"reasoning-lite", []string{all + "profile=reasoning-lite"}, "{process: poisson, rate: 1}\n  requests: 1200"},
		{"the rest by name", []string{"id=X-7-s1 stage=1 rate_rps=10"},
			"points: [{at_s: 0, rate: 5}, {at_s: 600, rate: 5}, {at_s: 600, rate: 10}]}"},
		{"rows win over the name", []string{"rate_rps=7 duration_s=60"}, "{process: poisson, rate: 7}\n  requests: 420"},
		{"an unknown name", []string{"profile=other rate_rps=3",
			"profile=other id=X-7-s1 stage=1 rate_rps=0.5 duration_s=100"},
			"points: [{at_s: 0, rate: 3}, {at_s: 600, rate: 3}, {at_s: 600, rate: 0.5}]}\n  requests: 1850"},
		{"nothing known", []string{all + "profile=other"}, "the rates of its stages are not all stated"},
		{"a gap", []string{"profile=other id=X-7-s1 stage=1"}, "the rates of its stages are not all stated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := soundStages(t, c.rows...).Runs[0]
			assert.Contains(t, run.Scenario+run.Skip, c.want)
			if run.Skip == "" {
				loaded(t, run)
			}
		})
	}
}

func TestDoubtfulStagesAreLabelled(t *testing.T) {
	for row, want := range map[string]string{
		"":                                  "A",
		"quality=":                          "A",
		"quality=C":                         "C",
		"overload=1":                        "C",
		"overload=True":                     "C",
		"overload=False":                    "A",
		"flags=near_saturation":             "B",
		"quality=C flags=x|near_saturation": "C",
		"flags=ttft_p99_cold_start":         "A",
	} {
		assert.Equal(t, want, soundStages(t, "id=X-7-s1 stage=1 rate_rps=10", row).Runs[0].Labels.Quality, row)
	}
}

func TestTheTailOfAColdStartIsNotCompared(t *testing.T) {
	for _, v := range soundStages(t, "flags=ttft_p99_cold_start").Runs[0].Rows[0].Values {
		assert.Equal(t, v.Name == "ttft_p99", v.Skip != "", v.Name)
	}
}

func TestStagesThatAreBeyondTheModelSayWhy(t *testing.T) {
	for row, want := range map[string]string{
		"model=some/Unheard-1b": "model some/Unheard-1b is not in the catalog",
		"system=unheard":        "GPU unheard is not in the catalog",
		"backend=other":         "engine other is not modelled",
		"chunked_prefill=0":     "prefill in one piece, which is not modelled",
		"chunked_prefill=False": "prefill in one piece, which is not modelled",
		"output_len=":           "output_len is not stated",
		"question_len=":         "question_len is not stated",
		"arrival=bursts":        `arrivals "bursts", which are not modelled`,
		"precision=int3":        "weights in int3 are not modelled",
	} {
		run := soundStages(t, row).Runs[0]
		assert.Equal(t, want, run.Skip)
		assert.Empty(t, run.Scenario)
		assert.Len(t, run.Rows[0].Values, 6, "what was measured is retained")
	}
}

func TestPrefixesOfStagesAreCachedAsTheRowSays(t *testing.T) {
	for row, want := range map[string]string{
		"prefix_caching=1": "enable_prefix_caching: true\n", "prefix_caching=True": "enable_prefix_caching: true\n",
		"prefix_caching=0": "enable_prefix_caching: false\n", "prefix_caching=false": "enable_prefix_caching: false\n",
		"prefix_caching=1 prompt_groups=0": "prompt_tokens: {distribution: fixed, mean: 566}\n",
	} {
		run := soundStages(t, row).Runs[0]
		assert.Contains(t, run.Scenario, want, row)
		loaded(t, run)
	}
	assert.NotContains(t, soundStages(t, "prefix_caching=").Runs[0].Scenario, "enable_prefix_caching",
		"the engine's own default")
}

// TestTokensAreChosenAsTheCheckpointAsks: no request of the tool says how.
func TestTokensAreChosenAsTheCheckpointAsks(t *testing.T) {
	for row, want := range map[string]string{
		"model=meta-llama/Llama-3.1-8B-Instruct backend=vllm backend_version=0.15.1":       "top-p-sorted",
		"model=meta-llama/Llama-3.1-8B-Instruct backend=vllm backend_version=0.16.0":       "top-p-sorted",
		"model=meta-llama/Llama-3.1-8B-Instruct backend=vllm backend_version=0.17.0":       "top-p",
		"model=meta-llama/Llama-3.1-8B-Instruct backend=vllm backend_version=":             "top-p",
		"model=meta-llama/Llama-3.1-8B-Instruct backend=sglang backend_version=0.5.9":      "greedy",
		"model=mistralai/Mixtral-8x7B-v0.1 tp=4 backend=vllm backend_version=0.15.1":       "greedy",
		"model=codellama/CodeLlama-34b-Instruct-hf tp=2 backend=vllm backend_version=0.15": "greedy",
	} {
		assert.Equal(t, want, loaded(t, soundStages(t, row).Runs[0]).Decoding.Sampling, row)
	}
}

func TestWeightsOfStagesAreThoseOfTheirPrecision(t *testing.T) {
	assert.NotContains(t, soundStages(t, "").Runs[0].Scenario, "weights")
	assert.NotContains(t, soundStages(t, "precision=bf16/fp16").Runs[0].Scenario, "weights")
	run := soundStages(t, "precision=FP8 tp=2 model=RedHatAI/Llama-4-Scout-17B-16E-Instruct-FP8-dynamic").Runs[0]
	assert.Contains(t, run.Scenario, "model: llama-4-scout\nweights: fp8\n")
	assert.Contains(t, soundStages(t, "dp=2").Runs[0].Scenario, "data_parallel: 2\n")
}

func TestBadStagesAreRefusedByLine(t *testing.T) {
	for row, want := range map[string]string{
		"stage=first":       `stage: "first"; expected a number`,
		"stage=0.5":         `stage: "0.5"; expected a whole number from -1`,
		"tp=0":              `tp: "0"; expected a whole number from 1`,
		"rate_rps=-1":       `rate_rps: "-1"; expected requests per second, above 0`,
		"duration_s=0":      `duration_s: "0"; expected seconds, above 0`,
		"tpot_mean_ms=-1":   `tpot_mean_ms: "-1"; expected a latency`,
		"output_len=0":      `output_len: "0"; expected a whole number from 1`,
		"max_num_seqs=x":    `max_num_seqs: "x"; expected a number`,
		"question_len=0":    `question_len: "0"; expected a whole number from 1`,
		"prefix_caching=on": `prefix_caching: "on"; expected 1 or 0, or True or False`,
	} {
		_, err := measuredtest.ReadText(t, stageTable(row))
		require.ErrorContains(t, err, "data:2: "+want)
	}
}

func TestNumberedExperimentsAreStagesToo(t *testing.T) {
	text := strings.Replace(stageTable(""), "experiment", "exp_id", 1)
	f, err := measuredtest.ReadText(t, text)
	require.NoError(t, err)
	assert.Equal(t, "inference-perf experiments", f.Schema)
	assert.Equal(t, f.Schema, f.Runs[0].Labels.Source)
}

// loaded builds the scenario of a run.
func loaded(t *testing.T, run measured.Run) *configs.Scenario {
	t.Helper()
	require.Empty(t, run.Skip)
	s, err := configs.Read(run.ID, []byte(run.Scenario), configs.Options{})
	require.NoError(t, err, run.Scenario)
	b, err := build.New(s)
	require.NoError(t, err, run.Scenario)
	require.NoError(t, b.Close())
	return s
}

// extent counts runs, rows and values, and what is skipped by reason.
func extent(f *measured.File) (counted string, skips map[string]int) {
	rows, values := 0, 0
	skips = map[string]int{}
	for _, run := range f.Runs {
		if run.Skip != "" {
			skips[run.Skip]++
		}
		for _, row := range run.Rows {
			rows++
			for _, v := range row.Values {
				values++
				if v.Skip != "" {
					skips[v.Skip]++
				}
			}
		}
	}
	return fmt.Sprintf("%d runs, %d rows, %d values", len(f.Runs), rows, values), skips
}

func TestMeasuredStages(t *testing.T) {
	for _, c := range []struct {
		name, want string
		skips      map[string]int
	}{
		{"B_vllm_h100_inferenceperf.csv", "9 runs, 24 rows, 408 values", map[string]int{}},
		{"C_vllm_blis_experiments.csv", "32 runs, 88 rows, 616 values", map[string]int{
			"p99 of TTFT is that of a cold start (flag ttft_p99_cold_start)": 6,
		}},
	} {
		f := measuredtest.ReadShared(t, c.name)
		measuredtest.CountRows(t, f)
		counted, skips := extent(f)
		assert.Equal(t, c.want, counted, c.name)
		assert.Equal(t, c.skips, skips, c.name)
		for _, run := range f.Runs {
			loaded(t, run)
		}
	}
}

// TestProfilesAreWhatTheRowsSay takes the rows of single stages away: what is left gives the same scenarios.
func TestProfilesAreWhatTheRowsSay(t *testing.T) {
	for _, name := range []string{"B_vllm_h100_inferenceperf.csv", "C_vllm_blis_experiments.csv"} {
		whole := measuredtest.ReadShared(t, name)
		data, err := os.ReadFile(whole.Path)
		require.NoError(t, err)
		var retained []string
		for i, line := range strings.Split(string(data), "\n") {
			if id, _, _ := strings.Cut(line, ","); i == 0 || strings.HasSuffix(id, "-s-1") {
				retained = append(retained, line)
			}
		}
		less, err := measuredtest.ReadText(t, strings.Join(retained, "\n"))
		require.NoError(t, err)
		require.Len(t, less.Runs, len(whole.Runs))
		for i, run := range less.Runs {
			assert.Equal(t, whole.Runs[i].Scenario, run.Scenario, run.ID)
			assert.Len(t, run.Rows, 1)
		}
	}
}
