package fleet

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// firstTokens counts the first tokens of a pool since the start of the run, and those that came after FirstTokenDue.
type firstTokens struct{ all, overdue int64 }

// want returns how many instances the signal asks for.
func (s *Autoscale) want(now sim.Time, p *sim.Pool, state *sim.Observation) int {
	switch have := state.Live + state.Starting; s.a.On {
	case "schedule":
		return s.scheduled(now, have)
	case "requests":
		return per(float64(state.Running+state.Waiting+state.Transferring), s.a.Target)
	case "kv":
		return per(float64(state.KVUsed), s.a.Target*float64(p.KVBlocks))
	case "ttft":
		return s.onTime(p, have, state)
	default: // queue
		if float64(state.Waiting) > s.a.Target*float64(have) {
			return per(float64(state.Waiting), s.a.Target)
		}
		return s.fewer(p, have, state)
	}
}

// per returns how many instances it takes for x, each for so much of it.
func per(x, each float64) int { return int(min(math.MaxInt32, math.Ceil(x/each))) }

// fewer returns one instance less than there are if no request waits and the other instances have room for the
// allocated blocks.
func (s *Autoscale) fewer(p *sim.Pool, have int, state *sim.Observation) int {
	if state.Waiting == 0 && state.Starting == 0 && float64(state.KVUsed) <= s.a.Low*float64(int64(have-1)*p.KVBlocks) {
		return have - 1
	}
	return have
}

// onTime returns how many instances it takes for first tokens to come in time: more by the share that was overdue, but
// no more while some are starting. If there was no first token although requests wait, all of them are overdue.
func (s *Autoscale) onTime(p *sim.Pool, have int, state *sim.Observation) int {
	all, overdue := p.FirstTokens()
	n, missed := all-s.seen.all, overdue-s.seen.overdue
	s.seen = firstTokens{all, overdue}
	if n == 0 && state.Waiting > 0 {
		n, missed = 1, 1
	}
	switch {
	case n > 0 && float64(missed) > s.a.Target*float64(n):
		if state.Starting > 0 {
			return have
		}
		return have + int((int64(have)*missed+n-1)/n) // rounded up
	case missed > 0:
		return have
	}
	return s.fewer(p, have, state)
}

// scheduled returns the number of instances that the schedule has for now, and have before its first row.
func (s *Autoscale) scheduled(now sim.Time, have int) int {
	for _, row := range s.a.Schedule {
		if row.At > now {
			break
		}
		have = row.Replicas
	}
	return have
}
