package sizing

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/load"
)

// shape is what a deployment repeats: one replica of each of its pools.
type shape struct {
	topology  string
	setting   setting
	several   bool              // GPUs are searched, so that names say which
	scenario  *configs.Scenario // with one replica in each pool
	load      *load.Load        // of the study, as every shape has it
	once      sync.Once         // of a shape that is built when it is asked for
	refused   string            // why there can be no such deployment; empty: there can
	tooLarge  *hardware.MemoryError
	packing   []packing // by pool
	models    []*hardware.Roofline
	gpus      []int     // of a replica, by pool
	pricesUSD []float64 // of a GPU-hour, by pool; 0: unknown
	tdpW      []float64 // of a GPU, by pool; 0: unknown
	warnings  []string  // what a run of it would warn of
	context   float64   // tokens, of the mean request half-way through its output
}

// setting is one choice of what a study varies; zero: the scenario's. What has no prefill pool has its own of both.
type setting struct {
	GPU, PrefillGPU       string
	Layout, PrefillLayout configs.Layout
	Seqs, Tokens          int
}

// shapeAll builds one replica of every shape. One that cannot be is kept, with the reason.
func (z *sizer) shapeAll() {
	for _, topology := range z.study.Search.Topology {
		if z.study.Rate.At > 0 && topology == configs.Disaggregated {
			z.shapes = append(z.shapes, z.likePairs()...)
			continue
		}
		for _, c := range z.settings(topology) {
			z.shapes = append(z.shapes, z.newShape(topology, c))
		}
	}
	_ = z.over(len(z.shapes), "what fits", func(i int) error {
		if z.ctx.Err() != nil {
			return z.ctx.Err()
		}
		s := z.shapes[i]
		s.once.Do(func() { z.tryShape(s) })
		return nil
	})
	for _, s := range z.shapes {
		z.load = cmp.Or(z.load, s.load)
	}
}

func (z *sizer) newShape(topology string, c setting) *shape {
	return &shape{topology: topology, setting: c, several: z.several}
}

// tryShape builds one replica of s, or notes why there can be none.
func (z *sizer) tryShape(s *shape) {
	if err := z.found(s); err != nil {
		s.refused = reason(err)
		errors.As(err, &s.tooLarge)
	}
}

// reason is what is wrong, without where: a study is no place that the user wrote, and neither is the scenario made of
// it.
func reason(err error) string {
	var at *strict.Error
	if errors.As(err, &at) {
		return at.Message
	}
	return err.Error()
}

// found gives s its scenario, and builds it once to see that it can be.
func (z *sizer) found(s *shape) error {
	set := s.overrides(poolsOf(z.base, s.topology))
	scenario, err := configs.Read(z.base.Name, z.textOf(s.topology), configs.Options{Set: set})
	if err != nil {
		return err
	}
	b, err := build.NewUntil(z.ctx, scenario)
	if err != nil {
		return err
	}
	defer b.Close()
	s.load, err = load.Of(b)
	if err != nil {
		return err
	}
	s.scenario = scenario
	for i, p := range b.Config.Pools {
		model, ok := p.Model.(*hardware.Roofline)
		if !ok {
			return fmt.Errorf("pool %q is not priced by its roofline, which the bound on capacity rests on", p.Name)
		}
		k := newPacking(model, &scenario.Pools[i], p, scenario.Speculation.DraftsMax())
		k.shares = p.PrefixCaching && b.Config.Contents != nil
		s.packing, s.models = append(s.packing, k), append(s.models, model)
		s.gpus = append(s.gpus, scenario.Pools[i].GPUs())
		price := 0.0
		if p := model.Deployment().GPU.Price; p.Known() {
			price = p.USDPerHour
		}
		s.pricesUSD = append(s.pricesUSD, price)
		s.tdpW = append(s.tdpW, model.Deployment().GPU.TDPW.Value)
	}
	s.warnings = b.Describe("", 0).Warnings
	s.context = b.PromptMean + float64(b.OutputMean/2)
	return nil
}

// textOf returns the scenario of a topology, written once.
func (z *sizer) textOf(topology string) []byte {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.texts == nil {
		z.texts = map[string][]byte{}
	}
	if z.texts[topology] == nil {
		s := *z.base
		s.Pools = poolsOf(z.base, topology)
		if topology == configs.Colocated {
			s.Disaggregation = nil
		}
		z.texts[topology] = s.YAML()
	}
	return z.texts[topology]
}

// poolsOf returns the pools of a topology, with those of the scenario as their pattern.
func poolsOf(s *configs.Scenario, topology string) []configs.Pool {
	if topology == configs.Colocated {
		return []configs.Pool{patterned(s, "serve", "decode")}
	}
	return []configs.Pool{patterned(s, "prefill", "serve"), patterned(s, "decode", "serve")}
}

// patterned returns a pool of a role like the one that the scenario has, or like that of another role. One that
// transfers KV and has no pattern does so by the defaults of configs.
func patterned(s *configs.Scenario, role, other string) configs.Pool {
	at := slices.IndexFunc(s.Pools, func(p configs.Pool) bool { return p.Role == role })
	if at < 0 {
		at = max(0, slices.IndexFunc(s.Pools, func(p configs.Pool) bool { return p.Role == other }))
	}
	p := s.Pools[at]
	p.Name, p.Role = role, role
	p.Replicas, p.ReplicasMax = 1, 0
	if role == "prefill" && s.Pools[at].Role != role {
		p.KVTransfer, p.FirstToken = "pull", "prefill"
		p.KVLink = "nic"
		p.KVLinkEfficiency, p.KVLinkLatencyS = hardware.TransferAchieves(p.KVLink)
	}
	return p
}

// overrides returns the settings of s for its pools. A batch is never asked to have more sequences than tokens, which
// engines refuse, unless the study asks for just that.
func (s *shape) overrides(pools []configs.Pool) []string {
	var set []string
	for i := range pools {
		p := &pools[i]
		add := func(key string, n int) {
			if n > 0 {
				set = append(set, fmt.Sprintf("pools.%s.%s=%d", p.Name, key, n))
			}
		}
		gpu, layout := s.setting.GPU, s.setting.Layout
		seqs, tokens := s.setting.Seqs, s.setting.Tokens
		switch p.Role {
		case configs.RolePrefill:
			gpu, layout, seqs = s.setting.PrefillGPU, s.setting.PrefillLayout, 0
		case configs.RoleDecode:
			tokens = 0
		}
		if gpu != "" {
			set = append(set, fmt.Sprintf("pools.%s.gpu=%s", p.Name, gpu))
		}
		if seqs == 0 && tokens > 0 && p.MaxNumSeqs > tokens {
			seqs = tokens
		}
		if tokens == 0 && p.MaxNumBatchedTokens > 0 && seqs > p.MaxNumBatchedTokens {
			tokens = seqs
		}
		add("tensor_parallel", layout.Tensor)
		add("pipeline_parallel", layout.Pipeline)
		add("data_parallel", layout.Data)
		if layout.Whole {
			set = append(set, fmt.Sprintf("pools.%s.expert_parallel=%t", p.Name, layout.Expert))
		}
		add("max_num_seqs", seqs)
		add("max_num_batched_tokens", tokens)
	}
	return set
}

// deployment is a shape with numbers of replicas.
type deployment struct {
	*shape
	replicas []int // by pool
	is       Deployment
	bound    float64 // requests/s, under the roofline limit
	narrow   string  // role of the pool that bounds it

	round    int // the last it was simulated in, from 1 on
	capacity int // on the grid, as of then
	skipped  string
	carried  []outcome // runs whose load it sustains
}

// deploy returns s with numbers of replicas.
func (s *shape) deploy(replicas ...int) *deployment {
	d := &deployment{shape: s, replicas: slices.Clone(replicas), capacity: -1}
	is := &d.is
	is.Topology = s.topology
	priced := true
	for i, n := range replicas {
		p := &s.scenario.Pools[i]
		is.Pools = append(is.Pools, Pool{
			Role: p.Role, Replicas: n, GPUs: n * s.gpus[i], GPU: p.GPU.Name(), TensorParallel: p.TensorParallel,
			PipelineParallel: p.PipelineParallel, DataParallel: p.DataParallel, ExpertParallel: p.ExpertParallel,
			MaxNumSeqs: p.MaxNumSeqs, MaxNumBatchedTokens: p.MaxNumBatchedTokens,
		})
		is.GPUs += n * s.gpus[i]
		priced = priced && s.pricesUSD[i] > 0
	}
	if priced {
		is.USDPerHour = s.sum(replicas, s.pricesUSD)
	}
	if !slices.Contains(s.tdpW, 0) {
		is.TDPW = s.sum(replicas, s.tdpW)
	}
	is.Name = fmt.Sprintf("%d × %s", replicas[0], s.series())
	if s.topology == configs.Disaggregated {
		is.Split = fmt.Sprintf("%dP%dD", replicas[0], replicas[1])
		is.Name = is.Split + " " + s.series()
	}
	for _, limit := range []struct {
		name string
		n    int
	}{{"seqs", s.setting.Seqs}, {"tokens", s.setting.Tokens}} {
		if limit.n > 0 {
			is.Name += ", " + limit.name + " " + strconv.Itoa(limit.n)
		}
	}
	return d
}

// series names what deployments share that differ in their split and batch limits alone: tp4, tp2/tp4 of prefill and
// decode pools, and the GPUs where several are searched.
func (s *shape) series() string {
	first, last := s.poolName(0), s.poolName(len(s.scenario.Pools)-1)
	if first == last {
		return first
	}
	return first + "/" + last
}

// poolName names a replica of a pool.
func (s *shape) poolName(i int) string {
	p := &s.scenario.Pools[i]
	name := configs.LayoutOf(p).String()
	if s.several {
		name += " " + p.GPU.Name()
	}
	return name
}

// key names deployments that differ in their batch limits alone.
func (d *deployment) key() string { return d.topology + " " + d.series() + " " + d.is.Split }

// atCapacity returns the run of d at what it sustains, as of its last round; nil: there was none.
func (d *deployment) atCapacity() *outcome {
	for i := len(d.carried) - 1; i >= 0; i-- {
		if x := &d.carried[i]; x.Step == d.capacity {
			return x
		}
	}
	return nil
}

// scenario returns that of d under a rate of the load.
func (d *deployment) scenario(l *load.Load, rate float64, requests int64, seed uint64) *configs.Scenario {
	s := *d.shape.scenario
	s.Pools = append([]configs.Pool(nil), s.Pools...)
	for i, n := range d.replicas {
		s.Pools[i].Replicas, s.Pools[i].ReplicasMax = n, 0
	}
	l.At(&s, rate, requests)
	s.Seed = seed
	return &s
}

// cheaper orders deployments by what they cost; what has no price comes last.
func cheaper(a, b *deployment) int {
	return cmp.Or(cmp.Compare(a.usd(), b.usd()), cmp.Compare(a.is.GPUs, b.is.GPUs))
}

// usd is what d costs in an hour; infinite: a price is unknown.
func (d *deployment) usd() float64 {
	if d.is.USDPerHour == 0 {
		return math.Inf(1)
	}
	return d.is.USDPerHour
}
