package sim_test

import (
	"fmt"
	"maps"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// journal records what is reported to the sink, token by token.
type journal struct {
	metrics.Recorder
	tokens map[int32][]sim.Time
	ended  map[int32]string
	end    map[int32]sim.Time
	admit  map[int32]sim.Time
	cached map[int32]int32
	moved  map[int32][2]sim.Time // when room was reserved and when it arrived
	seen   map[int32]sim.Time    // first token after the reasoning
	last   map[int32]sim.Record  // what had become of it at its end
	runs   int
	chunks *metrics.Chunks // that clients receive; nil: single tokens, or it has had shards
	shard  bool            // it hears of some of the time, and so has holes among the tokens

	switches int // runs that end because the price changes regime

	gaps map[string]int // between two tokens of a request, by what came between
	spans
}

func newJournal() *journal {
	return &journal{
		tokens: map[int32][]sim.Time{}, ended: map[int32]string{}, end: map[int32]sim.Time{}, admit: map[int32]sim.Time{},
		cached: map[int32]int32{}, moved: map[int32][2]sim.Time{}, gaps: map[string]int{},
		seen: map[int32]sim.Time{}, last: map[int32]sim.Record{}, spans: newSpans(),
	}
}

// Shard implements sim.Sharder.
func (j *journal) Shard() sim.Sink {
	s := newJournal()
	s.shard = true
	s.Recorder = *j.Recorder.Shard().(*metrics.Recorder)
	return s
}

// Merge implements sim.Sharder.
func (j *journal) Merge(shard sim.Sink) {
	s := shard.(*journal)
	j.chunks = nil
	j.Recorder.Merge(&s.Recorder)
	for id, tokens := range s.tokens {
		for i, t := range tokens {
			if t != 0 {
				j.emit(id, i, t)
			}
		}
	}
	maps.Copy(j.ended, s.ended)
	maps.Copy(j.end, s.end)
	maps.Copy(j.seen, s.seen)
	maps.Copy(j.last, s.last)
	maps.Copy(j.admit, s.admit)
	maps.Copy(j.cached, s.cached)
	maps.Copy(j.moved, s.moved)
	for cause, n := range s.gaps {
		j.gaps[cause] += n
	}
	for gap, n := range s.itl {
		j.itl[gap] += n
	}
	for wait, n := range s.ttft {
		j.ttft[wait] += n
	}
	j.runs += s.runs
	j.switches += s.switches
}

func (j *journal) First(r *sim.Request) {
	j.Recorder.First(r)
	j.emit(r.ID, 0, r.First)
	j.ttft[span{r.Class, r.First.Sub(r.Arrival)}]++
	if j.chunks != nil {
		j.chunks.First(r)
	}
}

func (j *journal) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	j.Recorder.Run(in, start, g, n, tokens)
	j.runs++
	if n == g.Steps && g.Steps > 1 {
		j.switches++
	}
	j.count("", n*tokens)
	for i := range n {
		j.perClass(in, tokens, g.Step(i))
	}
}

func (j *journal) Paused(in *sim.Instance, since, start sim.Time, g *sim.Segment, tokens int) {
	j.Recorder.Paused(in, since, start, g, tokens)
	j.count("held", tokens)
	j.perClass(in, tokens, start.Add(g.First).Sub(since))
}

func (j *journal) Burst(in *sim.Instance, t sim.Time, tokens int) {
	j.Recorder.Burst(in, t, tokens)
	j.count("burst", tokens)
	j.perClass(in, tokens, 0)
}

func (j *journal) count(cause string, n int) {
	if n < 0 {
		panic(fmt.Sprintf("%d tokens are reported", n))
	}
	if n > 0 {
		j.gaps[cause] += n
	}
}

// perClass records the gap of so many tokens by class.
func (j *journal) perClass(in *sim.Instance, tokens int, gap sim.Duration) {
	by := in.TokensByClass()
	if len(by) == 0 {
		by = []int32{int32(tokens)}
	}
	for class, k := range by {
		tokens -= int(k)
		if k > 0 {
			j.itl[span{uint8(class), gap}] += int(k)
		}
	}
	if tokens != 0 {
		panic(fmt.Sprintf("%d tokens too many are reported, of the classes %v", tokens, by))
	}
}

func (j *journal) Gap(in *sim.Instance, r *sim.Request, t sim.Time, c sim.Cause) {
	j.Recorder.Gap(in, r, t, c)
	j.emit(r.ID, int(r.Emitted)-1, t)
	j.count(map[sim.Cause]string{sim.Preempted: "preempted", sim.Swapped: "swapped", sim.Paused: "held",
		sim.Transferred: "moved", sim.Restarted: "restarted"}[c], 1)
	j.itl[span{r.Class, t.Sub(r.Last)}]++
	if j.chunks != nil {
		j.chunks.One(r, t)
	}
}

// Tokens implements sim.Tracer.
func (j *journal) Tokens(r *sim.Request, emitted int32, start sim.Time, g *sim.Segment, n int) {
	j.upTo(r, emitted)
	for i := range n {
		j.emit(r.ID, int(emitted)+i, start.Add(g.Span(i+1)))
	}
	if j.chunks != nil {
		j.chunks.Tokens(r, start, g, n)
	}
}

// Accepted implements sim.Tracer.
func (j *journal) Accepted(r *sim.Request, emitted int32, t sim.Time, n int) {
	j.upTo(r, emitted)
	for i := range n {
		j.emit(r.ID, int(emitted)+i, t)
	}
	if j.chunks != nil {
		j.chunks.Accepted(r, t, n)
	}
}

// Delayed implements sim.Tracer.
func (j *journal) Delayed(r *sim.Request, emitted int32, since, t sim.Time) {
	j.upTo(r, emitted)
	if !j.shard && j.tokens[r.ID][emitted-1] != since {
		panic(fmt.Sprintf("request %d emitted at %v, reported %v", r.ID, j.tokens[r.ID][emitted-1], since))
	}
	j.emit(r.ID, int(emitted), t)
	if j.chunks != nil {
		j.chunks.One(r, t)
	}
}

// emit records the token of a request at a position from 0. A run that is reported to one journal reports them in
// order.
func (j *journal) emit(id int32, position int, t sim.Time) {
	tokens := j.tokens[id]
	for len(tokens) <= position {
		tokens = append(tokens, 0)
	}
	if tokens[position] != 0 {
		panic(fmt.Sprintf("token %d of request %d is reported twice", position, id))
	}
	tokens[position] = t
	j.tokens[id] = tokens
}

func (j *journal) upTo(r *sim.Request, emitted int32) {
	if !j.shard && int(emitted) != len(j.tokens[r.ID]) {
		panic(fmt.Sprintf("request %d has %d tokens, reported %d", r.ID, len(j.tokens[r.ID]), emitted))
	}
}

func (j *journal) Done(r *sim.Request, at sim.Time, o sim.Outcome) {
	j.Recorder.Done(r, at, o)
	if j.chunks != nil {
		j.chunks.Done(r, at, o)
	}
	j.ended[r.ID], j.end[r.ID], j.seen[r.ID] = o.String(), at, r.Visible
	j.admit[r.ID], j.cached[r.ID], j.last[r.ID] = r.Admitted, r.Cached, r.Record
	j.moved[r.ID] = [2]sim.Time{r.Allocated, r.Transferred}
}

// compareRecord compares what is said of a request when it has been completed with its tokens and preemptions.
func (j *journal) compareRecord(t require.TestingT, variant string, r *naiveRequest) {
	last, n := j.last[r.ID], len(r.tokens)
	require.Equal(t, sim.Record{First: r.tokens[0], Last: r.tokens[n-1], Emitted: int32(n), Preemptions: r.Preemptions},
		sim.Record{First: last.First, Last: last.Last, Emitted: last.Emitted, Preemptions: last.Preemptions},
		"%s: request %d, as is said at its end", variant, r.ID)
}
