package build

import (
	"context"
	"errors"
	"io/fs"
	"math"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/sessions"
	"github.com/decodesim/decodesim/workloads/traces"
)

// load makes the source of the requests.
func (b *Built) load() error {
	s := b.Scenario
	w := &s.Workload
	pairs, err := recordedLengths(s, b.reading)
	if err != nil {
		return err
	}
	switch {
	case w.Trace != nil:
		var t *traces.Trace
		o := w.Replay(s.Seed)
		o.Contents, o.Reading, o.Before = w.Trace.Follow || s.CachesPrefixes(), b.reading, true
		o.Room = b.room
		if w.Adapters != nil {
			o.Adapters = w.Adapters.Count
		}
		t, err = traces.Open(w.Trace.File, o)
		if err != nil {
			return badTrace(s, err)
		}
		b.source = t
		if w.Trace.Follow {
			if err := b.follow(t); err != nil {
				return err
			}
		}
	case w.Sessions != nil:
		b.source, err = sessions.NewSessionLoop(w.SessionSource(int64(b.Replicas[b.tightest()].MaxModelLen)), s.Seed)
	case w.Agents != nil:
		b.source, err = sessions.NewAgentLoop(w.AgentSource(int64(b.Replicas[b.tightest()].MaxModelLen)), s.Seed)
	case w.Mixed():
		b.source, err = workloads.NewMix(w.MixSource(), s.Seed)
	case w.ClosedLoop != nil:
		b.source, err = sessions.NewClosedLoop(w.ClosedSource(pairs), s.Seed)
	default:
		b.source, err = workloads.NewOpenLoop(w.OpenSource(pairs), s.Seed)
	}
	if err == nil {
		b.requests, err = b.fan()
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}
	if err != nil {
		return s.Refused(err)
	}
	if pairs != nil {
		b.skipped = pairs.Skipped
		if w.Bounded() && w.Requests == 0 {
			w.Requests = int64(pairs.Len())
		}
	}
	b.expect()
	return nil
}

// follow makes the requests of a trace wait for the answers that they go on from.
func (b *Built) follow(t *traces.Trace) (err error) {
	b.recorded = t
	if t.Contents() == nil && !t.Columns().Sessions {
		return errors.Join(b.Scenario.Errorf("workload.trace.follow_answers", "true, but %s names neither sessions nor "+
			"blocks of prompts, so that nothing says which go on from which; expected session_id, block ids such as "+
			"hash_ids, or false",
			b.Scenario.Workload.Trace.File), t.Close())
	}
	if b.room != nil {
		if err := b.room(int64(t.Requests()) * sessions.RecordedBytes); err != nil {
			return errors.Join(b.Scenario.Errorf("workload.trace.follow_answers", "true, for which all %d requests of %s are "+
				"kept: %s; expected false, or a smaller limit", t.Stats().Requests, b.Scenario.Workload.Trace.File, err), t.Close())
		}
	}
	b.source, err = sessions.NewRecorded(t, t.BlockTokens())
	return err
}

// trace returns the trace that is replayed; nil: there is none.
func (b *Built) trace() *traces.Trace {
	if b.recorded != nil {
		return b.recorded
	}
	t, _ := b.source.(*traces.Trace)
	return t
}

// Mixed returns the streams of the workload; nil: there is one.
func (b *Built) Mixed() *workloads.Mixed {
	m, _ := b.source.(*workloads.Mixed)
	return m
}

// badTrace points an error about a trace at the scenario, unless it is about a row: then the trace's own line says
// more.
func badTrace(s *configs.Scenario, err error) error {
	const path = "workload.trace.file"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.Errorf(path, "%q does not exist; expected a CSV or JSON-lines file", s.Workload.Trace.File)
	case configs.IsRefusal(err):
		return s.Refused(err)
	}
	return s.Errorf(path, "%s", strict.Message(err))
}

// TraceSpeed returns how many times faster than recorded the trace of the workload is replayed; 0: it has none.
func (b *Built) TraceSpeed() float64 {
	if t := b.trace(); t != nil {
		return t.Speed()
	}
	return 0
}

// expect estimates how many requests come, and in which time.
func (b *Built) expect() {
	w := &b.Scenario.Workload
	b.Requests, b.RatePerS = b.source.Requests(), b.source.Rate()
	b.PromptMean, b.OutputMean = b.source.Means()
	if b.RatePerS > 0 {
		b.SpanS = b.Requests / b.RatePerS
	}
	if b.RatePerS == 0 && w.ClosedLoop != nil {
		b.expectClosed()
	}
	b.Requests *= float64(b.Scenario.Decoding.Choices().N)
}

// expectClosed estimates what the clients of a closed loop send.
func (b *Built) expectClosed() {
	w := &b.Scenario.Workload
	turn := b.turnS()
	wait := float64(w.ClosedLoop.RampS / 2) // of the mean client, before its first request
	if timed := float64((w.DurationS - wait) / turn * float64(w.ClosedLoop.Concurrency)); timed > 0 &&
		(b.Requests == 0 || timed < b.Requests) {
		b.Requests = timed
	}
	b.SpanS = b.Requests*turn/float64(w.ClosedLoop.Concurrency) + wait
}

// turnS estimates what a client of a closed loop takes from one request to the next: thinking, the ingress, the prompts
// of all clients of a replica in one step, and an output of mean length in a batch of all of them.
func (b *Built) turnS() float64 {
	prompts, outputs := b.typical((*configs.Pool).Prefills), b.typical((*configs.Pool).Decodes)
	batch := b.clientsPer(outputs)
	context := max(1, int(min(b.PromptMean+float64(b.OutputMean/2), float64(b.Replicas[outputs].MaxModelLen))))
	decode := b.Replicas[outputs].Model.Step(batch, context)
	n, prompt := int64(b.clientsPer(prompts)), int64(max(1, b.PromptMean))
	var prefill sim.Segment
	b.Replicas[prompts].Model.Price([]sim.Shape{{
		Prefills: int(n), PrefillTokens: n * prompt, PrefillPairs: n * prompt * (prompt + 1) / 2, PrefillCtx: n * prompt,
		PrefillLongest: prompt, Outputs: int(n),
	}}, &prefill)
	outsideS := b.Scenario.Workload.ClosedLoop.ThinkTimeS
	if s, ok := b.source.(turns); ok {
		outsideS = s.PauseS()
	}
	outsideS += (b.Config.Ingress + b.Config.Egress).Seconds()
	outsideS += float64(b.PromptMean * b.Replicas[prompts].Deployment.Efficiency.TokenizeS)
	return outsideS + prefill.First.Seconds() + float64(max(1, b.OutputMean)*decode.First.Seconds())
}

// typical returns the pool with the most replicas that do something; the first of equals.
func (b *Built) typical(does func(*configs.Pool) bool) int {
	best := -1
	for i := range b.Scenario.Pools {
		if p := &b.Scenario.Pools[i]; does(p) && (best < 0 || p.Replicas > b.Scenario.Pools[best].Replicas) {
			best = i
		}
	}
	return best
}

// clientsPer returns how many answers a replica of the pool works on, if those with the same role share them evenly.
func (b *Built) clientsPer(pool int) int {
	p, replicas := &b.Scenario.Pools[pool], 0
	for _, i := range b.Scenario.PoolsOf(p.Role) {
		replicas += b.Scenario.Pools[i].Replicas
	}
	answers := b.Scenario.Workload.ClosedLoop.Concurrency * int(b.Scenario.Decoding.Choices().N)
	return max(1, min((answers+replicas-1)/max(1, replicas), p.SequencesMax()))
}

// tracedMax is how many requests are followed token by token: enough for the tails by position, few enough to cost
// little.
const tracedMax = 2000

func (b *Built) traceEvery() int32 {
	return int32(min(max(1, math.Ceil(b.Requests/tracedMax)), math.MaxInt32))
}

// recordedLengths reads the recorded lengths of the workload; nil: it has laws. An error points at the scenario, and on
// into the file where a row is wrong.
func recordedLengths(s *configs.Scenario, reading traces.Reading) (*lengths.Pairs, error) {
	l := s.Workload.Lengths
	if l == nil {
		return nil, nil
	}
	if l.File == "" {
		return lengths.NewPairs(l.Values)
	}
	return readLengths(s, "workload.lengths.file", l.File, reading)
}

// traceLengths reads the lengths of the workload's trace.
func traceLengths(s *configs.Scenario, reading traces.Reading) (*lengths.Pairs, error) {
	return readLengths(s, "workload.trace.file", s.Workload.Trace.File, reading)
}

func readLengths(s *configs.Scenario, path, file string, reading traces.Reading) (*lengths.Pairs, error) {
	pairs, err := traces.ReadPairs(file, reading)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, s.Errorf(path, "%q does not exist; expected a CSV or JSON-lines file", file)
	case err != nil:
		return nil, s.Errorf(path, "%s", strict.Message(err))
	}
	return pairs, nil
}

// Hearing returns what hears how far a file of requests is read, in bytes, of so many.
type Hearing func(file string) func(done, of int64)

type hearingKey struct{}

// WithHearing returns a context under which what reads a file of requests says how far it is, for that takes a while
// where the file is long. Several files may be read at the same time.
func WithHearing(ctx context.Context, hear Hearing) context.Context {
	return context.WithValue(ctx, hearingKey{}, hear)
}

type roomKey struct{}

// WithRoom returns a context under which what a file of requests has to keep is asked for before it takes memory.
func WithRoom(ctx context.Context, room traces.MoreRoom) context.Context {
	return context.WithValue(ctx, roomKey{}, room)
}

// Room returns what ctx asks for more memory; nil: nobody.
func Room(ctx context.Context) traces.MoreRoom {
	room, _ := ctx.Value(roomKey{}).(traces.MoreRoom)
	return room
}

// Reading returns what is called as a file is read: it says so to what ctx has for that, and ends the reading with ctx.
func Reading(ctx context.Context, file string) traces.Reading {
	hear, ok := ctx.Value(hearingKey{}).(Hearing)
	if !ok {
		return func(_, _ int64) error { return ctx.Err() }
	}
	say := hear(file)
	return func(done, of int64) error {
		say(done, of)
		return ctx.Err()
	}
}
