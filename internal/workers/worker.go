package workers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Maker makes runs of a job. It is safe for concurrent use.
type Maker interface {
	// Make returns the result of a run, as JSON; about is what was asked for, and nothing where the number says it. An
	// error is one of ctx: whatever else becomes of a run is its result.
	Make(ctx context.Context, run int, about json.RawMessage) (json.RawMessage, error)
}

// Worker works on the jobs of a queue.
type Worker struct {
	Address
	Version string        // of the program: jobs of another one are left alone
	Strict  bool          // a job of another one is an error
	Idle    time.Duration // it ends after so long without work; 0: never
	Open    func(*Job) (Maker, error)
	Say     func(format string, values ...any) // lines for people

	queue *Queue
	name  string
	last  atomic.Int64 // when it had work, in ns
	bad   map[string]bool
	sure  time.Duration // a server has to refuse it for so long
}

const (
	askEvery    = 500 * time.Millisecond // a worker asks so often whether there is a job
	fetchAtMost = 2 * time.Second        // and waits so long for a run
)

// Work works until ctx ends, nothing has been to do for so long as Idle, or the server refuses it for good.
func (w *Worker) Work(ctx context.Context) error {
	w.sure = cmp.Or(w.sure, sureAfter)
	conn, err := w.connect("worker", w.patience()...)
	if err != nil {
		return err
	}
	w.queue, err = newQueue(conn, 1)
	if err != nil {
		return err
	}
	defer w.queue.Close()
	host, _ := os.Hostname()
	w.name = fmt.Sprintf("%s/%d", host, os.Getpid())
	w.bad = map[string]bool{}
	given := ctx
	ctx, cancel := context.WithCancelCause(given)
	defer cancel(nil)
	go func() {
		if err := w.refused(ctx, conn); err != nil {
			cancel(err)
		}
	}()
	err = w.jobs(ctx)
	if ctx.Err() != nil && given.Err() == nil {
		return context.Cause(ctx)
	}
	return err
}

// jobs works on one job after the other.
func (w *Worker) jobs(ctx context.Context) error {
	w.worked()
	for ctx.Err() == nil {
		j, err := w.find(ctx)
		if err == nil && j != nil {
			err = w.work(ctx, j)
		}
		if err != nil {
			return err
		}
		if w.Idle > 0 && time.Since(time.Unix(0, w.last.Load())) > w.Idle {
			w.Say("nothing to do for %s", w.Idle)
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(askEvery):
		}
	}
	return ctx.Err()
}

func (w *Worker) worked() { w.last.Store(time.Now().UnixNano()) }

// find returns a job of this version, the same one to all workers; nil: there is none. A queue that cannot be reached
// has none.
func (w *Worker) find(ctx context.Context) (*Job, error) {
	if !w.queue.conn.IsConnected() {
		return nil, nil // a question now would be lost, and waited for in vain
	}
	jobs, err := w.queue.js.KeyValue(ctx, jobsBucket)
	if err != nil {
		return nil, nil
	}
	ids, err := jobs.Keys(ctx)
	if err != nil {
		return nil, nil
	}
	slices.Sort(ids)
	for _, id := range ids {
		e, err := jobs.Get(ctx, id)
		if err != nil || w.bad[id] {
			continue
		}
		j := &Job{}
		if err := json.Unmarshal(e.Value(), j); err != nil || j.ID != id {
			return nil, fmt.Errorf("the queue has a job %q that is none", id)
		}
		if j.Version != w.Version && w.Strict {
			return nil, fmt.Errorf("%s %s is of version %s, and this is %s", j.Kind, j.Name, j.Version, w.Version)
		}
		if j.Version != w.Version {
			w.Say("%s %s is of version %s, and this is %s; it is left to others", j.Kind, j.Name, j.Version, w.Version)
			w.bad[id] = true
			continue
		}
		return j, nil
	}
	return nil, nil
}

// work works on a job until it has ended.
func (w *Worker) work(ctx context.Context, j *Job) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p, err := w.queue.find(ctx, j.ID)
	if err != nil {
		return nil // it has ended, or is being made
	}
	m, err := newMirror(ctx, j, p.objects)
	defer m.remove()
	if err != nil {
		return ignored(ctx, err)
	}
	back, err := os.Getwd()
	if err != nil {
		return err
	}
	defer func() { _ = os.Chdir(back) }()
	if err := os.Chdir(m.at(j.Dir)); err != nil {
		return err
	}
	maker, err := w.Open(j)
	if err != nil {
		return fmt.Errorf("%s %s: %s", j.Kind, j.Name, m.original([]byte(err.Error())))
	}
	w.Say("works on %s %s", j.Kind, j.Name)
	t := &task{Worker: w, places: p, job: j, maker: maker, mirror: m, end: cancel}
	go t.watch(ctx)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() { t.loop(ctx) })
	}
	all.Wait()
	w.Say("made %d runs of %s %s", t.made.Load(), j.Kind, j.Name)
	return t.failure()
}

// ignored has a download fail in silence where the queue has gone: the job is looked for anew.
func ignored(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	return err
}
