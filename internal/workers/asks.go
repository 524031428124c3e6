package workers

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Asks is a job whose runs are not known before: what is run next depends on what came of others. The number of a run
// follows from what it is about, so that a coordinator that comes after one that ended finds what was made for that.
type Asks struct {
	*Queue
	places
	job    *Job
	cancel context.CancelFunc
	over   chan struct{}

	mu     sync.Mutex
	asked  map[int]*asked
	failed error
}

// asked is a run that somebody waits for.
type asked struct {
	about  json.RawMessage
	done   chan struct{} // closed when result is there
	result *Result
}

// Asks opens a job. It is over when ctx is, or with End.
func (q *Queue) Asks(ctx context.Context, j *Job) (*Asks, error) {
	a := &Asks{Queue: q, job: j, asked: map[int]*asked{}, over: make(chan struct{})}
	var err error
	a.places, err = q.create(ctx, j)
	if err == nil {
		err = a.announce(ctx, j)
	}
	if err != nil {
		return nil, fmt.Errorf("the queue cannot be made: %w", err)
	}
	ctx, a.cancel = context.WithCancel(ctx)
	watch, err := a.results.WatchAll(ctx, jetstream.UpdatesOnly())
	if err != nil {
		a.cancel()
		return nil, err
	}
	go a.follow(ctx, watch)
	return a, nil
}

// numberOf is the number of a run: 63 bits of the SHA-256 of what it is about.
func numberOf(about json.RawMessage) int {
	h := sha256.Sum256(about)
	return int(binary.BigEndian.Uint64(h[:8]) >> 1)
}

// Ask has a worker make a run, and waits for its result. It is safe for concurrent use.
func (a *Asks) Ask(ctx context.Context, about json.RawMessage) (json.RawMessage, error) {
	run := numberOf(about)
	a.mu.Lock()
	x := a.asked[run]
	first := x == nil
	if first {
		x = &asked{about: about, done: make(chan struct{})}
		a.asked[run] = x
	}
	a.mu.Unlock()
	if first {
		if err := a.begin(ctx, run, x); err != nil {
			if ctx.Err() == nil {
				a.fail(err) // others may wait for the same run
			}
			return nil, err
		}
	}
	select {
	case <-x.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-a.over:
		return nil, a.failure()
	}
	if x.result.GivenUp {
		return nil, fmt.Errorf("a run was given to %d workers, each of which ended or was not heard of any more over it: %s",
			x.result.Deliveries, about)
	}
	return x.result.Data, nil
}

// begin puts a run into the queue, unless its result is there from before. A result that is none is an error, since no
// worker puts another one over it.
func (a *Asks) begin(ctx context.Context, run int, x *asked) error {
	r, err := a.result(ctx, run)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return a.publish(ctx, run, x)
	case err != nil:
		return err
	}
	a.deliver(r)
	return nil
}

// result returns the result of a run, from a queue that may not answer for a while.
func (a *Asks) result(ctx context.Context, run int) (r *Result, err error) {
	err = until(ctx, func(ctx context.Context) (err error) {
		r, err = a.get(ctx, run)
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return notTheQueue{err}
		}
		return err
	})
	return r, err
}

func (a *Asks) publish(ctx context.Context, run int, x *asked) error {
	return until(ctx, func(ctx context.Context) error {
		_, err := a.js.Publish(ctx, subjectOf(a.job.ID, run), x.about)
		if isQueued(err) {
			return nil
		}
		return err
	})
}

// deliver gives a result to those who wait for it; the first one stands.
func (a *Asks) deliver(r *Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.asked[r.Run]; x != nil && x.result == nil {
		x.result = r
		close(x.done)
	}
}

// follow takes the results that come, and looks now and then for what was lost on the way.
func (a *Asks) follow(ctx context.Context, watch jetstream.KeyWatcher) {
	defer close(a.over)
	defer func() { _ = watch.Stop() }()
	again := time.NewTicker(a.lease)
	defer again.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e, open := <-watch.Updates():
			err := a.entry(ctx, e)
			if !open && ctx.Err() == nil {
				err = nats.ErrConnectionClosed // for good, since one that is lost comes back
			}
			if err != nil {
				a.fail(err)
			}
		case <-again.C:
			if err := a.repair(ctx); err != nil {
				a.fail(err)
			}
		}
	}
}

// fail ends the job for all that wait; the first error stands.
func (a *Asks) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil {
		a.failed = err
	}
	a.cancel()
}

// entry takes a result. One that cannot be read now, since the queue cannot be reached, is looked for again.
func (a *Asks) entry(ctx context.Context, e jetstream.KeyValueEntry) error {
	if e == nil || e.Operation() != jetstream.KeyValuePut {
		return nil
	}
	r, err := a.read(ctx, e)
	if errors.As(err, new(notTheQueue)) {
		return err
	}
	if err != nil {
		return nil
	}
	if !strings.HasPrefix(e.Key(), differs) {
		a.deliver(r)
		return nil
	}
	was, err := a.result(ctx, r.Run)
	if err != nil {
		return err
	}
	return &Differs{r.Run, was.By, r.By}
}

// repair looks for results of which no notice came, and for runs that a server has lost.
func (a *Asks) repair(ctx context.Context) error {
	if !a.conn.IsConnected() {
		return nil
	}
	a.mu.Lock()
	waiting := map[int]*asked{}
	for run, x := range a.asked {
		if x.result == nil {
			waiting[run] = x
		}
	}
	a.mu.Unlock()
	for run, x := range waiting {
		switch r, err := a.get(ctx, run); {
		case err == nil:
			a.deliver(r)
		case errors.Is(err, jetstream.ErrKeyNotFound):
			_, _ = a.js.Publish(ctx, subjectOf(a.job.ID, run), x.about) // otherwise the next time
		case errors.As(err, new(notTheQueue)):
			return err
		}
	}
	return nil
}

func (a *Asks) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil {
		return context.Canceled
	}
	return a.failed
}

// End closes the job. One that is done leaves nothing in the queue; of another one, what was made stays there for the
// same questions.
func (a *Asks) End(ctx context.Context, done bool) error {
	a.cancel()
	<-a.over
	if !done {
		return nil
	}
	return a.remove(ctx, a.job, a.places)
}
