package traces

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

// row is a request as a trace has it.
type row struct {
	at             instant
	prompt, output int32
	limit          int32        // on the output; 0: none
	cancelled      sim.Duration // after its arrival; 0: it was not
	session        int32        // in the order in which they first appear, from 1; 0: none
	adapter        uint16       // its number; 0: none
	line           int
}

// rows reads a trace row by row, in constant memory, and refuses the first row that is not one.
type rows struct {
	lines     *lines
	layout    layout
	json      bool
	first     []byte // JSON: the line from which the layout was taken, not yet read
	skipEmpty bool
	skipped   int64   // rows without a request
	base      instant // of the first row, skipped or not
	last      instant
	lastLine  int              // 0: no row yet
	ids       []int64          // of the blocks of the last row, if they are asked for
	sessions  map[string]int32 // by id: of the session, or of each of its turns
	begun     int32            // sessions
	room      MoreRoom         // asked before there are many more of them; nil: nobody is
	adapters  int64            // the highest number of an adapter; 0: they are not asked for
	blank     int              // number of a blank line, after which nothing may follow
}

// openRows reads as much of in as tells which of formats it has.
func openRows(in *input, formats []format, skipEmpty bool) (*rows, error) {
	l, err := in.rewind()
	if err != nil {
		return nil, err
	}
	t := &rows{lines: l, skipEmpty: skipEmpty}
	line, err := l.next()
	if err != nil {
		return nil, err
	}
	t.json = len(blanks(line)) > 0 && blanks(line)[0] == '{'
	split := header
	if t.json {
		split, t.first = keys, bytes.Clone(line)
	}
	names, ok := split(line)
	if !ok {
		return nil, l.fail("%s is neither a CSV header nor a JSON object; accepted: %s", clip(line), known(formats))
	}
	t.layout, err = match(names, formats)
	if err != nil {
		return nil, fmt.Errorf("workloads: %s:%d: %w", l.name, l.number, err)
	}
	if t.json {
		t.layout.ids, t.layout.block = blockKey(names, t.layout.format.block)
		t.layout.unread = slices.DeleteFunc(t.layout.unread, func(name string) bool { return name == t.layout.ids })
	}
	return t, nil
}

// next fills r with the next request; false: there is none.
func (t *rows) next(r *row) (bool, error) {
	for {
		line, err := t.line()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		var f fields
		if t.json {
			err = t.splitJSON(line, &f)
		} else {
			err = t.splitCSV(line, &f)
		}
		if err != nil {
			return false, err
		}
		if found, err := t.convert(&f, r); found || err != nil {
			return found, err
		}
		t.skipped++
	}
}

// line returns the next line that is not blank. Blank lines are accepted at the end of the file only.
func (t *rows) line() ([]byte, error) {
	if t.first != nil {
		line := t.first
		t.first = nil
		return line, nil
	}
	for {
		line, err := t.lines.next()
		if err != nil {
			return nil, err
		}
		if len(trim(line)) > 0 {
			if t.blank > 0 {
				t.lines.number = t.blank
				return nil, t.lines.fail("the line is blank; accepted: blank lines at the end only")
			}
			return line, nil
		}
		if t.blank == 0 {
			t.blank = t.lines.number
		}
	}
}

func (t *rows) splitCSV(line []byte, f *fields) error {
	n := t.layout.row(line, f)
	if n == 0 {
		return t.lines.fail("%s has a quote that does not end a field; accepted: quotes around whole fields", clip(line))
	}
	if want := len(t.layout.role); n != want {
		return t.lines.fail("%s has %d fields; accepted: %d, as in the header", clip(line), n, want)
	}
	return nil
}

func (t *rows) splitJSON(line []byte, f *fields) error {
	ok, twice := t.layout.members(line, f)
	if !ok {
		return t.lines.fail("%s is not a JSON object; accepted: one object per line", clip(line))
	}
	if twice != nil {
		return t.lines.fail("%s is there twice; accepted: once", nameOf(twice))
	}
	needed := t.layout.format.column
	needed[sessionRole] = "" // a request may stand alone
	for role, column := range needed {
		if f[role] == nil && column != "" {
			return t.lines.fail("%s is missing; accepted: the keys %s in every line", column,
				strings.Join(slices.DeleteFunc(needed[:], func(name string) bool { return name == "" }), ","))
		}
	}
	return nil
}

// convert checks the values of a row; false: it is a failed or empty request that is to be skipped.
func (t *rows) convert(f *fields, r *row) (bool, error) {
	format := &t.layout.format
	at, ok := format.time.parse(f[timeRole])
	if !ok {
		return false, t.refuse(timeRole, f, format.time.accepted())
	}
	if t.lastLine == 0 {
		t.base = at
	} else if at.before(t.last) {
		return false, t.refuse(timeRole, f,
			fmt.Sprintf("at least the time of line %d, for rows are in order of arrival", t.lastLine))
	}
	t.last, t.lastLine = at, t.lines.number
	prompt, ok := parseCount(f[promptRole])
	if !ok {
		return false, t.refuse(promptRole, f, acceptedTokens)
	}
	output, ok := parseCount(f[outputRole])
	if !ok {
		return false, t.refuse(outputRole, f, acceptedTokens)
	}
	if prompt == 0 || output == 0 {
		if t.skipEmpty || format.failures && output == 0 {
			return false, nil
		}
		role, accepted := promptRole, acceptedTokens
		if prompt > 0 {
			role = outputRole
		}
		if format.time != noTime {
			accepted += "; skip_empty leaves such rows out"
		}
		return false, t.refuse(role, f, accepted)
	}
	*r = row{at: at, prompt: int32(prompt), output: int32(output), line: t.lines.number}
	session, err := t.session(f)
	r.session = session
	return true, cmp.Or(err, t.readOptional(f, r), t.readIDs(f, prompt))
}

// readOptional reads what a row may say beside its lengths. An empty cell, null or 0 stands for none.
func (t *rows) readOptional(f *fields, r *row) error {
	if text := f[limitRole]; !absent(text) {
		limit, ok := parseCount(text)
		if !ok || limit != 0 && limit < int64(r.output) {
			return t.refuse(limitRole, f, "a whole number of tokens, at least the output's, or 0")
		}
		r.limit = int32(limit)
	}
	if text := f[cancelRole]; !absent(text) {
		after, ok := parseSeconds(text)
		if ok {
			r.cancelled, ok = after.since(instant{})
		}
		if !ok {
			return t.refuse(cancelRole, f, timeUnit(seconds).accepted())
		}
	}
	if text := f[adapterRole]; t.adapters > 0 && !absent(text) {
		adapter, ok := parseCount(text)
		if !ok || adapter > t.adapters {
			return t.refuse(adapterRole, f, fmt.Sprintf("the number of an adapter, 1 to %d, or 0 for the model itself",
				t.adapters))
		}
		r.adapter = uint16(adapter)
	}
	return nil
}

const (
	// sessionBytes is about what an id takes in a map that has just grown.
	sessionBytes = 150

	// sessionsFew is how many ids take no memory that is worth asking for.
	sessionsFew = 1 << 16
)

// session returns the number of the session of a row, which names it by a number or a text, or names the turn before.
// A turn that names none, or one that is not in the trace, begins a session.
func (t *rows) session(f *fields) (int32, error) {
	id := f[sessionRole]
	n, ok := t.sessions[string(id)]
	if turns := t.layout.format.column[chatRole] != ""; turns {
		ok = ok && !absent(id)
		id = f[chatRole]
	} else if ok || absent(id) {
		return n, nil
	}
	if !ok {
		t.begun++ // no trace has 2³¹ requests
		n = t.begun
	}
	return n, t.remember(id, n)
}

// remember keeps of which session an id is.
func (t *rows) remember(id []byte, session int32) error {
	if t.sessions == nil {
		t.sessions = map[string]int32{}
	}
	if n := len(t.sessions) + 1; n >= sessionsFew && n&(n-1) == 0 && t.room != nil {
		if err := t.room(int64(n) * sessionBytes); err != nil {
			return t.lines.fail("%d sessions so far: %s", session, err)
		}
	}
	t.sessions[string(id)] = session
	return nil
}

// absent reports whether an optional cell says nothing.
func absent(text []byte) bool { return len(text) == 0 || string(text) == "null" }

// readIDs reads the block ids of a prompt, if they are asked for. The last block may be a beginning.
func (t *rows) readIDs(f *fields, prompt int64) (err error) {
	if t.layout.format.column[idsRole] == "" {
		return nil
	}
	var ok bool
	t.ids, ok = appendIDs(t.ids[:0], f[idsRole])
	if !ok {
		return t.refuse(idsRole, f, "a list of whole numbers of at most 18 digits")
	}
	if most := (prompt + int64(t.layout.block) - 1) / int64(t.layout.block); int64(len(t.ids)) > most {
		return t.lines.fail("%s has %d ids; accepted: at most %d, for a prompt of %d tokens in blocks of %d",
			t.layout.ids, len(t.ids), most, prompt, t.layout.block)
	}
	return nil
}

const acceptedTokens = "a whole number of tokens from 1 to 1073741823"

// refuse returns an error about a value of the last row.
func (t *rows) refuse(role int, f *fields, accepted string) error {
	return t.lines.fail("%s is %s; accepted: %s", t.layout.format.column[role], clip(f[role]), accepted)
}
