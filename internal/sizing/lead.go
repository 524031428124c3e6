package sizing

import (
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/internal/text"
)

// marginWords says how much more than the asked rate b sustains. Seeds that all end with the search have no spread.
func marginWords(s *Sizing, b *Finalist) string {
	words := text.Percent(float64(b.Margin)) + " more rate"
	if b.AtLeast {
		words = "at least " + words
	}
	if b.Interval == nil || b.AtLeast && slices.Min(b.BySeed) == slices.Max(b.BySeed) {
		return words
	}
	low, high := b.Interval.Low/s.AtPerS-1, b.Interval.High/s.AtPerS-1
	return words + fmt.Sprintf(" (95 %%: %s to %s over %d seeds)", signedPercent(low), signedPercent(high), b.Interval.N)
}

// leadWords says how much more the first sustains, and how sure that is; ~: it may be chance. Where both are capped by
// the highest rate of the search, nothing tells them apart.
func leadWords(l *Lead, capped bool) string {
	i := l.Interval
	if l.Relative == 0 && (i == nil || i.Low == 0 && i.High == 0) { // chance has no part in it
		if capped {
			return "both sustain the most that was tried"
		}
		return "both sustain the same in every run"
	}
	lead := fmt.Sprintf("the first sustains %s ", signedPercent(l.Relative))
	if l.Relative < 0 {
		lead = fmt.Sprintf("the first sustains %.1f %% less ", -100*l.Relative)
	}
	if i == nil {
		return lead + "(one seed)"
	}
	lead += fmt.Sprintf("(95 %%: %s to %s, paired by seed)", signedPercent(i.Low), signedPercent(i.High))
	if !i.Significant {
		return lead + ", which may be chance: ~"
	}
	return lead
}

// saves says why a deployment stands before another one that sustains more: it costs less.
func (f *Finalist) saves(second *Finalist, l *Lead) string {
	if l.Relative >= 0 || f.USDPerHour <= 0 || second.USDPerHour <= f.USDPerHour {
		return ""
	}
	return fmt.Sprintf(", %s per hour, %s more", text.USD(second.USDPerHour), text.USD(second.USDPerHour-f.USDPerHour))
}
