package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
)

// progressOn returns the progress line of w; nil: w is no terminal.
func progressOn(w io.Writer) *progress.Line {
	f, _ := w.(*os.File)
	return progress.On(f)
}

// reading returns what says on a line how far a file is read, in bytes, and ends the reading with ctx.
func reading(ctx context.Context, line *progress.Line, path string) func(done, of int64) error {
	say := hearing(line)(path)
	return func(done, of int64) error {
		say(done, of)
		return ctx.Err()
	}
}

// hearing returns what says on a line how far a file is read, in bytes: the one whose reading began last. It gives way
// to whatever else is done meanwhile.
func hearing(line *progress.Line) build.Hearing {
	var readers atomic.Int64
	return func(path string) func(done, of int64) {
		me, what := readers.Add(1), "reading "+inputs.Escaped(filepath.Base(path))
		line.Offer(progress.Work{What: what})
		return func(done, of int64) {
			if readers.Load() == me {
				line.Offer(progress.Work{What: what, Done: float64(done) / 1e6, Of: float64(of) / 1e6, Unit: "MB"})
			}
		}
	}
}

// withReading returns a context under which files of requests that are read are on a line.
func withReading(ctx context.Context, line *progress.Line) context.Context {
	if line == nil {
		return ctx
	}
	return build.WithHearing(ctx, hearing(line))
}

// built makes the parts of a run of s until ctx ends, and says on a terminal how far it is with the file of its
// requests.
func built(ctx context.Context, s *configs.Scenario, errOut io.Writer) (*build.Built, error) {
	if len(s.Workload.Files()) == 0 {
		return build.New(s)
	}
	line := progressOn(errOut)
	defer line.Clear()
	return build.NewUntil(withReading(ctx, line), s)
}

// reporting returns what passes on to a line how far a part of a command is; nil: there is no line.
func reporting(line *progress.Line) func(progress.Work) {
	if line == nil {
		return nil
	}
	return line.Set
}

// runsDone returns what says on a line how many of some runs are simulated; nil: there is no line.
func runsDone(line *progress.Line, of int) func(done float64) {
	if line == nil {
		return nil
	}
	say := func(done float64) { line.Set(progress.Work{Done: done, Of: float64(of), Unit: "run"}) }
	say(0)
	return say
}

// pointsRead returns what says on a line how many points of a sweep are read; nil: there is no line.
func pointsRead(line *progress.Line) func(done, of int) {
	if line == nil {
		return nil
	}
	return func(done, of int) {
		line.Set(progress.Work{What: "reading", Done: float64(done), Of: float64(of), Unit: "point"})
	}
}

// requestsDone returns what says on a line how far a run is that expects so many requests, 0 for unknown; nil: there
// is no line.
func requestsDone(line *progress.Line, expected float64) func(run.Progress) {
	if line == nil {
		return nil
	}
	say := func(p run.Progress) {
		w := progress.Work{Done: p.Done, Of: max(expected, p.Done), Unit: "request",
			More: text.Count(int64(p.SimulatedS)) + " s simulated"}
		if expected == 0 {
			w.Of = 0
		}
		if p.Built > 0 {
			w = progress.Work{What: "building", Done: float64(p.Built), Of: float64(p.Replicas), Unit: "replica"}
		}
		line.Set(w)
	}
	say(run.Progress{})
	return say
}

func isTerminal(w io.Writer) bool {
	if v, ok := w.(*watched); ok {
		w = v.Writer
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether w is a terminal that wants colour.
func colour(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
