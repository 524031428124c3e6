package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

func TestPathsOfAScenarioStartFromItsFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.yaml")
	require.NoError(t, os.WriteFile(path, []byte("model: hf/config.json\npools:\n  - {gpu: h100-sxm, efficiency: "+
		"'fit.yaml', name: a}\n"), 0o600))
	f, err := measuredtest.ReadResult(t, "vllm_rate.json")
	require.NoError(t, err)
	require.NoError(t, f.On(path))
	assert.True(t, strings.HasPrefix(f.Runs[0].Scenario, "model: "+filepath.Join(dir, "hf", "config.json")+
		"\npools:\n  - {gpu: h100-sxm, efficiency: '"+filepath.Join(dir, "fit.yaml")+"', name: a}\n"), f.Runs[0].Scenario)
	err = f.On(filepath.Join(dir, "other.yaml"))
	assert.ErrorContains(t, err, "no such file, and none of the scenarios that are built in (")
}

func TestAScenarioOfAnotherModelIsRefused(t *testing.T) {
	f, err := measuredtest.ReadResult(t, "vllm_rate.json")
	require.NoError(t, err)
	require.NoError(t, f.On("chat-70b"))
	s, err := configs.Read("chat-70b", []byte(f.Runs[0].Scenario), configs.Options{})
	require.NoError(t, err)
	assert.EqualError(t, f.Runs[0].Label(s),
		"run data was measured with model llama-3.1-8b; got a scenario with model "+s.Model.Config+
			"; expected one with the model that was measured")
	f.Runs[0].Labels.Model = "our-own-8b"
	assert.NoError(t, f.Runs[0].Label(s), "a name that no catalog has may be any model")
}
