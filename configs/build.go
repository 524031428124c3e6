package configs

import (
	"github.com/decodesim/decodesim/policies"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads"
)

// Built is a scenario turned into the parts of a run. Close it after the run.
type Built struct {
	*Replica
	Scenario *Scenario // with max_num_batched_tokens, max_model_len, enable_prefix_caching and requests written in
	Config   sim.Config
	SLO      metrics.Limits
	Warmup   sim.Time

	// What to expect of the load; 0: unknown. Lengths are means before any limit cuts them.
	Requests               float64 // answers, of which a prompt may have several
	RatePerS               float64 // of prompts; 0 in a closed loop too, whose rate is a result
	SpanS                  float64 // seconds in which the requests arrive
	PromptMean, OutputMean float64 // tokens

	source   source
	requests sim.Source // source, or several answers to each of its prompts
	skipped  int64      // rows of failed requests in the file of recorded lengths
}

// source is what every workload can say of itself.
type source interface {
	sim.Source
	Rate() float64
	Requests() float64
	Means() (prompt, output float64)
	Err() error
}

var (
	_ source = (*workloads.Open)(nil)
	_ source = (*workloads.Closed)(nil)
	_ source = (*workloads.Trace)(nil)
)

// Build makes the parts of a run of s, or says which value of s has none. The run still lacks its Sink.
func (s *Scenario) Build() (*Built, error) {
	r, err := s.Replica()
	if err != nil {
		return nil, err
	}
	resolved := s.clone()
	p := &resolved.Pools[0]
	p.MaxModelLen, p.MaxNumBatchedTokens = int(r.MaxModelLen), r.MaxNumBatchedTokens
	b := &Built{Replica: r, Scenario: resolved, Warmup: sim.Time(0).Add(sim.Seconds(s.Workload.WarmupS))}
	b.SLO = s.classLimits(nil)
	pool := &sim.Pool{
		Name: p.Name, Size: p.Replicas, KVBlocks: r.KVBlocks, BlockSize: int32(p.BlockSize), MaxModelLen: r.MaxModelLen,
		SequenceBlocks: r.Memory.SequenceBlocks, Windows: r.Deployment.Windows(), Model: r.Model,
		ColdStart: r.coldStart(p), Ahead: p.AsyncScheduling, PromptMax: r.PromptMax, SwapBlocks: r.SwapBlocks, Classes: len(s.Workload.Classes),
	}
	if pool.PrefixCaching, err = s.prefixCaching(r, p); err != nil {
		return nil, err
	}
	p.EnablePrefixCaching, pool.OffloadBlocks = pool.PrefixCaching, r.offloadBlocks(p, pool.PrefixCaching)
	if pool.Scheduler, err = s.scheduler(p, r); err != nil {
		return nil, err
	}
	if pool.Order, err = s.order(p, r); err != nil {
		return nil, err
	}
	if pool.Speculation, err = s.drafts(p); err != nil {
		return nil, err
	}
	if pool.Noise, err = s.noise(); err != nil {
		return nil, err
	}
	if pool.Router, err = policies.NewRouter(s.Router); err != nil {
		return nil, s.origins.errorf("router", "%s", bareMessage(err))
	}
	if err := b.load(); err != nil {
		return nil, err
	}
	b.Config = sim.Config{
		Source: b.requests, Contents: b.contents(), Pools: []*sim.Pool{pool}, Ingress: sim.Seconds(r.Deployment.Efficiency.FirstTokenS),
		Until: s.horizon(), TraceEvery: b.traceEvery(),
	}
	return b, nil
}

// horizon is when the clock stops. A trace has an end of its own: duration_s only narrows its window.
func (s *Scenario) horizon() sim.Time {
	if s.Workload.Trace != nil {
		return 0
	}
	return sim.Time(0).Add(sim.Seconds(s.Workload.DurationS))
}

// Close closes the file of a trace.
func (b *Built) Close() error {
	if t, ok := b.source.(*workloads.Trace); ok {
		return t.Close()
	}
	return nil
}

// SourceErr says, after the run, why the workload broke off, or nil.
func (b *Built) SourceErr() error {
	if f, ok := b.requests.(interface{ Err() error }); ok {
		return f.Err()
	}
	return nil
}

// Describe returns what a summary of the run says beside its measurements; version is the program's. It belongs after the
// run: some warnings are about the requests that were sent.
func (b *Built) Describe(version string, sent int64) metrics.Description {
	p := &b.Scenario.Pools[0]
	d := metrics.Description{
		Scenario: b.Scenario.Name, Seed: b.Scenario.Seed, Version: version, GPU: p.GPU, GPUs: p.GPUs() * p.Replicas,
		MaxModelLen: b.MaxModelLen, RejectedFor: b.Scenario.rejectedFor(b.Replica), Closed: b.Scenario.Workload.ClosedLoop != nil, Warnings: b.warnings(sent),
	}
	if price := b.Deployment.GPU.Price; price.Known() {
		d.USDPerHour = price.USDPerHour * float64(d.GPUs)
	}
	return d
}
