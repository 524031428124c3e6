package configs

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// measuredDir finds the measured runs.
func measuredDir(t *testing.T) string {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "shared")
	}
	dir := filepath.Join(shared, "groundtruth")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no measured runs: set DECODESIM_SHARED to the data folder (looked in %s)", shared)
	}
	return dir
}

// readRows returns the rows of a CSV file by column name.
func readRows(t *testing.T, file string) []map[string]string {
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	rows := make([]map[string]string, 0, len(records)-1)
	for _, record := range records[1:] {
		row := map[string]string{}
		for i, name := range records[0] {
			row[name] = record[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// catalogModel returns the catalog's name of a published checkpoint.
func catalogModel(repository string) string {
	name := strings.ToLower(repository[strings.Index(repository, "/")+1:])
	for _, suffix := range []string{"-17b-16e-instruct-fp8-dynamic", "-hf", "-v0.1", "-instruct", "-instruct-2407"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if name == "mistral-nemo" {
		name = "mistral-nemo-12b"
	}
	return name
}

// catalogGPU returns the catalog's name of a system. The A100s of the data do not say their memory: 80 GB is assumed.
func catalogGPU(system string) string {
	if system == "a100_sxm" {
		return "a100-sxm-80gb"
	}
	return strings.ReplaceAll(system, "_", "-")
}

// loadText loads a scenario that this version must understand; the reason is why no replica of it can be built.
func loadText(t *testing.T, text string) (s *Scenario, reason string) {
	file := filepath.Join(t.TempDir(), "measured.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	s, err := Load(file, Options{})
	require.NoError(t, err, text)
	if _, err := s.Replica(); err != nil {
		_, why, _ := strings.Cut(err.Error(), ": ")
		return nil, "no such replica: " + why
	}
	return s, ""
}

func measured(t *testing.T, text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return x
}
