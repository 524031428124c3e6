package openai

import (
	"net/http"
	"sync"

	"github.com/decodesim/decodesim/internal/live"
	"github.com/decodesim/decodesim/sim"
)

// reason is why a request was not admitted.
type reason int

const (
	overQueue   reason = iota // --max-streams, and what of a scenario bounds its queue
	overBacklog               // of prompt tokens, which nothing here bounds
	overRate                  // rate_per_s of the scenario
	overTokens                // tokens_per_s of the scenario
	overMaxRate               // --max-rate
)

// reasons are their names: the first two are vLLM's.
var reasons = [...]string{"max_num_queued_reqs", "max_num_queued_tokens", "rate_per_s", "tokens_per_s", "max_rate"}

// refusals counts what was not admitted, by the replica that it was sent to.
type refusals struct {
	mu sync.Mutex
	n  map[int]*[len(reasons)]int64 // negative: the fleet
}

func (x *refusals) count(replica int, why reason) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.n == nil {
		x.n = map[int]*[len(reasons)]int64{}
	}
	if x.n[replica] == nil {
		x.n[replica] = new([len(reasons)]int64)
	}
	x.n[replica][why]++
}

// of returns how many requests to a replica, or to all and the fleet if it is negative, were refused for a reason.
func (x *refusals) of(replica int, why reason) (n int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for to, counts := range x.n {
		if replica < 0 || to == replica {
			n += counts[why]
		}
	}
	return n
}

// notAdmitted returns what a client gets whose job was not admitted, in part or as a whole; nil: nothing of it was
// rejected so far. Statuses are vLLM's for a queue that is full, and that of the limits of an API for rates.
func (s *Server) notAdmitted(j *job) *failure {
	for _, a := range j.answers {
		o, ended := a.Ended()
		if !ended || o != sim.Rejected {
			continue
		}
		switch a.Refusal() {
		case live.RefusedForQueue:
			s.refused.count(j.replica, overQueue)
			return refused(http.StatusServiceUnavailable, "ServiceUnavailableError", "The queue of the deployment is full. "+
				"Please try again later or on a different instance.")
		case live.RefusedForRate:
			s.refused.count(j.replica, overRate)
			return refused(http.StatusTooManyRequests, "RateLimitError", "More requests than admission.rate_per_s allows.")
		case live.RefusedForTokens:
			s.refused.count(j.replica, overTokens)
			return refused(http.StatusTooManyRequests, "RateLimitError", "More tokens than admission.tokens_per_s allows.")
		}
		return bad("", "No pool of the deployment takes a prompt and an output of these lengths.")
	}
	return nil
}

// allDecided reports whether all of the answers have been admitted, or have ended without.
func allDecided(answers []*live.Answer) bool {
	for _, a := range answers {
		if _, ended := a.Ended(); !ended && !a.Admitted() {
			return false
		}
	}
	return true
}
