package run

import (
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/sim"
)

const rowsHead = "id,arrival_s,prompt_tokens,output_tokens,cached_tokens,ttft_s,tpot_s,e2e_s,queue_s,preemptions," +
	"pool,instance,outcome"

// WriteRows writes a line per request. Times are exact: picoseconds, as decimal seconds. The first row says whether
// there are columns of ways and classes.
func WriteRows(w io.Writer, rows iter.Seq[Row]) error {
	const full = 1 << 16
	b := append(make([]byte, 0, full+1024), rowsHead...)
	first, routed, classed := true, false, false
	for r := range rows {
		if first {
			first, routed, classed = false, r.Way != "", r.Class != ""
			if routed {
				b = append(b, ",route"...)
			}
			if classed {
				b = append(b, ",class"...)
			}
			b = append(b, '\n')
		}
		b = r.appendTo(b, routed, classed)
		if len(b) < full {
			continue
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	if first {
		b = append(b, '\n')
	}
	_, err := w.Write(b)
	return err
}

func (r *Row) appendTo(b []byte, routed, classed bool) []byte {
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
	if routed {
		b = appendName(append(b, ','), r.Way)
	}
	if classed {
		b = appendName(append(b, ','), r.Class)
	}
	return append(b, '\n')
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
