package configs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
)

// begun is a scenario whose workload is that.
func begun(workload string) string {
	return "model: llama-3.1-8b\npools: [{gpu: h100-sxm}]\nworkload:\n" + workload
}

// TestAPresetIsWhatItsBlockSays, key by key: the resolved scenario is that of the block itself, and reruns itself.
func TestAPresetIsWhatItsBlockSays(t *testing.T) {
	for _, name := range catalog.PresetNames() {
		s, err := Read("mine.yaml", []byte(begun("  preset: "+name+"\n")), Options{})
		require.NoError(t, err, name)
		assert.Contains(t, string(s.YAML()), "preset: null ", name)
		again, err := Read("mine.yaml", s.YAML(), Options{})
		require.NoError(t, err, name)
		assert.Equal(t, s.Workload, again.Workload, name)
	}
	s, err := Read("mine.yaml", []byte(begun("  preset: chat\n")), Options{})
	require.NoError(t, err)
	assert.Equal(t, "on-off", s.Workload.Arrivals.Process)
	assert.InDelta(t, 1154.7, s.Workload.PromptTokens.Mean, 0)
	assert.Len(t, s.Workload.PromptTokens.Quantiles, 20)
	assert.Equal(t, int64(20000), s.Workload.Requests)
}

// TestKeysOfTheFileStandOverItsPreset: one key of a section changes it, another law takes its place, null takes it
// away, and so does another way in which requests come.
func TestKeysOfTheFileStandOverItsPreset(t *testing.T) {
	for workload, want := range map[string]func(w *Workload) bool{
		"  arrivals: {rate: 8}\n  preset: chat\n  requests: 10\n": func(w *Workload) bool {
			return w.Arrivals.Rate == 8 && w.Arrivals.Process == "on-off" && w.Arrivals.OnRate == 6.225 && w.Requests == 10
		},
		"  preset: chat\n  arrivals: {process: poisson, rate: 3}\n": func(w *Workload) bool {
			return w.Arrivals.Process == "poisson" && w.Arrivals.OnRate == 0 && w.PromptTokens.Mean == 1154.7
		},
		"  preset: chat\n  output_tokens: {distribution: fixed, mean: 7}\n": func(w *Workload) bool {
			return w.OutputTokens.Distribution == "fixed" && len(w.OutputTokens.Quantiles) == 0
		},
		"  preset: rag\n  closed_loop: {concurrency: 4}\n": func(w *Workload) bool {
			return w.Arrivals == nil && w.ClosedLoop.Concurrency == 4
		},
		"  preset: rag\n  closed_loop: null\n  trace: null\n": func(w *Workload) bool { return w.Arrivals != nil },
		"  preset: reasoning\n  clients: null\n": func(w *Workload) bool {
			return w.Clients == nil && w.Reasoning != nil
		},
		"  preset: null\n  closed_loop: {concurrency: 4}\n  lengths: {values: [[5, 5]]}\n": func(w *Workload) bool {
			return w.PromptTokens == nil && w.ClosedLoop.Concurrency == 4
		},
	} {
		s, err := Read("mine.yaml", []byte(begun(workload)), Options{})
		require.NoError(t, err, workload)
		assert.True(t, want(&s.Workload), "%s\n%s", workload, s.YAML())
	}
	s, err := Read("mine.yaml", []byte(begun("  preset: chat\n")), Options{Set: []string{"workload.arrivals.rate=2"}})
	require.NoError(t, err)
	assert.InDelta(t, 2, s.Workload.Arrivals.Rate, 0)
}

func TestAWrongPresetIsSaidWhereItStands(t *testing.T) {
	_, err := Read("mine.yaml", []byte(begun("  preset: chta\n")), Options{})
	require.ErrorContains(t, err, `mine.yaml:4:11: workload.preset: preset "chta" not found; did you mean "chat"`)
	_, err = Read("mine.yaml", []byte(begun("  preset: [chat]\n")), Options{})
	require.ErrorContains(t, err, "mine.yaml:4:3: workload.preset: expected text, got a list")
	_, err = Read("mine.yaml", []byte(begun("  preset: chat\n  preset: code\n")), Options{})
	require.ErrorContains(t, err, "mine.yaml:5:3: workload.preset")
	_, err = Read("mine.yaml", []byte(begun("  preset: chat\n  arrivals: {rate: -1}\n")), Options{})
	require.ErrorContains(t, err, "mine.yaml:5:14: workload.arrivals.rate")
	_, err = Load("chat-8b", Options{Set: []string{"workload.preset=code"}})
	require.ErrorContains(t, err, "can only stand in the file of a scenario")
}
