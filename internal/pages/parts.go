package pages

import (
	"fmt"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Parts is a section on what gaps between tokens are made of, the median one and late ones; false: they were not taken
// apart. The summary is at a path of the JSON, such as "replay."; empty: it is all of it.
func Parts(s *metrics.Summary, at, chunks string) (page.Section, bool) {
	if len(s.Gaps) == 0 {
		return page.Section{}, false
	}
	names, seconds := report.GapTable(s.Gaps)
	relative := &page.Bars{Title: "Each " + report.GapNoun(s) + " as a whole", Parts: names,
		Note: "Hovering says how long each part is."}
	for i, g := range s.Gaps {
		bar := page.Bar{Label: g.At,
			Value: page.Number(text.Duration(g.GapS), fmt.Sprintf("%sitl_parts[%d].gap_s", at, i), g.GapS)}
		from := 0.0
		for k, part := range seconds[i] {
			to := min(1, from+part/g.GapS)
			if part > 0 {
				bar.Segments = append(bar.Segments, page.Segment{From: from, To: to, Part: k,
					Words: fmt.Sprintf("%s of %s: %s, %s", g.At, text.Duration(g.GapS), names[k], text.Duration(part))})
			}
			from = to
		}
		relative.Rows = append(relative.Rows, bar)
	}
	section := page.Section{Title: "What a late token is made of", Blocks: []page.Block{{Bars: relative}}}
	for _, sentence := range []string{report.BoundSentence(s), report.TailSentence(s, chunks)} {
		if sentence != "" {
			section.Blocks = append(section.Blocks, page.Block{Text: sentence})
		}
	}
	return section, true
}
