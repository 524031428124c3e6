package workloads

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// Class is a service class: a share of the requests, with lengths of their own where a law has a Distribution, and those
// of the workload elsewhere.
type Class struct {
	Name      string
	Share     float64 // probability of a request, of a session, to be of the class; all shares sum to 1
	Priority  int64   // −128 to 127; lower first where a policy looks at it
	Prompt    Length
	Output    Length
	MaxOutput Length
}

// ClassesMax bounds the classes of a workload: each has distributions of its own.
const ClassesMax = 64

// shareError is how far shares may be from summing to 1: decimals such as 0.1 are rounded.
const shareError = 1e-9

// classes gives requests their class and what comes with it.
type classes struct {
	draws *rand.Rand
	upTo  []float64 // shares, summed up; the last is +Inf, so that rounding leaves no gap
	share []float64
	of    []class

	prompts, outputs, limits *rng.Keyed // of laws that are a class's own, by request and class
}

// class is what a request of a class has; a law is nil where it is the workload's.
type class struct {
	priority              int8
	prompt, output, limit *law
}

// newClasses returns what gives requests the classes that c describes, or nil. A share, a law or a class that changes
// leaves the draws of the others as they were.
func newClasses(c []Class, seed uint64) (*classes, error) {
	if len(c) == 0 {
		return nil, nil
	}
	if len(c) > ClassesMax {
		return nil, refuse("classes", len(c), fmt.Sprintf("a list of at most %d classes", ClassesMax))
	}
	k := &classes{
		draws:   rng.Stream(seed, "workloads.classes"),
		prompts: rng.NewKeyed(seed, "workloads.class-prompts"), outputs: rng.NewKeyed(seed, "workloads.class-outputs"),
		limits: rng.NewKeyed(seed, "workloads.class-limits"),
	}
	sum := 0.0
	for i := range c {
		if err := c[i].check(i, c[:i]); err != nil {
			return nil, err
		}
		made, err := c[i].laws(fmt.Sprintf("classes[%d].", i))
		if err != nil {
			return nil, err
		}
		sum += c[i].Share
		k.of, k.share, k.upTo = append(k.of, made), append(k.share, c[i].Share), append(k.upTo, sum)
	}
	if math.Abs(sum-1) > shareError {
		last := len(c) - 1
		return nil, refuse(fmt.Sprintf("classes[%d].share", last), c[last].Share, fmt.Sprintf("shares that sum to 1, not to %.10g", sum))
	}
	k.upTo[len(c)-1] = math.Inf(1)
	return k, nil
}

// check refuses what no class could have, and a name that one before it has.
func (c *Class) check(i int, before []Class) error {
	field := fmt.Sprintf("classes[%d].", i)
	if c.Name == "" {
		return refuse(field+"name", c.Name, "a name")
	}
	for j := range before {
		if before[j].Name == c.Name {
			return refuse(field+"name", c.Name, fmt.Sprintf("a name that classes[%d] does not have", j))
		}
	}
	if c.Priority < math.MinInt8 || c.Priority > math.MaxInt8 {
		return refuse(field+"priority", c.Priority, fmt.Sprintf("a whole number from %d to %d", math.MinInt8, math.MaxInt8))
	}
	return above(field+"share", c.Share, 0, 1)
}

func (c *Class) laws(field string) (k class, err error) {
	k.priority = int8(c.Priority)
	for _, l := range []struct {
		to   **law
		key  string
		from *Length
	}{{&k.prompt, "prompt_tokens", &c.Prompt}, {&k.output, "output_tokens", &c.Output}, {&k.limit, "max_output", &c.MaxOutput}} {
		if l.from.Distribution == "" {
			continue
		}
		if *l.to, err = newLaw(field+l.key, *l.from); err != nil {
			return k, err
		}
	}
	return k, nil
}

// ownLengths refuses lengths of a class where owner has all there are.
func ownLengths(c []Class, owner string) error {
	for i := range c {
		field := fmt.Sprintf("classes[%d].", i)
		err := first(
			absent(field+"prompt_tokens", owner, c[i].Prompt.Distribution != "", c[i].Prompt.Distribution),
			absent(field+"output_tokens", owner, c[i].Output.Distribution != "", c[i].Output.Distribution),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// ownLimits refuses limits of a class where owner has none.
func ownLimits(c []Class, owner string) error {
	for i := range c {
		if l := &c[i].MaxOutput; l.Distribution != "" {
			return absent(fmt.Sprintf("classes[%d].max_output", i), owner, true, l.Distribution)
		}
	}
	return nil
}

// pick returns the class that u, uniform in [0, 1), falls on.
func (k *classes) pick(u float64) (i int) {
	for u >= k.upTo[i] {
		i++
	}
	return i
}

// mark gives r, whose ID is set, a class and the lengths that are the class's own; limit is the client's, 0: none.
func (k *classes) mark(r *sim.Request) (limit int32) {
	i := k.pick(k.draws.Float64())
	c, id := &k.of[i], uint64(uint32(r.ID))
	r.Class, r.Priority = uint8(i), c.priority
	if c.prompt != nil {
		r.Prompt = c.prompt.draw(k.prompts.At(id, uint64(i)))
	}
	if c.output != nil {
		r.Output = c.output.draw(k.outputs.At(id, uint64(i)))
	}
	if c.limit != nil {
		limit = c.limit.draw(k.limits.At(id, uint64(i)))
	}
	return limit
}

// mean returns the mean over the classes of a law that each may have of its own, own picks it, and the workload's mean.
func (k *classes) mean(all float64, own func(*class) *law) float64 {
	if k == nil {
		return all
	}
	sum := 0.0
	for i := range k.of {
		mean := all
		if l := own(&k.of[i]); l != nil {
			mean = l.mean
		}
		sum += k.share[i] * mean
	}
	return sum
}

// cut returns the draws that were truncated: those of the classes' own laws, and the share of the workload's that no class
// replaces.
func (k *classes) cut(all int64, own func(*class) *law) int64 {
	if k == nil {
		return all
	}
	fallback, sum := 0.0, int64(0)
	for i := range k.of {
		if l := own(&k.of[i]); l != nil {
			sum += l.cut
		} else {
			fallback += k.share[i]
		}
	}
	return sum + int64(math.Round(fallback*float64(all)))
}

func ownPrompt(c *class) *law { return c.prompt }
func ownOutput(c *class) *law { return c.output }
func ownLimit(c *class) *law  { return c.limit }

// lacks reports whether some class, or a workload without classes, needs the workload's own law.
func lacks(c []Class, own func(*Class) *Length) bool {
	for i := range c {
		if own(&c[i]).Distribution == "" {
			return true
		}
	}
	return len(c) == 0
}
