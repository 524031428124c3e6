package chrometrace

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/sim"
)

// writer writes events, one a line. The first error stays.
type writer struct {
	to     *bufio.Writer
	events int
	line   event
}

// event is one that is being written: its fields, and those of its args.
type event struct {
	w    *writer
	b    []byte
	args bool // have begun
}

// head begins every trace. By the generator, a later run knows a trace that it may replace.
const head = `{"generator":"decodesim","displayTimeUnit":"ms","traceEvents":[`

func newWriter(w io.Writer) writer {
	to := bufio.NewWriter(w)
	to.WriteString(head) // an error stays, until Flush
	return writer{to: to}
}

// end closes the list, and says what the trace is of.
func (w *writer) end(about map[string]string) error {
	w.to.WriteString("\n],\"otherData\":{")
	for i, key := range slices.Sorted(maps.Keys(about)) {
		if i > 0 {
			w.to.WriteByte(',')
		}
		w.to.Write(quote(nil, key))
		w.to.WriteByte(':')
		w.to.Write(quote(nil, about[key]))
	}
	w.to.WriteString("}}\n")
	return w.to.Flush()
}

// name names a process or a thread.
func (w *writer) name(what string, process, thread int, is string) {
	e := w.begin("M", what, "__metadata", 0, process, thread)
	e.open()
	e.b = quote(append(e.b, `"name":`...), is)
	e.end()
}

// begin begins an event of a phase of the format: X a slice, b and e the ends of an asynchronous one, s and f of an
// arrow, i an instant, C a counter, M a name.
func (w *writer) begin(phase, name, category string, at sim.Time, process, thread int) *event {
	e := &w.line
	e.w, e.args = w, false
	e.b = append(e.b[:0], `{"ph":"`...)
	e.b = append(append(e.b, phase...), `","name":`...)
	e.b = append(quote(e.b, name), `,"cat":`...)
	e.b = append(quote(e.b, category), `,"ts":`...)
	e.b = append(microseconds(e.b, sim.Duration(at)), `,"pid":`...)
	e.b = append(strconv.AppendInt(e.b, int64(process), 10), `,"tid":`...)
	e.b = strconv.AppendInt(e.b, int64(thread), 10)
	return e
}

func (e *event) duration(d sim.Duration) { e.b = microseconds(append(e.b, `,"dur":`...), d) }

func (e *event) id(n int32) *event {
	e.b = strconv.AppendInt(append(e.b, `,"id":`...), int64(n), 10)
	return e
}

func (e *event) text(key, value string) *event {
	e.b = quote(append(quote(append(e.b, ','), key), ':'), value)
	return e
}

// open begins the args, or goes on with them: what belongs to the event itself comes before.
func (e *event) open() {
	if e.args {
		e.b = append(e.b, ',')
		return
	}
	e.b, e.args = append(e.b, `,"args":{`...), true
}

func (e *event) count(key string, n int64) {
	e.open()
	e.b = strconv.AppendInt(append(quote(e.b, key), ':'), n, 10)
}

func (e *event) milliseconds(key string, d sim.Duration) {
	e.open()
	e.b = strconv.AppendFloat(append(quote(e.b, key), ':'), 1e3*d.Seconds(), 'g', 6, 64)
}

func (e *event) end() {
	if e.args {
		e.b = append(e.b, '}')
	}
	e.b = append(e.b, '}')
	if e.w.events > 0 {
		e.w.to.WriteByte(',')
	}
	e.w.to.WriteByte('\n')
	e.w.to.Write(e.b)
	e.w.events++
}

// microseconds writes d exactly.
func microseconds(b []byte, d sim.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/sim.Microsecond), 10)
	rest := int64(d % sim.Microsecond)
	if rest == 0 {
		return b
	}
	point := len(b)
	b = strconv.AppendInt(b, int64(sim.Microsecond)+rest, 10) // a 1 and the six digits
	b[point] = '.'
	return b
}

// quote writes a string as JSON has it.
func quote(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic("chrometrace: a string has no JSON")
	}
	return append(b, text...)
}
