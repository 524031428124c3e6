package metrics

import "github.com/decodesim/decodesim/sim"

// Recorder is the sim.Sink that defines the metrics. Each is computed here and nowhere else, as the client sees it:
//
//	TTFT   first token + egress − arrival
//	ITL    token − token before, of the same request; a preemption is one long gap
//	TPOT   (last token − first token) / (tokens − 1), of completed requests with more than one
//	E2E    last token + egress − arrival, of completed requests
//	queue  first admission to a batch − arrival at the engine, of requests with a first token
//
// Tokens before the end of the warm-up, and requests that arrived before it, are simulated but not recorded.
type Recorder struct {
	Warmup  sim.Time
	Ingress sim.Duration // between arrival and arrival at the engine
	Egress  sim.Duration // between the engine and the client, of every token
	SLO     Limits
	Rows    func(r *sim.Request, at sim.Time, o sim.Outcome) // told of every request that ends; nil: nobody

	TTFT, ITL, TPOT, E2E, Queue Hist

	// Attribution takes every gap of ITL apart; nil: nobody asked, and it costs nothing.
	Attribution *Attribution

	// Stalls holds, by what they had in them, the gaps of ITL that were more than a step of decodes.
	Stalls [NumStalls]Hist

	Outcomes  [sim.NumOutcomes]int64 // of all requests, warm-up included
	Recorded  int64                  // completed requests recorded
	Attained  int64                  // of those, how many met the SLO
	Unserved  int64                  // requests that were rejected or failed after the warm-up: they missed it
	LastToken sim.Time               // of a request that has ended, or a first one

	account account
	first   int64 // first tokens after the warm-up
	burst   int64 // gaps of zero between tokens that came together
}

// A Stall is what made a gap between two tokens longer than a step of decodes alone.
type Stall uint8

// The stalls.
const (
	Mixed     Stall = iota // the step had chunks of prompts in it
	Held                   // steps of prompts alone came between
	Preempted              // the cache had been dropped, or was in host memory
	Moved                  // the cache had gone to another instance
	Restarted              // the instance had failed
	NumStalls
)

var stallOf = [...]Stall{sim.Preempted: Preempted, sim.Swapped: Preempted, sim.Paused: Held, sim.Transferred: Moved, sim.Restarted: Restarted}

// Output returns the tokens recorded: first ones, and one for each gap.
func (m *Recorder) Output() int64 { return m.first + m.ITL.N() }

// chunks describes the gaps between chunks: between tokens, but for those that came together.
func (m *Recorder) chunks() Quantiles {
	if m.burst == 0 {
		return m.ITL.Quantiles()
	}
	gaps := m.ITL.withoutZeros(uint64(m.burst))
	return gaps.Quantiles()
}

// Bound returns what the steps were made of that tokens have waited for so far.
func (m *Recorder) Bound() Bound { return m.account.summary() }

// Limits is an SLO on the latencies of a request; 0: none.
type Limits struct{ TTFT, TPOT, E2E sim.Duration }

var _ sim.Sink = (*Recorder)(nil)

// First implements sim.Sink: it records TTFT and queue time.
func (m *Recorder) First(r *sim.Request) {
	m.LastToken = max(m.LastToken, r.First.Add(m.Egress))
	if r.First < m.Warmup {
		return
	}
	m.first++
	if r.Arrival >= m.Warmup {
		m.TTFT.One(r.First.Sub(r.Arrival) + m.Egress)
		m.Queue.One(r.Admitted.Sub(r.Arrival) - m.Ingress)
	}
}

// Run implements sim.Sink: it records ITL, for consecutive tokens are one step apart.
func (m *Recorder) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	if tokens == 0 {
		return
	}
	if start < m.Warmup {
		m.warm(in, start, g, n, tokens)
		return
	}
	m.record(in, g, n, uint64(tokens))
}

func (m *Recorder) record(in *sim.Instance, g *sim.Segment, n int, tokens uint64) {
	if m.Attribution != nil {
		m.Attribution.steps(in, g, n, tokens)
	}
	m.account.add(g, n, tokens)
	if n > 1 {
		m.account.grow(g, n, tokens)
		m.ITL.AddRun(g, n, tokens)
	} else {
		i := bucket(g.First)
		m.ITL.addAt(i, g.First, tokens)
		if in != nil && in.PromptChunks() > 0 {
			m.Stalls[Mixed].addAt(i, g.First, tokens)
		}
	}
}

// warm records what a run that began in the warm-up emits after it.
func (m *Recorder) warm(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	cold := min(n, g.Ended(m.Warmup.Sub(start)-1))
	if cold < n {
		rest := g.Tail(cold)
		m.record(in, &rest, n-cold, uint64(tokens))
	}
}

// Paused implements sim.Sink: it records the ITL of sequences that steps of prompts alone held up.
func (m *Recorder) Paused(in *sim.Instance, since, start sim.Time, g *sim.Segment, tokens int) {
	gap := start.Sub(since) + g.First
	if start.Add(g.First) < m.Warmup {
		return
	}
	m.account.add(g, 1, uint64(tokens))
	m.account.hold(start.Sub(since), tokens)
	m.ITL.Add(gap, uint64(tokens))
	m.Stalls[Held].Add(gap, uint64(tokens))
	if m.Attribution != nil {
		s := in.StepBreakdown()
		s[sim.Prefill] += start.Sub(since)
		m.Attribution.one(&s, uint64(tokens))
	}
}

// Burst implements sim.Sink: tokens that came with another have a gap of zero.
func (m *Recorder) Burst(_ *sim.Instance, t sim.Time, tokens int) {
	if t >= m.Warmup {
		m.ITL.Add(0, uint64(tokens))
		m.burst += int64(tokens)
	}
}

// Gap implements sim.Sink: it records the ITL across an interruption.
func (m *Recorder) Gap(in *sim.Instance, r *sim.Request, t sim.Time, c sim.Cause) {
	if t < m.Warmup {
		return
	}
	gap := t.Sub(r.Last)
	m.ITL.One(gap)
	m.Stalls[stallOf[c]].One(gap)
	if m.Attribution != nil {
		s := in.GapBreakdown(r, t, c)
		m.Attribution.one(&s, 1)
	}
}

// Done implements sim.Sink: it records TPOT and E2E.
func (m *Recorder) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	m.Outcomes[o]++
	if m.Rows != nil {
		m.Rows(r, at, o)
	}
	if o != sim.Completed {
		if o != sim.Unfinished && r.Arrival >= m.Warmup {
			m.Unserved++
		}
		return
	}
	m.LastToken = max(m.LastToken, at.Add(m.Egress))
	if r.Arrival < m.Warmup {
		return
	}
	m.Recorded++
	e2e := at.Sub(r.Arrival) + m.Egress
	m.E2E.One(e2e)
	tpot := sim.Duration(0)
	if r.Emitted > 1 {
		tpot = at.Sub(r.First) / sim.Duration(r.Emitted-1)
		m.TPOT.One(tpot)
	}
	if m.SLO.met(r.First.Sub(r.Arrival)+m.Egress, tpot, e2e) {
		m.Attained++
	}
}

// met reports whether a request is good. One with a single token has no TPOT to miss, as in vllm bench serve.
func (l Limits) met(ttft, tpot, e2e sim.Duration) bool {
	return (l.TTFT == 0 || ttft <= l.TTFT) && (l.TPOT == 0 || tpot <= l.TPOT) && (l.E2E == 0 || e2e <= l.E2E)
}
