package live

import (
	"bufio"
	"io"
	"slices"
	"strconv"

	"github.com/decodesim/decodesim/sim"
)

// recording writes a line for each request, in order of arrival, as soon as it and all before it have ended. run
// replays them to the same latencies: times are exact, and ids of blocks say what prompts have in common.
type recording struct {
	w        *bufio.Writer
	tree     *sim.Contents
	adapted  bool       // requests may have LoRA adapters
	requests []recorded // from number base on
	head     int
	base     int32
	line     []byte
	path     []int32
	err      error
}

// recorded is a request that has come.
type recorded struct {
	arrival               sim.Time
	cancelled             sim.Duration // after its arrival; 0: it was not
	prompt, output, limit int32
	content               int32
	adapter               uint16
	ended                 bool
}

func newRecording(w io.Writer, tree *sim.Contents, adapted bool) *recording {
	return &recording{w: bufio.NewWriterSize(w, 1<<16), tree: tree, adapted: adapted}
}

func (x *recording) arrive(r *sim.Request) {
	x.requests = append(x.requests, recorded{
		arrival: r.Arrival, prompt: r.Prompt, output: r.Output, limit: r.MaxOutput, content: r.Content, adapter: r.Adapter,
	})
}

func (x *recording) at(id int32) *recorded { return &x.requests[id-x.base] }

// cancel notes that the client of a request cancels it at an instant.
func (x *recording) cancel(id int32, at sim.Time) {
	if r := x.at(id); r.cancelled == 0 {
		r.cancelled = at.Sub(r.arrival)
	}
}

// end notes that a request has ended, and writes what can be written.
func (x *recording) end(id int32) {
	x.at(id).ended = true
	for ; x.head < len(x.requests) && x.requests[x.head].ended; x.head++ {
		x.write(&x.requests[x.head])
	}
	if 2*x.head >= len(x.requests) {
		n := copy(x.requests, x.requests[x.head:])
		x.requests, x.base, x.head = x.requests[:n], x.base+int32(x.head), 0
	}
}

func (x *recording) write(r *recorded) {
	b := append(x.line[:0], `{"arrival_s":`...)
	b = appendSeconds(b, sim.Duration(r.arrival))
	b = strconv.AppendInt(append(b, `,"input_tokens":`...), int64(r.prompt), 10)
	b = strconv.AppendInt(append(b, `,"output_tokens":`...), int64(r.output), 10)
	b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), int64(r.limit), 10)
	b = appendSeconds(append(b, `,"cancelled_after_s":`...), r.cancelled)
	if x.adapted {
		b = strconv.AppendInt(append(b, `,"adapter_id":`...), int64(r.adapter), 10)
	}
	b = append(b, `,"block16_ids":[`...)
	x.path = x.path[:0]
	for n := r.content; n != 0; n = x.tree.Parent(n) {
		x.path = append(x.path, n)
	}
	slices.Reverse(x.path)
	for i, n := range x.path {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	x.line = append(b, "]}\n"...)
	if _, err := x.w.Write(x.line); err != nil && x.err == nil {
		x.err = err
	}
}

// appendSeconds writes d exactly, with twelve digits behind the point.
func appendSeconds(b []byte, d sim.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/sim.Second), 10)
	point := len(b)
	b = strconv.AppendInt(b, int64(sim.Second+d%sim.Second), 10) // a 1 and the twelve digits
	b[point] = '.'
	return b
}

// finish writes what is left, and returns the first error.
func (x *recording) finish() error {
	for ; x.head < len(x.requests); x.head++ {
		x.write(&x.requests[x.head])
	}
	if err := x.w.Flush(); x.err == nil {
		x.err = err
	}
	return x.err
}
