package workloads

import (
	"fmt"
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// turnsMax bounds the turns of a session, whose lengths are kept while it lasts.
const turnsMax = 1 << 16

// turn is what a user asks in one turn of a session: tokens beside the history, and what comes back.
type turn struct{ prompt, output, limit int32 }

// conversation is a session as its user means to lead it. It is a function of the seed and its number, whatever the server
// does, so that runs of different deployments see the same.
type conversation struct {
	class uint8
	group int32  // node of the prefix in front of its first prompt; 0: none
	turns []turn // that it has room for
	cut   int32  // further ones, for which the model's context is too short
}

// conversations draws sessions, each from streams of its own.
type conversations struct {
	length  law // turns of a session
	sizes   *sizes
	groups  []int32 // nodes of the prefixes
	prefix  int32   // tokens of each
	context int64   // tokens of prompt and limit that a model takes

	lengths, classes, grouped, prompts, outputs, limits *rng.Keyed
}

func newConversations(c SessionLoop, seed uint64) (*conversations, error) {
	length, err := newLaw("sessions.turns", c.Turns)
	if err != nil {
		return nil, err
	}
	if c.Turns.Mean > turnsMax {
		return nil, refuse("sessions.turns.mean", c.Turns.Mean, fmt.Sprintf("at most %d turns", turnsMax))
	}
	v := &conversations{length: *length, context: tokensMax}
	v.length.cap = min(v.length.cap, turnsMax)
	if c.ContextMax > 0 {
		v.context = min(v.context, c.ContextMax)
	}
	if v.sizes, err = newSizes(c.Lengths, seed); err != nil {
		return nil, err
	}
	if h := v.sizes.sharing; h != nil {
		v.groups, v.prefix = h.groups, h.tokens
	}
	v.lengths, v.classes = rng.NewKeyed(seed, "workloads.session-turns"), rng.NewKeyed(seed, "workloads.session-classes")
	v.grouped, v.prompts = rng.NewKeyed(seed, "workloads.session-groups"), rng.NewKeyed(seed, "workloads.session-prompts")
	v.outputs, v.limits = rng.NewKeyed(seed, "workloads.session-outputs"), rng.NewKeyed(seed, "workloads.session-limits")
	return v, nil
}

// plan makes c session number n, of at most so many turns. Its first turn is sent however long it is; a later one only if
// the model takes the history and what comes after it.
func (v *conversations) plan(n uint64, most int64, c *conversation) {
	turns := int32(min(int64(v.length.draw(v.lengths.At(n, 0))), most))
	*c = conversation{turns: c.turns[:0]}
	var k *class
	if v.sizes.classes != nil {
		i := v.sizes.classes.pick(v.classes.At(n, 0).Float64())
		c.class, k = uint8(i), &v.sizes.classes.of[i]
	}
	history := int64(0)
	if len(v.groups) > 0 {
		c.group, history = v.groups[v.grouped.At(n, 0).IntN(len(v.groups))], int64(v.prefix)
	}
	for i := range turns {
		t := v.turn(n, uint64(i), k)
		if history += int64(t.prompt); i > 0 && history+int64(max(t.output, t.limit)) > v.context {
			c.cut = turns - i
			break
		}
		history += int64(t.output)
		c.turns = append(c.turns, t)
	}
}

// turn draws turn i of session n, whose class is k; nil: there are none.
func (v *conversations) turn(n, i uint64, k *class) (t turn) {
	s := v.sizes
	prompt, output, limit := &s.prompt, &s.output, (*law)(nil)
	if s.limits != nil {
		limit = &s.limit
	}
	if k != nil {
		prompt, output, limit = either(k.prompt, prompt), either(k.output, output), either(k.limit, limit)
	}
	t.prompt, t.output = prompt.draw(v.prompts.At(n, i)), output.draw(v.outputs.At(n, i))
	if limit != nil {
		t.limit = limit.draw(v.limits.At(n, i))
		t.output = min(t.output, t.limit)
	}
	return t
}

// either returns a law of one's own, or all's.
func either(own, all *law) *law {
	if own != nil {
		return own
	}
	return all
}

// tree returns the contents that the sessions are to grow in.
func (v *conversations) tree() *sim.Contents {
	if t := v.sizes.sharing.contents(); t != nil {
		return t
	}
	return new(sim.Contents)
}

// priority returns the priority of a class.
func (v *conversations) priority(class uint8) int8 {
	if v.sizes.classes == nil {
		return 0
	}
	return v.sizes.classes.of[class].priority
}

// expectation is what sessions hold on average.
type expectation struct{ turns, prompt, output float64 }

// sampled is how many sessions an expectation rests on: the first ones.
const sampled = 512

// expect takes the means over the sessions that come first. It leaves no trace: sessions do not depend on what was drawn
// before them.
func (v *conversations) expect() (e expectation) {
	var c conversation
	for n := range uint64(sampled) {
		v.plan(n, turnsMax, &c)
		history := 0.0
		if len(v.groups) > 0 {
			history = float64(v.prefix)
		}
		for _, t := range c.turns {
			history += float64(t.prompt)
			e.turns, e.prompt, e.output = e.turns+1, e.prompt+history, e.output+float64(t.output)
			history += float64(t.output)
		}
	}
	v.forget()
	return expectation{e.turns / sampled, e.prompt / e.turns, e.output / e.turns}
}

// forget sets the counts of truncated draws back.
func (v *conversations) forget() {
	v.each(func(_ int, l *law) { l.cut = 0 })
}

// truncated returns the draws that laws cut. Each counts, for a turn is drawn from one law only.
func (v *conversations) truncated() Truncated {
	var n [3]int64
	v.each(func(kind int, l *law) { n[kind] += l.cut })
	return Truncated{n[0], n[1], n[2]}
}

// each visits the laws of prompts, outputs and limits: the workload's and those of classes.
func (v *conversations) each(visit func(kind int, l *law)) {
	s := v.sizes
	laws := [][3]*law{{&s.prompt, &s.output, &s.limit}}
	if s.classes != nil {
		for i := range s.classes.of {
			c := &s.classes.of[i]
			laws = append(laws, [3]*law{c.prompt, c.output, c.limit})
		}
	}
	for _, of := range laws {
		for kind, l := range of {
			if l != nil {
				visit(kind, l)
			}
		}
	}
}

// ceil returns the least whole number that is not below x.
func ceil(x float64) int64 { return int64(math.Ceil(x)) }
