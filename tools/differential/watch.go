package main

import (
	"maps"
	"slices"

	"github.com/decodesim/decodesim/policies/schedulers"
	"github.com/decodesim/decodesim/sim"
)

// watched records what its scheduler composes, step by step.
type watched struct {
	*schedulers.Continuous
	of map[int32]*composed // by instance: the engine, or its ranks
}

// composed is what an instance has composed.
type composed struct {
	steps     []Step
	preempted []int32 // since the latest step
	begun     int     // of steps
}

func (s *watched) by(in *sim.Instance) *composed {
	if s.of[in.ID] == nil {
		s.of[in.ID] = &composed{}
	}
	return s.of[in.ID]
}

// all returns the steps of the engine or, if it has ranks, those of the first rank, then those of the next.
func (s *watched) all() (steps []Step) {
	for _, id := range slices.Sorted(maps.Keys(s.of)) {
		steps = append(steps, s.of[id].steps...)
	}
	return steps
}

// Schedule implements sim.Scheduler.
func (s *watched) Schedule(in *sim.Instance, w *sim.Work) int {
	before := running(in)
	s.Continuous.Schedule(in, w)
	var step Step
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		if n, computed := in.Composed(r); n > 0 {
			step.Batch = append(step.Batch, [3]int32{r.ID, n, computed})
		}
	}
	slices.Reverse(step.Batch)
	c, now := s.by(in), running(in)
	for _, id := range before {
		if !slices.Contains(now, id) {
			c.preempted = append(c.preempted, id)
		}
	}
	step.Free = w.FreeBlocks()
	if len(step.Batch) > 0 {
		step.Preempted, c.preempted = c.preempted, nil
		c.steps = append(c.steps, step)
	}
	return 1
}

// running returns the requests that run, in whatever microbatch.
func running(in *sim.Instance) (ids []int32) {
	for r := in.LastAdmitted(); r != nil; r = in.AdmittedBefore(r) {
		ids = append(ids, r.ID)
	}
	for i := range in.Microbatches() {
		lane := in.Microbatch(i)
		for r := lane.LastAdmitted(); r != nil && lane != in; r = lane.AdmittedBefore(r) {
			if in.Preemptible(r) {
				ids = append(ids, r.ID)
			}
		}
	}
	return ids
}
