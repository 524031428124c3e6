package workers

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// task is a job that a worker works on.
type task struct {
	*Worker
	places
	job    *Job
	maker  Maker
	mirror mirror
	end    context.CancelFunc
	made   atomic.Int64

	mu     sync.Mutex
	failed error
}

func (t *task) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = err
	}
	t.end()
}

func (t *task) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// watch ends the work when the job has ended.
func (t *task) watch(ctx context.Context) {
	for ctx.Err() == nil {
		jobs, err := t.queue.js.KeyValue(ctx, jobsBucket)
		if err == nil {
			_, err = jobs.Get(ctx, t.job.ID)
		}
		if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			t.end()
			return
		}
		if t.Idle > 0 && time.Since(time.Unix(0, t.last.Load())) > t.Idle {
			t.end()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(askEvery):
		}
	}
}

// loop takes one run after the other.
func (t *task) loop(ctx context.Context) {
	for ctx.Err() == nil {
		err := t.fetch(ctx)
		if err == nil {
			continue
		}
		select { // the queue cannot be reached
		case <-ctx.Done():
		case <-time.After(reconnectWait):
		}
	}
}

// fetch takes one run, if there is any, and works on it.
func (t *task) fetch(ctx context.Context) error {
	c, err := t.runs.Consumer(ctx, consumer)
	if err != nil {
		return err
	}
	batch, err := c.Fetch(1, jetstream.FetchMaxWait(fetchAtMost))
	if err != nil {
		return err
	}
	for m := range batch.Messages() {
		t.worked()
		err := t.lease(ctx, m, c.CachedInfo().Config.AckWait)
		t.worked()
		switch {
		case ctx.Err() != nil:
			_ = m.Nak() // for another worker, at once
			_ = t.queue.conn.Flush()
		case err != nil:
			t.fail(err)
		}
	}
	return batch.Error()
}

// lease makes a run and puts its result, and says at a third of the lease that it is being worked on.
func (t *task) lease(ctx context.Context, m jetstream.Msg, lasts time.Duration) error {
	run, err := runOf(m.Subject())
	if err != nil {
		return err
	}
	about, err := m.Metadata()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go extend(ctx, m, lasts/3)
	r := &Result{Run: run, By: t.name, Deliveries: int(about.NumDelivered)}
	switch _, err := t.get(ctx, run); {
	case err == nil: // its worker ended before it could say so
		return acknowledge(ctx, m)
	case r.Deliveries > deliveriesMax:
		r.GivenUp, r.Deliveries = true, r.Deliveries-1
	default:
		r.Data, err = t.maker.Make(ctx, run, m.Data())
		if err != nil {
			return err
		}
		r.Data = t.mirror.original(r.Data)
		t.made.Add(1)
	}
	if err := until(ctx, func(ctx context.Context) error { return t.put(ctx, r) }); err != nil {
		return err
	}
	return acknowledge(ctx, m)
}

// acknowledge takes a run that has its result out of the queue. One that remains in it, since the queue cannot be
// reached, is given to a worker again, which finds the result.
func acknowledge(ctx context.Context, m jetstream.Msg) error {
	_ = m.DoubleAck(ctx)
	return ctx.Err()
}

// extend extends the lease of a run.
func extend(ctx context.Context, m jetstream.Msg, every time.Duration) {
	beat := time.NewTicker(max(time.Millisecond, every))
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			_ = m.InProgress() // if it is not heard, another worker makes the run too
		}
	}
}
