package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEmbeddedStudiesLoadAndSayWhatTheyAnswer(t *testing.T) {
	require.Equal(t, []string{"size-70b-64gpu"}, StudyNames())
	for _, name := range StudyNames() {
		s, err := LoadStudy(name, nil)
		require.NoError(t, err)
		assert.Equal(t, name, s.Name)
		text, err := catalog.File(name)
		require.NoError(t, err)
		question, _, _ := strings.Cut(string(text), "\n")
		assert.True(t, strings.HasPrefix(question, "# ") && strings.HasSuffix(question, "?"), question)
	}
}

// TestAResolvedStudyIsTheSameStudy, whatever was set above the file.
func TestAResolvedStudyIsTheSameStudy(t *testing.T) {
	for _, set := range [][]string{
		nil,
		{"rate.min=null", "rate.max=null", "rate.at=12.5", "budget.usd_per_hour=100", "slo.tpot_ms=null"},
		{"search.split=[1P3D, 2P2D]", "search.tensor_parallel=null", "workload.requests=7", "model=llama-3.1-8b",
			"set=[weights=fp8]"},
	} {
		s, err := LoadStudy("size-70b-64gpu", set)
		require.NoError(t, err, set)
		path := filepath.Join(t.TempDir(), "study.yaml")
		require.NoError(t, os.WriteFile(path, s.YAML(), 0o600))
		again, err := LoadStudy(path, nil)
		require.NoError(t, err, string(s.YAML()))
		assert.Equal(t, string(s.YAML()), string(again.YAML()))
		again.origins, s.origins = origins{}, origins{}
		assert.Equal(t, s, again)
	}
}

func TestSettingsOfAStudyAreItsOwnOrItsScenarios(t *testing.T) {
	s, err := LoadStudy("size-70b-64gpu",
		[]string{"budget.gpus=8", "search.split=all", "weights=bf16", "budget.gpus=16", "search.max_num_seqs=[32]"})
	require.NoError(t, err)
	assert.Equal(t, 16, s.Budget.GPUs, "the later one")
	assert.Equal(t, []string{"weights=bf16"}, s.Set)
	assert.Equal(t, []int{32}, s.Search.MaxNumSeqs)
	assert.True(t, s.Search.Split.All())
}

func TestScenariosOfStudiesAreSoughtBesideThem(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "study.yaml"),
		[]byte("scenario: my.yaml\nbudget: {gpus: 1}\nrate: {at: 1}\n"), 0o600))
	s, err := LoadStudy(filepath.Join(dir, "study.yaml"), nil)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "my.yaml"), s.Scenario)
	assert.Equal(t, "study", s.Name)
}

// TestAScenarioThatAStudyBuildsHasNoLines, for it is in no file.
func TestAScenarioThatAStudyBuildsHasNoLines(t *testing.T) {
	s, err := LoadStudyUnder(nil, "", []string{"model=llama-3.1-8b", "search.gpu=[h100]", "rate.at=5", "slo=ttft p95<=1s",
		"workload.arrivals.cv=3", "workload.output_tokens=9"})
	require.NoError(t, err)
	_, err = s.Base(nil, nil)
	require.ErrorContains(t, err, "the scenario of the study size: workload.prompt_tokens: missing; ")
}

func TestBadStudiesAreRefused(t *testing.T) {
	const good = "scenario: chat-8b\nbudget: {gpus: 8}\nrate: {min: 1, max: 9}\n"
	for text, want := range map[string]string{
		"scenario: chat-8c\nbudget: {gpus: 8}\nrate: {at: 1}\n": `s.yaml:1:1: scenario: scenario "chat-8c" not found; did you mean "chat-8b"?`,
		"budget: {gpus: 8}\nrate: {at: 1}\n": "s.yaml:1:1: scenario: missing; expected the " +
			"name of a scenario",
		"scenario: chat-8b\nrate: {min: 1, max: 9}\n": "s.yaml:1:1: budget: missing; expected gpus: 64, " +
			"say",
		"scenario: chat-8b\nbudget: {gpus: 8}\n": "s.yaml:1:1: rate: missing; expected at:",
		"scenario: chat-8b\nbudget: {gpus: 8}\nrate: {at: 1, max: 9}\n": "s.yaml:3:8: rate.at: 1 beside a range; expected " +
			"at, or min and max",
		"scenario: chat-8b\nbudget: {gpus: 8}\nrate: {min: 9, max: 1}\n": "s.yaml:3:16: rate.max: 1 is out of range; " +
			"expected a number above rate.min, 9,",
		"scenario: chat-8b\nbudget: {gpus: 8}\nrate: {min: 0, max: 1}\n": "s.yaml:3:8: rate.min: 0 is out of range",
		"scenario: chat-8b\nbudget: {gpus: 8}\nrate: {at: .nan}\n": "s.yaml:3:8: rate.at: expected a finite number, " +
			"got .nan",
		"scenario: chat-8b\nbudget: {gpus: 0}\nrate: {at: 1}\n": "s.yaml:2:10: budget.gpus: 0 is out of range; " +
			"expected a whole number from 1 to 4096",
		"scenario: chat-8b\nbudget: {gpu: 8}\nrate: {at: 1}\n": `s.yaml:2:10: budget.gpu: unknown key; did you mean "gpus"?`,
		good +
			"attainment: 90\n": "s.yaml:4:1: attainment: 90 is out of range; expected a number from 0.01 to 1",
		good + "slo: {ttft_ms: -1}\n": "s.yaml:4:7: slo.ttft_ms: -1 is out of range",
		good +
			"search: {topology: [disagregated]}\n": `s.yaml:4:21: search.topology[0]: "disagregated" is unknown; did you mean "disaggregated"?`,
		good +
			"search: {tensor_parallel: []}\n": "s.yaml:4:10: search.tensor_parallel: has 0 values; expected 1 to 32",
		good +
			"search: {tensor_parallel: [2, 2]}\n": "s.yaml:4:31: search.tensor_parallel[1]: 2 twice; expected each once",
		good +
			"search: {max_num_seqs: [0]}\n": "s.yaml:4:25: search.max_num_seqs[0]: 0 is out of range",
		good +
			"search: {split: [1P3D]}\n": `s.yaml:4:10: search.split: ["1P3D"], but search.topology has no disaggregated; accepted: all`,
		good +
			"search: {topology: [disaggregated], split: [3D1P]}\n": `s.yaml:4:37: search.split: "3D1P" is not a split; expected all, or`,
		good +
			"search: {topology: [disaggregated], split: 4}\n": "s.yaml:4:37: search.split: expected all, or a list such as " +
			"[1P3D, 2P2D], got the number 4",
		good +
			"search: {prefill_tensor_parallel: [2]}\n": "s.yaml:4:10: search.prefill_tensor_parallel: given, but " +
			"search.topology has no disaggregated",
		good + "requests: 10\n": "s.yaml:4:1: requests: 10 is out of range; expected a whole number from 400 to 10000000",
		good + "seeds: 0\n":     "s.yaml:4:1: seeds: 0 is out of range; expected a whole number from 1 to 100",
		good + "name: 'a\tb'\n": `s.yaml:4:1: name: "a\tb" has characters that do not print`,
	} {
		t.Run(text, func(t *testing.T) { refusedStudy(t, text, want) })
	}
	for set, want := range map[string]string{
		"budget":           "--set budget: expected key=value, such as --set budget.gpus=32",
		"budget=3":         "--set budget=3: budget has keys of its own; set those, such as budget.gpus",
		"budget.gpus=many": `--set budget.gpus=many: expected an integer, got "many"`,
		"rate.at=3":        "--set rate.at=3: 3 beside a range; expected at, or min and max",
	} {
		_, err := LoadStudy("size-70b-64gpu", []string{set})
		require.EqualError(t, err, want)
	}
	_, err := LoadStudy("size-70b", nil)
	assert.ErrorContains(t, err, `study "size-70b" not found`)
}

// TestLayoutsAreReadAsTheyAreWritten, with the parts that are 1 left out.
func TestLayoutsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]Layout{
		"tp8": {8, 1, 1, false, true}, "tp8-pp2": {8, 2, 1, false, true}, "dp16-ep": {1, 1, 16, true, true},
		"tp2-dp4-ep": {2, 1, 4, true, true}, "tp1": {1, 1, 1, false, true}, "pp4": {1, 4, 1, false, true},
		"tp8-ep": {8, 1, 1, true, true},
	} {
		l, ok := ParseLayout(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, l)
		assert.Equal(t, text, l.String())
	}
	for _, text := range []string{"", "ep", "-ep", "tp", "tp0", "tp2048", "8", "tp8 pp2", "dp8-tp2", "tp8-ep-dp2"} {
		_, ok := ParseLayout(text)
		assert.False(t, ok, text)
	}
}

// TestAStudyWithoutAScenarioSearchesAllThereIsToChoose, unless it says otherwise, and resolves to the same study.
func TestAStudyWithoutAScenarioSearchesAllThereIsToChoose(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.yaml")
	require.NoError(t, os.WriteFile(path, []byte("model: llama-3.1-8b\nweights: fp8\ntrace: t.csv\n"+
		"search: {gpu: [h100-sxm, l40s], max_num_seqs: [64]}\nrate: {at: 3}\n"), 0o600))
	s, err := LoadStudy(path, []string{"kv_cache=fp8"})
	require.NoError(t, err)
	assert.Equal(t, StudySearch{
		Topology: []string{Colocated, Disaggregated}, GPU: []string{"h100-sxm", "l40s"},
		PrefillGPU: []string{"h100-sxm", "l40s"}, Parallel: Layouts{AutoLayouts}, PrefillParallel: Layouts{AutoLayouts},
		MaxNumSeqs: []int{64}, MaxNumBatchedTokens: []int{8192, 16384, 2048}, Split: Splits{AllSplits},
	}, s.Search)
	assert.Equal(t, filepath.Join(dir, "t.csv"), s.Trace)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t.csv"),
		[]byte("arrival_s,input_tokens,output_tokens\n0,10,10\n1,10,10\n"), 0o600))
	base, err := s.Base(nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"llama-3.1-8b", "fp8", "fp8", "h100-sxm", "vllm-v1"},
		[]string{base.Model.Config, base.Weights, base.KVCache, base.Pools[0].GPU.From, base.Pools[0].Engine})
	require.NoError(t, os.WriteFile(path, s.YAML(), 0o600))
	again, err := LoadStudy(path, nil)
	require.NoError(t, err)
	again.origins, s.origins = origins{}, origins{}
	assert.Equal(t, s, again)
}

// refusedStudy requires an error for a study that begins so.
func refusedStudy(t *testing.T, text, want string) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("s.yaml", []byte(text), 0o600))
	_, err := LoadStudy("s.yaml", nil)
	require.Error(t, err)
	assert.True(t, strings.HasPrefix(err.Error(), want), "got  %s\nwant %s", err, want)
}

// TestStudiesAndScenariosAreNotConfused: what takes the one says so of the other, by name, as a file or in a directory
// that a search has left.
func TestStudiesAndScenariosAreNotConfused(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("sized", 0o700))
	for name, text := range map[string]string{
		"study.yaml": "scenario: chat-8b\nrate: {at: 1}\n", "best.yaml": "model: llama-3.1-8b\npools: [{gpu: l4}]\n",
		"misspelt.yaml": "model: llama-3.1-8b\npools: [{gpu: l4}]\nrate: 3\n",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join("sized", name), []byte(text), 0o600))
	}
	for name, want := range map[string]string{
		"size-70b-64gpu": `"size-70b-64gpu" is a study, which decodesim size takes; expected a scenario`,
		"study.yaml":     "study.yaml is a study, which decodesim size takes; expected a scenario",
		"sized":          `scenario "sized" is a directory; did you mean "sized/best.yaml"?`,
		"misspelt.yaml":  `misspelt.yaml:3:1: rate: unknown key`,
	} {
		_, err := Load(name, Options{})
		assert.ErrorContains(t, err, want)
	}
	for name, want := range map[string]string{
		"chat-8b":   `"chat-8b" is a scenario; expected a study, whose key scenario can name it`,
		"best.yaml": "best.yaml is a scenario; expected a study, whose key scenario can name it",
		"sized":     `study "sized" is a directory; did you mean "sized/study.yaml"?`,
	} {
		_, err := LoadStudy(name, nil)
		assert.ErrorContains(t, err, want)
	}
}

// TestManyKeysAreRefusedInTheTimeOfTheirNumber: each was compared with all others, for minutes.
func TestManyKeysAreRefusedInTheTimeOfTheirNumber(t *testing.T) {
	t.Chdir(t.TempDir())
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "k%d:\n", i)
	}
	require.NoError(t, os.WriteFile("keys.yaml", []byte(text.String()), 0o600))
	began := time.Now()
	_, err := Load("keys.yaml", Options{})
	require.ErrorContains(t, err, "keys.yaml:1:1: k0: unknown key")
	_, err = LoadStudy("keys.yaml", nil)
	require.ErrorContains(t, err, "keys.yaml:1:1: k0: unknown key")
	assert.Less(t, time.Since(began), 30*time.Second)
}

// TestRequestsOfWhichOnlyLengthsAreSaidComeByPoisson, at the asked rate, and a study says so; whatever else says when
// they come stands.
func TestRequestsOfWhichOnlyLengthsAreSaidComeByPoisson(t *testing.T) {
	given := []Setting{{Key: "model", Value: "llama-3.1-8b"}, {Key: "search.gpu", Value: "[l4]"},
		{Key: "rate.at", Value: "3"}}
	lengths := []string{"workload.prompt_tokens={distribution: fixed, mean: 100}",
		"workload.output_tokens={distribution: fixed, mean: 10}"}
	s, err := LoadStudyUnder(given, "", lengths)
	require.NoError(t, err)
	assert.Equal(t, append(lengths, "workload.arrivals.process=poisson", "workload.arrivals.rate=3"), s.Set)
	base, err := s.Base(nil, nil)
	require.NoError(t, err)
	assert.Equal(t, 3.0, base.Workload.Arrivals.Rate)
	for _, when := range []string{"workload.arrivals={process: constant, rate: 2}", "workload.closed_loop.concurrency=4"} {
		said := append(slices.Clone(lengths), when)
		s, err := LoadStudyUnder(given, "", said)
		require.NoError(t, err)
		assert.Equal(t, said, s.Set)
	}
}

func TestBadStudiesWithoutAScenarioAreRefused(t *testing.T) {
	const good = "scenario: chat-8b\nbudget: {gpus: 8}\nrate: {min: 1, max: 9}\n"
	for text, want := range map[string]string{
		"scenario: chat-8b\nmodel: llama-3.1-8b\nrate: {at: 1}\n": `s.yaml:2:1: model: "llama-3.1-8b" beside scenario ` +
			`"chat-8b", which says that itself; expected set: [model=…] to change it`,
		"scenario: chat-8b\ntrace: x.csv\nrate: {at: 1}\n": `s.yaml:2:1: trace: "`,
		"model: llama-3.1-8b\nrate: {at: 1}\n":             "s.yaml:1:1: search.gpu: missing; expected catalog names of GPUs",
		"model: llama-3.1-8b\nsearch: {gpu: [l4]}\nrate: {at: 1}\n": "s.yaml:1:1: trace: missing; expected a file of " +
			"recorded requests",
		good + "search: {gpu: [h9000]}\n":            `s.yaml:4:16: search.gpu[0]: gpu "h9000" not found`,
		good + "search: {parallel: [tp]}\n":          `s.yaml:4:10: search.parallel[0]: "tp" is not a layout; expected auto`,
		good + "search: {parallel: [ep]}\n":          `s.yaml:4:10: search.parallel[0]: "ep" is not a layout`,
		good + "search: {prefill_parallel: [tp8]}\n": `s.yaml:4:1: search.topology: has no disaggregated`,
		good + "search: {parallel: [tp8, tp8]}\n":    `s.yaml:4:10: search.parallel[1]: "tp8" twice`,
		good + "search: {parallel: 8}\n":             "s.yaml:4:10: search.parallel: expected auto, or a list such as",
		good + "engine: vlm\n":                       `s.yaml:4:1: engine: "vlm" is unknown`,
		good + "search: {parallel: auto, tensor_parallel: [2]}\n": "s.yaml:4:10: search.parallel: given beside " +
			"search.tensor_parallel",
	} {
		t.Run(text, func(t *testing.T) { refusedStudy(t, text, want) })
	}
}

// TestAStudyMovesWithWhatItNames: its paths are seen from the folder that it is written to, so that both may move
// together, and it asks the same there.
func TestAStudyMovesWithWhatItNames(t *testing.T) {
	dir := t.TempDir()
	scenario := "name: mine\nmodel: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n" +
		"  arrivals: {process: poisson, rate: 4}\n  prompt_tokens: 100\n  output_tokens: 50\n  requests: 400\n"
	study := "scenario: mine.yaml\nbudget: {gpus: 2}\nrate: {at: 20}\nslo: {ttft_ms: 500}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(scenario), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(study), 0o600))
	s, err := LoadStudy(filepath.Join(dir, "study.yaml"), nil)
	require.NoError(t, err)
	out := filepath.Join(dir, "out")
	text, err := s.YAMLFor(out)
	require.NoError(t, err)
	assert.NotContains(t, string(text), dir)
	require.NoError(t, os.Mkdir(out, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(out, "study.yaml"), text, 0o600))
	again, err := LoadStudy(filepath.Join(out, "study.yaml"), nil)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "mine.yaml"), again.Scenario)
	assert.Equal(t, s.YAML(), again.YAML())
}
