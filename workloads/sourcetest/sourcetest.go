// Package sourcetest has what the tests of sources share.
package sourcetest

import (
	"slices"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/lengths"
	"github.com/decodesim/decodesim/workloads/requests"
)

// Plain returns the requests of a test that is about something else.
func Plain() requests.Mix {
	return requests.Mix{
		Prompt: lengths.Spec{Distribution: "lognormal", Mean: 512, CV: 1},
		Output: lengths.Spec{Distribution: "lognormal", Mean: 256, CV: 1},
	}
}

// Drain returns all requests of a source.
func Drain(s sim.Source) (all []sim.Request) {
	for {
		var r sim.Request
		if !s.Next(&r) {
			return all
		}
		all = append(all, r)
	}
}

// Follower is a source that is notified of the end of its requests.
type Follower interface {
	sim.Source
	sim.Follower
}

// pending is a request under way, and when it ends.
type pending struct {
	at sim.Time
	r  sim.Request
}

// Serve runs l against a server that answers every request after the time it gives, and returns the requests and the
// most there were at once. Answers at one instant are reported in the order that shuffle leaves.
func Serve(
	l Follower, answer func(*sim.Request) sim.Duration, shuffle func([]sim.Request),
) (all []sim.Request, most int) {
	var under []pending
	for {
		end := sim.Forever
		for _, p := range under {
			end = min(end, p.at)
		}
		if when := l.When(); when == sim.Forever && end == sim.Forever {
			return all, most
		} else if when <= end {
			var r sim.Request
			if !l.Next(&r) {
				panic("sourcetest: a source that knows when has no request")
			}
			all = append(all, r)
			under = append(under, pending{r.Arrival.Add(answer(&r)), r})
			most = max(most, len(under))
			continue
		}
		var ended []sim.Request
		under = slices.DeleteFunc(under, func(p pending) bool {
			if p.at == end {
				ended = append(ended, p.r)
			}
			return p.at == end
		})
		if shuffle != nil {
			shuffle(ended)
		}
		for i := range ended {
			l.Done(end, &ended[i])
		}
	}
}

// Second answers every request after a second.
func Second(*sim.Request) sim.Duration { return sim.Second }
