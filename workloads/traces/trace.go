package traces

import (
	"cmp"
	"fmt"
	"io"
	"math"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/requests"
)

// Options selects and stretches what a trace replays. The zero Options replays all of it as recorded.
//
// Times are counted from the first row of the file. StartS and EndS select rows by that time, before Speed; the
// window's start becomes the start of the run. Nothing behind EndS or Limit is read.
//
// Rate divides all arrival times by one factor, so that it is the mean rate of all that Limit, StartS and EndS select.
// Requests and DurationS then cut what is sent and leave the factor alone.
type Options struct {
	Speed     float64 // 2 replays twice as fast; 0: 1
	Rate      float64 // requests/s; 0: as Speed says
	Requests  int64   // sent in all; 0: no limit
	DurationS float64 // seconds of the run, after which none is sent; 0: no limit
	Limit     int64   // requests; 0: all
	StartS    float64 // seconds
	EndS      float64 // seconds, not included; 0: to the end
	SkipEmpty bool    // skip and count rows of 0 tokens instead of refusing them
	Patience  requests.Patience
	Seed      uint64           // of cancellations and classes
	Classes   []requests.Class // drawn for each request; their lengths are recorded
	Reasoning float64          // share of each output that is reasoning, rounded down
	Contents  bool             // let requests share what equal block ids stand for, in a trace that has them
	Adapters  int64            // let requests have the LoRA adapters that a trace names, numbered up to this; 0: none does
	Reading   Reading          // nil: nothing is reported
	Before    bool             // Reading hears of what Open reads, and not of the replay
	Room      MoreRoom         // nil: nobody is asked
	Unchecked bool             // replay without reading the file through first; Stats stay zero, and nothing is shared
}

// Reading hears how many bytes of a file have been read so far, of all that will be: a file is read more than once. An
// error of its own ends the reading.
type Reading func(done, of int64) error

// MoreRoom is asked before so many bytes of memory more are taken for the blocks and sessions that a trace names. An
// error of its own ends the reading.
type MoreRoom func(bytes int64) error

// Stats describes the requests that a trace replays.
type Stats struct {
	Format     string
	Requests   int64
	Skipped    int64   // failed or empty rows before the last request, which are not replayed
	DurationS  float64 // seconds from the start of the run to the last arrival
	PromptMean float64 // tokens
	OutputMean float64
	PromptMax  int32
	OutputMax  int32
}

// Trace is the source that replays a file. It reads the file through once before the run, so that a corrupt row is
// reported before anything is simulated, and then streams it in constant memory: constant but for block ids, of which
// it keeps every one that is distinct.
type Trace struct {
	in        *input
	options   Options
	deadlines requests.Deadlines
	rows      *rows
	blocks    *blocks           // nil: nothing is shared
	classes   *requests.Classes // nil: none
	base      instant           // of the first row; unknown where the trace is unchecked
	start     sim.Duration
	end       sim.Duration // 0: none
	most      int64        // requests sent; 0: no limit
	last      sim.Time     // of the run, before which requests are sent; 0: no limit
	sent      int64
	done      bool
	goesOn    bool // beyond the window's end
	err       error
	stats     Stats
}

var _ sim.Source = (*Trace)(nil)

// Open returns the source that replays the file at path: CSV with a header or JSON lines, plain or gzip, in any of
// the known formats. Close it after the run.
func Open(path string, o Options) (*Trace, error) {
	in, err := openInput(path)
	if err != nil {
		return nil, err
	}
	passes := o.passes()
	if o.Before {
		passes--
	}
	in.observe(o.Reading, passes)
	t, err := newTrace(in, o)
	if err != nil {
		in.Close()
		return nil, err
	}
	if o.Before {
		in.unobserve()
	}
	return t, nil
}

// passes is how often a file is read: for its rate, for what is wrong with it, and for its requests.
func (o *Options) passes() int64 {
	n := int64(1)
	if o.Rate > 0 {
		n++
	}
	if !o.Unchecked {
		n++
	}
	return n
}

// New is Open for a text that is not a file of its own, such as an embedded one; name stands for it in errors.
func New(name string, r io.ReadSeeker, o Options) (*Trace, error) {
	return newTrace(&input{name: name, file: r}, o)
}

func newTrace(in *input, o Options) (*Trace, error) {
	t := &Trace{in: in, options: o}
	if err := t.configure(); err != nil {
		return nil, err
	}
	if o.Rate > 0 {
		if err := t.pace(); err != nil {
			return nil, err
		}
	}
	if !o.Unchecked {
		if err := t.scan(); err != nil {
			return nil, err
		}
	}
	return t, t.rewind()
}

// configure checks the options.
func (t *Trace) configure() (err error) {
	o := &t.options
	if o.Speed == 0 {
		o.Speed = 1
	}
	if o.Limit < 0 || o.Limit > check.RequestsMax {
		return check.Refuse("trace.limit", o.Limit, fmt.Sprintf("a whole number from 1 to %d", check.RequestsMax))
	}
	err = cmp.Or(
		check.Within("trace.speed", o.Speed, speedMin, speedMax),
		check.Within("trace.start_s", o.StartS, 0, sim.HorizonS),
		check.Within("trace.end_s", o.EndS, 0, sim.HorizonS),
		check.Within("reasoning.share", o.Reasoning, 0, 1),
	)
	if err == nil && o.Rate != 0 {
		err = o.checkRate()
	}
	if err == nil && o.EndS != 0 {
		err = check.Above("trace.end_s", o.EndS, o.StartS, sim.HorizonS)
	}
	if err != nil {
		return err
	}
	t.start, t.end, t.most = sim.Seconds(o.StartS), sim.Seconds(o.EndS), o.Limit
	t.cut()
	t.classes, err = requests.NewTraceClasses(o.Classes, o.Seed)
	if err != nil {
		return err
	}
	t.deadlines, err = requests.NewDeadlines(o.Patience, o.Seed)
	return err
}

// rewind goes back to the first request.
func (t *Trace) rewind() (err error) {
	t.done, t.sent = false, 0
	t.rows, err = openRows(t.in, formats(), t.options.SkipEmpty)
	if err != nil {
		return err
	}
	t.rows.adapters, t.rows.room = t.options.Adapters, t.options.Room
	if l := &t.rows.layout; t.options.Contents && !t.options.Unchecked && l.ids != "" {
		l.format.column[idsRole] = l.ids
		if t.blocks == nil {
			t.blocks = newBlocks(l.block, t.options.Room)
		}
	}
	if f := t.rows.layout.format; f.time == noTime {
		return t.rows.lines.fail("there are no arrival times, only %s,%s; accepted: a trace with arrivals, or these lengths "+
			"with an arrival process", f.column[promptRole], f.column[outputRole])
	}
	return nil
}

// Next fills the next request of the trace. After false, Err says whether the file ended or broke.
func (t *Trace) Next(r *sim.Request) bool {
	at, w, ok := t.advance()
	if !ok {
		return false
	}
	r.ID, r.Arrival = int32(t.sent-1), at
	r.Prompt, r.Output, r.MaxOutput = w.prompt, w.output, w.limit
	r.Session, r.Adapter = w.session, w.adapter
	if t.blocks != nil {
		r.Content = t.blocks.content(t.rows.ids)
	}
	if t.classes != nil {
		t.classes.Mark(r)
	}
	r.Reasoning = requests.Hidden(r.Output, t.options.Reasoning)
	t.deadlines.Mark(r)
	if cancelled := at.Add(w.cancelled); w.cancelled > 0 && (r.Deadline == 0 || cancelled < r.Deadline) {
		r.Deadline = cancelled
	}
	return true
}

// Contents returns the tree that the requests' Content is in; nil: they share nothing.
func (t *Trace) Contents() *sim.Contents {
	if t.blocks == nil {
		return nil
	}
	return &t.blocks.tree
}

// BlockTokens returns how many tokens a block has whose id the trace names; 0: it names none.
func (t *Trace) BlockTokens() int32 { return t.rows.layout.block }

// advance returns the next selected row and its arrival in the run.
func (t *Trace) advance() (at sim.Time, w row, ok bool) {
	for !t.done && t.err == nil && (t.most == 0 || t.sent < t.most) {
		ok, t.err = t.rows.next(&w)
		if !ok {
			break
		}
		since, inside := t.since(&w)
		if t.err != nil {
			break
		}
		if t.end > 0 && since >= t.end {
			t.goesOn = true
			break
		}
		if !inside {
			continue
		}
		at, ok = t.arrival(since)
		if !ok {
			t.err = t.rows.lines.fail("the request would arrive beyond the %g s of the clock; accepted: a shorter trace "+
				"or window, or a higher speed", sim.HorizonS)
			break
		}
		if t.last > 0 && at >= t.last {
			t.goesOn = true
			break
		}
		t.sent++
		if t.sent > check.RequestsMax {
			t.err = t.rows.lines.fail("this is request %d; accepted: at most %d, by limit or window", t.sent, check.RequestsMax)
			break
		}
		return at, w, true
	}
	t.done = true
	return 0, w, false
}

// since returns the time of a row from the first and whether the window has begun.
func (t *Trace) since(w *row) (since sim.Duration, inside bool) {
	since, ok := w.at.since(t.rows.base)
	if !ok {
		t.err = t.rows.lines.fail("%s is more than %g s after the first row; accepted: traces of up to %g s",
			t.rows.layout.format.column[timeRole], sim.HorizonS, sim.HorizonS)
	}
	return since, since >= t.start
}

// arrival applies window and speed.
func (t *Trace) arrival(since sim.Duration) (sim.Time, bool) {
	d := since - t.start
	if t.options.Speed != 1 {
		ps := math.Round(float64(d) / t.options.Speed)
		if ps > sim.HorizonS*1e12 {
			return 0, false
		}
		d = sim.Duration(ps)
	}
	return sim.Time(0).Add(d), true
}

// Stats describes what the trace replays; zero if it was opened Unchecked.
func (t *Trace) Stats() Stats { return t.stats }

// Rate returns the mean rate of the replay in requests/s, over the window where the file goes on beyond it and else up
// to the last arrival: a window that outlasts the file says nothing about what would have come; 0: unknown.
func (t *Trace) Rate() float64 {
	span := t.stats.DurationS
	switch {
	case t.goesOn && t.last > 0:
		span = t.last.Seconds()
	case t.goesOn:
		span = (t.end - t.start).Seconds() / t.options.Speed
	}
	if span == 0 {
		return 0
	}
	return float64(t.stats.Requests) / span
}

// Began returns the instant at which the replay begins, in seconds since 1970 UTC, where the trace has dates.
func (t *Trace) Began() (s int64, dated bool) {
	return t.base.s + int64(t.options.StartS), t.rows.layout.format.time == date
}

// Columns says what the requests have beside their arrival and their lengths.
func (t *Trace) Columns() Columns {
	column := &t.rows.layout.format.column
	return Columns{Limits: column[limitRole] != "" || column[cancelRole] != "", Contents: t.Contents(),
		Block:    t.BlockTokens(),
		Sessions: column[sessionRole] != "", Adapters: column[adapterRole] != ""}
}

// Requests returns how many requests the trace replays; 0: unknown.
func (t *Trace) Requests() float64 { return float64(t.stats.Requests) }

// Means returns the mean prompt and output in tokens; 0: unknown.
func (t *Trace) Means() (prompt, output float64) { return t.stats.PromptMean, t.stats.OutputMean }

// Skipped returns how many failed or empty rows have been passed over so far.
func (t *Trace) Skipped() int64 { return t.rows.skipped }

// Unread returns the columns or keys of the file that nothing is read from, as far as it has been read.
func (t *Trace) Unread() []string { return t.rows.layout.left() }

// Err says where and how the file broke, or nil.
func (t *Trace) Err() error { return t.err }

// Close closes the file.
func (t *Trace) Close() error { return t.in.Close() }
