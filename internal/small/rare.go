package small

import (
	"math/rand/v2"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

const (
	drawn       = 1600 // of each kind of All
	others      = 1600 // of One, from the first on
	decodeSides = 400  // of DecodeSide
	impatient   = 1200 // of Impatient
	urgent      = 1000 // of Urgent
)

// rare are numbers of further scenarios of One: of 24,000, those in which something decides that decides in none of the
// others, as mistakes have shown that no test had noticed.
func rare() []uint64 { return []uint64{1637, 1767, 2203, 4581, 5542, 13607} }

// Compared returns the scenarios that are compared with the naive twin, and of which there are outcomes.
func Compared() []Scenario {
	all := All(drawn)
	for number := range uint64(others) {
		all = append(all, One(number))
	}
	for _, number := range rare() {
		all = append(all, One(number))
	}
	for number := range uint64(decodeSides) {
		all = append(all, DecodeSide(number))
	}
	for number := range uint64(impatient) {
		all = append(all, Impatient(number))
	}
	for number := range uint64(urgent) {
		all = append(all, Urgent(number))
	}
	// The one keeps prefixes of waiting requests as it plans, the other takes places for one that waits behind a prompt.
	return append(all, Urgent(1684), Urgent(1787))
}

// One draws a scenario by its number: of one pool, of one that loads or receives what another has computed, or of an
// older engine.
func One(number uint64) Scenario {
	r := draw{rand.New(rand.NewPCG(19, number))}
	switch number % 8 {
	case 0, 1:
		s, p := r.requests()
		r.scheduler(&p)
		r.speculate(&p)
		s.Pools = []Pool{p}
		return s
	case 2:
		return r.two(func(d *Pool) {
			d.Loads, d.Recomputes = true, r.flag()
			r.continuous(d)
		})
	case 3:
		return r.two(r.scheduler)
	case 4:
		return r.two(func(d *Pool) {
			d.Loads, d.Recomputes = true, r.flag()
			r.unchunked(d)
		})
	}
	s, p := r.requests()
	if number%8 > 5 {
		return r.crowd(s, p, number%8 == 7)
	}
	if r.flag() {
		r.unchunked(&p)
	} else {
		r.prefillFirst(&p)
	}
	s.Pools = []Pool{p}
	return s
}

// unchunked draws the scheduler of engines that compute a prompt in one step.
func (r draw) unchunked(p *Pool) {
	r.continuous(p)
	c := p.Scheduler.(*schedulers.Continuous)
	c.LongPrefillTokenThreshold, c.SingleExempt, c.Unchunked = 0, false, true
	c.MaxNumBatchedTokens = max(c.MaxNumBatchedTokens, r.one(12, 13, 25))
	switch {
	case p.Receives:
	case p.Caches || r.flag(): // TensorRT-LLM
		c.NoEvict, c.BatchWaitIters = r.IntN(3) == 0, int(r.one(0, 0, 1, 3))
	default: // Orca
		p.Ahead, c.SchedulerReserveFullISL = false, false
		c.Reserve = []schedulers.Reserve{schedulers.AsComputed, schedulers.WholePrompt, schedulers.MaxOutput,
			schedulers.MaxModelLen}[r.IntN(4)]
	}
}

// prefillFirst draws the scheduler of vLLM V0.
func (r draw) prefillFirst(p *Pool) {
	seqs := r.one(1, 2, 3, 8)
	p.Ahead = false
	p.Scheduler = &schedulers.PrefillFirst{MaxNumSeqs: int(seqs), MaxNumBatchedTokens: r.one(12, 13, 16, 40),
		WatermarkBlocks: r.Int64N(3), PrefillBelow: int(r.one(0, 0, 1, 2)),
		Victim: []schedulers.Victim{schedulers.LastAdmitted, schedulers.LastInOrder}[r.IntN(2)], Preempt: sim.Recompute}
	p.ByPriority = r.flag()
}

// crowd adds requests to a scenario, whose prompts begin with one of many texts, so that what is cached is evicted as
// others are retracted; the second pool of two has what caches prefixes.
func (r draw) crowd(s Scenario, p Pool, two bool) Scenario {
	s.Tree, p.Caches, p.Blocks = new(sim.Contents), true, 8+r.Int64N(8)
	nodes := []int32{0}
	for range 7 {
		if parent := nodes[r.IntN(len(nodes))]; s.Tree.Tokens(parent) < 9 {
			nodes = append(nodes, s.Tree.Add(parent, 1+r.Int32N(5)))
		}
	}
	r.more(&s)
	for i := range s.Requests {
		s.Requests[i].Content = 0
		if n := nodes[r.IntN(len(nodes))]; s.Tree.Tokens(n) < s.Requests[i].Prompt {
			s.Requests[i].Content = n
		}
	}
	if !two {
		r.scheduler(&p)
		r.speculate(&p)
		s.Pools = []Pool{p}
		return s
	}
	second := r.two(func(d *Pool) {
		d.Caches, d.Loads, d.Recomputes = true, true, r.flag()
		r.continuous(d)
	})
	second.Requests, second.Tree = s.Requests, s.Tree
	return second
}

// more adds requests behind those that there are.
func (r draw) more(s *Scenario) {
	last := s.Requests[len(s.Requests)-1]
	for range 2 + r.IntN(4) {
		last.ID++
		last.Prompt, last.Output, last.Priority = 1+r.Int32N(12), 1+r.Int32N(12), int8(r.IntN(2))
		last.MaxOutput, last.Arrival = 0, last.Arrival.Add(sim.Millisecond*sim.Duration(r.Int64N(9)))
		s.Requests = append(s.Requests, last)
	}
}

// DecodeSide draws a decode side of SGLang that composes steps while others run, by its number. It leaves a token free
// for each request, which is so little that it retracts most of them sooner or later.
func DecodeSide(number uint64) Scenario {
	r := draw{rand.New(rand.NewPCG(29, number))}
	s := r.two(func(d *Pool) {
		d.Ahead, d.Caches, d.Blocks = true, false, int64(r.one(15, 18))
		r.sglang(d)
	})
	s.Pools[1].Speculation = nil
	r.more(&s)
	return s
}

// Impatient draws a scenario by its number, the clients of which cancel some of their requests, often just as a step
// ends, or cannot see the first of their tokens.
func Impatient(number uint64) Scenario {
	s := One(others + number)
	r := draw{rand.New(rand.NewPCG(31, number))}
	switch number % 8 {
	case 0:
		s = r.swapping()
	case 3:
		s = DecodeSide(decodeSides + number)
	}
	for i := range s.Requests {
		q := &s.Requests[i]
		if r.flag() {
			q.Deadline = q.Arrival.Add(sim.Millisecond / 2 * sim.Duration(1+r.Int64N(60)))
		}
		if r.flag() {
			q.Reasoning = r.Int32N(q.Output + 1)
		}
	}
	return s
}

// swapping draws a pool of vLLM V0 that swaps what it preempts, or one of static batches.
func (r draw) swapping() Scenario {
	s, p := r.requests()
	s.Tree, p.Caches = nil, false
	for i := range s.Requests {
		s.Requests[i].Content = 0
	}
	r.more(&s)
	r.prefillFirst(&p)
	if r.IntN(3) > 0 {
		p.Scheduler.(*schedulers.PrefillFirst).Preempt, p.Host = sim.Swap, r.Int64N(12)
	} else {
		p.Scheduler = &schedulers.Static{MaxBatchSize: int(r.one(1, 2, 3, 8)), MaxNumBatchedTokens: r.one(12, 20, 30, 100)}
	}
	s.Pools = []Pool{p}
	return s
}

// Urgent draws a pool of SGLang by its number, in which requests take the places of others, since the later ones come
// the more urgent they are.
func Urgent(number uint64) Scenario {
	r := draw{rand.New(rand.NewPCG(37, number))}
	s, p := r.requests()
	r.more(&s)
	r.sglang(&p)
	g := p.Scheduler.(*schedulers.SGLang)
	g.Order, g.MaxRunningRequests = schedulers.FCFS, int(r.one(1, 2, 2, 3, 8))
	g.Preemption, g.PreemptionMargin, p.ByPriority = true, r.one(0, 0, 1), true
	r.speculate(&p)
	hurry := 1 + r.IntN(3)
	for i := range s.Requests {
		q := &s.Requests[i]
		q.Priority -= int8(i / hurry)
		if s.Tree != nil && s.Tree.Tokens(q.Content) >= q.Prompt {
			q.Content = 0
		}
	}
	s.Pools = []Pool{p}
	return s
}
