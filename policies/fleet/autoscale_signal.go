package fleet

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// signals is what an Autoscale has counted when it looked last.
type signals struct{ firsts, late int64 }

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

// per returns how many instances x is, at so much for each.
func per(x, each float64) int { return int(min(math.MaxInt32, math.Ceil(x/each))) }

// fewer returns one less than there are if nobody waits and the others have room for what is in the cache.
func (s *Autoscale) fewer(p *sim.Pool, have int, state *sim.Observation) int {
	if state.Waiting == 0 && state.Starting == 0 && float64(state.KVUsed) <= s.a.Low*float64(int64(have-1)*p.KVBlocks) {
		return have - 1
	}
	return have
}

// onTime returns how many instances it takes that first tokens come in time: more by the share that came late, but none
// while some are on their way. If none came although requests wait, all are late.
func (s *Autoscale) onTime(p *sim.Pool, have int, state *sim.Observation) int {
	firsts, late := p.FirstTokens()
	n, tardy := firsts-s.seen.firsts, late-s.seen.late
	s.seen = signals{firsts, late}
	if n == 0 && state.Waiting > 0 {
		n, tardy = 1, 1
	}
	switch {
	case n > 0 && float64(tardy) > s.a.Target*float64(n):
		if state.Starting > 0 {
			return have
		}
		return have + int((int64(have)*tardy+n-1)/n) // rounded up
	case tardy > 0:
		return have
	}
	return s.fewer(p, have, state)
}

// scheduled returns the size that the schedule has for now; have before its first row.
func (s *Autoscale) scheduled(now sim.Time, have int) int {
	for _, row := range s.a.Schedule {
		if row.At > now {
			break
		}
		have = row.Replicas
	}
	return have
}
