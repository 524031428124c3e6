package live

import (
	"context"
	"sync"
	"time"

	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Loop owns a fleet and keeps it at the present. Clients hand it what they ask for and go on; nothing that they do, or
// fail to do, keeps it waiting.
type Loop struct {
	fleet *Fleet
	clock *Clock

	mu     sync.Mutex
	tasks  []task
	closed bool

	signal chan struct{}
	delay  metrics.Hist // of tokens: from when they were due to when their clients could have them
}

// task is something that the owner of the fleet is to do.
type task struct {
	at time.Time // of the wall, when it came
	do func(at sim.Time)
}

// NewLoop returns what keeps a fleet at the time of a clock.
func NewLoop(f *Fleet, c *Clock) *Loop {
	return &Loop{fleet: f, clock: c, signal: make(chan struct{}, 1)}
}

// Run keeps the fleet at the present until ctx is done.
func (l *Loop) Run(ctx context.Context) error {
	defer l.close()
	alarm, err := newAlarm()
	if err != nil {
		return err
	}
	defer alarm.close()
	for {
		l.work()
		now := time.Now()
		next := l.fleet.Advance(l.clock.Simulated(now))
		l.observeDelay()
		alarm.set(l.clock.Until(time.Now(), next))
		select {
		case <-ctx.Done():
			return nil
		case <-l.signal:
		case <-alarm.C:
		}
	}
}

// work does what clients have asked for since the last time, in the order in which it came.
func (l *Loop) work() {
	l.mu.Lock()
	tasks := l.tasks
	l.tasks = nil
	l.mu.Unlock()
	for i := range tasks {
		tasks[i].do(l.clock.Simulated(tasks[i].at))
	}
}

// close refuses whatever comes from now on, and does what has come.
func (l *Loop) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.work()
}

// post hands the owner something to do, as of an instant of the wall. It reports whether it will be done.
func (l *Loop) post(at time.Time, do func(at sim.Time)) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.tasks = append(l.tasks, task{at, do})
	l.mu.Unlock()
	select {
	case l.signal <- struct{}{}:
	default:
	}
	return true
}

// Submit has requests arrive as of an instant of the wall. It reports whether the fleet still serves.
func (l *Loop) Submit(at time.Time, asks []Ask) bool {
	return l.post(at, func(t sim.Time) {
		l.clock.Start(at)
		l.fleet.Admit(t, asks)
	})
}

// Cancel has the clients of requests cancel them.
func (l *Loop) Cancel(at time.Time, answers []*Answer) {
	l.post(at, func(t sim.Time) {
		for _, a := range answers {
			l.fleet.Cancel(t, a)
		}
	})
}

// Command changes the fleet.
func (l *Loop) Command(at time.Time, c Command) (done sim.Time, err error) {
	l.wait(func() { done, err = l.fleet.Command(l.clock.Simulated(at), c) })
	return done, err
}

// State returns the state of the fleet; false: it no longer serves.
func (l *Loop) State() (s State, ok bool) {
	ok = l.wait(func() { s = l.fleet.State(l.clock.Simulated(time.Now())) })
	return s, ok
}

// Live reports whether a replica of the first pool takes requests.
func (l *Loop) Live(replica int) (live bool) {
	l.wait(func() { live = l.fleet.run.Cluster.Pool(0).Replica(replica).Live() })
	return live
}

// Summary returns the results so far; false: the fleet no longer serves.
func (l *Loop) Summary() (s *metrics.Summary, ok bool) {
	ok = l.wait(func() { s = l.fleet.Summary() })
	return s, ok
}

// Open returns how many requests are under way.
func (l *Loop) Open() (n int) {
	l.wait(func() { n = len(l.fleet.open) })
	return n
}

// Delay returns how long after they were due clients could have their tokens, in wall time.
func (l *Loop) Delay() (q metrics.Quantiles, n int64) {
	l.wait(func() { q, n = l.delay.Quantiles(), l.delay.N() })
	return q, n
}

// wait has the owner do something, and waits until it has. It reports whether it has been done.
func (l *Loop) wait(do func()) bool {
	done := make(chan struct{})
	if !l.post(time.Now(), func(sim.Time) { do(); close(done) }) {
		return false
	}
	<-done
	return true
}

// observeDelay records how long after they were due tokens have just been released.
func (l *Loop) observeDelay() {
	now := time.Now()
	for _, r := range l.fleet.released {
		l.delay.Add(sim.Duration(l.clock.Since(now, r.due).Nanoseconds())*sim.Nanosecond, uint64(r.tokens))
	}
	l.fleet.released = l.fleet.released[:0]
}

// Finish ends the service after Run has returned: what is under way is cancelled, and the results are those of a run.
func (l *Loop) Finish(trace string) (*run.Result, error) {
	f, at := l.fleet, l.clock.Simulated(time.Now())
	for _, o := range f.openAnswers() {
		f.Cancel(at, o)
	}
	return f.Finish(trace)
}
