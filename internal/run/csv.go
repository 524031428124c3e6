package run

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/sessions"
)

const rowsHead = "id,arrival_s,prompt_tokens,output_tokens,cached_tokens,ttft_s,tpot_s,e2e_s,queue_s,preemptions," +
	"pool,instance,outcome"

// columns are those that not every run has.
type columns struct{ routed, classed, turns, thinks bool }

// columnsOf returns the columns of a run, of which r is the first row.
func columnsOf(r *Row) columns {
	return columns{routed: r.Way != "", classed: r.Class != "", turns: r.Session != 0, thinks: r.Thinks}
}

// head returns the names of the columns.
func (c columns) head() string {
	names := rowsHead
	for _, of := range []struct {
		there bool
		names string
	}{{c.routed, ",route"}, {c.classed, ",class"}, {c.turns, ",session"}, {c.thinks, ",reasoning_tokens,ttfo_s"}} {
		if of.there {
			names += of.names
		}
	}
	return names
}

// WriteRows writes a line per request. Times are exact: picoseconds, as decimal seconds. The first row says whether
// there are columns of ways, classes, sessions and reasoning.
func WriteRows(w io.Writer, rows iter.Seq[Row]) error {
	const full = 1 << 16
	b := make([]byte, 0, full+1024)
	first, of := true, columns{}
	for r := range rows {
		if first {
			first, of = false, columnsOf(&r)
			b = append(append(b, of.head()...), '\n')
		}
		b = r.appendTo(b, of)
		if len(b) < full {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	if first {
		b = append(append(b, of.head()...), '\n')
	}
	_, err := w.Write(b)
	return err
}

func (r *Row) appendTo(b []byte, of columns) []byte {
	b = appendCount(b, r.ID)
	b = append(appendSeconds(b, sim.Duration(r.Arrival)), ',')
	b = appendCount(b, r.PromptTokens)
	b = appendCount(b, r.OutputTokens)
	b = appendCount(b, r.CachedTokens)
	b = append(appendSeconds(b, r.TTFT), ',')
	b = append(appendSeconds(b, r.TPOT), ',')
	b = append(appendSeconds(b, r.E2E), ',')
	b = append(appendSeconds(b, r.Queue), ',')
	b = appendCount(b, r.Preemptions)
	b = append(appendName(b, r.Pool), ',')
	b = appendCount(b, r.Instance)
	b = appendName(b, r.Outcome)
	if of.routed {
		b = appendName(append(b, ','), r.Way)
	}
	if of.classed {
		b = appendName(append(b, ','), r.Class)
	}
	if of.turns {
		b = strconv.AppendInt(append(b, ','), int64(r.Session), 10)
	}
	if of.thinks {
		b = appendCount(append(b, ','), r.Hidden)
		b = appendSeconds(b, r.TTFO)
	}
	return append(b, '\n')
}

const tasksHead = "id,begun_s,task_s,waiting_s,prompts_s,generation_s,tools_s,agents,requests,prompt_tokens," +
	"output_tokens,outcome"

// WriteTasks writes a line per task of agents, in the order in which they began. Tasks that the end of the run found
// under way are not among them. A task that was not completed took no time to completion: the parts are what it had
// spent. classes are the names of the service classes; nil: there are none, and no column.
func WriteTasks(w io.Writer, tasks []sessions.Task, classes []configs.Class) error {
	b := append([]byte(nil), tasksHead...)
	if len(classes) > 0 {
		b = append(b, ",class"...)
	}
	b = append(b, '\n')
	for i := range tasks {
		t := &tasks[i]
		took := t.Ended.Sub(t.Begun)
		if t.Outcome != sessions.TaskCompleted {
			took = Unknown
		}
		b = append(strconv.AppendInt(b, t.Number, 10), ',')
		b = append(appendSeconds(b, sim.Duration(t.Begun)), ',')
		for _, d := range []sim.Duration{took, t.Spent.Waiting, t.Spent.Prompts, t.Spent.Generation, t.Spent.Tools} {
			b = append(appendSeconds(b, d), ',')
		}
		b = appendCount(appendCount(b, t.Agents), t.Requests)
		b = append(strconv.AppendInt(b, t.PromptTokens, 10), ',')
		b = append(strconv.AppendInt(b, t.OutputTokens, 10), ',')
		b = append(b, t.Outcome.String()...)
		if len(classes) > 0 {
			b = appendName(append(b, ','), classes[t.Class].Name)
		}
		b = append(b, '\n')
	}
	_, err := w.Write(b)
	return err
}

func appendCount(b []byte, n int32) []byte { return append(strconv.AppendInt(b, int64(n), 10), ',') }

// appendSeconds writes d as decimal seconds without a superfluous zero; Unknown is nothing.
func appendSeconds(b []byte, d sim.Duration) []byte {
	if d < 0 {
		return b
	}
	whole := d / sim.Second
	rest := d - whole*sim.Second
	b = strconv.AppendInt(b, int64(whole), 10)
	if rest == 0 {
		return b
	}
	point := len(b)
	b = strconv.AppendInt(b, int64(sim.Second+rest), 10) // a 1 and the twelve digits
	b[point] = '.'
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// appendName quotes a name as RFC 4180 says, where it must be.
func appendName(b []byte, name string) []byte {
	if !strings.ContainsAny(name, ",\"\n\r") {
		return append(b, name...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(name, `"`, `""`)...)
	return append(b, '"')
}
