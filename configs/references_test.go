package configs

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
)

// TestNamesAreReadAsPeopleWriteThem: repositories, drivers and tables spell names in their own ways.
func TestNamesAreReadAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct{ model, gpu, name, weights, device string }{
		{"meta-llama/Llama-3.3-70B-Instruct", "H100", "llama-3.3-70b", "", "h100-sxm"},
		{"Qwen/Qwen3-235B-A22B-FP8", "h200", "qwen3-235b-a22b", "fp8", "h200-sxm"},
		{"nvidia/DeepSeek-R1-0528-FP4", "NVIDIA B200", "deepseek-r1", "nvfp4", "b200-sxm"},
		{"Llama-3.1-8B", "AMD Instinct MI300X", "llama-3.1-8b", "", "mi300x"},
	} {
		inDir(t, base)
		s, err := Load("chat.yaml", Options{Set: []string{"model=" + c.model, "pools.serve.gpu=" + c.gpu}})
		require.NoError(t, err)
		assert.Equal(t, c.name, s.Model.Config)
		assert.Equal(t, c.weights, s.Weights)
		assert.Equal(t, c.device, s.Pools[0].GPU.From)
	}
	s, err := Load("chat.yaml", Options{Set: []string{"model=Qwen/Qwen3-32B-FP8", "weights=bf16"}})
	require.NoError(t, err)
	assert.Equal(t, "bf16", s.Weights, "what is said stands above what a name says")
}

func TestANumberBeforeAGPUIsHowManyThePoolHas(t *testing.T) {
	const text = "model: llama-3.1-8b\npools: [{gpu: 8xH100}]\nworkload: {trace: {file: t.csv}}\n"
	inDir(t, text)
	for _, c := range []struct {
		set              []string
		tensor, replicas int
		err              string
	}{
		{nil, 8, 1, ""},
		{[]string{"pools.0.tensor_parallel=2"}, 2, 4, ""},
		{[]string{"pools.0.replicas=8"}, 1, 8, ""},
		{[]string{"pools.0.gpu=4 x H200"}, 4, 1, ""},
		{[]string{"pools.0.tensor_parallel=4", "pools.0.replicas=4"}, 0, 0, `"8xH100" says 8 GPUs, but replicas × GPUs of a replica are 4 × 4`},
		{[]string{"pools.0.tensor_parallel=3"}, 0, 0, `"8xH100" says 8 GPUs, but replicas × GPUs of a replica are 1 × 3`},
	} {
		s, err := Load("chat.yaml", Options{Set: c.set})
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		p := &s.Pools[0]
		assert.Equal(t, []int{c.tensor, c.replicas}, []int{p.TensorParallel, p.Replicas}, "%v", c.set)
	}
}

// TestGPUsTakeFiguresOfTheUsersOwn: inline, by --set and in the environment, and the resolved scenario says them.
func TestGPUsTakeFiguresOfTheUsersOwn(t *testing.T) {
	inDir(t, with("gpu: h100-sxm", "gpu: {from: H100, bandwidth_bps: 5e12, flops: {fp8: 3e15}, price_per_hour: 2.1}"))
	s, err := Load("chat.yaml", Options{Set: []string{"pools.serve.gpu.memory_bytes=1e11"},
		Env: []string{"DECODESIM_POOLS_OTHER_GPU=H200", "DECODESIM_POOLS_OTHER_GPU_TDP_W=600"}})
	require.NoError(t, err)
	gpu, changes, err := s.Pools[0].GPU.Hardware()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"memory_bytes 1e+11 in place of 8.5520809984e+10", "bandwidth_bps 5e+12 in place of 3.35e+12",
		"flops.fp8 3e+15 in place of 1.9789e+15", "price_per_hour 2.1 in place of 3.99",
	}, changes)
	assert.Equal(t, []float64{1e11, 5e12, 3e15, 9.894e14, 2.1},
		[]float64{gpu.MemoryBytes.Value, gpu.BandwidthBps.Value, gpu.FLOPS.FP8.Value, gpu.FLOPS.BF16.Value,
			gpu.Price.USDPerHour})
	assert.Equal(t, "h200-sxm", s.Pools[1].GPU.From)
	assert.Equal(t, 600.0, *s.Pools[1].GPU.TDPW)
	require.NoError(t, os.WriteFile("again.yaml", s.YAML(), 0o600))
	again, err := Load("again.yaml", Options{})
	require.NoError(t, err)
	assert.Equal(t, plainly(s).Pools, plainly(again).Pools)
}

// TestModelsTakeFiguresOfTheUsersOwn: in the file, by --set and in the environment, and the resolved
// scenario says them.
func TestModelsTakeFiguresOfTheUsersOwn(t *testing.T) {
	inDir(t, with("model: llama-3.1-8b", "model: {config: own.json, ignore: [mystery, text_config.x], "+
		"override: {context: 4096, # as served\n    weights: {dtype: fp8, classes: [dense_ffn]}}}"))
	s, err := Load("chat.yaml", Options{Set: []string{"model.published.total=7e9", "model.ignore=[mystery]"},
		Env: []string{"DECODESIM_MODEL_PUBLISHED_ACTIVE=3e9"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"mystery"}, s.Model.Ignore)
	assert.Equal(t, PublishedSize{7e9, 3e9}, s.Model.Published)
	assert.Equal(t, catalog.Override("{context: 4096, weights: {dtype: fp8, classes: [dense_ffn]}}"), s.Model.Override)
	assert.Equal(t, []string{"left out of its config.json, as the scenario says: mystery",
		"the scenario's own in place of what its file says: context, weights"}, s.Model.Changes())
	require.NoError(t, os.WriteFile("again.yaml", s.YAML(), 0o600))
	again, err := Load("again.yaml", Options{})
	require.NoError(t, err)
	assert.Equal(t, s.Model, again.Model)

	plain, err := Load("chat.yaml", Options{Set: []string{"model.override=null", "model.ignore=null", "model=m.yaml"}})
	require.NoError(t, err)
	assert.Empty(t, plain.Model.Changes())
	assert.True(t, filepath.IsAbs(plain.Model.Config))
	for change, says := range map[string]string{
		"model: {config: a.json, override: {contxt: 1}}": `model.override: contxt: unknown key; did you mean "context"?`,
		"model: {config: a.json, override: 4096}":        "model.override: expected a mapping",
		"model: {config: a.json, ignor: [x]}":            `model.ignor: unknown key; did you mean "ignore"?`,
		"model: {config: a.json, published: {total: 0}}": "model.published.total",
		"model: {ignore: [x]}":                           "model: missing",
	} {
		inDir(t, with("model: llama-3.1-8b", change))
		_, err := Load("chat.yaml", Options{})
		require.ErrorContains(t, err, says, change)
	}
}

// TestFilesThatAreBuiltInWorkWhenCopied: as a GPU and as efficiencies.
func TestFilesThatAreBuiltInWorkWhenCopied(t *testing.T) {
	inDir(t, with("gpu: h100-sxm", "gpu: mine.yaml"))
	for file, name := range map[string]string{"mine.yaml": "gpus/h100-sxm", "vllm.yaml": "efficiencies/vllm"} {
		text, err := catalog.File(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	s, err := Load("chat.yaml", Options{Set: []string{"pools.serve.efficiency=./vllm.yaml"}})
	require.NoError(t, err)
	gpu, changes, err := s.Pools[0].GPU.Hardware()
	require.NoError(t, err)
	assert.Empty(t, changes)
	want, err := catalog.GPU("h100-sxm")
	require.NoError(t, err)
	assert.Equal(t, want, gpu)
	assert.True(t, filepath.IsAbs(s.Pools[0].GPU.From))
	assert.Equal(t, "mine", s.Pools[0].GPU.Name())
	mine, err := catalog.EfficienciesAt(s.Pools[0].Efficiency.Base)
	require.NoError(t, err)
	built, err := catalog.EfficienciesOf("vllm")
	require.NoError(t, err)
	assert.Equal(t, built, mine)
}

// TestANumberAloneInAGPUFileIsShownItsForm: data sheets are copied as numbers, and the files of GPUs want their source.
func TestANumberAloneInAGPUFileIsShownItsForm(t *testing.T) {
	inDir(t, with("gpu: h100-sxm", "gpu: mine.yaml"))
	require.NoError(t, os.WriteFile("mine.yaml", []byte("name: mine\nmemory_bytes: 288e9\n"), 0o600))
	_, err := Load("chat.yaml", Options{})
	require.ErrorContains(t, err, "mine.yaml:2:1: memory_bytes: expected a value and who says so, such as "+
		"{value: 288e9, source: data sheet}, got the number 288e9")
}

func TestWrongReferencesSayWhatWouldDo(t *testing.T) {
	for _, c := range []struct{ change, err string }{
		{"gpu: {from: h100-sxm, bandwith_bps: 5e12}", `pools[0].gpu.bandwith_bps: unknown key; did you mean "bandwidth_bps"?`},
		{"gpu: {from: h100-sxm, bandwidth_bps: 0}", "bandwidth_bps is 0, want a positive number"},
		{"gpu: {from: h100-sxm, bandwidth_bps: 5 TB/s}", `pools[0].gpu.bandwidth_bps: expected a number, got "5 TB/s"`},
		{"gpu: {from: h100-sxm, domain: 2.5}", "domain is 2.5, want a whole number"},
		{"gpu: {bandwidth_bps: 5e12}", "missing beside figures of your own; expected what they change, such as {from: h100"},
		{"gpu: {from: h100-sxm, bandwidth_bps: 5}", "bandwidth_bps is 5, want bytes/s, at least 1e+06, such as 3.35e12 for"},
		{"gpu: {from: h100-sxm, memory_bytes: 80}", "memory_bytes is 80, want bytes, at least 1e+06"},
		{"gpu: {from: h100-sxm, flops: {bf16: 989}}", "flops.bf16 is 989, want FLOP/s, at least 1e+09"},
		{"gpu: {from: none.yaml}", "does not exist"},
		{"gpu: 5", "pools[0].gpu: expected text, got the number 5"},
		{"gpu: [h100-sxm]", "pools[0].gpu: expected text, got a list"},
		{"gpu: H800X", `gpu "H800X" not found`},
		{"gpu: 0xH100", `gpu "0xH100" not found`},
		{"gpu: h100-sxm\n    efficiency: {base: vllm, lnk: 0.85}", `pools[0].efficiency.lnk: unknown key; did you mean "link"?`},
		{"gpu: h100-sxm\n    efficiency: {base: vlm}", `pools[0].efficiency: "vlm" is unknown; did you mean "vllm"?`},
	} {
		inDir(t, with("gpu: h100-sxm", c.change))
		_, err := Load("chat.yaml", Options{})
		require.ErrorContains(t, err, c.err, c.change)
	}
}

// TestEveryConstantOfAnEfficiencyCanBeTheUsersOwn: under the key that it has in files of efficiencies.
func TestEveryConstantOfAnEfficiencyCanBeTheUsersOwn(t *testing.T) {
	want := strict.KeysOf(strict.FieldsOf(reflect.TypeFor[hardware.Efficiency]()))
	have := strict.KeysOf(strict.FieldsOf(reflect.TypeFor[Constants]()))
	assert.ElementsMatch(t, want, append(have, "source"))
}

// TestConstantsOfTheUsersOwnNeedNoName: in a file they stand without the name of the efficiencies that they change,
// which are the engine's.
func TestConstantsOfTheUsersOwnNeedNoName(t *testing.T) {
	inDir(t, with("replicas: 2", "efficiency: {link: 0.3}"))
	s, err := Load("chat.yaml", Options{})
	require.NoError(t, err)
	require.NotNil(t, s.Pools[0].Efficiency.Link)
	again, err := Read("again", s.YAML(), Options{})
	require.NoError(t, err)
	assert.Equal(t, s.Pools[0].Efficiency, again.Pools[0].Efficiency)
}

// A study finds GPUs as people write them, and says itself how many of them there are.
func TestStudiesFindGPUsAsPeopleWriteThem(t *testing.T) {
	t.Chdir(t.TempDir())
	study := func(gpu string) error {
		text := "scenario: chat-8b\nbudget: {gpus: 8}\nrate: {min: 1, max: 9}\nsearch: {gpu: [" + gpu + "]}\n"
		require.NoError(t, os.WriteFile("s.yaml", []byte(text), 0o600))
		s, err := LoadStudy("s.yaml", nil)
		if err == nil {
			assert.Equal(t, []string{"h200-sxm", "b200-sxm"}, s.Search.GPU)
		}
		return err
	}
	require.NoError(t, study("H200, NVIDIA B200"))
	require.ErrorContains(t, study("8xH100"), `search.gpu[0]: "8xH100": how many GPUs is for the search to say`)
	require.ErrorContains(t, study("h200, H200"), "twice; expected each once")
}
