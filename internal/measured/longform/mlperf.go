package longform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured/names"
)

// The rows of MLPerf Inference are of systems that may hold several servers, in a summary that often leaves out how
// they were divided and what weights were turned into. What is missing is taken from the rows of the same source that
// state it, by the rules of this file; each rule that counted is a note of the file.

// benchmark is what MLPerf prescribes for a model: the mean prompt of its dataset, which the results do not state, and
// how many samples it has, all of which an Offline run sends at least once.
type benchmark struct{ prompt, samples int }

// benchmarks have the prompts that we remember, which their note says, and the samples of LoadGen's mlperf.conf
// (mlcommons-loadgen 6.0.17: performance_sample_count_override). The prompts of mixtral-8x7b are as long as
// TensorRT-LLM's own page leaves room for: one H100 under 0.17 answers 124.7 requests/s of 128 and 128 tokens and 14.8
// of 2,048 and 128, so that a token takes it 31 µs, read or written, and one of eight H200 of a row of 5.1 under the
// same release answers 53.2 of 146 tokens, in 18.8 ms each. 230 tokens, as the three datasets would have with no
// examples in GSM8K's prompts, would take 11.7 ms. Lists on GH200, H200, MI300X and B200, which nothing is fitted to,
// are 24.7 % off in the median with 460 and 44.1 % at most, where 37.4 and 90.4 with 230; by themselves those on MI300X
// and B200 get worse (from +2 and −14 % to −35 and −44 %). Their prompts are no others, for all submitters send the
// same samples equally often. What is wrong there is the experts, which are fitted in FP8 on Hopper alone: kernels of
// this shape, where few wide experts have many rows each, take a third to a half of what they are priced at (H_moe, of
// 1,024 tokens or more, in NVFP4 and FP8 under vLLM 0.24 on B200 and in FP8 under TensorRT-LLM 1.3 on H100).
var benchmarks = map[string]benchmark{
	"llama-2-70b":    {290, 24_576}, // OpenOrca, GPT-4 part, at most 1024 tokens
	"llama-3.1-8b":   {778, 13_368}, // CNN/DailyMail
	"llama-3.1-405b": {9428, 8_313}, // LongBench, RULER and GovReport
	"deepseek-r1":    {800, 4_388},  // AIME, MATH-500, GPQA, MMLU-Pro, LiveCodeBench
	"mixtral-8x7b":   {460, 15_000}, // OpenOrca, GSM8K (with examples, we think) and MBXP, a third each
}

const datasetNote = "prompts of MLPerf's datasets are taken as their mean as we remember it (unverified): 290 tokens " +
	"(llama-2-70b), 778 (llama-3.1-8b), 9,428 (llama-3.1-405b), 800 (deepseek-r1); those of mixtral-8x7b, which we do " +
	"not remember, are 460, for which TensorRT-LLM's own page of the same release leaves one H200 the time; an Offline " +
	"run sends each replica a whole dataset"

func (r *row) mlperf() bool { return strings.HasPrefix(r.Text("source"), "MLPerf") }

// benchmark returns what is prescribed for a model; zero values: nothing that is known.
func (r *row) benchmark(model string) benchmark {
	if !r.mlperf() {
		return benchmark{}
	}
	return benchmarks[model]
}

// ranIn returns the type that weights ran in, where a summary has the one they started from or none. Rows of
// TensorRT-LLM that state it have the narrowest floating-point type of the GPU: NVFP4 on Blackwell, FP8 before.
// Llama-2-70B in 16 bits on one B200 would beat its memory bandwidth, and DeepSeek-R1 would not fit on eight. FP8 is
// not what ran on RTX PRO 6000 either: rows that say so have the rates of rows in NVFP4, which for Llama-2-70B is 1.77
// times the most that the data sheet allows in FP8.
func (r *row) ranIn(d *replica, written string) (weights, skip string) {
	start := []string{"", "fp16", "fp32", "bf16"}
	refuted := d.GPU == "rtx-pro-6000-server" && written == "fp8"
	if !r.mlperf() || !refuted && !slices.Contains(start, written) && !strings.HasPrefix(written, "{") {
		return written, ""
	}
	if d.Engine != "tensorrt-llm" {
		return "", "weights: the type they ran in is not stated"
	}
	gpu, err := catalog.GPU(d.GPU)
	switch {
	case err != nil:
		return "", err.Error()
	case gpu.FLOPS.FP4.Value > 0:
		weights = "nvfp4"
	case gpu.FLOPS.FP8.Value > 0:
		weights = "fp8"
	default:
		return "", "weights: the type they ran in is not stated"
	}
	r.took.ranIn = true
	return weights, ""
}

const ranInNote = "weights of MLPerf's TensorRT-LLM rows that are given as fp16, fp32 or not at all are those they " +
	"started from; they ran, as in the rows that say so, in NVFP4 where the GPU has it and in FP8 before, with a cache " +
	"in FP8; so did those given as fp8 on RTX PRO 6000, for Llama-2-70B in FP8 would beat its data sheet by 77 %"

// weightsShareMax is the most of their memory that weights fill on the GPUs of a replica.
const weightsShareMax = 0.5

const fewestNote = "replicas of MLPerf's systems that do not state theirs have the fewest GPUs, a power of two, " +
	"whose memory their weights fill at most by half, and those of DeepSeek-R1 8, attention ranks that share the " +
	"experts, as all rows that do state it have"

// ranksOfR1 are the GPUs of a replica of DeepSeek-R1 in all rows that state them; 72 of them are nine replicas.
const ranksOfR1 = 8

// fewest returns the GPUs of a replica of a system that does not state them; 0: no rule says.
func (r *row) fewest(d *replica, all int) int {
	model, known := names.Models()[d.Model]
	gpu, err := catalog.GPU(d.GPU)
	if !r.mlperf() || !known || err != nil || all == 0 {
		return 0
	}
	if d.Weights != "" {
		model, err = model.WithWeights(d.Weights)
	}
	if d.Model == "deepseek-r1" && all%ranksOfR1 == 0 {
		r.took.fewest = true
		return ranksOfR1
	}
	for n := 1; err == nil && n <= min(8, all); n *= 2 {
		if model.WeightBytes() <= weightsShareMax*float64(n)*gpu.MemoryBytes.Value && all%n == 0 {
			r.took.fewest = true
			return n
		}
	}
	return 0
}

// withTensorRT are the releases of TensorRT that summaries name, and the newest of TensorRT-LLM that needs each, as we
// remember it.
var withTensorRT = [][2]string{
	{"9.3", "0.9"}, {"10.2", "0.11"}, {"10.8", "0.17"}, {"10.10", "0.20"}, {"10.11", "1.0"}, {"10.13", "1.1"},
	{"10.14", "1.2"},
}

func releaseNote() string {
	var all []string
	for _, x := range withTensorRT {
		all = append(all, fmt.Sprintf("%s (%s)", x[1], x[0]))
	}
	return "MLPerf's rows of TensorRT-LLM name the release of TensorRT: that of TensorRT-LLM is taken to be the newest " +
		"that needs it, as we remember it (unverified): " + strings.Join(all, ", ")
}

var tensorRT = regexp.MustCompile(`^TensorRT (\d+\.\d+)`)

// release returns the version of the engine.
func (r *row) release() string {
	version := r.Text("version")
	m := tensorRT.FindStringSubmatch(version)
	if !r.mlperf() || m == nil {
		return version
	}
	for _, x := range withTensorRT {
		if x[0] == m[1] {
			r.took.release = true
			return x[1]
		}
	}
	return version
}
