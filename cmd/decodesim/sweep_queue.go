package main

import (
	"context"
	"io"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/sweep"
	"github.com/decodesim/decodesim/internal/workers"
)

// leave closes the queue. What is in one of ours stays in the directory of results for the same command, unless there
// is nothing to go on with.
func (x *opened) leave(dir string, w *sweep.Work) {
	x.close()
	if n := w.Ended(); x.server != nil && (n == 0 || n == w.Runs()) {
		workers.RemoveFolder(filepath.Join(dir, queueName))
	}
}

// queueName is where a queue of ours is in the directory of results.
const queueName = "sweep.queue"

// collector takes the rows of a sweep that workers make.
type collector struct {
	*sweep.Work
	progress func(done float64)
	done     int
}

// Runs implements workers.Collector.
func (c *collector) Runs() int { return c.Work.Runs() }

// Take implements workers.Collector.
func (c *collector) Take(r *workers.Result) error {
	err := c.put(r)
	c.done++
	if err == nil && c.progress != nil {
		c.progress(float64(c.done))
	}
	return err
}

func (c *collector) put(r *workers.Result) error {
	if r.GivenUp {
		return c.GiveUp(r.Run, r.Deliveries)
	}
	return c.Work.Take(r.Run, r.Data)
}

// sweepJob is the kind of a job that is a sweep.
const sweepJob = "sweep"

// collect has workers make the runs of w that have no row yet.
func (x *opened) collect(ctx context.Context, errOut io.Writer, w *sweep.Work, progress func(float64)) error {
	plan, files, err := w.Elsewhere()
	if err != nil {
		return err
	}
	id, err := w.Print(ctx)
	if err != nil {
		return err
	}
	job, err := workers.NewJob(ctx, id, sweepJob, w.Scenario, w.Version, plan, files)
	if err != nil {
		return err
	}
	given := ctx
	ctx, cancel := context.WithCancelCause(given)
	defer cancel(nil)
	hired, err := x.hire(ctx, errOut, cancel)
	if err != nil {
		return err
	}
	defer hired.end()
	err = x.Collect(ctx, &job, &collector{Work: w, progress: progress})
	if cause := context.Cause(ctx); err != nil && cause != nil && given.Err() == nil {
		return cause
	}
	return err
}
