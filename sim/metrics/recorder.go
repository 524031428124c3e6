package metrics

import "github.com/decodesim/decodesim/sim"

var _ sim.Sink = (*Recorder)(nil)

// Recorder is the sim.Sink that defines the metrics. Each is computed here and nowhere else, as the client sees it:
//
//	TTFT   first token + egress − arrival
//	TTFO   first token that is no reasoning + egress − arrival, where a workload has reasoning
//	ITL    token − token before, of one request; see itl.go
//	TPOT   (last token − first token) / (tokens − 1), of completed requests with more than one token
//	E2E    last token + egress − arrival, of completed requests
//	queue  first admission to a batch − arrival at the engine, of requests with a first token
//	tokenize  arrival at the engine − routing, of the same, where prompts are tokenised in a time
//	task   of agents; see tasks.go
//
// Tokens before the end of the warm-up, and requests that arrived before it, are simulated but not recorded.
type Recorder struct {
	Warmup  sim.Time
	Ingress sim.Duration // from the arrival to the routing; what tokenising takes is beside it
	Egress  sim.Duration // from the engine to the client, for every token
	SLO     Limits
	Rules   Rules                                            // judged by Verdicts
	Rows    func(r *sim.Request, at sim.Time, o sim.Outcome) // called for every request that ends, unless it is nil

	TTFT, ITL, TPOT, E2E, Queue Hist

	Tokenizing Hist // of requests whose prompts are tokenised in a time, from the routing to the queue

	// Waited is how long clients waited for a first token in vain, from arrival until they cancelled or their instance
	// failed: TTFT and Queue have only those that had one.
	Waited Hist

	// Thinks has TTFO recorded; without, every output is visible from its first token on.
	Thinks bool
	TTFO   Hist

	// Tasks records the tasks of agents, which Task reports; nil: there are none.
	Tasks *Tasks

	// Stream follows the chunks that clients receive; nil: they are what steps emit. A sink with one traces every request
	// and has no shards.
	Stream *Chunks

	// Attribution breaks every gap of ITL down into its causes; nil: it does not, and costs nothing.
	Attribution *Attribution

	// Series keeps the run in order of time, warm-up included; nil: it does not, and costs nothing.
	Series *Series

	// Windows records the same by window of time; nil: nothing does, and it costs nothing. ITL is then complete when
	// Gather or Summary has been called.
	Windows *Windows

	// Stalls has the gaps of ITL that were longer than a decode-only step, by the reason.
	Stalls [NumStalls]Hist

	Outcomes  [sim.NumOutcomes]int64 // of all requests, warm-up included
	Recorded  int64                  // completed requests recorded
	Attained  int64                  // recorded requests that met the SLO
	Unserved  int64                  // requests that were rejected or failed after the warm-up, and so missed the SLO
	LastToken sim.Time               // the latest last token of a request that has ended, or first token of any

	good       []int64 // by rule about requests: completed requests that keep it
	unanswered int64   // unserved requests without a first token
	hidden     int64   // measured requests that have ended with nothing but reasoning, or nothing at all
	thought    int64   // those of them that were completed: their limit was reached within their reasoning

	account account
	first   int64 // first tokens after the warm-up
	burst   int64 // gaps of zero between tokens that came together
}

// Limits is an SLO on the latencies of a request, or these latencies; 0: none.
type Limits struct{ TTFT, TPOT, E2E, Queue, TTFO sim.Duration }

// met reports whether a request is good. A request with a single token has no TPOT to miss, as in vllm bench serve.
func (l Limits) met(of Limits) bool {
	return (l.TTFT == 0 || of.TTFT <= l.TTFT) && (l.TPOT == 0 || of.TPOT <= l.TPOT) &&
		(l.E2E == 0 || of.E2E <= l.E2E) && (l.Queue == 0 || of.Queue <= l.Queue) && (l.TTFO == 0 || of.TTFO <= l.TTFO)
}

// First implements sim.Sink: it records TTFT and queue time.
func (m *Recorder) First(r *sim.Request) {
	if m.Stream != nil {
		m.Stream.First(r)
	}
	m.LastToken = max(m.LastToken, r.First.Add(m.Egress))
	if m.Series != nil {
		m.Series.request(OfTTFT, r, r.First.Sub(r.Arrival)+m.Egress)
	}
	if m.Windows != nil {
		m.Windows.at(r.First).answered++
	}
	if r.First < m.Warmup {
		return
	}
	m.first++
	if r.Arrival < m.Warmup {
		return
	}
	ttft, queue := r.First.Sub(r.Arrival)+m.Egress, r.Admitted.Sub(r.Arrival)-m.Ingress-r.Tokenizing
	m.TTFT.One(ttft)
	m.Queue.One(queue)
	if r.Tokenizing > 0 {
		m.Tokenizing.One(r.Tokenizing)
	}
	if m.Windows != nil {
		m.Windows.first(r.First, ttft, queue)
	}
}

// Done implements sim.Sink: it records TPOT and E2E.
func (m *Recorder) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	m.Outcomes[o]++
	if m.Stream != nil {
		m.Stream.Done(r, at, o)
	}
	if m.Rows != nil {
		m.Rows(r, at, o)
	}
	if m.Series != nil {
		m.follow(r, at, o)
	}
	if m.Windows != nil {
		m.Windows.waited(r, at, o)
	}
	if m.Thinks && r.Arrival >= m.Warmup {
		m.visible(r, at, o)
	}
	if o != sim.Completed {
		m.unserved(r, at, o)
		return
	}
	m.LastToken = max(m.LastToken, at.Add(m.Egress))
	if r.Arrival < m.Warmup {
		return
	}
	m.Recorded++
	l := m.latenciesOf(r, at)
	m.E2E.One(l.E2E)
	if r.Emitted > 1 {
		m.TPOT.One(l.TPOT)
	}
	if m.SLO.met(l) {
		m.Attained++
	}
	if m.Rules != nil {
		m.countGood(l)
	}
	if m.Windows != nil {
		m.Windows.done(at, r.Emitted > 1, l)
	}
}

// visible records when the client of a request that has ended had something to read, if it ever had.
func (m *Recorder) visible(r *sim.Request, at sim.Time, o sim.Outcome) {
	seen := r.Visible
	if r.Reasoning == 0 {
		seen = r.First
	}
	switch {
	case r.Emitted > r.Reasoning:
		ttfo := seen.Sub(r.Arrival) + m.Egress
		m.TTFO.One(ttfo)
		if m.Windows != nil {
			m.Windows.visible(seen, ttfo)
		}
	case o != sim.Unfinished:
		m.hidden++
		if o == sim.Completed {
			m.thought++
		}
		if m.Windows != nil {
			m.Windows.at(at).hidden++
		}
	}
}

// unserved counts a request that was not completed, unless it is under way at the end of the run.
func (m *Recorder) unserved(r *sim.Request, at sim.Time, o sim.Outcome) {
	if o == sim.Unfinished || r.Arrival < m.Warmup {
		return
	}
	m.Unserved++
	if r.Emitted == 0 {
		m.unanswered++
		if o == sim.Failed {
			m.Waited.One(at.Sub(r.Arrival))
		}
	}
	if m.Windows != nil {
		m.Windows.lost(at, r.Emitted > 0)
	}
}

// latenciesOf returns what a limit may be set on, of a completed request; TPOT is 0 where there is one token only.
func (m *Recorder) latenciesOf(r *sim.Request, at sim.Time) (l Limits) {
	if r.Emitted > 1 {
		l.TPOT = at.Sub(r.First) / sim.Duration(r.Emitted-1)
	}
	l.TTFT, l.E2E = r.First.Sub(r.Arrival)+m.Egress, at.Sub(r.Arrival)+m.Egress
	l.TTFO = l.TTFT
	if r.Reasoning > 0 {
		l.TTFO = sim.Duration(sim.Forever)
		if r.Visible > 0 {
			l.TTFO = r.Visible.Sub(r.Arrival) + m.Egress
		}
	}
	l.Queue = r.Admitted.Sub(r.Arrival) - m.Ingress - r.Tokenizing
	return l
}

// follow records the end of a request in the series.
func (m *Recorder) follow(r *sim.Request, at sim.Time, o sim.Outcome) {
	good := false
	if o == sim.Completed {
		l := m.latenciesOf(r, at)
		m.Series.request(OfE2E, r, l.E2E)
		if r.Emitted > 1 {
			m.Series.request(OfTPOT, r, l.TPOT)
		}
		good = m.SLO.met(l)
	}
	m.Series.ended(r, at, o, good)
}
