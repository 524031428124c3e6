package requests

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
)

// Class is a service class: a share of the requests. A law without a Distribution is the workload's.
type Class struct {
	Name      string
	Share     float64 // probability that a request or session is of the class; all shares sum to 1
	Priority  int64   // −128 to 127; lower first where a policy considers it
	Prompt    lengths.Spec
	Output    lengths.Spec
	MaxOutput lengths.Spec
	Reasoning lengths.Spec
}

// ClassesMax bounds the classes of a workload: each has distributions of its own.
const ClassesMax = 64

// shareError is how far shares may be from summing to 1: decimals such as 0.1 are rounded.
const shareError = 1e-9

// Classes gives requests their class and what comes with it.
type Classes struct {
	draws *rand.Rand
	upTo  []float64 // cumulative shares; the last is +Inf, so that rounding leaves no gap
	share []float64
	of    []class

	prompts, outputs, limits *rng.Keyed // of the classes' own laws, by request and class
}

// class is what comes with a class; a law that the class does not have is nil.
type class struct {
	priority int8
	laws     Laws
}

// NewTraceClasses returns what gives the requests of a trace their classes, or nil for none. The lengths of a trace are
// recorded and it has no limits, so a class may have neither.
func NewTraceClasses(c []Class, seed uint64) (*Classes, error) {
	const owner = "a trace"
	if err := refuseLengths(c, owner); err != nil {
		return nil, err
	}
	for i := range c {
		limit, reasoning := &c[i].MaxOutput, &c[i].Reasoning
		err := cmp.Or(
			check.Absent(fmt.Sprintf("classes[%d].max_output", i), owner, limit.Given(), limit.Distribution),
			check.Absent(fmt.Sprintf("classes[%d].reasoning_tokens", i), owner, reasoning.Given(), reasoning.Distribution),
		)
		if err != nil {
			return nil, err
		}
	}
	return newClasses(c, seed)
}

// newClasses returns what gives requests the classes that c describes, or nil for none. A share, a law or a class that
// changes leaves the draws of the others as they were.
func newClasses(c []Class, seed uint64) (*Classes, error) {
	if len(c) == 0 {
		return nil, nil
	}
	if len(c) > ClassesMax {
		return nil, check.Refuse("classes", len(c), fmt.Sprintf("a list of at most %d classes", ClassesMax))
	}
	k := &Classes{
		draws:   rng.Stream(seed, "workloads.classes"),
		prompts: rng.NewKeyed(seed, "workloads.class-prompts"),
		outputs: rng.NewKeyed(seed, "workloads.class-outputs"),
		limits:  rng.NewKeyed(seed, "workloads.class-limits"),
	}
	sum := 0.0
	for i := range c {
		if err := c[i].check(i, c[:i]); err != nil {
			return nil, err
		}
		laws, err := c[i].laws(fmt.Sprintf("classes[%d].", i))
		if err != nil {
			return nil, err
		}
		sum += c[i].Share
		k.of = append(k.of, class{priority: int8(c[i].Priority), laws: laws})
		k.share, k.upTo = append(k.share, c[i].Share), append(k.upTo, sum)
	}
	if math.Abs(sum-1) > shareError {
		last := len(c) - 1
		return nil, check.Refuse(fmt.Sprintf("classes[%d].share", last), c[last].Share,
			fmt.Sprintf("shares that sum to 1, not to %.10g", sum))
	}
	k.upTo[len(c)-1] = math.Inf(1)
	return k, nil
}

// check refuses what no class could have, and a name that an earlier class has.
func (c *Class) check(i int, earlier []Class) error {
	field := fmt.Sprintf("classes[%d].", i)
	if c.Name == "" {
		return check.Refuse(field+"name", c.Name, "a name")
	}
	for j := range earlier {
		if earlier[j].Name == c.Name {
			return check.Refuse(field+"name", c.Name, fmt.Sprintf("a name that classes[%d] does not have", j))
		}
	}
	if c.Priority < math.MinInt8 || c.Priority > math.MaxInt8 {
		return check.Refuse(field+"priority", c.Priority,
			fmt.Sprintf("a whole number from %d to %d", math.MinInt8, math.MaxInt8))
	}
	return check.Above(field+"share", c.Share, 0, 1)
}

// laws returns the laws of the class; nil where it has none.
func (c *Class) laws(field string) (l Laws, err error) {
	for _, of := range []struct {
		law  **lengths.Law
		key  string
		spec *lengths.Spec
	}{{&l.Prompt, "prompt_tokens", &c.Prompt}, {&l.Output, "output_tokens", &c.Output}, {&l.Limit, "max_output",
		&c.MaxOutput}, {&l.Reasoning, "reasoning_tokens", &c.Reasoning}} {
		if !of.spec.Given() {
			continue
		}
		*of.law, err = lengths.New(field+of.key, *of.spec)
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// refuseLengths refuses prompt and output laws of a class in a workload where owner says all lengths.
func refuseLengths(c []Class, owner string) error {
	for i := range c {
		field := fmt.Sprintf("classes[%d].", i)
		err := cmp.Or(
			check.Absent(field+"prompt_tokens", owner, c[i].Prompt.Given(), c[i].Prompt.Distribution),
			check.Absent(field+"output_tokens", owner, c[i].Output.Given(), c[i].Output.Distribution),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// lacks reports whether some class, or a workload without classes, needs the workload's law.
func lacks(c []Class, spec func(*Class) *lengths.Spec) bool {
	for i := range c {
		if !spec(&c[i]).Given() {
			return true
		}
	}
	return len(c) == 0
}

// pick returns the index of the class that u, uniform in [0, 1), falls on.
func (k *Classes) pick(u float64) (i int) {
	for u >= k.upTo[i] {
		i++
	}
	return i
}

// Mark gives r, whose ID is set, a class and the lengths that follow the class's own laws. It returns the client's
// limit by the class's own law; 0: it has none.
func (k *Classes) Mark(r *sim.Request) (limit int32) {
	i := k.pick(k.draws.Float64())
	c, id := &k.of[i], uint64(uint32(r.ID))
	r.Class, r.Priority = uint8(i), c.priority
	if c.laws.Prompt != nil {
		r.Prompt = c.laws.Prompt.Draw(k.prompts.At(id, uint64(i)))
	}
	if c.laws.Output != nil {
		r.Output = c.laws.Output.Draw(k.outputs.At(id, uint64(i)))
	}
	if c.laws.Limit != nil {
		limit = c.laws.Limit.Draw(k.limits.At(id, uint64(i)))
	}
	return limit
}

// mean returns the mean over the classes of the law that pick chooses; workload is the mean of classes without that
// law.
func (k *Classes) mean(workload float64, pick func(*Laws) *lengths.Law) float64 {
	if k == nil {
		return workload
	}
	sum := 0.0
	for i := range k.of {
		mean := workload
		if l := pick(&k.of[i].laws); l != nil {
			mean = l.Mean
		}
		sum += float64(k.share[i] * mean)
	}
	return sum
}

// truncated returns how many draws of the law that pick chooses were truncated: all of the classes' own laws, and of
// the workload's law the share that no class replaces.
func (k *Classes) truncated(workload Laws, pick func(*Laws) *lengths.Law) int64 {
	all := truncated(pick(&workload))
	if k == nil {
		return all
	}
	fallback, sum := 0.0, int64(0)
	for i := range k.of {
		if l := pick(&k.of[i].laws); l != nil {
			sum += l.Truncated
		} else {
			fallback += k.share[i]
		}
	}
	return sum + int64(math.Round(fallback*float64(all)))
}
