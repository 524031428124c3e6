package build

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/traces"
)

// Built is a scenario turned into the parts of a run. Close it after the run.
type Built struct {
	*Replica                   // of the first pool that runs the scenario's model
	Replicas []*Replica        // of each pool
	Scenario *configs.Scenario // with max_num_batched_tokens, max_model_len, enable_prefix_caching and requests written in
	Config   sim.Config
	SLO      metrics.Limits
	Rules    metrics.Rules
	Warmup   sim.Time

	// What to expect of the load; 0: unknown. Lengths are means before any limit cuts them.
	Requests               float64 // answers, of which a prompt may have several
	RatePerS               float64 // of prompts; 0 in a closed loop too, whose rate is a result
	SpanS                  float64 // seconds in which the requests arrive
	PromptMean, OutputMean float64 // tokens

	source   source
	recorded *traces.Trace // whose requests source sends when others are answered; nil: it is source, or there is none
	requests sim.Source    // source, or several answers to each of its prompts
	reading  traces.Reading
	room     traces.MoreRoom
	skipped  int64 // rows of failed requests in the file of recorded lengths
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
	_ source = (*workloads.Mixed)(nil)
	_ source = (*sessions.Closed)(nil)
	_ source = (*traces.Trace)(nil)
)

// New makes the parts of a run of s, or says which value of s has none. The run still lacks its Sink.
func New(s *configs.Scenario) (*Built, error) { return newBuilt(s, (*Built).contents, nil, nil) }

// NewUntil is New that gives up when ctx ends, with what ended it.
func NewUntil(ctx context.Context, s *configs.Scenario) (*Built, error) {
	files := s.Workload.Files()
	if len(files) == 0 {
		return New(s)
	}
	b, err := newBuilt(s, (*Built).contents, Reading(ctx, files[0]), Room(ctx))
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return b, err
}

// NewLive is New of a deployment that is sent its requests from elsewhere: what they share is a tree that is empty yet,
// and nothing ends the run.
func NewLive(s *configs.Scenario) (*Built, error) {
	for i := range s.Workload.Classes {
		if s.Workload.Classes[i].Adapters != nil {
			return nil, s.Errorf(fmt.Sprintf("workload.classes[%d].adapters", i), "requests that come from elsewhere name "+
				"their adapters, whatever their class; expected workload.adapters alone")
		}
	}
	b, err := newBuilt(s, func(*Built) *sim.Contents { return new(sim.Contents) }, nil, nil)
	if err == nil {
		b.Config.Until = 0
	}
	return b, err
}

func newBuilt(s *configs.Scenario, contents func(*Built) *sim.Contents, reading traces.Reading, room traces.MoreRoom) (
	*Built, error) {
	b := &Built{Scenario: s.Clone(), Warmup: sim.Time(0).Add(sim.Seconds(s.Workload.WarmupS)), reading: reading,
		room: room}
	b.SLO, b.Rules = classLimits(s, nil), classRules(s, nil)
	for i := range s.Pools {
		pool, err := b.pool(i)
		if err != nil {
			return nil, err
		}
		b.Config.Pools = append(b.Config.Pools, pool)
	}
	b.Replica = b.Replicas[slices.IndexFunc(s.Pools, func(p configs.Pool) bool { return p.Role != configs.RoleEncode })]
	if err := b.routes(); err != nil {
		return nil, err
	}
	stream := s.Stream.View()
	b.Config.Ingress, b.Config.Egress, b.Config.Until = b.ingress(), stream.Egress(), horizon(s)
	if err := b.load(); err != nil {
		return nil, err
	}
	if err := b.adapt(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	b.Config.Source, b.Config.Contents, b.Config.TraceEvery = b.requests, contents(b), b.traceEvery()
	if err := b.fleet(); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// horizon is when the clock stops. A trace has an end of its own: duration_s only narrows its window.
func horizon(s *configs.Scenario) sim.Time {
	if s.Workload.Trace != nil {
		return 0
	}
	return sim.Time(0).Add(sim.Seconds(s.Workload.DurationS))
}

// Close closes the file of a trace.
func (b *Built) Close() error {
	if t := b.trace(); t != nil {
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

// Describe returns what a summary of the run says beside its measurements; version is the program's. It belongs after
// the run: some warnings are about the requests that were sent.
func (b *Built) Describe(version string, sent int64) metrics.Description {
	d := metrics.Description{
		Scenario: b.Scenario.Name, Seed: b.Scenario.Seed, Version: version, GPU: b.gpuNames(),
		Closed:   b.Scenario.Workload.ClosedLoop != nil,
		Warnings: b.warnings(sent),
	}
	d.MaxModelLen, d.RejectedFor = b.longest()
	for i, r := range b.Replicas {
		of := describePool(&b.Scenario.Pools[i], r, b.Scenario.Energy)
		d.Pools = append(d.Pools, of)
		d.GPUs += of.GPUs * of.Replicas
		d.USDPerHour += of.USDPerHourAt(float64(of.Replicas))
	}
	d.Grid = gridOf(b.Scenario.Energy)
	if len(unpriced(b.Replicas)) > 0 {
		d.USDPerHour = 0
	}
	return d
}
