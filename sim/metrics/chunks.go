package metrics

import "github.com/decodesim/decodesim/sim"

// Chunks follows what each client receives where an engine collects several tokens before it sends them: a chunk with
// the first token, then whenever so many have come since the one before, and at the end (vllm/v1/engine/
// output_processor.py). It needs every request traced, and costs time for each of them; without an interval a chunk is
// what a step emits, and nothing has to be followed.
type Chunks struct {
	Warmup  sim.Time // chunks sent before are not recorded
	Series  *Series  // that gaps between chunks belong to as well; nil: none
	Windows *Windows // that record them as well; nil: none

	interval int32
	gaps     Hist  // between chunks
	together int64 // tokens recorded that came in a chunk with one before them
	base     int32 // the request of open[0]
	open     []openChunk
	failed   []failedChunk // of requests that did not complete: their latest tokens may be reported after their end
}

// failedChunk is the open chunk of a request that has ended early.
type failedChunk struct {
	id int32
	openChunk
}

// openChunk is the tokens of a request that have not been sent.
type openChunk struct {
	sent    sim.Time // the chunk before
	waiting int32
	ended   bool
}

// NewChunks returns what follows chunks of so many tokens.
func NewChunks(interval int32) *Chunks { return &Chunks{interval: interval} }

// at returns the open chunk of a request.
func (c *Chunks) at(id int32) *openChunk {
	if id < c.base || int(id-c.base) < len(c.open) && c.open[id-c.base].ended {
		i := len(c.failed) - 1
		for c.failed[i].id != id { // it has just ended
			i--
		}
		return &c.failed[i].openChunk
	}
	for int(id-c.base) >= len(c.open) {
		c.open = append(c.open, openChunk{})
	}
	return &c.open[id-c.base]
}

// First records the first token of r, which is sent at once.
func (c *Chunks) First(r *sim.Request) { c.at(r.ID).sent = r.First }

// One records a token of r at t.
func (c *Chunks) One(r *sim.Request, t sim.Time) {
	o := c.at(r.ID)
	o.waiting++
	if o.waiting >= c.interval {
		c.send(o, t)
	}
}

// Tokens records a token of r at the end of each of the first n steps of g.
func (c *Chunks) Tokens(r *sim.Request, start sim.Time, g *sim.Segment, n int) {
	o := c.at(r.ID)
	k := int(c.interval)
	first := k - int(o.waiting) // steps until a chunk is complete
	if n < first {
		o.waiting += int32(n)
		return
	}
	o.waiting = c.interval
	c.send(o, start.Add(g.Span(first)))
	if whole := (n - first) / k; whole > 0 {
		c.chunks(o, start, g, first, whole)
	}
	o.waiting = int32((n - first) % k)
}

// chunks sends so many whole chunks, of the steps of g from one on. The chunk of the steps i to i+k−1 lasts
// k·step(i) + growth·k(k−1)/2, and the next one growth·k² longer.
func (c *Chunks) chunks(o *openChunk, start sim.Time, g *sim.Segment, from, whole int) {
	k := int(c.interval)
	if c.Windows != nil || start.Add(g.Span(from)) < c.Warmup {
		for i := range whole {
			o.waiting = c.interval
			c.send(o, start.Add(g.Span(from+(i+1)*k)))
		}
		return
	}
	run := sim.Segment{
		First: g.Span(from+k) - g.Span(from), Growth: g.Growth * sim.Duration(k) * sim.Duration(k), Steps: whole,
	}
	c.gaps.AddRun(&run, whole, 1)
	if c.Series != nil {
		c.Series.run(o.sent, &run, whole, 1)
	}
	c.together += int64(whole) * int64(k-1)
	o.sent = start.Add(g.Span(from + whole*k))
}

// Accepted records n tokens of r that came with the one at t: they are in its chunk, if that was sent.
func (c *Chunks) Accepted(r *sim.Request, t sim.Time, n int) {
	o := c.at(r.ID)
	if o.sent == t {
		if t >= c.Warmup {
			c.join(t, int64(n))
		}
		return
	}
	o.waiting += int32(n)
	if o.waiting >= c.interval {
		c.send(o, t)
	}
}

// Done sends what waits of a request that completed; of others it is lost.
func (c *Chunks) Done(r *sim.Request, at sim.Time, outcome sim.Outcome) {
	o := c.at(r.ID)
	switch {
	case outcome != sim.Completed:
		c.failed = append(c.failed, failedChunk{r.ID, *o})
	case o.waiting > 0:
		c.send(o, at)
	}
	o.ended = true
	for len(c.open) > 0 && c.open[0].ended {
		c.open, c.base = c.open[1:], c.base+1
	}
}

// send sends the tokens that wait.
func (c *Chunks) send(o *openChunk, t sim.Time) {
	if c.Series != nil {
		c.Series.gap(t, t.Sub(o.sent), 1)
	}
	if t >= c.Warmup {
		c.gaps.One(t.Sub(o.sent))
		if c.Windows != nil {
			c.Windows.at(t).of[RuleITL].add(t.Sub(o.sent), 1)
		}
		c.join(t, int64(o.waiting)-1)
	}
	o.sent, o.waiting = t, 0
}

// join records so many tokens that came at t with another one.
func (c *Chunks) join(t sim.Time, tokens int64) {
	c.together += tokens
	if c.Windows != nil && tokens > 0 {
		x := c.Windows.at(t)
		x.of[RuleITL].add(0, uint64(tokens))
		x.burst += tokens
	}
}

// Gaps returns the gaps between chunks.
func (c *Chunks) Gaps() *Hist { return &c.gaps }

// TokenGaps returns the gaps between tokens as clients receive them: 0 for all of a chunk but one.
func (c *Chunks) TokenGaps() *Hist {
	var all Hist
	all.Merge(&c.gaps)
	all.Add(0, uint64(c.together))
	return &all
}
