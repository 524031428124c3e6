package validation

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/sim"
)

// replicas are those whose steps are priced, by their scenario: a log has thousands of steps of each.
type replicas struct{ byScenario sync.Map }

// Steps gives measured steps the shapes by which they are priced.
type Steps struct{ replicas }

// Shape returns the shape of the step that a run is, and what prices steps of its deployment, or says why it cannot.
func (s *Steps) Shape(run *measured.Run, above configs.Options) (sim.Shape, *hardware.Roofline, string) {
	if run.Skip != "" {
		return sim.Shape{}, nil, run.Skip
	}
	r := s.of(run, above)
	if r.skip != "" {
		return sim.Shape{}, nil, r.skip
	}
	return stepShape(r.Replica, run.Priced.Step), r.Model, ""
}

// replica is one of them, or why there is none.
type replica struct {
	*build.Replica
	skip string
}

// predict prices what a run asks for and returns a prediction for each of its values.
func (c *replicas) predict(run *measured.Run, above configs.Options, with Efficiencies) []Prediction {
	seconds, bound, skip := c.price(run, above, with)
	var out []Prediction
	for i := range run.Rows {
		row := &run.Rows[i]
		for j := range row.Values {
			p := Prediction{Run: run, Row: row, Value: &row.Values[j], Skip: cmp.Or(skip, row.Values[j].Skip)}
			if p.Skip == "" && p.Value.Metric == measured.Duration && p.Value.Measured < p.Value.Unit.Of(bound) {
				p.Skip = impossible
			}
			if p.Skip == "" {
				p.Predicted = p.Value.Unit.Of(seconds)
			}
			out = append(out, p)
		}
	}
	return out
}

// impossible is why a step is not compared that was logged as shorter than its bytes and products take at peak: a log
// of an engine that plans ahead may count its time in the step before.
const impossible = "faster than the data sheet allows"

// price returns how many seconds what a run is priced by takes, of a step also how many at least, or why there is no
// price.
func (c *replicas) price(run *measured.Run, above configs.Options, with Efficiencies) (seconds, bound float64,
	skip string) {
	if run.Skip != "" {
		return 0, 0, run.Skip
	}
	if run.Priced.Step == nil {
		seconds, err := kernelSeconds(run, above, with)
		if err != nil {
			return 0, 0, err.Error()
		}
		return seconds, 0, ""
	}
	r := c.of(run, above)
	if r.skip != "" {
		return 0, 0, r.skip
	}
	seconds, bound = r.seconds(run, with)
	return seconds, bound, ""
}

// of builds the first pool of a run's scenario, once.
func (c *replicas) of(run *measured.Run, above configs.Options) *replica {
	if r, ok := c.byScenario.Load(run.Scenario); ok {
		return r.(*replica)
	}
	r := &replica{}
	s, err := configs.Read(run.ID, []byte(run.Scenario), above)
	if err == nil {
		r.Replica, err = build.FirstReplica(s)
	}
	var tooLarge *hardware.MemoryError
	if errors.As(err, &tooLarge) {
		r.Replica, err = fitted(run, s.Pools[0].Own("gpu_memory_utilization"), above)
	}
	if err != nil {
		r.skip = reason(run, err)
	}
	cached, _ := c.byScenario.LoadOrStore(run.Scenario, r)
	return cached.(*replica)
}

// stepMemoryShare is the share of its memory that a replica has whose default leaves no room. A step that was
// measured was run, and its price does not depend on the room for the cache.
const stepMemoryShare = "0.97"

// fitted builds a replica that does not fit by the default of its engine's argument, with a larger share of its memory.
func fitted(run *measured.Run, argument string, above configs.Options) (*build.Replica, error) {
	above.Set = append(slices.Clone(above.Set), "pools.0."+argument+"="+stepMemoryShare)
	s, err := configs.Read(run.ID, []byte(run.Scenario), above)
	if err != nil {
		return nil, err
	}
	return build.FirstReplica(s)
}

// kernelSeconds prices an operation, by what its cores move where it does not run on the default number of them.
func kernelSeconds(run *measured.Run, above configs.Options, with Efficiencies) (float64, error) {
	k := run.Priced.Kernel
	seconds, err := partSeconds(run, k, above, with)
	if k.SMs == 0 || err != nil {
		return seconds, err
	}
	one := *k
	one.Rows = 1
	floor, err := partSeconds(run, &one, above, with)
	return floor + float64((seconds-floor)*slower(k)), err
}

// partSeconds prices an operation as the part that it is of a step of a model of one layer: no formula of its own
// stands beside those of a step.
func partSeconds(run *measured.Run, k *measured.Kernel, above configs.Options, with Efficiencies) (float64, error) {
	gpu, err := catalog.GPU(k.GPU)
	if err != nil {
		return 0, err
	}
	d, batch, err := around(k)
	if err != nil {
		return 0, err
	}
	d.GPU = gpu
	if k.NetworkBps > 0 {
		d.GPU.NICBps.Value = k.NetworkBps
	}
	d.Efficiency, err = achievedBy(run, &d, above, with)
	if err != nil {
		return 0, err
	}
	if d.Efficiency.CollectiveScale > 0 {
		d.Efficiency.CollectiveS = 0 // which a collective takes within a model, and not alone
	}
	if k.Op == measured.Memory {
		return k.Bytes / (gpu.BandwidthBps.Value * d.Efficiency.Bandwidth), nil
	}
	if err := d.Validate(); err != nil {
		return 0, err
	}
	if k.Op == measured.Latent {
		return latentSeconds(k, d), nil
	}
	launch := k.LaunchS
	if k.Op == measured.Product {
		byItself(k, &d.Efficiency, d.Model.WeightBits(llm.Head)/8)
		launch += productStartS
	}
	tabled(&d.Efficiency)
	if k.Balanced {
		batch = balanced(k, &d)
	}
	part, share := partOf(k)
	for _, p := range hardware.NewRoofline(d, 0).Parts(batch, 1) {
		if p.Name == part {
			return float64(p.TimeS*share*cmp.Or(k.Part, 1)) + launch, nil
		}
	}
	return 0, errors.New("no part of a step is such an operation")
}

// What a product achieves by itself, and not within a step, where efficiencies are fitted to all that goes on beside
// it: a start, and shares of bandwidth and of peak, with bf16 and with fp8 or fp4. Fitted to 394 products in bf16 and
// fp8 of 1 to 16,384 rows, those of the layers of three models over 1 to 8 GPUs and squares, that we timed on an H100
// SXM 80 GB (cuBLAS of CUDA 13.0 through PyTorch 2.11, in a CUDA graph, weights not in the L2 cache): 3.8 % off in the
// median, 13.5 % nine times in ten; of a model left out of the fit, 3.5 to 6.0 % in the median. A second H100 was
// 3.5 % off the first in the median; an H200, which no fit saw, took longer: 362 products are 9.0 and 19.0 % off.
// Other GPUs are taken to be alike. tools/kernels times them.
const (
	productStartS           = 3.34e-6
	productBandwidth        = 0.866
	productCompute          = 0.784
	productQuantizedCompute = 0.748
	productOverlap          = 4.5
)

// byItself lets the products of a step achieve what one does by itself. What it moves beside its weights, rows·k
// elements and rows·n in bf16, takes its part of the bandwidth.
func byItself(k *measured.Kernel, e *hardware.Efficiency, elementBytes float64) {
	rows, n, in := float64(k.Rows), float64(k.Width), float64(k.Hidden)
	weights := float64(float64(n*in) * elementBytes)
	moved := float64(float64(rows*in)*elementBytes) + float64(2*rows*n)
	e.Bandwidth = productBandwidth * weights / (weights + moved)
	e.Compute, e.Overlap = productCompute, productOverlap
	e.QuantizedCompute = productQuantizedCompute / productCompute
}

// ceilDiv returns a / b, rounded up.
func ceilDiv(a, b int) int { return (a + b - 1) / b }

// defaultSMs is how many cores DeepEP's normal kernels take by default, which their tables are of.
const defaultSMs = 20

// withinHost is the part of a normal kernel's time that its cores need to move tokens over NVLink, by the hosts that it
// spans, while what goes over the network takes the rest: what 8 cores take against 20 of 4,096 tokens and more (DeepEP
// on H100 and H200, NVIDIA aiconfigurator, commit 095f58a5: 2.2 and 2.4 times as long on one host and two, 1.4 to 1.7
// on four and 1.0 to 1.1 on eight; 24 cores take 0.85 and, from four hosts on, as long).
func withinHost(hosts int) float64 {
	switch {
	case hosts <= 2:
		return 1
	case hosts <= 4:
		return 0.6
	}
	return 0.42
}

// slower returns by what the bytes of a normal kernel take longer on its cores than on the default number of them.
func slower(k *measured.Kernel) float64 {
	const host = 8
	within := withinHost(ceilDiv(k.GPUs, host))
	moved := within * defaultSMs / float64(k.SMs)
	if within == 1 {
		return moved
	}
	return max(1, moved)
}

// balanced returns the batch whose tokens, drawn at random, go to as many GPUs as those of k do, that avoid each other.
func balanced(k *measured.Kernel, d *hardware.Deployment) int {
	reached := float64(min(k.TopK, k.GPUs))
	return max(1, int(math.Round(float64(k.Rows)*reached/d.Reached(k.GPUs)))) * k.GPUs
}

// tabled lets tables of collectives count where the efficiencies do not say: a collective by itself is what they are
// of, and takes nothing beside.
func tabled(e *hardware.Efficiency) {
	if e.CollectiveScale == 0 {
		e.CollectiveScale, e.CollectiveS = 1, 0
	}
}

// achievedBy returns what with says, or the efficiencies that stand above every scenario, or what is built in for the
// engine of a kernel; for one that nobody measures, what all engines have in common.
func achievedBy(run *measured.Run, d *hardware.Deployment, above configs.Options,
	with Efficiencies) (e hardware.Efficiency, err error) {
	if with != nil {
		return with(run, d), nil
	}
	set := "global"
	if k := run.Priced.Kernel; slices.Contains(catalog.EfficiencyNames(), k.Engine) {
		set = k.Engine
	}
	for _, assignment := range above.Set {
		if name, ok := strings.CutPrefix(assignment, efficiencyAbove); ok {
			set = name
		}
	}
	if catalog.IsEfficiencyPath(set) {
		return catalog.LoadEfficiency(set)
	}
	sets, err := catalog.EfficienciesOf(set)
	if err != nil {
		return e, err
	}
	e, _ = sets.For(d.GPU.Name, "", "")
	return e, nil
}

// latentSeconds prices a layer of attention as a step without what a step has beside it: of the time per layer half,
// for the other is of the feed-forward network, and what latents add to it. The attention without its projections is
// what the layer takes longer for the tokens that it attends to.
func latentSeconds(k *measured.Kernel, d hardware.Deployment) float64 {
	e := &d.Efficiency
	e.LayerS, e.MoELayerS = e.LayerS/2, 0
	e.QuantizedLayerS, e.StepS, e.SequenceS = 0, 0, 0
	e.SequenceHostS, e.EagerLayerS, e.EagerLaunch = 0, 0, 0 // a kernel by itself waits for no host
	r := hardware.NewRoofline(d, 0)
	whole := stepSeconds(r, latentShape(r, k, d.Windows()))
	if !k.AttentionOnly {
		return whole
	}
	none := *k
	none.Context = 1
	if k.Chunk > 0 { // as many tokens, each a prompt of its own
		none.Rows, none.Chunk = k.Rows*k.Chunk, 1
	}
	return whole - stepSeconds(r, latentShape(r, &none, d.Windows())) + k.LaunchS
}

// latentShape returns the batch of a layer's attention.
func latentShape(r *hardware.Roofline, k *measured.Kernel, windows []sim.Window) sim.Shape {
	if k.Chunk == 0 {
		return r.Shape(k.Rows, k.Context)
	}
	var b sim.Shape
	for range k.Rows {
		b.AddChunk(windows, int64(k.Context-k.Chunk), int64(k.Chunk), 1)
	}
	return b
}

func stepSeconds(r *hardware.Roofline, b sim.Shape) float64 {
	var g sim.Segment
	r.Price([]sim.Shape{b}, &g)
	return g.First.Seconds()
}

// partOf names the part of a step of that layer which an operation is, and its share of the part. The layer has an
// all-reduce after its attention and one after its feed-forward network, or a dispatch and a combine.
func partOf(k *measured.Kernel) (part string, share float64) {
	switch k.Op {
	case measured.AllReduce:
		return hardware.AllReducePart, 0.5
	case measured.Dispatch:
		return hardware.DispatchPart, 1
	case measured.Combine:
		return hardware.CombinePart, 1
	case measured.Product:
		return "LM head", 1
	}
	return "experts", 1
}

// around returns the deployment of a layer around an operation, and the batch of its step.
func around(k *measured.Kernel) (d hardware.Deployment, batch int, err error) {
	format, err := llm.FormatOf(cmp.Or(k.Dtype, "bf16"))
	if err != nil {
		return d, 0, err
	}
	const bf16Bytes = 2
	m := llm.Model{
		Name: "one layer", Hidden: k.Hidden, Vocab: 1, NormVectors: 1, Precision: llm.UniformPrecision(),
	}
	for c := range m.Precision.Weights {
		m.Precision.Weights[c] = format
	}
	layer := llm.LayerRun{Count: 1, Norms: 2}
	layer.Mixer.Attention = llm.SelfAttention{Heads: k.GPUs, KVHeads: k.GPUs, KeyDim: 1, ValueDim: 1}
	d = hardware.Deployment{KVDtype: "bf16", Parallel: hardware.Parallel{Tensor: 1, Pipeline: 1}}
	batch = k.Rows
	switch k.Op {
	case measured.AllReduce:
		// A message is the activations of a batch, whose hidden size only matters as a factor of its bytes.
		layer.FFN.Width, d.Parallel.Tensor = k.GPUs, k.GPUs
		d.Parallel.NCCL, d.Parallel.Engine = k.NCCL, k.Engine
		m.Hidden, batch = 64, max(1, int(float64(k.Bytes/(64*bf16Bytes))+0.5))
		if k.Bytes < 64*bf16Bytes {
			m.Hidden, batch = max(1, int(k.Bytes/bf16Bytes)), 1
		}
	case measured.Product, measured.Memory:
		layer.FFN.Width, m.Vocab = 1, max(1, k.Width)
	case measured.Latent:
		layer.Norms = 1
		layer.Mixer.Attention = llm.SelfAttention{Heads: k.Heads, KeyDim: 128, ValueDim: 128,
			Latent: llm.Latent{Rank: 512, QueryRank: 1536, RopeDim: 64}}
		d.KVDtype = cmp.Or(k.KVDtype, "bf16")
	default:
		layer.FFN = llm.FFN{Experts: k.Experts, ExpertWidth: k.Width, TopK: k.TopK, Groups: k.Groups,
			TopGroups: k.TopGroups}
		if k.Op != measured.Experts {
			d.Parallel.Data, d.Parallel.Expert, batch = k.GPUs, true, k.Rows*k.GPUs
			d.Parallel.AllToAll = hardware.AllToAll(k.Way)
		}
	}
	m.Layers = []llm.LayerRun{layer}
	d.Model = m
	return d, batch, nil
}
