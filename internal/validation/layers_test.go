package validation

import (
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/sim"
)

// TestConstantsOfServersPriceLayersThatWeTimed: what was fitted to latencies of servers alone says how long a layer
// takes, which tools/kernels/layers.py timed in bf16 on an H100 SXM 80 GB (PyTorch 2.11, CUDA 13.0). Prompts come out
// short, for what kernels between products move is in no part of the price.
func TestConstantsOfServersPriceLayersThatWeTimed(t *testing.T) {
	known, err := catalog.EfficienciesOf("vllm")
	require.NoError(t, err)
	gpu, err := catalog.GPU("h100-sxm")
	require.NoError(t, err)
	e, stated := known.For("h100-sxm", "", "")
	require.True(t, stated)
	e.StepS, e.SequenceHostS, e.EagerLayerS = 0, 0, 0 // a graph needs no host
	e.SequenceS = 0                                   // a layer chooses no token

	f, err := os.Open("testdata/layers-h100-sxm.csv")
	require.NoError(t, err)
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	off := map[string][]float64{}
	for _, row := range rows[1:] {
		var n [7]int // hidden size, query heads, KV heads, head size, width, rows, context
		for i := range 7 {
			n[i], err = strconv.Atoi(row[i+1])
			require.NoError(t, err)
		}
		took, err := strconv.ParseFloat(row[8], 64)
		require.NoError(t, err)
		layer := llm.LayerRun{Count: 1, Norms: 2, FFN: llm.FFN{Width: n[4]}}
		layer.Mixer.Attention = llm.SelfAttention{Heads: n[1], KVHeads: n[2], KeyDim: n[3], ValueDim: n[3]}
		d := hardware.Deployment{GPU: gpu, KVDtype: "bf16", Efficiency: e}
		d.Parallel = hardware.Parallel{Tensor: 1, Pipeline: 1}
		d.Model = llm.Model{Name: "a layer", Hidden: n[0], Vocab: 1, NormVectors: 1, Layers: []llm.LayerRun{layer},
			Precision: llm.UniformPrecision()}
		d.Launch.Async = true
		r := hardware.NewRoofline(d, 0)
		step := r.Step(n[5], n[6])
		if row[0] == "prefill" {
			var b sim.Shape
			b.AddChunk(d.Windows(), 0, int64(n[5]), 1)
			r.Price([]sim.Shape{b}, &step)
		}
		off[row[0]] = append(off[row[0]], math.Abs(step.First.Seconds()*1e6/took-1))
	}
	for kind, most := range map[string][2]float64{"decode": {0.06, 0.12}, "prefill": {0.08, 0.18}} {
		of := off[kind]
		slices.Sort(of)
		median, p90 := of[len(of)/2], of[len(of)*9/10]
		t.Logf("%s: %d layers, %.1f %% off in the median, %.1f %% nine times in ten", kind, len(of), 100*median, 100*p90)
		assert.Less(t, median, most[0], kind)
		assert.Less(t, p90, most[1], kind)
	}
}
