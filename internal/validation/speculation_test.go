package validation

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
)

const draftedRuns = "A3_gptoss120b_h200_vllm022.csv"

// acceptedByPosition reads, by run, how often the server accepted each draft if it had accepted the ones before. The
// table counts each draft over all steps.
func acceptedByPosition(t *testing.T) map[string][]string {
	shared := os.Getenv("DECODESIM_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	f, err := os.Open(filepath.Join(shared, "groundtruth", draftedRuns))
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	id, accepted := slices.Index(rows[0], "id"), slices.Index(rows[0], "spec_accept_per_pos")
	require.False(t, id < 0 || accepted < 0)
	rates := map[string][]string{}
	for _, row := range rows[1:] {
		before := 1.0
		for _, field := range strings.Fields(row[accepted]) {
			x, err := strconv.ParseFloat(field, 64)
			require.NoError(t, err)
			rates[row[id]] = append(rates[row[id]], strconv.FormatFloat(x/before, 'f', 6, 64))
			before = x
		}
	}
	return rates
}

// tpot returns what a run's mean TPOT is simulated and measured to be, in milliseconds.
func tpot(t *testing.T, run *measured.Run) (simulated, was float64) {
	for _, p := range predictUnder(context.Background(), run, configs.Options{}, nil) {
		if p.Value.Name == measured.TPOT.String() {
			require.Empty(t, p.Skip, run.ID)
			return p.Predicted, p.Value.Measured
		}
	}
	require.Fail(t, "no TPOT", run.ID)
	return 0, 0
}

// TestDraftsGainInWholeRunsWhatWasMeasured: TPOT with drafts over TPOT without, both of whole closed loops, with each
// draft accepted as often as the server's counters say. The server's steps with drafts took no part in any fit.
func TestDraftsGainInWholeRunsWhatWasMeasured(t *testing.T) {
	runs := publicRuns(t, draftedRuns)
	rates := acceptedByPosition(t)
	find := func(drafts, clients int) measured.Run {
		id := fmt.Sprintf("A3-ns%d-sweep_c%d", drafts, clients)
		k := slices.IndexFunc(runs, func(r measured.Run) bool { return r.ID == id })
		require.GreaterOrEqual(t, k, 0, id)
		return runs[k]
	}
	var errs []float64
	for _, clients := range []int{1, 4, 8, 32, 64} {
		plain := find(0, clients)
		without, withoutWas := tpot(t, &plain)
		for _, drafts := range []int{1, 7} {
			run := find(drafts, clients)
			require.Len(t, rates[run.ID], drafts)
			run.Skip = ""
			run.Scenario = plain.Scenario +
				fmt.Sprintf(
					"speculation: {method: eagle, num_speculative_tokens: %d, acceptance: {process: per-position, rates: [%s]}}\n",
					drafts, strings.Join(rates[run.ID], ", "))
			with, withWas := tpot(t, &run)
			got, want := with/without, withWas/withoutWas
			errs = append(errs, math.Abs(got/want-1))
			t.Logf(
				"%2d clients, %d drafts: TPOT × %.3f, measured × %.3f (%+.1f %%); %.2f ms with and %.2f without, measured %.2f "+
					"and %.2f",
				clients, drafts, got, want, 100*(got/want-1), with, without, withWas, withoutWas)
		}
	}
	slices.Sort(errs)
	median := (errs[4] + errs[5]) / 2
	t.Logf("error of the ratio: median %.1f %%, largest %.1f %%", 100*median, 100*errs[9])
	assert.Less(t, median, 0.10)
}
