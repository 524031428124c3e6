package sizing

import (
	"slices"

	"github.com/decodesim/decodesim/internal/expected"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
)

// accuracyLines say how far an answer is to be trusted: the errors to expect of its finalists, what the parts of the
// first one's usual step achieve of the peaks, and what runs warn of, which tables of rows say below themselves.
func accuracyLines(t *text.Page, s *Sizing) {
	if len(s.Expected) > 0 {
		t.Blank()
	}
	for _, line := range expected.Sentences(s.Expected) {
		t.Line("accuracy: " + line)
	}
	if s.Best == nil {
		return
	}
	for _, sentence := range report.OfPeakSentences(s.Best.OfPeak) {
		t.Line(sentence)
	}
	warnings := s.Best.SlowParts
	if s.AtPerS == 0 {
		warnings = slices.Concat(warnings, s.finalWarnings())
	}
	for _, warning := range warnings {
		t.Warning("warning: " + warning)
	}
}

// finalWarnings are what runs of the finalists warn of, each once: what one of them was priced by may decide which is
// first.
func (s *Sizing) finalWarnings() (all []string) {
	for i := range s.Finalists {
		for _, w := range s.Finalists[i].Warnings {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}
