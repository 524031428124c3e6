package catalog

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
)

// TestBlocksOfScalesHalveProductsOnHopper: what is said of kernels is what their table says, of shapes that have both
// formats and more than 128 rows to an expert.
func TestBlocksOfScalesHalveProductsOnHopper(t *testing.T) {
	file, err := os.Open(filepath.Join(os.Getenv("DECODESIM_SHARED"), "groundtruth", "H_moe.csv"))
	if err != nil {
		t.Skip("no table of kernels: set DECODESIM_SHARED to the folder that has groundtruth/")
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	quickest := map[string]map[string]float64{}
	for _, row := range rows[1:] {
		field := func(name string) string { return row[at[name]] }
		number := func(name string) float64 {
			x, err := strconv.ParseFloat(field(name), 64)
			require.NoError(t, err)
			return x
		}
		gpu := field("gpu")
		if field("engine") != "trtllm" || field("flag") != "" || field("routing") != "bal" || field("moe_ep") != "1" ||
			gpu != "H100" && gpu != "H200" && gpu != "B300" && gpu != "GB200" || number("rows_per_expert") <= 128 {
			continue
		}
		shape := fmt.Sprintln(gpu[:1] != "H", gpu, field("model_shape"), field("moe_tp"), field("num_tokens"))
		if quickest[shape] == nil {
			quickest[shape] = map[string]float64{}
		}
		of, us := quickest[shape], number("latency_us")
		if before, ok := of[field("moe_dtype")]; !ok || us < before {
			of[field("moe_dtype")] = us
		}
	}
	times := map[bool][]float64{}
	for shape, of := range quickest {
		if block, tensor := of["fp8_block"], of["fp8"]; block > 0 && tensor > 0 {
			times[shape[:5] == "false"] = append(times[shape[:5] == "false"], block/tensor)
		}
	}
	slices.Sort(times[true])
	slices.Sort(times[false])
	hopper, blackwell := times[true], times[false]
	assert.Len(t, hopper, 68)
	assert.InDelta(t, scaledByMatrix, hopper[len(hopper)/2], 0.05)
	assert.Greater(t, hopper[len(hopper)/10], 1.5)
	assert.InDelta(t, 1, blackwell[len(blackwell)/2], 0.15)
}

// TestKernelsSayNothingOfWhatServersWereFittedTo: a fit to servers of the model replaces what its kernels say.
func TestKernelsSayNothingOfWhatServersWereFittedTo(t *testing.T) {
	assert.Len(t, fromKernels("tensorrt-llm", nil), 1)
	assert.Len(t, fromKernels("tensorrt-llm", []catalog.ModelEfficiency{{Model: "mixtral-8x7b", Weights: "bf16"}}), 1)
	assert.Empty(t, fromKernels("tensorrt-llm", []catalog.ModelEfficiency{{Model: "mixtral-8x7b", Weights: "fp8"}}))
	assert.Empty(t, fromKernels("vllm", nil))
}
