package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// gapPart is one of the things that a gap between tokens is made of.
type gapPart struct {
	name    string // in tables and legends
	is      string // in sentences
	shade   plot.Shade
	seconds float64
}

// partsOf lists what a gap is made of, as a stack from its bottom up. The colours are those that the colour-blind tell
// apart of Paul Tol's "muted" scheme, and one of that author's "vibrant" one ("Colour Schemes", SRON/EPS/TN/09-002,
// 2021).
func partsOf(p *metrics.Parts) []gapPart {
	return []gapPart{
		{"weights", "reading weights", 0x332288, p.Weights},
		{"KV", "reading the KV cache", 0x88ccee, p.KV},
		{"compute", "arithmetic", 0x44aa99, p.Compute},
		{"communication", "communication", 0x117733, p.Communication},
		{"overhead", "overhead", 0xdddddd, p.Overhead},
		{"prefill", "prefill", 0xcc6677, p.Prefill},
		{"speculation", "drafting and verifying", 0xddcc77, p.Speculation},
		{"copying", "copies between host memory and the GPU", 0x999933, p.Copying},
		{"pipeline", "waiting for stages that work on other batches", 0xbbbbbb, p.Pipeline},
		{"queueing", "queueing", 0x882255, p.Queueing},
		{"recomputing", "recomputing", 0xaa4499, p.Recomputing},
		{"KV transfer", "the KV cache on its way to another instance", 0xee7733, p.KVTransfer},
	}
}

// gapShareMin is the share of some gap above which a part is worth a column.
const gapShareMin = 0.005

// notable tells which parts, by their index, are worth a column or a colour in a legend.
func notable(gaps []metrics.Gap) []int {
	var notable []int
	for i := range partsOf(&metrics.Parts{}) {
		if slices.ContainsFunc(gaps, func(g metrics.Gap) bool { return partsOf(&g.Parts)[i].seconds >= gapShareMin*g.GapS }) {
			notable = append(notable, i)
		}
	}
	return notable
}

// tabled are the gaps of the table: p95 would say little that p90 and p99 do not.
func tabled(all []metrics.Gap) []metrics.Gap {
	return slices.DeleteFunc(slices.Clone(all), func(g metrics.Gap) bool { return g.At == "p95" })
}

// gaps prints what gaps between tokens are made of. The columns of a row have the digits of its gap, so that they add
// up.
func gaps(t *text.Page, s *metrics.Summary) {
	if len(s.Gaps) == 0 {
		return
	}
	list := tabled(s.Gaps)
	columns := notable(list)
	head := []string{gapNoun(s) + " made of", "gap"}
	for _, i := range columns {
		head = append(head, partsOf(&metrics.Parts{})[i].name)
	}
	rows := [][]string{append(head, "")}
	for _, g := range list {
		u := text.TimeUnit(gapAt(s, "p50").GapS)
		gap := text.Significant(g.GapS / u.Size)
		row := []string{g.At, gap}
		for _, i := range columns {
			row = append(row, text.AsFine(partsOf(&g.Parts)[i].seconds/u.Size, gap))
		}
		rows = append(rows, append(row, u.Name))
	}
	t.Table(rows)
	t.Blank()
}

// gapNoun names what was taken apart: tokens that came together have no gap between them.
func gapNoun(s *metrics.Summary) string {
	switch {
	case s.Interval > 1: // a chunk takes several steps
		return "step gap"
	case s.Latency.Bursts():
		return "chunk gap"
	}
	return "ITL"
}

// gapAt returns the gap of that name; zero: there is none.
func gapAt(s *metrics.Summary, at string) metrics.Gap {
	for _, g := range s.Gaps {
		if g.At == at {
			return g
		}
	}
	return metrics.Gap{}
}

// medianClause says what the median gap is made of; empty: nobody asked.
func medianClause(s *metrics.Summary) string {
	g := gapAt(s, "p50")
	if g.GapS <= 0 {
		return ""
	}
	var shares []string
	for _, p := range partsOf(&g.Parts) {
		if p.seconds >= gapShareMin*g.GapS {
			shares = append(shares, text.WholePercent(p.seconds/g.GapS)+" "+p.name)
		}
	}
	return fmt.Sprintf("p50 %s %s: %s", gapNoun(s), text.Duration(g.GapS), strings.Join(shares, ", "))
}

const (
	tailWorth  = 1.1  // p99 over p50, from which it is worth a reason
	nearlyAll  = 0.95 // share of the difference from which one reason is enough
	alsoWorth  = 0.1  // share from which a second one is named
	manyTimes  = 10   // how much more often, for one of two to stand for both
	nothingMax = 1e-9 // share of a gap that is rounding
)

// TailSentence says why the p99 gap between tokens is longer than the median: the one or two parts of which there is
// most more in it, and what bounds the first, where that is certain. It is empty if the gaps are about equal, or were
// not taken apart. Chunks is what bounds the prompt tokens of a step; empty: nothing does.
func TailSentence(s *metrics.Summary, chunks string) string {
	p50, p99 := gapAt(s, "p50"), gapAt(s, "p99")
	more := p99.GapS - p50.GapS
	if p50.GapS <= 0 || p99.GapS < tailWorth*p50.GapS || more <= nothingMax*p99.GapS {
		return ""
	}
	reasons, less := partsOf(&p99.Parts), partsOf(&p50.Parts)
	for i := range reasons {
		reasons[i].seconds -= less[i].seconds
		switch reasons[i].name {
		case "prefill":
			reasons[i].is += prefillWhere(s.Tail)
		case "queueing":
			reasons[i].is += queueWhere(s.Tail)
		case "recomputing":
			reasons[i].is += lostWhere(s.Tail)
		}
	}
	slices.SortStableFunc(reasons, func(a, b gapPart) int { return cmp.Compare(b.seconds, a.seconds) })
	first, second := reasons[0], reasons[1]
	why := fmt.Sprintf("nearly all of the %s more is %s", text.Duration(more), first.is)
	if first.seconds < nearlyAll*more {
		why = fmt.Sprintf("of the %s more, %s is %s", text.Duration(more), text.Duration(first.seconds), first.is)
		if second.seconds >= alsoWorth*more {
			why += fmt.Sprintf(" and %s %s", text.Duration(second.seconds), second.is)
		}
	}
	return fmt.Sprintf("p99 %s %s is %s the median: %s%s.", gapNoun(s), text.Duration(p99.GapS),
		text.Times(p99.GapS/p50.GapS), why,
		lever(s, first.name, chunks))
}

// prefillWhere says where the prompts ran that the slowest gaps had in them.
func prefillWhere(t *metrics.Tail) string {
	switch {
	case t == nil:
		return ""
	case t.Share.Mixed > manyTimes*t.Share.Paused:
		return " in the same step"
	case t.Share.Paused > manyTimes*t.Share.Mixed:
		return " in steps of its own"
	}
	return " in the same step, or in steps of its own before it"
}

// queueWhere says what the slowest gaps queued for.
func queueWhere(t *metrics.Tail) string {
	if t != nil && t.Share.Transferred > manyTimes*(t.Share.Preempted+t.Share.Restarted) {
		return " at the destination of the KV transfer"
	}
	if t != nil && t.Share.Transferred > 0 {
		return ""
	}
	return lostWhere(t)
}

// lostWhere says why the slowest gaps lost their cache.
func lostWhere(t *metrics.Tail) string {
	switch {
	case t == nil || t.Share.Restarted == 0:
		return " after preemptions"
	case t.Share.Restarted > manyTimes*t.Share.Preempted:
		return " after failures"
	}
	return " after preemptions and failures"
}

// lever says what acts on a part for certain: the prompt tokens of a step are bounded where they share it with decodes
// and come in chunks, and preemptions have one cause.
func lever(s *metrics.Summary, part, chunks string) string {
	switch {
	case part == "prefill" && chunks != "" && s.Tail != nil && s.Tail.Share.Mixed > manyTimes*s.Tail.Share.Paused:
		return "; " + chunks + " bounds it"
	case part == "KV transfer":
		return "; a faster link would shorten it"
	case part != "queueing" && part != "recomputing":
		return ""
	case s.Tail == nil || s.Tail.Share.Transferred+s.Tail.Share.Restarted == 0:
		return "; with more KV cache there would be fewer"
	}
	return ""
}

// GapNoun names what was taken apart.
func GapNoun(s *metrics.Summary) string { return gapNoun(s) }

// GapTable returns the names of the parts that some gap has a notable share of and, for each of all gaps, their
// seconds.
func GapTable(gaps []metrics.Gap) (names []string, seconds [][]float64) {
	columns := notable(gaps)
	for _, i := range columns {
		names = append(names, partsOf(&metrics.Parts{})[i].name)
	}
	for _, g := range gaps {
		var row []float64
		for _, i := range columns {
			row = append(row, partsOf(&g.Parts)[i].seconds)
		}
		seconds = append(seconds, row)
	}
	return names, seconds
}
