package traces

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/check"
)

// Writer writes requests as a trace that Open reads, in the columns of one public format.
type Writer struct {
	out      *bufio.Writer
	style    style
	limits   bool
	sessions bool
	adapters bool
	names    *blockNames
	line     []byte
}

// Columns says what requests have beside their arrival and their lengths.
type Columns struct {
	Limits   bool          // limits on the output, or clients that cancel; only decodesim has columns for them
	Contents *sim.Contents // what prompts share; nil: nothing
	Block    int32         // tokens of a block, where what they share is whole blocks; 0: beginnings of any length
	Sessions bool          // some are turns of sessions or tasks; only decodesim and mooncake have a column for their ids
	Adapters bool          // some have LoRA adapters; only decodesim has a column for their numbers
	Classes  bool          // they are of several classes or priorities; no format has a column for them
	Hidden   bool          // part of an output is reasoning; no format has a column for it
}

// style is how a format is written.
type style struct {
	name, header string
	row          func(w *Writer, r *sim.Request)
}

// styles returns the formats that can be written. Azure dates begin with epoch, for the clock of a run has no date.
func styles() []style {
	return []style{
		{"decodesim", "arrival_s,input_tokens,output_tokens", (*Writer).decodesim},
		{"azure", "TIMESTAMP,ContextTokens,GeneratedTokens", (*Writer).azure},
		{"mooncake", "", (*Writer).mooncake},
		{"burstgpt", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", (*Writer).burstgpt},
		{"vidur", "arrived_at,num_prefill_tokens,num_decode_tokens", (*Writer).vidur},
		{"lengths", "input_tokens,output_tokens", (*Writer).lengths},
	}
}

// Written returns the names of the formats that a Writer has.
func Written() []string {
	var names []string
	for _, s := range styles() {
		names = append(names, s.name)
	}
	return names
}

// JSONLines reports whether a format has an object on each line, and no header: the others are CSV.
func JSONLines(format string) bool {
	return slices.ContainsFunc(styles(), func(s style) bool { return s.name == format && s.header == "" })
}

// NewWriter writes the head of a trace. Close ends it.
func NewWriter(out io.Writer, format string, c Columns) (*Writer, error) {
	if err := check.OneOf("format", format, Written()); err != nil {
		return nil, err
	}
	w := &Writer{out: bufio.NewWriterSize(out, bufferSize), names: newBlockNames(c.Contents)}
	for _, s := range styles() {
		if s.name == format {
			w.style = s
		}
	}
	w.limits = c.Limits && format == "decodesim"
	header := w.style.header
	if w.limits {
		header += ",max_output_tokens,cancelled_after_s"
	}
	w.sessions = c.Sessions && (format == "decodesim" || format == "mooncake")
	if w.sessions && format == "decodesim" {
		header += ",session_id"
	}
	w.adapters = c.Adapters && format == "decodesim"
	if w.adapters {
		header += ",adapter_id"
	}
	if header != "" {
		header += "\n"
	}
	_, err := w.out.WriteString(header)
	return w, err
}

// Lost says what of requests with such columns a format cannot hold.
func Lost(format string, c Columns) (notes []string) {
	if format == "lengths" {
		notes = append(notes, "arrivals are left out: lengths has no column for them")
	}
	if format == "mooncake" {
		notes = append(notes, "arrivals are rounded to milliseconds, in which mooncake counts")
	}
	if format == "azure" {
		notes = append(notes, "arrivals are cut to 100 ns, in which azure counts, from the beginning of 2000 on")
	}
	if c.Contents != nil && format != "mooncake" {
		notes = append(notes, fmt.Sprintf("what prompts share is left out: only mooncake has block ids, not %s", format))
	}
	if c.Contents != nil && format == "mooncake" && (c.Block == 0 || c.Block%mooncakeBlock != 0) {
		notes = append(notes, fmt.Sprintf("what prompts share is kept in whole blocks of %d tokens, as mooncake has them",
			mooncakeBlock))
	}
	if c.Contents == nil && format == "mooncake" {
		notes = append(notes, "hash_ids are of blocks that no two prompts share: nothing says that any do")
	}
	if c.Limits && format != "decodesim" {
		notes = append(notes, fmt.Sprintf("limits on outputs and cancellations are left out: only decodesim has columns for "+
			"them, not %s", format))
	}
	if c.Sessions && format != "decodesim" && format != "mooncake" {
		notes = append(notes, fmt.Sprintf("which requests are turns of one session is left out: only decodesim and mooncake "+
			"have ids of sessions, not %s", format))
	}
	if c.Adapters && format != "decodesim" {
		notes = append(notes, fmt.Sprintf("which LoRA adapter a request has is left out: only decodesim has numbers of "+
			"adapters, not %s", format))
	}
	if c.Classes {
		notes = append(notes, "which class and priority a request has is left out: no format has a column for them")
	}
	if c.Hidden {
		notes = append(notes, "which part of an output is reasoning is left out: no format has a column for it")
	}
	return notes
}

// Write adds a request, no earlier than the one before.
func (w *Writer) Write(r *sim.Request) error {
	w.line = w.line[:0]
	w.style.row(w, r)
	w.line = append(w.line, '\n')
	_, err := w.out.Write(w.line)
	return err
}

// Close writes what is left.
func (w *Writer) Close() error { return w.out.Flush() }

func (w *Writer) decodesim(r *sim.Request) {
	w.seconds(r.Arrival.Sub(0))
	w.counts(r.Prompt, r.Output)
	if w.limits {
		w.line = append(w.line, ',')
		if r.MaxOutput > 0 {
			w.line = strconv.AppendInt(w.line, int64(r.MaxOutput), 10)
		}
		w.line = append(w.line, ',')
		if r.Deadline > r.Arrival {
			w.seconds(r.Deadline.Sub(r.Arrival))
		}
	}
	if w.sessions {
		w.line = append(w.line, ',')
		if r.Session > 0 {
			w.line = strconv.AppendInt(w.line, int64(r.Session), 10)
		}
	}
	if w.adapters {
		w.line = append(w.line, ',')
		if r.Adapter > 0 {
			w.line = strconv.AppendInt(w.line, int64(r.Adapter), 10)
		}
	}
}

func (w *Writer) vidur(r *sim.Request) {
	w.seconds(r.Arrival.Sub(0))
	w.counts(r.Prompt, r.Output)
}

// epoch is the date of the first day of a trace that has none of its own.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// azure counts in ticks of 100 ns, as the published traces do.
func (w *Writer) azure(r *sim.Request) {
	const tick = 100 * sim.Nanosecond
	at := epoch.Add(time.Duration(r.Arrival.Sub(0)/tick) * 100)
	w.line = at.AppendFormat(w.line, "2006-01-02 15:04:05.0000000")
	w.counts(r.Prompt, r.Output)
}

func (w *Writer) burstgpt(r *sim.Request) {
	w.seconds(r.Arrival.Sub(0))
	w.line = append(w.line, ",decodesim"...)
	w.counts(r.Prompt, r.Output)
	w.line = strconv.AppendInt(append(w.line, ','), int64(r.Prompt)+int64(r.Output), 10)
	w.line = append(w.line, ",API log"...)
}

func (w *Writer) lengths(r *sim.Request) {
	w.line = strconv.AppendInt(w.line, int64(r.Prompt), 10)
	w.line = strconv.AppendInt(append(w.line, ','), int64(r.Output), 10)
}

func (w *Writer) mooncake(r *sim.Request) {
	w.line = append(w.line, `{"timestamp": `...)
	const millisecond = sim.Second / 1000
	w.line = strconv.AppendInt(w.line, int64((r.Arrival.Sub(0)+millisecond/2)/millisecond), 10)
	w.line = append(w.line, `, "input_length": `...)
	w.line = strconv.AppendInt(w.line, int64(r.Prompt), 10)
	w.line = append(w.line, `, "output_length": `...)
	w.line = strconv.AppendInt(w.line, int64(r.Output), 10)
	w.line = append(w.line, `, "hash_ids": [`...)
	for i, id := range w.names.of(r) {
		if i > 0 {
			w.line = append(w.line, ", "...)
		}
		w.line = strconv.AppendInt(w.line, id, 10)
	}
	w.line = append(w.line, ']')
	if w.sessions {
		w.line = append(w.line, `, "session_id": `...)
		if r.Session > 0 {
			w.line = strconv.AppendInt(w.line, int64(r.Session), 10)
		} else {
			w.line = append(w.line, "null"...)
		}
	}
	w.line = append(w.line, '}')
}

// seconds appends a span without trailing zeros, exact to the picosecond.
func (w *Writer) seconds(d sim.Duration) {
	w.line = strconv.AppendInt(w.line, int64(d/sim.Second), 10)
	rest := int64(d % sim.Second)
	if rest == 0 {
		return
	}
	w.line = append(w.line, '.')
	for unit := int64(sim.Second) / 10; rest > 0; unit /= 10 {
		w.line = append(w.line, byte('0'+rest/unit))
		rest %= unit
	}
}

func (w *Writer) counts(prompt, output int32) {
	w.line = strconv.AppendInt(append(w.line, ','), int64(prompt), 10)
	w.line = strconv.AppendInt(append(w.line, ','), int64(output), 10)
}

// mooncakeBlock is the tokens of a block of Mooncake's traces.
const mooncakeBlock = 512

// blockNames gives the blocks of prompts ids, equal ones to those that end in the same content at the same place. Its
// memory grows with the distinct blocks that prompts may share.
type blockNames struct {
	tree *sim.Contents
	ids  map[sharedBlock]int64
	next int64
	list []int64
}

// sharedBlock is the block of a path that ends in a node.
type sharedBlock struct{ node, block int32 }

func newBlockNames(tree *sim.Contents) *blockNames {
	return &blockNames{tree: tree, ids: map[sharedBlock]int64{}}
}

// of returns the ids of the blocks of a prompt; the last may be a beginning. They hold until the next call.
func (n *blockNames) of(r *sim.Request) []int64 {
	blocks := (r.Prompt + mooncakeBlock - 1) / mooncakeBlock
	n.list = n.list[:0]
	for range blocks {
		n.list = append(n.list, -1)
	}
	if n.tree != nil {
		n.shared(r, blocks)
	}
	for i, id := range n.list {
		if id < 0 {
			n.list[i] = n.next
			n.next++
		}
	}
	return n.list
}

// shared names the blocks that lie within the content of a prompt, from the last one to the first.
func (n *blockNames) shared(r *sim.Request, blocks int32) {
	node := r.Content
	for b := blocks - 1; b >= 0; b-- {
		end := (b + 1) * mooncakeBlock
		if end > n.tree.Tokens(r.Content) {
			continue // the tail of its own begins in this block
		}
		for node != 0 && n.tree.Tokens(n.tree.Parent(node)) >= end {
			node = n.tree.Parent(node)
		}
		key := sharedBlock{node, b}
		id, ok := n.ids[key]
		if !ok {
			id = n.next
			n.next++
			n.ids[key] = id
		}
		n.list[b] = id
	}
}
