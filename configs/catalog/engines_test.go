package catalog

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/policies/schedulers"
)

func TestEnginesAreWhole(t *testing.T) {
	const have = `"decode-priority", "orca", "sarathi", "sglang", "static", "tensorrt-llm", "textbook", "vllm-v0", "vllm-v1"`
	require.Equal(t, have, strict.Quoted(EngineNames()))
	for _, name := range EngineNames() {
		e, err := Engine(name)
		require.NoError(t, err)
		require.Equal(t, name, e.Name)
		require.True(t, slices.Contains(schedulers.Names(), e.Scheduler), e.Scheduler)
	}
	_, err := Engine("vllm")
	require.EqualError(t, err, `engine "vllm" not found; did you mean "vllm-v1"?`)
	_, err = Engine("none")
	require.EqualError(t, err, `engine "none" not found; valid names: `+have)
}

func TestWrongEngineFilesAreRefused(t *testing.T) {
	_, text, _ := Lookup("engines", "tensorrt-llm")
	for _, c := range []struct{ old, new, want string }{
		{"name: tensorrt-llm", "name: trt", `e.yaml: name: "trt"; expected the name of the file, "tensorrt-llm"`},
		{"memory_share: free", "memory_share: rest",
			`e.yaml: memory_share: "rest" is unknown; valid values: "total", "static", "free"`},
		{"  max_batch_size: 2048 ", "  max_num_seqs: 2048 ",
			"e.yaml: max_num_seqs: expected the engine's own name, max_batch_size"},
		{"  max_batch_size: 2048 ", "  max_batch_siz: 2048 ", "arguments.max_batch_siz: unknown key"},
		{"  max_batch_size: 2048 ", "  max_batch_size: null ", "e.yaml: limits[0]: "},
		{"  max_seq_len: null ", "  #", `e.yaml: names.max_seq_len: the engine has no argument "max_model_len"`},
		{"max_seq_len: max_model_len", "max_seq_len: max_model_len\n  block: block_size",
			`e.yaml: names: "block_size" goes by two names`},
		{"  enable_chunked_prefill: \"", "  enable_chunks: \"",
			"e.yaml: means.enable_chunks: the engine has no such argument"},
		{"  reserve: as-computed", "  attention: flash", "arguments.attention: duplicate key"},
		{"efficiency: tensorrt-llm", "efficiency: trt", "e.yaml: efficiency: "},
		{"departures:", "limits: [{memory_bytes_min: 5}]\ndepartures:", "e.yaml: limits: the last row must fit every GPU"},
	} {
		require.Contains(t, string(text), c.old)
		_, err := readEngine("e.yaml", "tensorrt-llm", []byte(strings.Replace(string(text), c.old, c.new, 1)))
		require.ErrorContains(t, err, c.want)
	}
	_, err := readEngine("e.yaml", "tensorrt-llm", text)
	require.NoError(t, err)
}

func TestWrongRulesAreRefused(t *testing.T) {
	_, text, _ := Lookup("engines", "vllm-v1")
	for _, c := range []struct{ old, new, want string }{
		{"  - version: 0.22\n", "  - version: 0.33\n", `rules[0].version: "0.33"; expected "0.22", as in versions`},
		{"batch_queue: 2", "batch_queue: 3", "rules[0].batch_queue: 3; expected 0, 1 or 2"},
		{"versions: [0.22, 0.33]", "versions: [0.33]", "rules: 2 rows; expected one for each of versions"},
		{"single_exempt: true", "single: true", "single: unknown key"},
	} {
		require.Contains(t, string(text), c.old)
		_, err := readEngine("e.yaml", "vllm-v1", []byte(strings.Replace(string(text), c.old, c.new, 1)))
		require.ErrorContains(t, err, c.want)
	}
	e, err := Engine("vllm-v1")
	require.NoError(t, err)
	require.True(t, e.RulesOf("0.33").SingleExempt)
	require.False(t, e.RulesOf("0.22").SingleExempt)
	require.Equal(t, Rules{}, e.RulesOf("1.0"))
}

func TestNoNameMeansTwoThings(t *testing.T) {
	spec := func(own, key string) EngineSpec { return EngineSpec{Name: own, Names: map[string]string{own: key}} }
	require.NoError(t, uniqueNames([]EngineSpec{spec("a", "block_size"), spec("a", "block_size")}))
	require.ErrorContains(t, uniqueNames([]EngineSpec{spec("a", "block_size"), spec("a", "max_num_seqs")}),
		"another engine calls block_size so")
	require.ErrorContains(t, uniqueNames([]EngineSpec{spec("watermark", "block_size")}), "is a key of every pool")
}

func TestEnginesTakeTheirLimitsFromTheGPU(t *testing.T) {
	e, err := Engine("vllm-v1")
	require.NoError(t, err)
	for _, c := range []struct {
		gpu          string
		memory       float64
		seqs, tokens int
	}{
		{"h100-sxm", 80 << 30, 1024, 8192}, {"h100-sxm", 70 << 30, 1024, 8192}, {"h100-sxm", 70<<30 - 1, 256, 2048},
		{"a100-sxm-80gb", 80 << 30, 256, 2048}, {"l4", 24e9, 256, 2048},
		{"b200-sxm", 180 << 30, 1024, 16384},
		{"gb10", 120 << 30, 256, 2048}, {"h200-sxm", 141 << 30, 1024, 8192},
		{"tpu-v6e", 32 << 30, 256, 1024}, {"tpu-v5e", 16 << 30, 256, 512},
	} {
		l := e.Limit("0.33", c.gpu, c.memory)
		require.Equal(t, []any{c.seqs, c.tokens, 0.92}, []any{l.MaxNumSeqs, l.MaxNumBatchedTokens, l.GPUMemoryUtilization},
			c.gpu)
	}
	e, err = Engine("sglang")
	require.NoError(t, err)
	for _, c := range []struct {
		memory                   float64
		chunk, largest, largest4 int
	}{
		{180 << 30, 16384, 512, 512}, {141 << 30, 8192, 256, 512}, {80 << 30, 8192, 256, 512}, {40 << 30, 4096, 32, 160},
		{24 << 30, 4096, 48, 160}, {16 << 30, 2048, 8, 8},
	} {
		l := e.Limit("", "", c.memory)
		require.Equal(t, []int{c.chunk, c.largest, c.largest4},
			[]int{l.MaxNumBatchedTokens, l.LargestGraph(3), l.LargestGraph(4)})
	}
}

func TestTextbookIsIdeal(t *testing.T) {
	e, err := EfficienciesOf("textbook")
	require.NoError(t, err)
	require.Equal(t, hardware.Efficiency{
		Bandwidth: 1, Compute: 1, MoECompute: 1, KVBandwidth: 1, AttentionCompute: 1, Link: 1,
		Overlap: math.Inf(1), Source: "definition: no losses",
	}, e.Default)
}

func TestEfficiencyFilesStateEverything(t *testing.T) {
	t.Chdir(t.TempDir())
	const whole = `bandwidth: 1
compute: 0.5
moe_compute: 0.5
kv_bandwidth: 1
attention_compute: 1
link: 1
layer_s: 0
moe_layer_s: 0
mixer_layer_s: 0
step_s: 1e-3
sequence_s: 0
collective_s: 0
first_token_s: 0
overlap: 2
source: measured
`
	load := func(text string) error {
		require.NoError(t, os.WriteFile("e.yaml", []byte(text), 0o600))
		_, err := LoadEfficiency("e.yaml")
		return err
	}
	require.NoError(t, load(whole))
	for _, c := range []struct{ old, new, want string }{
		{"link: 1\n", "", "e.yaml:1:1: link: missing; an efficiency file states every constant"},
		{"bandwidth: 1\n", "bandwidth: 1.2\n", "e.yaml:1:1: bandwidth: 1.2 is out of range; expected a share in (0, 1]"},
		{"step_s: 1e-3", "step_s: -1", "e.yaml:10:1: step_s: -1 is out of range; expected seconds in [0, 3600]"},
		{"overlap: 2", "overlap: 0.5", "e.yaml:14:1: overlap: 0.5 is out of range; expected ≥ 1, or .inf"},
		{"source: measured", `source: ""`, "e.yaml:15:1: source: missing; expected where the numbers come from"},
		{"link:", "lnk:", `e.yaml:6:1: lnk: unknown key; did you mean "link"?`},
	} {
		require.EqualError(t, load(strings.Replace(whole, c.old, c.new, 1)), c.want)
	}
	_, err := LoadEfficiency("none.yaml")
	require.EqualError(t, err, `efficiency file "none.yaml" does not exist`)
	_, err = LoadEfficiency("vlllm")
	require.ErrorContains(t, err, `efficiency "vlllm" not found; did you mean "vllm"?`)
	several, err := File("vllm")
	require.NoError(t, err)
	require.EqualError(t, load(string(several)),
		"e.yaml: efficiencies of several GPUs, as the built-in ones are; expected the constants "+
			"of one: those under default or under a gpu, as the whole file")
}

// Graphs reach twice max_num_seqs, 512 rows or 1024 on a data-centre Blackwell; the textbook pads nothing.
func TestGraphsOfAnEngine(t *testing.T) {
	e, err := Engine("vllm-v1")
	require.NoError(t, err)
	largest := func(gpu string, sequences int) int {
		return slices.Max(e.Graphs("0.33", &Decoding{GPU: gpu, Sequences: sequences, Rows: 1}))
	}
	assert.Equal(t, 512, largest("h100-sxm", 1024))
	assert.Equal(t, 1024, largest("b200-sxm", 1024))
	assert.Equal(t, 1024, largest("gb300", 1024))
	assert.Equal(t, 512, largest("rtx-pro-6000-ws", 1024))
	assert.Equal(t, 32, largest("b200-sxm", 16))
	assert.Equal(t, 512, slices.Max(e.Graphs("0.22", &Decoding{GPU: "b200-sxm", Sequences: 1024, Rows: 1})))
	e, err = Engine("textbook")
	require.NoError(t, err)
	assert.Nil(t, e.Graphs("0.33", &Decoding{GPU: "h100-sxm", Sequences: 1024, Rows: 1}))
	require.ErrorContains(t, (&CUDAGraphs{RowsPerSequence: 2}).validate(nil),
		"expected rows_per_sequence ≥ 1 and a last row of rows_max that fits every GPU")
	require.EqualError(t, (&CUDAGraphs{RowsPerSequence: 2, RowsMax: []CUDAGraphMax{{Rows: 0}}}).validate(nil),
		"cuda_graphs.rows_max[0].rows: 0 is out of range; expected 1 to 65536")
}

// With few tokens in a step none is larger, and that of all of them is captured too.
func TestGraphsEndAtTheTokensOfAStep(t *testing.T) {
	e, err := Engine("vllm-v1")
	require.NoError(t, err)
	sizes := e.Graphs("0.22", &Decoding{GPU: "h100-sxm", Sequences: 64, Rows: 1, Tokens: 20})
	assert.Equal(t, []int{1, 2, 4, 8, 16, 20}, sizes)
}

// From 0.33 on batches that decode have graphs of their own: with two drafts those of 3, 6, 12, 24, … rows.
func TestGraphsOfWholeBatches(t *testing.T) {
	e, err := Engine("vllm-v1")
	require.NoError(t, err)
	decoding := Decoding{GPU: "h100-sxm", Sequences: 10, Rows: 3, Tokens: 8192}
	assert.Equal(t, []int{1, 2, 4, 8, 16, 24, 32, 40, 48, 56}, e.Graphs("0.22", &decoding))
	assert.Equal(t, []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 30, 32, 40, 48, 56}, e.Graphs("0.33", &decoding))
	assert.Contains(t, e.Graphs("0.33", &Decoding{GPU: "h100-sxm", Sequences: 100, Rows: 1, Tokens: 8192}), 100)
	few := Decoding{GPU: "h100-sxm", Sequences: 6, Rows: 1, Tokens: 8192, Interactive: true}
	assert.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, e.Graphs("0.22", &few))
}

// The lists that SGLang 0.5.23 prints for its largest graphs.
func TestGraphsOfSGLangAreOfSequences(t *testing.T) {
	e, err := Engine("sglang")
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2, 4, 8, 12, 16, 24, 32},
		e.Graphs("0.33", &Decoding{Sequences: 2048, Rows: 1, Largest: 32}))
	assert.Equal(t, []int{1, 2, 4, 8, 10}, e.Graphs("0.33", &Decoding{Sequences: 10, Rows: 1, Largest: 256}))
	sizes := e.Graphs("0.33", &Decoding{Sequences: 2048, Rows: 1, Largest: 512})
	assert.Equal(t, 52, len(sizes))
	assert.Equal(t, []int{480, 496, 512}, sizes[49:])
	assert.Equal(t, []int{4, 8, 12, 16, 20, 24, 28, 32, 40, 48},
		e.Graphs("0.33", &Decoding{Sequences: 48, Rows: 4, Largest: 256})[:10])
}

// The shares that SGLang 0.5.23 computes: (81559 − 512 − 12288 − 128 − 512 − 58 · 8) / 81559 MiB on an H100, and so on.
func TestTheStaticShareOfSGLang(t *testing.T) {
	e, err := Engine("sglang")
	require.NoError(t, err)
	h100, h200 := Static{MemoryBytes: 81559 << 20, Chunk: 8192, GPUs: 1, Ranks: 1, Largest: 256, Prompts: true},
		Static{MemoryBytes: 143771 << 20, Chunk: 8192, GPUs: 8, Ranks: 8, Largest: 512, Prompts: true, Latent: true}
	assert.Equal(t, 0.83, e.Reserve.Share(&h100))
	assert.Equal(t, 0.758, e.Reserve.Share(&h200))
	h100.Chunk, h100.Prompts = 2048, false // 10 GiB at least
	assert.Equal(t, 0.874, e.Reserve.Share(&h100))
	l4 := Static{MemoryBytes: 23034 << 20, Chunk: 4096, GPUs: 1, Ranks: 1, Largest: 48}
	assert.Equal(t, 0.701, e.Reserve.Share(&l4))
}
