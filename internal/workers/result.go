package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Result is what became of a run.
type Result struct {
	Run        int    `json:"-"`
	By         string `json:"by"`         // host and process of the worker
	Deliveries int    `json:"deliveries"` // how often it was given to a worker
	// It was given away too often: its workers ended, or were not heard of any more, while they worked on it.
	GivenUp bool            `json:"dead_letter,omitempty"`
	Object  string          `json:"object,omitempty"` // that has Data, where it is too long for a message
	Data    json.RawMessage `json:"data,omitempty"`
}

// messageMax is the most data of a result that stays in its message. Servers refuse messages of more than 1 MiB.
const messageMax = 1<<20 - 1<<12

// differs begins the key of a result that is not the one which another worker has found for the same run.
const differs = "differs."

// put puts a result where none is yet. A second one of the same run has to be the same.
func (p *places) put(ctx context.Context, r *Result) error {
	data := r.Data
	if len(data) > messageMax {
		r.Object = fmt.Sprintf("%d-%s", r.Run, sum(data))
		if _, err := p.objects.PutBytes(ctx, r.Object, data); err != nil {
			return err
		}
		r.Data = nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = p.results.Create(ctx, strconv.Itoa(r.Run), text)
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	was, err := p.get(ctx, r.Run)
	if err != nil {
		return err
	}
	if was.GivenUp || r.GivenUp || bytes.Equal(was.Data, data) {
		return nil
	}
	_, err = p.results.Put(ctx, differs+strconv.Itoa(r.Run), text)
	return errors.Join(err, &Differs{r.Run, was.By, r.By})
}

// Differs is the error of a run that has two results.
type Differs struct {
	Run     int
	By, And string
}

func (d *Differs) Error() string {
	return fmt.Sprintf("run %d came out differently on %s and on %s; expected workers of one architecture, with the same "+
		"binary", d.Run, d.By, d.And)
}

// get returns the result of a run; jetstream.ErrKeyNotFound: it has none.
func (p *places) get(ctx context.Context, run int) (*Result, error) {
	e, err := p.results.Get(ctx, strconv.Itoa(run))
	if err != nil {
		return nil, err
	}
	return p.read(ctx, e)
}

// read reads an entry of the bucket of results.
func (p *places) read(ctx context.Context, e jetstream.KeyValueEntry) (*Result, error) {
	r := &Result{}
	run, err := runOf(e.Key())
	if err == nil {
		err = json.Unmarshal(e.Value(), r)
	}
	if err != nil {
		return nil, notTheQueue{fmt.Errorf("the queue has a result %q that is none: %w", e.Key(), err)}
	}
	r.Run = run
	if r.Object != "" {
		r.Data, err = p.object(ctx, r.Object)
	}
	return r, err
}

// settledWithin is how long a copy of a queue may lag behind the one in which an object was put.
const settledWithin = 2 * time.Second

// object returns what is too long for a message. It was put before the result that names it: one that is not there, or
// is not what was put, after the copies of the queue had time to agree, is lost.
func (p *places) object(ctx context.Context, name string) ([]byte, error) {
	for began := time.Now(); ; {
		text, err := p.objects.GetBytes(ctx, name)
		if !errors.Is(err, jetstream.ErrObjectNotFound) && !errors.Is(err, jetstream.ErrDigestMismatch) {
			return text, err
		}
		if time.Since(began) > settledWithin {
			return nil, notTheQueue{fmt.Errorf("the queue has a result whose object %q is none: %w", name, err)}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(reconnectWait):
		}
	}
}

// patience is how long a queue may take until it answers again: a cluster that has lost a server elects leaders anew.
const patience = time.Minute

// patiently calls do until it succeeds, as long as errors may be of a queue that cannot be reached for a while.
func patiently(ctx context.Context, do func() error) error {
	for began := time.Now(); ; {
		err := do()
		var api *jetstream.APIError
		refused := errors.As(err, &api) && (api.Code < 500 || api.ErrorCode == notClustered)
		if err == nil || refused || final(err) || time.Since(began) > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconnectWait):
		}
	}
}

// notTheQueue is an error for which it is no use to wait.
type notTheQueue struct{ error }

func (e notTheQueue) Unwrap() error { return e.error }

// final reports whether an error stays, however often one tries: a connection that is lost comes back, but not one that
// has been closed.
func final(err error) bool {
	return errors.As(err, new(notTheQueue)) || errors.As(err, new(*Differs)) || errors.Is(err, nats.ErrConnectionClosed)
}

// until calls do until it succeeds, while ctx lasts: a connection that is lost comes back.
func until(ctx context.Context, do func(context.Context) error) error {
	for {
		err := do(ctx)
		if err == nil || final(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconnectWait):
		}
	}
}
