package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/sim"
)

// step is the decode step to explain: of so many sequences with so much context each, on one replica.
type step struct {
	*build.Replica
	scenario   *configs.Scenario
	pool       *configs.Pool // whose replica it is
	name       string        // of the scenario; empty: the deployment is of flags
	batch      int
	context    int
	batchWhy   string // where a default comes from; empty: given
	contextWhy string
}

const (
	contextDefault = 2048
	batchMax       = 1 << 20
)

// baseScenario lends its pool, with the defaults of its engine, to a deployment that flags describe; what the flags leave
// out it leaves out too.
const baseScenario = "chat-8b"

// flagKeys are the keys of a scenario that have a flag of their own.
var flagKeys = []struct{ flag, key string }{
	{"model", "model"}, {"gpu", "pools.0.gpu"}, {"weights", "weights"}, {"kv-cache", "kv_cache"},
	{"tensor-parallel", "pools.0.tensor_parallel"}, {"pipeline-parallel", "pools.0.pipeline_parallel"},
	{"engine", "pools.0.engine"}, {"speculation", "speculation.method"}, {"num-speculative-tokens", "speculation.num_speculative_tokens"},
	{"draft-model", "speculation.draft_model"}, {"acceptance", "speculation.acceptance.rate"},
}

// explainedStep finds the step that the command line asks for.
func explainedStep(c *cobra.Command, args []string, f *explainFlags) (*step, error) {
	s, flags := &step{}, c.Flags()
	name := baseScenario
	if len(args) == 1 {
		s.name, name = args[0], args[0]
	} else if !flags.Changed("model") || !flags.Changed("gpu") {
		return nil, errors.New("explain: missing what to explain; expected a SCENARIO, or both --model and --gpu; see decodesim explain --help")
	}
	var set []string
	for _, k := range flagKeys {
		if flags.Changed(k.flag) {
			set = append(set, k.key+"="+flags.Lookup(k.flag).Value.String())
		}
	}
	var err error
	s.scenario, err = configs.Load(name, configs.Options{Set: append(set, f.set...), Env: os.Environ()})
	if err == nil {
		err = s.decoding(c)
	}
	if err != nil {
		return nil, s.inFlags(err)
	}
	if err := s.choose(flags.Changed("batch"), flags.Changed("context"), f); err != nil {
		return nil, err
	}
	return s, s.check()
}

// decoding chooses the first pool that decodes. The flags of a deployment are the first pool's, which may be another one.
func (s *step) decoding(c *cobra.Command) (err error) {
	i := slices.IndexFunc(s.scenario.Pools, func(p configs.Pool) bool { return p.Decodes() })
	s.pool = &s.scenario.Pools[i]
	for _, k := range flagKeys {
		if own, ok := strings.CutPrefix(k.key, "pools.0."); ok && i > 0 && c.Flags().Changed(k.flag) {
			return fmt.Errorf("explain: --%s is for scenarios of one pool, and pool %q of %s decodes; expected --set pools.%s.%s=%s", k.flag,
				s.pool.Name, s.name, s.pool.Name, own, c.Flags().Lookup(k.flag).Value)
		}
	}
	s.Replica, err = build.ReplicaOf(s.scenario, i)
	return err
}

// basePosition is where an error stands in the scenario that only lends its pool.
var basePosition = regexp.MustCompile(`^scenarios/` + baseScenario + `\.yaml:\d+:\d+: (pools\[0\]: )?`)

// setPosition is how an error names a key that a flag set, and the key's path.
var setPosition = regexp.MustCompile(`^--set ([a-z_0-9.]+)=(.*?): (?:(?:pools\[0\]\.)?[a-z_]+: )?`)

// inFlags rewrites an error about a key as one about the flag that the user typed.
func (s *step) inFlags(err error) error {
	message := err.Error()
	if m := setPosition.FindStringSubmatch(message); m != nil {
		for _, k := range flagKeys {
			if k.key == m[1] {
				return fmt.Errorf("--%s %s: %s", k.flag, m[2], strings.TrimPrefix(message, m[0]))
			}
		}
	}
	if s.name == "" {
		message = basePosition.ReplaceAllString(message, "")
	}
	return errors.New(message)
}

// choose sets batch and context: for flags one sequence, for a scenario a full batch in the middle of its outputs.
func (s *step) choose(batchGiven, contextGiven bool, f *explainFlags) error {
	s.batch, s.context = f.batch, f.context
	switch {
	case contextGiven:
	case s.name == "":
		s.context, s.contextWhy = min(contextDefault, s.Deployment.Model.ContextMax), "default"
	default:
		mean, err := s.meanContext()
		if err != nil {
			return err
		}
		s.context, s.contextWhy = mean, "the workload's mean prompt and half its mean output"
	}
	switch {
	case batchGiven:
	case s.name == "":
		s.batchWhy = "default"
	default:
		pool := s.pool
		s.batch, s.batchWhy = max(1, s.seats()), fmt.Sprintf("as many as fit, up to %s %d", pool.Own("max_num_seqs"), pool.MaxNumSeqs)
		if pool.DataParallel > 1 {
			s.batchWhy += fmt.Sprintf(" on each of %d ranks", pool.DataParallel)
		}
	}
	return nil
}

// meanContext is the context of a request of mean lengths halfway through its output.
func (s *step) meanContext() (int, error) {
	b, err := build.New(s.scenario)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	lengths, ok := b.Config.Source.(interface {
		Means() (prompt, output float64)
	})
	if !ok {
		return contextDefault, nil
	}
	prompt, output := lengths.Means()
	return max(1, min(int(prompt+output/2), int(s.MaxModelLen))), nil
}

// stepSMax is the longest step explained, in seconds: whatever fits into a memory is read in less.
const stepSMax = 600

func (s *step) check() error {
	m := &s.Deployment.Model
	switch {
	case s.batch < 1 || s.batch > batchMax:
		return fmt.Errorf("--batch %d: expected 1 to %d sequences", s.batch, batchMax)
	case s.context < 1 || s.context > m.ContextMax:
		return fmt.Errorf("--context %d: %s has a context of %d tokens; expected 1 to %d", s.context, m.Name, m.ContextMax, m.ContextMax)
	}
	if seconds := s.seconds(s.batch); seconds > stepSMax {
		return fmt.Errorf("--batch %d: with %d tokens of context each, a step takes %.3g s; expected at most %d s", s.batch, s.context, seconds, stepSMax)
	}
	return nil
}

// seconds is how long a step of n sequences takes, also where the clock could not hold it.
func (s *step) seconds(n int) float64 {
	sum := 0.0
	for _, p := range s.Model.Parts(n, s.context) {
		sum += p.TimeS
	}
	return sum
}

// fitting returns how many sequences of so much context the caches hold at once.
func (s *step) fitting(context int) int {
	block, ranks := int64(s.pool.BlockSize), int64(s.Deployment.Parallel.Ranks())
	return int(s.KVBlocks / ranks / ((int64(context)+block-1)/block + int64(s.Memory.SequenceBlocks)) * ranks)
}

// seats returns how many sequences of the step's context the engine runs at once: what fits, up to its own limit.
func (s *step) seats() int { return min(s.fitting(s.context), s.pool.Seats()) }

// roomiest returns the longest context of which the cache holds the batch; 0: none.
func (s *step) roomiest() int {
	ranks := int64(s.Deployment.Parallel.Ranks())
	each := (int64(s.batch) + ranks - 1) / ranks
	blocks := s.KVBlocks/ranks/each - int64(s.Memory.SequenceBlocks)
	return int(min(max(0, blocks)*int64(s.pool.BlockSize), int64(s.MaxModelLen)))
}

// price returns the price of n decodes at the step's context.
func (s *step) price(n int) sim.Segment { return s.Model.Step(n, s.context) }
