package sessions

import (
	"fmt"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

const (
	subAgentsMax = 1 << 10 // sub-agents that work at once
	taskMax      = 1 << 20 // turns of a task in the mean, whose lengths are in memory while it lasts
)

// agentTurn is a turn of an agent, and what comes after its answer.
type agentTurn struct {
	turn
	tool   sim.Duration
	starts int32 // sub-agents, in place of the tool
	first  int32 // the first of them
}

// plan is a task as it would go. It is a function of the seed and its number, whatever the server does.
type plan struct {
	class    uint8
	priority int8
	group    int32 // node of the prefix in front of the first prompts; 0: none
	turns    []agentTurn
	ends     []int32 // by agent: the turn after its last one; the first agent has the task
	cut      bool    // some agent had further turns, for which the model's context is too short
}

// plans draws tasks, each from streams of its own. What is drawn of a turn is keyed by its place in the plan.
type plans struct {
	turnsLaw, result               *lengths.Law
	tool                           span
	probability                    float64 // of sub-agents
	agentsLaw, subTurns, subPrompt *lengths.Law
	fork, recalls                  bool // recalls: reasoning is part of the history
	sampler                        *requests.Sampler
	groups                         []int32 // nodes of the prefixes
	prefix                         int32   // tokens of each
	context                        int64   // tokens of prompt and limit that a model takes

	// by task
	classes, grouped, turns *rng.Keyed
	// by task and turn
	prompts, outputs, limits, tools, results, forks, agents, subs, asked *rng.Keyed
}

func newPlans(c *AgentLoop, seed uint64) (*plans, error) {
	p := &plans{context: c.contextMax(), recalls: c.Mix.Reasoning.InContext}
	if err := p.laws(c); err != nil {
		return nil, err
	}
	var err error
	p.sampler, err = requests.NewSampler(c.Mix, seed)
	if err != nil {
		return nil, err
	}
	p.groups, p.prefix = p.sampler.Prefixes()
	for _, of := range []struct {
		name  string
		keyed **rng.Keyed
	}{
		{"classes", &p.classes}, {"groups", &p.grouped}, {"turns", &p.turns}, {"prompts", &p.prompts},
		{"outputs", &p.outputs}, {"limits", &p.limits}, {"tools", &p.tools}, {"results", &p.results},
		{"forks", &p.forks}, {"agents", &p.agents}, {"sub-turns", &p.subs}, {"sub-prompts", &p.asked},
	} {
		*of.keyed = rng.NewKeyed(seed, "workloads.task-"+of.name)
	}
	return p, nil
}

// laws makes the laws of c.
func (p *plans) laws(c *AgentLoop) (err error) {
	law := func(field string, s lengths.Spec, most float64, of string) *lengths.Law {
		if err != nil {
			return nil
		}
		var l *lengths.Law
		l, err = lengths.New(field, s)
		if err == nil && most > 0 {
			if s.Mean > most {
				err = check.Refuse(field+".mean", s.Mean, fmt.Sprintf("at most %g %s", most, of))
			}
			l.Max = min(l.Max, most)
		}
		return l
	}
	p.turnsLaw = law("agents.turns", c.Turns, turnsMax, "turns")
	p.result = law("agents.tool_tokens", c.Result, 0, "")
	if err == nil {
		p.tool, err = newSpan("agents.tool_time_s", c.Tool)
	}
	if s := c.SubAgents; s != nil && err == nil {
		err = check.Above("agents.subagents.probability", s.Probability, 0, 1)
		p.probability, p.fork = s.Probability, s.Fork
		p.agentsLaw = law("agents.subagents.agents", s.Agents, subAgentsMax, "sub-agents")
		p.subTurns = law("agents.subagents.turns", s.Turns, turnsMax, "turns")
		p.subPrompt = law("agents.subagents.prompt_tokens", s.Prompt, 0, "")
		each := float64(p.probability * s.Agents.Mean * s.Turns.Mean)
		if err == nil && c.Turns.Mean*(1+each) > taskMax {
			err = check.Refuse("agents.turns.mean", c.Turns.Mean, fmt.Sprintf(
				"at most %d turns of a task in the mean, where each turn has %.4g of sub-agents", taskMax, each))
		}
	}
	return err
}

// plan makes q task number n.
func (p *plans) plan(n uint64, q *plan) {
	*q = plan{turns: q.turns[:0], ends: q.ends[:0]}
	q.class, q.priority = p.sampler.PickClass(p.classes.At(n, 0).Float64())
	history := int64(0)
	if len(p.groups) > 0 {
		q.group, history = p.groups[p.grouped.At(n, 0).IntN(len(p.groups))], int64(p.prefix)
	}
	laws := p.sampler.Laws(q.class)
	p.main(n, q, laws, history)
	p.children(n, q, laws, history)
}

// main plans the turns of the agent that has the task, without the prompts that answers of sub-agents make.
func (p *plans) main(n uint64, q *plan, laws requests.Laws, history int64) {
	turns := p.turnsLaw.Draw(p.turns.At(n, 0))
	first := int32(1) // the number of the next sub-agent
	for i := range turns {
		v := agentTurn{turn: p.turn(n, uint64(i), q.class, laws)}
		if i == 0 {
			v.prompt = laws.Prompt.Draw(p.prompts.At(n, 0))
		} else {
			v.prompt = p.result.Draw(p.results.At(n, uint64(i)))
		}
		if i+1 < turns {
			v.tool = p.tool.draw(p.tools.At(n, uint64(i)))
			if p.probability > 0 && p.forks.At(n, uint64(i)).Float64() < p.probability {
				v.starts, v.first = p.agentsLaw.Draw(p.agents.At(n, uint64(i))), first
				first += v.starts
			}
		}
		q.turns = append(q.turns, v)
	}
	q.ends = append(q.ends, turns)
}

// children plans the turns of the sub-agents, and cuts the task where a context grows too long.
func (p *plans) children(n uint64, q *plan, laws requests.Laws, prefix int64) {
	history, turns := prefix, q.ends[0]
	for i := int32(0); i < turns; i++ {
		v := q.turns[i]
		history += int64(v.prompt)
		if i > 0 && history+int64(max(v.output, v.limit)) > p.context {
			q.cutMain(i)
			return
		}
		history += int64(v.remains(p.recalls))
		if v.starts == 0 {
			continue
		}
		begin := prefix
		if p.fork {
			begin = history
		}
		answers := int64(0)
		for range v.starts {
			answers += int64(p.child(n, q, laws, begin))
		}
		q.turns[i+1].prompt = int32(max(1, min(answers, check.TokensMax)))
	}
}

// cutMain ends the agent that has the task before a turn. The sub-agents planned so far are all that it starts.
func (q *plan) cutMain(turn int32) {
	cut := q.ends[0] - turn
	q.turns = append(q.turns[:turn], q.turns[q.ends[0]:]...)
	for i := range q.ends {
		q.ends[i] -= cut
	}
	q.turns[turn-1].starts, q.cut = 0, true
}

// child plans a sub-agent that begins with so many tokens, and returns those of its last answer.
func (p *plans) child(n uint64, q *plan, laws requests.Laws, history int64) (answer int32) {
	key := uint64(len(q.ends)) << 32 // of the turn before its first
	turns := p.subTurns.Draw(p.subs.At(n, key))
	for i := range turns {
		at := key + uint64(i)
		v := agentTurn{turn: p.turn(n, at, q.class, laws)}
		if i == 0 {
			v.prompt = p.subPrompt.Draw(p.asked.At(n, at))
		} else {
			v.prompt = p.result.Draw(p.results.At(n, at))
		}
		history += int64(v.prompt)
		if i > 0 && history+int64(max(v.output, v.limit)) > p.context {
			q.cut = true
			break
		}
		history += int64(v.remains(p.recalls))
		if i+1 < turns {
			v.tool = p.tool.draw(p.tools.At(n, at))
		}
		q.turns = append(q.turns, v)
		answer = v.output - v.hidden
	}
	q.ends = append(q.ends, int32(len(q.turns)))
	return answer
}

// turn draws what a turn generates.
func (p *plans) turn(n, key uint64, class uint8, laws requests.Laws) (t turn) {
	t.output = laws.Output.Draw(p.outputs.At(n, key))
	if p.sampler.Reasons() {
		t.hidden, t.output = p.sampler.Reason(class, t.output, n, key)
	}
	if laws.Limit != nil {
		t.cut(laws.Limit.Draw(p.limits.At(n, key)))
	}
	return t
}

// expect takes the means over the tasks that come first. It changes no later draw.
func (p *plans) expect() (e expectation) {
	var q plan
	var begins []float64 // tokens that each agent begins with
	for n := range uint64(sampled) {
		p.plan(n, &q)
		begins = begins[:0]
		for range q.ends {
			begins = append(begins, float64(p.prefix))
		}
		from := int32(0)
		for i, to := range q.ends {
			history := begins[i]
			for _, v := range q.turns[from:to] {
				history += float64(v.prompt)
				e.turns, e.prompt, e.output = e.turns+1, e.prompt+history, e.output+float64(v.output)
				history += float64(v.remains(p.recalls))
				if i == 0 && v.starts == 0 {
					e.betweenS += v.tool.Seconds()
				}
				for k := range v.starts {
					if p.fork {
						begins[v.first+k] = history
					}
				}
			}
			from = to
		}
	}
	p.sampler.ForgetTruncated()
	return expectation{turns: e.turns / sampled, prompt: e.prompt / e.turns, output: e.output / e.turns,
		betweenS: e.betweenS / sampled}
}
