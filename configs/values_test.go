package configs

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestValuesAreWhatSetTakes gives every value of a scenario back by --set: nothing changes.
func TestValuesAreWhatSetTakes(t *testing.T) {
	for _, name := range ScenarioNames() {
		s, err := Load(name, Options{})
		require.NoError(t, err)
		var set []string
		for _, v := range s.Values() {
			if v.Text != "null" && v.Key != "name" && v.Text[0] != '"' {
				set = append(set, v.Key+"="+v.Text)
			}
		}
		require.Greater(t, len(set), 20, name)
		again, err := Load(name, Options{Set: set})
		require.NoError(t, err)
		assert.Equal(t, s.Values(), again.Values())
	}
}

func TestValuesDifferWhereScenariosDo(t *testing.T) {
	values := func(set ...string) map[string]string {
		s, err := Load("chat-70b", Options{Set: set})
		require.NoError(t, err)
		m := map[string]string{}
		for _, v := range s.Values() {
			m[v.Key] = v.Text
		}
		return m
	}
	before, after := values(), values("pools.serve.replicas=3", "workload.timeout_s=9")
	assert.Equal(t, "2", before["pools.serve.replicas"])
	assert.Equal(t, "null", before["workload.timeout_s"])
	maps.DeleteFunc(after, func(key, text string) bool { return before[key] == text })
	assert.Equal(t, map[string]string{"pools.serve.replicas": "3", "workload.timeout_s": "9"}, after)
}
