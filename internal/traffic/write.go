package traffic

import (
	"context"
	"io"
	"strings"

	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
	"github.com/decodesim/decodesim/workloads/traces"
)

// Written is what a command wrote.
type Written struct {
	Requests int64
	Lost     []string // what the format cannot hold, a sentence each
}

// Convert writes the trace at path in another format.
func Convert(ctx context.Context, out io.Writer, path, format string, o traces.Options) (*Written, error) {
	o.Contents, o.Adapters = true, sim.AdaptersMax
	t, err := traces.Open(path, o)
	if err != nil && format == "lengths" && traces.Untimed(path) {
		return convertLengths(out, path, o.Reading)
	}
	if err != nil {
		return nil, err
	}
	defer t.Close()
	w, err := write(ctx, out, t, format, t.Columns())
	if err == nil {
		err = t.Err()
	}
	if err != nil {
		return nil, err
	}
	w.Lost = append(w.Lost, left(t.Skipped(), t.Unread())...)
	return w, nil
}

// left says which rows and which columns of a file are not in what was written.
func left(rows int64, columns []string) (notes []string) {
	if rows > 0 {
		notes = append(notes, text.Counted(rows, "row")+" left out: failed or empty")
	}
	if len(columns) > 0 {
		notes = append(notes, "not read from the file: "+strings.Join(columns, ", "))
	}
	return notes
}

// convertLengths writes lengths that have no arrivals.
func convertLengths(out io.Writer, path string, reading traces.Reading) (*Written, error) {
	pairs, err := traces.ReadPairs(path, reading)
	if err != nil {
		return nil, err
	}
	w, err := traces.NewWriter(out, "lengths", traces.Columns{})
	if err != nil {
		return nil, err
	}
	for i := range pairs.Prompts {
		if err := w.Write(&sim.Request{Prompt: pairs.Prompts[i], Output: pairs.Outputs[i]}); err != nil {
			return nil, run.Failure{Err: err}
		}
	}
	return &Written{Requests: int64(pairs.Len()), Lost: left(pairs.Skipped, pairs.Unread)}, w.Close()
}

// Generate writes the requests of a scenario's workload, which b has been built of. Where they wait for answers, the
// deployment is simulated: when its clients go on depends on it. A say that is not nil hears how many
// requests have been written.
func Generate(ctx context.Context, out io.Writer, b *build.Built, format string, say Say) (*Written, error) {
	c := columnsOf(b)
	if _, waits := b.Config.Source.(sim.Follower); !waits {
		counted := &counted{Source: b.Config.Source, of: b.Requests, say: say}
		w, err := write(ctx, out, counted, format, c)
		if err == nil {
			err = b.SourceErr()
		}
		return w, err
	}
	w, err := traces.NewWriter(out, format, c)
	if err != nil {
		return nil, err
	}
	n := &noted{source: &counted{Source: b.Config.Source, of: b.Requests, say: say}, writer: w}
	b.Config.Source = struct {
		sim.Source
		sim.Follower
	}{n, b.Config.Source.(sim.Follower)}
	b.Config.Sink = &metrics.Full{}
	if _, err := run.Drive(ctx, b.Config); err != nil {
		return nil, err
	}
	if n.err == nil {
		n.err = w.Close()
	}
	if n.err != nil {
		return nil, run.Failure{Err: n.err}
	}
	return &Written{Requests: n.requests, Lost: traces.Lost(format, c)}, b.SourceErr()
}

// columnsOf says what the requests of a workload have.
func columnsOf(b *build.Built) traces.Columns {
	w := &b.Scenario.Workload
	c := traces.Columns{Contents: b.Config.Contents, Limits: w.MaxTokens > 0 || w.TimeoutS > 0 || w.Cancel.Probability > 0}
	c.Sessions, c.Adapters = w.Waits() || w.Tasks(), w.Adapted()
	c.Classes, c.Hidden = len(w.Classes) > 0, w.Reasoning != nil
	for i := range w.Classes {
		c.Limits = c.Limits || w.Classes[i].MaxTokens > 0
	}
	if t, ok := b.Config.Source.(interface{ Columns() traces.Columns }); ok {
		c.Limits, c.Sessions = c.Limits || t.Columns().Limits, c.Sessions || t.Columns().Sessions
	}
	return c
}

// write writes the requests of a source that waits for nobody.
func write(ctx context.Context, out io.Writer, s sim.Source, format string, c traces.Columns) (*Written, error) {
	w, err := traces.NewWriter(out, format, c)
	if err != nil {
		return nil, err
	}
	done := &Written{Lost: traces.Lost(format, c)}
	for {
		var r sim.Request
		if !s.Next(&r) {
			break
		}
		if done.Requests%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := w.Write(&r); err != nil {
			return nil, run.Failure{Err: err}
		}
		done.Requests++
	}
	if err := w.Close(); err != nil {
		return nil, run.Failure{Err: err}
	}
	return done, nil
}

// Say hears how far a part of a command is; nil: nobody does.
type Say func(progress.Work)

// reportEvery is after how many requests they are reported.
const reportEvery = 4096

// counted is a source that says how many of its requests have been taken.
type counted struct {
	sim.Source
	done int64
	of   float64 // requests that are expected; 0: unknown
	say  Say
}

// Next implements sim.Source.
func (c *counted) Next(r *sim.Request) bool {
	if c.say != nil && c.done%reportEvery == 0 {
		c.say(progress.Work{What: "writing", Done: float64(c.done), Of: c.of, Unit: "request"})
	}
	c.done++
	return c.Source.Next(r)
}

// noted writes the requests that a run takes from a source.
type noted struct {
	source   sim.Source
	writer   *traces.Writer
	requests int64
	err      error
}

// Next implements sim.Source.
func (n *noted) Next(r *sim.Request) bool {
	if !n.source.Next(r) {
		return false
	}
	if n.err == nil {
		n.err = n.writer.Write(r)
		n.requests++
	}
	return true
}
