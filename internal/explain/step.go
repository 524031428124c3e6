package explain

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
)

// Step is the decode step to explain: of so many sequences with so much context each, on one replica.
type Step struct {
	*build.Replica
	scenario   *configs.Scenario
	Pool       *configs.Pool // whose replica it is
	Number     int           // of that pool
	name       string        // of the scenario; empty: the deployment is of flags
	batch      int
	Context    int
	batchWhy   string // where a default comes from; empty: given
	contextWhy string
	loads      *sim.PoolSpec // how prefixes come back from host memory; nil: there is none for them
}

// Question is what to explain: a step of a scenario's replica.
type Question struct {
	// a name or a path; empty: the deployment is all in Set, and the scenario that is asked about has no name
	Scenario string
	configs.Options
	Batch   *int     // nil: as large as fits, or one sequence where there is no scenario
	Drafts  []string // flags about drafts, as they were typed, which mean nothing where nothing drafts
	Context *int     // nil: the workload's mean, or ContextDefault where there is no scenario
}

const (
	// ContextDefault is the context of a step without a scenario.
	ContextDefault = 2048
	batchMax       = 1 << 20
)

// baseScenario lends its pool, with the defaults of its engine, to a deployment without a scenario; what Set leaves out
// it leaves out too.
const baseScenario = "chat-8b"

// basePosition is where an error stands in the scenario that only lends its pool.
var basePosition = regexp.MustCompile(`^scenarios/` + baseScenario + `\.yaml:\d+:\d+: (pools\[0\]: )?`)

// New builds the replica of the first pool that decodes, until ctx ends.
func New(ctx context.Context, q Question) (s *Step, err error) {
	s = &Step{name: q.Scenario}
	s.scenario, err = configs.Load(cmp.Or(q.Scenario, baseScenario), q.Options)
	if err == nil {
		s.Number = slices.IndexFunc(s.scenario.Pools, func(p configs.Pool) bool { return p.Decodes() })
		s.Pool = &s.scenario.Pools[s.Number]
		s.Replica, err = build.ReplicaOf(s.scenario, s.Number)
	}
	if err != nil {
		if s.name == "" {
			err = unplaced{basePosition.ReplaceAllString(err.Error(), ""), err}
		}
		return nil, err
	}
	if len(q.Drafts) > 0 && !s.scenario.Speculation.On() {
		return nil, fmt.Errorf("%s: nothing drafts; expected --speculation beside it, such as --speculation eagle "+
			"--num-speculative-tokens 3 --acceptance 0.8", q.Drafts[0])
	}
	if err := s.choose(ctx, q); err != nil {
		return nil, err
	}
	if err := s.readLoads(ctx); err != nil {
		return nil, err
	}
	return s, s.check()
}

// readLoads keeps the pool as the cluster has it where host memory keeps prefixes: whether they are loaded beside steps
// depends on all of it.
func (s *Step) readLoads(ctx context.Context) error {
	if s.OffloadBlocks == 0 {
		return nil
	}
	b, err := build.NewUntil(ctx, s.scenario)
	if err != nil {
		return err
	}
	defer b.Close()
	if pool := b.Config.Pools[s.Number]; pool.OffloadBlocks > 0 {
		s.loads = pool
	}
	return nil
}

// unplaced is an error of a deployment without a scenario, without where it stands in the one that lends its pool.
type unplaced struct {
	message string
	cause   error
}

func (u unplaced) Error() string { return u.message }

// Unwrap returns the error with its place.
func (u unplaced) Unwrap() error { return u.cause }

// choose sets batch and context: without a scenario one sequence, else a full batch in the middle of its outputs.
func (s *Step) choose(ctx context.Context, q Question) error {
	switch {
	case q.Context != nil:
		s.Context = *q.Context
	case s.name == "":
		s.Context, s.contextWhy = min(ContextDefault, s.Deployment.Model.ContextMax), "default"
	default:
		mean, err := s.meanContext(ctx)
		if err != nil {
			return err
		}
		s.Context, s.contextWhy = mean, "the workload's mean prompt and half its mean output"
	}
	if m := &s.Deployment.Model; s.Context < 1 || s.Context > m.ContextMax {
		return fmt.Errorf("--context %d: %s has a context of %d tokens; expected 1 to %d", s.Context, m.Name, m.ContextMax,
			m.ContextMax)
	}
	switch {
	case q.Batch != nil:
		s.batch = *q.Batch
	case s.name == "":
		s.batch, s.batchWhy = 1, "default"
	default:
		pool := s.Pool
		s.batch, s.batchWhy = max(1, s.sequencesMax()),
			fmt.Sprintf("all that fit, up to %s %d", pool.Own("max_num_seqs"), pool.MaxNumSeqs)
		if pool.DataParallel > 1 {
			s.batchWhy += fmt.Sprintf(" on each of %d ranks", pool.DataParallel)
		}
	}
	return nil
}

// meanContext is the context of a request of mean lengths halfway through its output.
func (s *Step) meanContext(ctx context.Context) (int, error) {
	b, err := build.NewUntil(ctx, s.scenario)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	source := b.Config.Source
	if a, ok := source.(interface{ Unadapted() sim.Source }); ok {
		source = a.Unadapted()
	}
	lengths, ok := source.(interface {
		Means() (prompt, output float64)
	})
	if !ok {
		return ContextDefault, nil
	}
	prompt, output := lengths.Means()
	return max(1, min(int(prompt+float64(output/2)), int(s.MaxModelLen))), nil
}

// stepSMax is the longest step explained, in seconds: whatever fits into a memory is read in less.
const stepSMax = 600

func (s *Step) check() error {
	if s.batch < 1 || s.batch > batchMax {
		return fmt.Errorf("--batch %d: expected 1 to %d sequences", s.batch, batchMax)
	}
	if seconds := s.seconds(s.batch); seconds > stepSMax {
		return fmt.Errorf("--batch %d: with %d tokens of context each, a step takes %.3g s; expected at most %d s", s.batch,
			s.Context, seconds, stepSMax)
	}
	return nil
}

// seconds is how long a step of n sequences takes, also where the clock could not hold it.
func (s *Step) seconds(n int) float64 {
	sum := 0.0
	for _, p := range s.Model.Parts(n, s.Context) {
		sum += p.TimeS
	}
	return sum
}

// fitting returns how many sequences of so much context the caches hold at once.
func (s *Step) fitting(context int) int {
	ranks := int64(s.Deployment.Parallel.Ranks())
	return int(s.KVBlocks / ranks / s.Memory.BlocksOf(int64(context), int64(s.Pool.BlockSize)) * ranks)
}

// sequencesMax returns how many sequences of the step's context the engine runs at once: what fits, up to its own
// limit.
func (s *Step) sequencesMax() int { return min(s.fitting(s.Context), s.Pool.SequencesMax()) }

// roomiest returns the longest context of which the cache holds the batch; 0: none.
func (s *Step) roomiest() int {
	ranks := int64(s.Deployment.Parallel.Ranks())
	each := (int64(s.batch) + ranks - 1) / ranks
	return int(min(s.Memory.TokensIn(s.KVBlocks/ranks/each, int64(s.Pool.BlockSize)), int64(s.MaxModelLen)))
}

// Price returns the price of n decodes at the step's context.
func (s *Step) Price(n int) sim.Segment { return s.Model.Step(n, s.Context) }
