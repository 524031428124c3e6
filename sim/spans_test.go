package sim_test

import (
	"maps"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// span is a TTFT or a gap between two tokens of a request, and the class of the request.
type span struct {
	class uint8
	d     sim.Duration
}

// spans are those of all requests, each with how often it occurs. They are exact, and maps of the few that a small
// scenario has are made faster than histograms of all that there might be.
type spans struct{ ttft, itl map[span]int }

func newSpans() spans { return spans{ttft: map[span]int{}, itl: map[span]int{}} }

// spansOf returns what the requests of the twin waited for their first token and between tokens.
func spansOf(twin *naiveFleet) spans {
	of := newSpans()
	for _, r := range twin.all {
		for i, at := range r.tokens {
			if i == 0 {
				of.ttft[span{r.Class, at.Sub(r.Arrival)}]++
			} else {
				of.itl[span{r.Class, at.Sub(r.tokens[i-1])}]++
			}
		}
	}
	return of
}

// histOf returns the histogram of all classes. The longest comes first, so that it grows once.
func histOf(all map[span]int) *metrics.Hist {
	var h metrics.Hist
	longest := sim.Duration(0)
	for s := range all {
		longest = max(longest, s.d)
	}
	if len(all) > 0 {
		h.Add(longest, 0)
	}
	for s, n := range all {
		h.Add(s.d, uint64(n))
	}
	return &h
}

func equalSpans(t require.TestingT, want, got map[span]int, what string) {
	if !maps.Equal(want, got) {
		require.Equal(t, want, got, what)
	}
}
