package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/internal/scratch"
	"github.com/decodesim/decodesim/internal/sizing"
	"github.com/decodesim/decodesim/internal/workers"
)

// sizeJob is the kind of a job that is a search.
const sizeJob = "size"

// noShards is why a search cannot be divided as a sweep can.
const noShards = "size: --shard: a search decides by what it has simulated what it simulates next, and has no parts " +
	"to be run apart; expected --workers N, or --listen and decodesim worker on other machines"

// addQueue declares the flags of other processes.
func (f *sizeFlags) addQueue(c *cobra.Command) {
	f.queue.add(c)
	c.Flags().StringVar(&f.shard, "shard", "", "refused: a search has no parts")
	cobra.CheckErr(c.Flags().MarkHidden("shard"))
}

// checkQueue refuses flags about other processes that cannot be meant.
func (f *sizeFlags) checkQueue(check func() error) error {
	if f.shard != "" {
		return errors.New(noShards)
	}
	if f.queue.listen != "" && f.out == "" {
		return errors.New("size: --listen stands without --out DIR, beside which the queue remains should the search be " +
			"interrupted")
	}
	return check()
}

// searchers are the processes that make the runs of a command's searches.
type searchers struct {
	*opened
	dir       string       // of a queue of ours
	temporary *scratch.Dir // that dir is in; nil: it is beside the results
	lasting   bool         // dir outlives a search that is interrupted
	begun     bool         // there may be something in it
	hired     *crew
	ctx       context.Context // over when a worker refuses to work
	given     context.Context
	over      context.CancelCauseFunc
}

// others opens the queue and hires workers; nil: nobody has asked for that.
func (f *sizeFlags) others(ctx context.Context, errOut io.Writer) (*searchers, error) {
	if !f.queue.used() {
		return nil, nil
	}
	s := &searchers{given: ctx, lasting: f.out != ""}
	var err error
	switch {
	case f.queue.url != "": // it is in servers of others
	case s.lasting:
		s.dir = filepath.Clean(f.out) + ".queue"
		s.begun, err = isThere(s.dir) // by a command that was interrupted
	default:
		s.temporary, err = scratch.New("queue")
		if err == nil {
			s.dir = filepath.Join(s.temporary.Path(), "queue")
		}
	}
	if err != nil {
		return nil, failed(err)
	}
	s.opened, err = f.queue.open(errOut, s.dir)
	if err != nil {
		s.forget(!s.begun)
		return nil, err
	}
	s.ctx, s.over = context.WithCancelCause(ctx)
	s.hired, err = s.hire(s.ctx, errOut, s.over)
	if err != nil {
		s.leave(err)
		return nil, failed(err)
	}
	return s, nil
}

// isThere reports whether something has a name. What cannot be looked at may be there, and is not taken for new.
func isThere(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// begin is how a search asks for its runs.
func (s *searchers) begin(ctx context.Context, p *sizing.Plan) (sizing.Asks, error) {
	job, err := workers.NewJob(ctx, p.Print, sizeJob, p.Name, p.Version, p, p.Files)
	if err != nil {
		return nil, err
	}
	s.begun = true
	return s.Asks(ctx, &job)
}

// leave ends the workers and closes the queue after a search that came to err, and returns what to say of it. What was
// made before an interruption remains.
func (s *searchers) leave(err error) error {
	if s.hired != nil {
		s.hired.end()
	}
	if cause := context.Cause(s.ctx); err != nil && cause != nil && s.given.Err() == nil {
		err = failed(cause)
	}
	s.over(nil)
	s.close()
	s.forget(err == nil || !s.lasting || !s.begun)
	return err
}

// forget removes the directory of a queue of ours.
func (s *searchers) forget(really bool) {
	if s.dir != "" && really {
		workers.RemoveFolder(s.dir)
		s.temporary.Remove()
	}
}

// remains says where what was made before an interruption is.
func (s *searchers) remains(errOut io.Writer) {
	if s.dir != "" && s.lasting && s.begun {
		fmt.Fprintf(errOut, "decodesim: runs that were made remain in %s; the same command goes on with the others\n",
			s.dir)
	}
}
