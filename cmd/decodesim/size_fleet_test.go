package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/sizing"
	"github.com/decodesim/decodesim/internal/soak"
)

// member is a study of a fleet that is searched in a moment.
const member = "scenario: chat-8b\nrate: {at: 20}\nslo: {ttft_ms: 500, tpot_ms: 40}\nrequests: 400\nseeds: 1\n"

func TestAFleetSharesItsBudget(t *testing.T) {
	soak.TakesLong(t)
	inDir(t, handed)
	for name, text := range map[string]string{"a.yaml": member, "b.yaml": member,
		"fleet.yaml": "budget: {gpus: 16}\nfleet: [a.yaml, b.yaml]\n"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	status, out, errOut := try("size", "fleet.yaml", "--out", "out", "--json")
	require.Equal(t, exitOK, status, errOut)
	var f sizing.Fleet
	require.NoError(t, json.Unmarshal([]byte(out), &f))
	require.NotNil(t, f.Takes)
	by := f.Members[0].Deployed
	assert.Equal(t, by.Name, f.Members[1].Deployed.Name, "the same study, the same deployment")
	assert.Equal(t, sizing.Takes{GPUs: 2 * by.GPUs, USDPerHour: 2 * by.USDPerHour, PowerW: 2 * by.TDPW}, *f.Takes)
	assert.Positive(t, by.Spending.JPerOutputToken)
	assert.Positive(t, by.Spending.Split.USDPerMillionInputTokens)
	for _, name := range []string{"fleet.json", "a/size.json", "b/best.yaml"} {
		assert.FileExists(t, "out/"+name)
	}
	status, out, errOut = try("size", "fleet.yaml", "--set", "rate.at=40")
	require.Equal(t, exitOK, status, errOut)
	assert.Contains(t, out, "40 requests/s")
}

func TestFleetMistakes(t *testing.T) {
	inDir(t, handed)
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o600)) }
	write("a.yaml", member)
	write("most.yaml", strings.Replace(member, "at: 20", "min: 1, max: 9", 1)+"budget: {gpus: 4}\n")
	for fleet, want := range map[string]string{
		"fleet: []\n":                                   "fleet: is missing; expected studies",
		"fleet: [a.yaml, a.yaml]\n":                     `fleet: two studies are named "a"`,
		"fleet: [most.yaml]\n":                          `fleet: "most.yaml" searches for the most`,
		"fleet: [nowhere.yaml]\n":                       "nowhere.yaml",
		"fleet: [a.yaml]\nbudget: {gpu: 4}\n":           `budget.gpu: unknown key; did you mean "gpus"?`,
		"fleet: [a.yaml]\nbudget: {usd_per_hour: -1}\n": "budget",
		"fleet: [a.yaml]\nrates: 3\n":                   "rates: unknown key",
	} {
		write("fleet.yaml", fleet)
		status, out, errOut := try("size", "fleet.yaml", "--out", "x")
		assert.Equal(t, exitBadInput, status, fleet)
		assert.Empty(t, out)
		assert.Contains(t, errOut, want)
		assert.Equal(t, 1, strings.Count(errOut, "\n"), errOut)
	}
	write("fleet.yaml", "fleet: [a.yaml]\n")
	_, _, errOut := try("size", "fleet.yaml", "--budget-gpus", "4")
	assert.Contains(t, errOut, `--budget-gpus 4 beside "fleet.yaml", a fleet`)
	assert.NoFileExists(t, "x")
}
