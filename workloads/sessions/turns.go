package sessions

import (
	"fmt"

	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// turnsMax bounds the turns of a session, whose lengths are in memory while it lasts.
const turnsMax = 1 << 16

// turn is what a user asks in one turn of a session: tokens beside the history, and what comes back, of which the first
// ones may be hidden.
type turn struct{ prompt, output, limit, hidden int32 }

// remains returns how many tokens of the output later prompts begin with, after those of this one.
func (t *turn) remains(inContext bool) int32 {
	if inContext {
		return t.output
	}
	return t.output - t.hidden
}

// conversation is a session as its user means to lead it. It is a function of the seed and its number, whatever the
// server does, so that runs of different deployments see the same.
type conversation struct {
	class    uint8
	priority int8
	group    int32  // node of the prefix in front of its first prompt; 0: none
	turns    []turn // for which the model has context
	cut      int32  // further turns, for which the model's context is too short
}

// conversations draws sessions, each from streams of its own.
type conversations struct {
	length  *lengths.Law // turns of a session
	sampler *requests.Sampler
	groups  []int32 // nodes of the prefixes
	prefix  int32   // tokens of each
	context int64   // tokens of prompt and limit that a model takes
	recalls bool    // reasoning is part of the history

	lengths, classes, grouped, prompts, outputs, limits *rng.Keyed
}

func newConversations(c SessionLoop, seed uint64) (*conversations, error) {
	length, err := lengths.New("sessions.turns", c.Turns)
	if err != nil {
		return nil, err
	}
	if c.Turns.Mean > turnsMax {
		return nil, check.Refuse("sessions.turns.mean", c.Turns.Mean, fmt.Sprintf("at most %d turns", turnsMax))
	}
	length.Max = min(length.Max, turnsMax)
	v := &conversations{length: length, context: c.contextMax(), recalls: c.Mix.Reasoning.InContext}
	v.sampler, err = requests.NewSampler(c.Mix, seed)
	if err != nil {
		return nil, err
	}
	v.groups, v.prefix = v.sampler.Prefixes()
	v.lengths, v.classes = rng.NewKeyed(seed, "workloads.session-turns"), rng.NewKeyed(seed, "workloads.session-classes")
	v.grouped, v.prompts = rng.NewKeyed(seed, "workloads.session-groups"), rng.NewKeyed(seed, "workloads.session-prompts")
	v.outputs, v.limits = rng.NewKeyed(seed, "workloads.session-outputs"), rng.NewKeyed(seed, "workloads.session-limits")
	return v, nil
}

// plan makes c session number n, of at most so many turns. Its first turn is sent however long it is; a later one only
// if the model takes the history and what comes after it.
func (v *conversations) plan(n uint64, most int64, c *conversation) {
	turns := int32(min(int64(v.length.Draw(v.lengths.At(n, 0))), most))
	*c = conversation{turns: c.turns[:0]}
	c.class, c.priority = v.sampler.PickClass(v.classes.At(n, 0).Float64())
	history := int64(0)
	if len(v.groups) > 0 {
		c.group, history = v.groups[v.grouped.At(n, 0).IntN(len(v.groups))], int64(v.prefix)
	}
	laws := v.sampler.Laws(c.class)
	for i := range turns {
		t := v.turn(n, uint64(i), c.class, laws)
		history += int64(t.prompt)
		if i > 0 && history+int64(max(t.output, t.limit)) > v.context {
			c.cut = turns - i
			break
		}
		history += int64(t.remains(v.recalls))
		c.turns = append(c.turns, t)
	}
}

// turn draws turn i of session n.
func (v *conversations) turn(n, i uint64, class uint8, laws requests.Laws) (t turn) {
	t.prompt, t.output = laws.Prompt.Draw(v.prompts.At(n, i)), laws.Output.Draw(v.outputs.At(n, i))
	if v.sampler.Reasons() {
		t.hidden, t.output = v.sampler.Reason(class, t.output, n, i)
	}
	if laws.Limit != nil {
		t.cut(laws.Limit.Draw(v.limits.At(n, i)))
	}
	return t
}

// cut cuts the output at a limit of the client.
func (t *turn) cut(limit int32) {
	t.limit, t.output = limit, min(t.output, limit)
	t.hidden = min(t.hidden, t.output)
}

// expectation is what sessions are on average.
type expectation struct {
	turns, prompt, output float64
	betweenS              float64 // seconds that the user of a session thinks, or the tools of a task take
}

// sampled is how many sessions an expectation rests on: the first ones.
const sampled = 512

// expect takes the means over the sessions that come first, whose users think so many seconds in the mean. It changes
// no later draw, since sessions do not depend on what was drawn before them.
func (v *conversations) expect(thinkS float64) (e expectation) {
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
			history += float64(t.remains(v.recalls))
		}
	}
	v.sampler.ForgetTruncated()
	turns := float64(e.turns / sampled)
	return expectation{turns: turns, prompt: e.prompt / e.turns, output: e.output / e.turns,
		betweenS: float64(thinkS * (turns - 1))}
}
