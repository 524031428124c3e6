package report

import (
	"fmt"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// HeadroomSentence says how much more load a deployment sustains, and what breaks then.
func HeadroomSentence(h *metrics.Headroom) string {
	rate := fmt.Sprintf("%s %s", text.Significant(h.RatePerS), h.Unit)
	breaks := "; 5 % more breaks " + h.Breaks
	if h.Breaks == "the queue grows" {
		breaks = "; with 5 % more the queue grows"
	}
	switch {
	case h.AtLeast:
		return fmt.Sprintf("sustains more than %s × this load within the SLO", text.Short(h.Factor))
	case h.Factor == 0:
		return "misses the SLO at this load and at a tenth of it: " + h.Breaks
	case h.Factor < 1:
		return fmt.Sprintf("misses the SLO at this load; sustains %s × of it (%s)%s", text.Short(h.Factor), rate, breaks)
	case h.Factor == 1:
		return "sustains this load within the SLO" + breaks
	}
	return fmt.Sprintf("sustains %s × this load within the SLO (%s)%s", text.Short(h.Factor), rate, breaks)
}
