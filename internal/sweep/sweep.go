package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/run"
)

// Work is a sweep, or a shard of it, that is run into a directory.
type Work struct {
	*Sweep
	Shard Shard
	Dir   *output.Dir

	print   string
	path    string
	journal *journal
	made    bool // the directory was not there
	Resumed int  // runs that an interrupted command has left
}

// Open opens the directory of a sweep, in which a command that was interrupted may have left rows.
func Open(ctx context.Context, path string, s *Sweep, shard Shard) (*Work, error) {
	if shard.N > s.Runs() {
		return nil, fmt.Errorf("--shard %s: the sweep has %d runs; expected at most so many shards", shard, s.Runs())
	}
	print, err := s.Print(ctx)
	if err != nil {
		return nil, err
	}
	w := &Work{Sweep: s, Shard: shard, print: print, path: path}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		w.made = true
		if err := os.MkdirAll(path, 0o777); err != nil {
			return nil, fmt.Errorf("output %q cannot be made: %w", path, err)
		}
	}
	w.Dir, err = output.Open(path, s.drawnFiles()...)
	if err == nil {
		w.journal, err = openJournal(path, opening{schemaJournal, print, shard}, shard.runs(s.Runs()))
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	w.Resumed = w.journal.runs
	return w, nil
}

// Close leaves the journal for the next command, if there is anything in it.
func (w *Work) Close() {
	nothing := w.journal == nil || w.journal.runs == 0
	if w.journal != nil && nothing {
		_ = w.journal.remove()
	} else if w.journal != nil {
		w.journal.close()
	}
	if w.Dir != nil {
		w.Dir.Abandon()
	}
	if w.made && nothing {
		_ = os.Remove(w.path)
	}
}

// Runs returns how many runs the work has in all.
func (w *Work) Runs() int { return len(w.journal.begin) }

// Run makes every run that has no row yet, over all cores. progress, which may be nil, is called with how many of them
// are done; one under way counts in part.
func (w *Work) Run(ctx context.Context, progress func(done float64)) error {
	given := ctx
	ctx, cancel := context.WithCancel(given)
	defer cancel()
	var mu sync.Mutex
	var failed error
	shares := run.NewShares(progress, 0)
	run.Each(w.Runs(), func(place int) {
		if ctx.Err() != nil || w.journal.has(place) {
			return
		}
		row, err := w.row(ctx, w.Shard.run(place), shares.Of(place))
		if err == nil {
			err = w.journal.add(place, row)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			if failed == nil {
				failed = err
			}
			cancel()
			return
		}
		shares.Ended(place)
	})
	if err := given.Err(); failed == nil || err != nil {
		return err
	}
	return run.Failure{Err: failed}
}

// each calls do with every row, in the order of the sweep.
func (w *Work) each(do func(*Row) error) error {
	for place := range w.Runs() {
		r, err := w.journal.row(place)
		if err != nil {
			return err
		}
		if err := do(&r); err != nil {
			return err
		}
	}
	return nil
}

// Ended returns how many runs have their row.
func (w *Work) Ended() int {
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	return w.journal.runs
}
