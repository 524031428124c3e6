package hardware_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
)

// gpu and model return entries of the catalogs, and efficiency the one of an engine on a GPU without measurements.
func gpu(t testing.TB, name string) hardware.GPU {
	g, err := catalog.GPU(name)
	require.NoError(t, err)
	return g
}

func model(t testing.TB, name string) llm.Model {
	m, err := catalog.Model(name)
	require.NoError(t, err)
	return m
}

func efficiency(t testing.TB, engine string) hardware.Efficiency {
	e, err := catalog.Engine(engine)
	require.NoError(t, err)
	achieved, err := catalog.EfficienciesOf(e.Efficiency)
	require.NoError(t, err)
	return achieved.Default
}

// deployment returns the model as its checkpoint stores it on t-way tensor-parallel GPUs under the textbook engine.
func deployment(t testing.TB, modelName, gpuName string, tensor int) hardware.Deployment {
	d := hardware.Deployment{
		GPU: gpu(t, gpuName), Model: model(t, modelName), KVDtype: "bf16", Efficiency: efficiency(t, "textbook"),
		Parallel: hardware.Parallel{Tensor: tensor, Pipeline: 1},
	}
	require.NoError(t, d.Validate())
	return d
}

// randomEfficiency draws what no engine may have but every engine could.
func randomEfficiency(r *rand.Rand) hardware.Efficiency {
	share := func() float64 { return 1 - 0.95*r.Float64() }
	span := func() float64 { return r.Float64() * 1e-4 }
	return hardware.Efficiency{
		Bandwidth: share(), Compute: share(), MoECompute: share(), KVBandwidth: share(), AttentionCompute: share(),
		Link: share(), CollectiveScale: []float64{0, 1, 0.5 + r.Float64()}[r.IntN(3)],
		LayerS: span(), MoELayerS: span(), MixerLayerS: span(), StepS: span(), SequenceS: span(), CollectiveS: span(),
		QuantizedCompute: []float64{0, 1, share()}[r.IntN(3)], MixedKV: []float64{0, 1,
			1 + 2*r.Float64()}[r.IntN(3)], EagerLayerS: []float64{0, span()}[r.IntN(2)],
		QuantizedLayerS: []float64{0, span()}[r.IntN(2)], MoERows: []float64{0, 200 * r.Float64()}[r.IntN(2)],
		MoETileRows: []float64{0, 100 * r.Float64()}[r.IntN(2)], MoECopyBytes: []float64{0, 30 * r.Float64()}[r.IntN(2)],
		LatentCompute: []float64{0, share()}[r.IntN(2)], ExpertImbalance: []float64{0, 0.5, 1}[r.IntN(3)],
		LaunchOverlap: []float64{0, 1, 2, 1000}[r.IntN(4)],
		ExpertSkew:    []float64{0, 2 * r.Float64()}[r.IntN(2)],
		PromptLayerS:  []float64{0, span()}[r.IntN(2)], RankS: []float64{0, 10 * span()}[r.IntN(2)],
		PromptLaunch: []float64{0, 10 * r.Float64()}[r.IntN(2)], EagerLaunch: []float64{0, 20 * r.Float64()}[r.IntN(2)],
		SequenceHostS: []float64{0, 10 * span()}[r.IntN(2)],
		Overlap:       []float64{1, 1.5, 2, 8, 400, math.Inf(1)}[r.IntN(6)],
	}
}

// decorate perhaps turns on whatever d can have: ranks, stages, graphs, a slow host, sparse weights and another kernel.
func decorate(r *rand.Rand, d *hardware.Deployment) {
	plain, sometimes := *d, func() bool { return r.IntN(3) == 0 }
	if d.Model.Experts() > 0 && sometimes() {
		d.Parallel.Data, d.Parallel.Expert = []int{1, 2, 3, 4, 16}[r.IntN(5)], r.IntN(2) == 0
		if d.Parallel.Data > 1 && sometimes() {
			d.Parallel.AllToAll = hardware.AllGather
		}
		if d.Parallel.Data > 1 && d.Parallel.Expert && sometimes() {
			d.Parallel.AllToAll = []hardware.AllToAll{hardware.LowLatency, hardware.Normal,
				hardware.OneSided}[r.IntN(3)]
		}
		if d.Parallel.Data > 1 && sometimes() {
			d.Parallel.Overlap = []hardware.BatchOverlap{hardware.SingleBatch, hardware.TwoBatch}[r.IntN(2)]
		}
	}
	if d.Model.Experts() > 0 && sometimes() {
		d.Routing.Skew, d.Routing.Balanced = []float64{0, 0.3, 2}[r.IntN(3)], d.Parallel.Expert && r.IntN(2) == 0
		if gpus := d.Parallel.Tensor * d.Parallel.Ranks(); d.Routing.Balanced && d.Model.Experts()%gpus == 0 {
			d.Routing.Redundant = gpus * r.IntN(4)
		}
	}
	d.Parallel.NCCL = sometimes()
	d.Parallel.Engine = []string{"", "vllm", "sglang", "tensorrt-llm"}[r.IntN(4)]
	if sometimes() {
		d.Parallel.Pipeline = 1 + r.IntN(min(4, d.Model.LayerCount()))
	}
	if sometimes() {
		d.Launch.Graphs = hardware.CaptureSizes(1 + r.IntN(100))
	}
	if sometimes() {
		d.Efficiency.StepS = r.Float64() * 0.02
	}
	d.Launch.Eager, d.Launch.Async, d.Materialized = sometimes(), sometimes(), sometimes()
	d.Phase = hardware.Phase(r.IntN(3))
	d.PerHead = !d.Materialized && sometimes()
	d.AttentionFP8 = d.KVDtype == "fp8" && d.GPU.FLOPS.FP8.Known() && sometimes()
	if d.Validate() != nil {
		*d = plain
	}
	sparse, err := d.Model.WithSparsity("2:4")
	if err == nil && sometimes() {
		dense := d.Model
		d.Model = sparse
		if d.Validate() != nil {
			d.Model = dense
		}
	}
}

// fitting narrows d to the smallest power-of-two tensor-parallel size that holds it; false: none up to 64.
func fitting(d *hardware.Deployment) bool {
	d.Parallel.Pipeline = 1
	for d.Parallel.Tensor = 1; d.Parallel.Tensor <= 64; d.Parallel.Tensor *= 2 {
		if d.Validate() != nil {
			continue
		}
		if _, err := d.Memory(0.92, 2048, 256, 16); err == nil {
			return true
		}
	}
	return false
}

// everyDeployment visits each accelerator × model × weights of the catalogs that fits, or one in so many of them, with
// three cache dtypes, and returns how many there are and how many do not fit.
func everyDeployment(t *testing.T, every int, visit func(d hardware.Deployment)) (visited, unfit int) {
	var models []llm.Model
	for _, name := range catalog.ModelNames() {
		models = append(models, model(t, name))
	}
	others := 0
	for _, gpuName := range catalog.GPUNames() {
		d := hardware.Deployment{GPU: gpu(t, gpuName), Efficiency: efficiency(t, "vllm-v1")}
		for _, m := range models {
			for _, weights := range append([]string{""}, llm.Dtypes()...) {
				others++
				if others%every != 0 {
					continue
				}
				d.Model = m
				if weights != "" {
					var err error
					d.Model, err = m.WithWeights(weights)
					require.NoError(t, err)
				}
				for _, d.KVDtype = range []string{"bf16", "fp8", hardware.KVDtypes()[2+others%4]} {
					if !fitting(&d) {
						unfit++
						continue
					}
					visited++
					visit(d)
				}
			}
		}
	}
	return visited, unfit
}
