package configs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/slo"
)

// TestRulesStandInPlaceOfLimitsOrBesideThem: as a list, as text, under their key, and with the colon that YAML takes
// for a mapping; each reloads to the same.
func TestRulesStandInPlaceOfLimitsOrBesideThem(t *testing.T) {
	two := slo.Lines{"ttft p95 <= 1s", "90% of requests: ttft <= 500ms and tpot <= 40ms"}
	for text, want := range map[string]SLO{
		"slo: ['ttft p95 <= 1s', '90% of requests: ttft <= 0.5s and tpot <= 40ms']":     {Rules: two},
		"slo:\n  - TTFT p95 ≤ 1 s\n  - 90% of requests: ttft <= 500ms and tpot <= 40ms": {Rules: two},
		"slo: ttft p95 <= 1s, 90% of requests:ttft <= 500ms and tpot <= 40ms":           {Rules: two},
		"slo: {ttft_ms: 500, rules: [itl p99 < 200ms]}": {
			TTFTMS: 500, Rules: slo.Lines{"itl p99 < 200ms"},
		},
		"slo: {ttft_ms: 500}": {TTFTMS: 500},
	} {
		inDir(t, with("seed: 5", text))
		s, err := Load("chat.yaml", Options{})
		require.NoError(t, err, text)
		require.Equal(t, want, s.SLO, text)
		require.NoError(t, os.WriteFile("again.yaml", s.YAML(), 0o600))
		again, err := Load("again.yaml", Options{})
		require.NoError(t, err, string(s.YAML()))
		require.Equal(t, want, again.SLO, text)
	}
	inDir(t, with("seed: 5", "slo: {ttft_ms: 500}"))
	s, err := Load("chat.yaml", Options{Set: []string{"slo=90% of requests: ttft<=500ms and tpot<=40ms, itl max<1s"}})
	require.NoError(t, err)
	require.Equal(t, SLO{TTFTMS: 500, Rules: slo.Lines{two[1], "itl max < 1s"}}, s.SLO)
	s, err = Load("chat.yaml", Options{
		Env: []string{"DECODESIM_SLO_RULES=['itl max < 1s']"}, Set: []string{"slo.rules=null"},
	})
	require.NoError(t, err)
	require.Equal(t, SLO{TTFTMS: 500}, s.SLO)
}

func TestClassesHaveRulesOfTheirOwn(t *testing.T) {
	inDir(t, with("requests: 10",
		"requests: 10\n  classes: [{name: a, share: 0.5, slo: [ttft p95 <= 1s]}, {name: b, share: 0.5}]"))
	s, err := Load("chat.yaml", Options{})
	require.NoError(t, err)
	require.Equal(t, &ClassSLO{Rules: slo.Lines{"ttft p95 <= 1s"}}, s.Workload.Classes[0].SLO)
	require.Nil(t, s.Workload.Classes[1].SLO)
	s, err = Load("chat.yaml", Options{Set: []string{"workload.classes.b.slo=itl p95 <= 9ms"}})
	require.NoError(t, err)
	require.Equal(t, &ClassSLO{Rules: slo.Lines{"itl p95 <= 9ms"}}, s.Workload.Classes[1].SLO)
}

func TestWrongRulesAreRefusedWhereTheyStand(t *testing.T) {
	for text, want := range map[string]string{
		"slo: ['ttfb p95 <= 1s']": `slo.rules: "ttfb p95 <= 1s": latency "ttfb" not found; did you mean "ttft"?`,
		"slo: [ttft p95 <= 1]":    `slo.rules: "ttft p95 <= 1": 1 has no unit; expected s, ms or µs, such as 1ms`,
		"slo: 5":                  "slo.rules: expected a list of rules such as ",
		"slo: []":                 "slo.rules: is empty; expected a list of rules such as ",
		"slo: {rules: [[a]]}":     "slo.rules: expected a list of rules such as ",
		"slo: {rule: [a]}":        `slo.rule: unknown key; did you mean "rules"?`,
	} {
		inDir(t, with("seed: 5", text))
		_, err := Load("chat.yaml", Options{})
		assert.ErrorContains(t, err, "chat.yaml:", text)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestAStudyHasRulesOrAnAttainment(t *testing.T) {
	study := func(text string) (*Study, error) {
		path := filepath.Join(t.TempDir(), "study.yaml")
		require.NoError(t, os.WriteFile(path, []byte("scenario: chat-70b\nbudget: {gpus: 8}\nrate: {at: 1}\n"+text), 0o600))
		return LoadStudy(path, nil)
	}
	for text, want := range map[string]float64{
		"": DefaultAttainment, "slo: {ttft_ms: 9}": DefaultAttainment, "slo: [ttft p95 <= 1s]": 0,
		"slo: {ttft_ms: 9, rules: [ttft p95 <= 1s]}\nattainment: 0.5": 0.5,
	} {
		s, err := study(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, s.Attainment, text)
		path := filepath.Join(t.TempDir(), "again.yaml")
		require.NoError(t, os.WriteFile(path, s.YAML(), 0o600))
		again, err := LoadStudy(path, nil)
		require.NoError(t, err, string(s.YAML()))
		assert.Equal(t, s.SLO, again.SLO, text)
		assert.Equal(t, want, again.Attainment, text)
	}
	_, err := study("slo: [ttft p95 <= 1s]\nattainment: 0.5")
	require.ErrorContains(t, err, "attainment: 0.5, but slo has rules alone, which say it themselves; expected null")
}
