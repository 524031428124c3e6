package groundtruth_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/measuredtest"
)

const (
	acceptanceTable = "model,method,curve,thinking,draft_tokens,accept_len,accept_rate,dataset,hardware,run\n" +
		"deepseek-r1,mtp,c_mtp,on,1,1.84,0.84,coding,B300 vLLM,1\ndeepseek-r1,mtp,c_mtp,off,1,1.9,0.9,coding,B300 vLLM,1\n"
	fitTable = "engine,hardware,model,tp,decode_bs_threshold,prefill_a_ms,prefill_b_ms_per_tok,dec_small_a,dec_large_a\n" +
		"vllm,a100-80g-sxm,facebook/opt-13b,2,95,27.4,0.09,24.5,17.9\n"
)

func TestWhatIsNoMeasurementIsKeptWithoutValues(t *testing.T) {
	f, err := measuredtest.ReadText(t, acceptanceTable)
	require.NoError(t, err)
	assert.Equal(t, "acceptance lengths", f.Schema)
	require.Len(t, f.Runs, 2)
	assert.Equal(t, []measured.Row{{ID: "c_mtp/on/1", Request: -1}}, f.Runs[0].Rows)
	assert.Equal(t, []measured.Row{{ID: "c_mtp/off/1", Request: -1}}, f.Runs[1].Rows)
	assert.Equal(t, "an acceptance length, which simulations take and do not predict", f.Runs[0].Skip)
	assert.Equal(t, "deepseek-r1", f.Runs[0].Labels.Model)

	f, err = measuredtest.ReadText(t, fitTable)
	run := measuredtest.OneRun(t, f, err)
	assert.Equal(t, "fitted step times", f.Schema)
	assert.Equal(t, []measured.Row{{ID: "vllm/facebook/opt-13b/tp2", Request: -1}}, run.Rows)
	assert.Equal(t, "a fit by others, not a measurement", run.Skip)
	assert.Equal(t, "a100-sxm-80gb", run.Labels.GPU)
}

func TestAnAcceptanceLengthCannotExceedItsDrafts(t *testing.T) {
	for _, length := range []string{"0.9", "2.1"} {
		_, err := measuredtest.ReadText(t, measuredtest.TableOf([]string{
			"model", "m", "method", "mtp", "curve", "c", "thinking", "on", "draft_tokens", "1", "accept_len", "1.5",
			"accept_rate", "0.5",
		}, []string{"accept_len", length}))
		assert.EqualError(t, err, `data:2: accept_len: "`+length+`"; expected tokens of a step, from 1 to 1 + draft_tokens`)
	}
}

func TestEverySharedRowWithoutMeasurementIsKept(t *testing.T) {
	for file, n := range map[string]int{"E_golden_accept_len.csv": 112, "F_distserve_fits.csv": 14} {
		f := measuredtest.ReadShared(t, file)
		assert.Equal(t, n, measuredtest.CountRows(t, f), file)
		assert.Zero(t, measuredtest.SkipReasons(f)[""], file)
		assert.Len(t, measuredtest.SkipReasons(f), 1, file)
	}
}
