package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Collector says which runs of a job have their result, and takes those that come. It is called by one goroutine.
type Collector interface {
	Runs() int
	Has(run int) bool
	Take(*Result) error
}

// coordinator is a job whose runs are being collected.
type coordinator struct {
	*Queue
	places
	job     *Job
	to      Collector
	next    int              // the runs before it have their result or are in the queue
	lacking int              // runs without result
	queued  map[int]struct{} // of them, those in the queue
}

// Collect has workers make the runs that have no result yet. It begins with the results of a coordinator before, even
// those that it did not come to take. When it is over, nothing of the job is left in the queue; after an error, all is.
func (q *Queue) Collect(ctx context.Context, j *Job, to Collector) error {
	c := &coordinator{Queue: q, job: j, to: to, queued: map[int]struct{}{}}
	for run := range to.Runs() {
		if !to.Has(run) {
			c.lacking++
		}
	}
	var err error
	c.places, err = q.create(ctx, j)
	if err != nil {
		return fmt.Errorf("the queue cannot be made: %w", err)
	}
	if c.lacking > 0 {
		if err := c.collect(ctx); err != nil {
			return err
		}
	}
	return q.remove(ctx, j, c.places)
}

func (c *coordinator) collect(ctx context.Context) error {
	watch, err := c.results.WatchAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = watch.Stop() }()
	again := time.NewTicker(c.lease)
	defer again.Stop()
	for c.lacking > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-watch.Updates():
			if e == nil { // all that was there before: what has no result now goes into the queue
				err = c.announce(ctx, c.job)
			} else {
				err = c.entry(ctx, e)
			}
			if err == nil && (e == nil || c.next > 0) {
				err = c.publish(ctx)
			}
		case <-again.C:
			err = c.repair(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry takes a result.
func (c *coordinator) entry(ctx context.Context, e jetstream.KeyValueEntry) error {
	if e.Operation() != jetstream.KeyValuePut {
		return nil
	}
	var r *Result
	err := patiently(ctx, func() (err error) {
		r, err = c.read(ctx, e)
		return err
	})
	if err != nil {
		return err
	}
	if strings.HasPrefix(e.Key(), differs) {
		var was *Result
		err := patiently(ctx, func() (err error) {
			was, err = c.get(ctx, r.Run)
			return err
		})
		if err != nil {
			return err
		}
		return &Differs{r.Run, was.By, r.By}
	}
	return c.take(r)
}

func (c *coordinator) take(r *Result) error {
	if r.Run >= c.to.Runs() {
		return fmt.Errorf("the queue has a result of run %d, and there are %d", r.Run, c.to.Runs())
	}
	delete(c.queued, r.Run)
	if c.to.Has(r.Run) {
		return nil
	}
	c.lacking--
	return c.to.Take(r)
}

// publish fills the window with runs that lack their result.
func (c *coordinator) publish(ctx context.Context) error {
	var runs []int
	for ; c.next < c.to.Runs() && len(c.queued) < window; c.next++ {
		if !c.to.Has(c.next) {
			c.queued[c.next] = struct{}{}
			runs = append(runs, c.next)
		}
	}
	return patiently(ctx, func() error { return c.put(ctx, runs) })
}

// put puts runs into the queue. Those that are in it already, or that a worker has, stay as they are.
func (c *coordinator) put(ctx context.Context, runs []int) error {
	const atOnce = 256 // acknowledgements that are waited for
	for some := range slices.Chunk(runs, atOnce) {
		var acks []jetstream.PubAckFuture
		for _, run := range some {
			ack, err := c.js.PublishMsgAsync(&nats.Msg{Subject: subjectOf(c.job.ID, run)})
			if err != nil {
				return fmt.Errorf("run %d cannot be put into the queue: %w", run, err)
			}
			acks = append(acks, ack)
		}
		for _, ack := range acks {
			select {
			case <-ack.Ok():
			case err := <-ack.Err():
				if !isQueued(err) {
					return fmt.Errorf("the queue takes no runs: %w", err)
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// isQueued reports whether a run was refused since it is in the queue.
func isQueued(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && strings.Contains(api.Description, "maximum messages per subject exceeded")
}

// repair looks for results of which no notice came, and for runs that a server has lost.
func (c *coordinator) repair(ctx context.Context) error {
	if !c.conn.IsConnected() {
		return nil
	}
	var lost []int
	for _, run := range slices.Sorted(maps.Keys(c.queued)) {
		r, err := c.get(ctx, run)
		switch {
		case errors.Is(err, jetstream.ErrKeyNotFound):
			lost = append(lost, run)
		case errors.As(err, new(notTheQueue)):
			return err
		case err != nil:
			return ctx.Err() // the next time
		default:
			if err := c.take(r); err != nil {
				return err
			}
		}
	}
	if err := c.put(ctx, lost); err != nil && ctx.Err() == nil {
		return nil // the next time
	}
	return ctx.Err()
}
