package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/policies/schedulers"
)

func TestEverythingBuiltInIsListedAndShown(t *testing.T) {
	for kind, names := range map[string][]string{
		"models": catalog.ModelNames(), "gpus": catalog.GPUNames(), "engines": catalog.EngineNames(),
		"scenarios": configs.ScenarioNames(),
	} {
		status, out, errOut := try("list", kind)
		require.Equal(t, exitOK, status, errOut)
		for _, name := range names {
			assert.Contains(t, out, "\n"+name+" ", kind)
			status, text, _ := try("show", name)
			assert.Equal(t, exitOK, status)
			assert.Contains(t, text, "name: "+name)
		}
	}
}

func TestNoNameIsBuiltInTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range catalog.FileNames() {
		assert.False(t, seen[name], name)
		seen[name] = true
	}
}

// TestAnEngineAndItsEfficienciesMayShareAName: the name is the engine's, and the efficiencies are found with their
// catalog.
func TestAnEngineAndItsEfficienciesMayShareAName(t *testing.T) {
	for _, name := range []string{"sglang", "textbook"} {
		_, engine, _ := try("show", name)
		_, same, _ := try("show", "engines/"+name)
		status, efficiencies, _ := try("show", "efficiencies/"+name)
		assert.Equal(t, exitOK, status)
		assert.Equal(t, engine, same)
		assert.Contains(t, engine, "\nscheduler: ")
		assert.Contains(t, efficiencies, "\n  bandwidth: ")
	}
	for written, name := range map[string]string{"H200": "h200-sxm", "8xH100": "h100-sxm",
		"Qwen/Qwen3-32B-FP8": "qwen3-32b"} {
		_, want, _ := try("show", name)
		status, have, _ := try("show", written)
		assert.Equal(t, exitOK, status)
		assert.Equal(t, want, have, "as people write it: %s", written)
	}
	status, _, errOut := try("show", "gpus/sglang")
	assert.Equal(t, exitBadInput, status)
	assert.Contains(t, errOut, `nothing built in is called "gpus/sglang"`)
}

func TestEveryPolicySaysWhatItDoes(t *testing.T) {
	_, out, _ := try("list", "policies")
	for _, names := range [][]string{routers.Names(), routers.SplitterNames(), schedulers.Names(), schedulers.OrderNames(),
		{"lpm", "dfs-weight"}} {
		for _, name := range names {
			assert.Contains(t, out, "\n"+name+" ")
		}
	}
	policies, err := describe.Tables("policies")
	require.NoError(t, err)
	for _, row := range policies[1:] {
		assert.NotEmpty(t, row[2], row[0])
	}
}

func TestVersionNamesTheProgram(t *testing.T) {
	status, out, _ := try("version")
	assert.Equal(t, exitOK, status)
	assert.True(t, strings.HasPrefix(out, "decodesim test "), out)
}

func TestScenariosComplete(t *testing.T) {
	status, out, _ := try("__complete", "run", "")
	assert.Equal(t, exitOK, status)
	assert.True(t, strings.Contains(out, "\nchat-70b\nchat-8b\n"), out)
}
