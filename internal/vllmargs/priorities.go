package vllmargs

import "slices"

// prioritySwitches are the switches of SGLang's scheduling by priority (sglang 0.5.23,
// sglang/srt/arg_groups/fields/schedule.py); nil: not given.
type prioritySwitches struct {
	on, lowFirst, noPreemption *given
}

// prioritySwitch reads one of them into at.
func prioritySwitch(at func(*prioritySwitches) **given) reader {
	return func(d *draft, g *given) error {
		on, err := g.truth()
		if err != nil {
			return err
		}
		if !on {
			d.idle(g, "off")
			return nil
		}
		*at(&d.priority) = g
		return nil
	}
}

// priorities turns the switches into the order of the queue: SGLang's schedule_policy is fcfs with them, and the lowest
// number comes first only with one of them. A request that finds no place takes that of one whose priority is more than
// 10 lower, unless another one forbids it, which is not modelled.
func (d *draft) priorities() error {
	p := d.priority
	if p.on == nil {
		for _, g := range []*given{p.lowFirst, p.noPreemption} {
			if g != nil {
				d.idle(g, "--enable-priority-scheduling is not given")
			}
		}
		return nil
	}
	d.pool = slices.DeleteFunc(d.pool, func(s setting) bool { return s.key == "schedule_policy" && s.value == "fcfs" })
	for _, g := range []*given{p.lowFirst, p.noPreemption, p.on} {
		if g != nil {
			d.set("schedule_policy", "priority", g)
		}
	}
	if p.lowFirst == nil {
		d.differ(p.on, "the highest priority first, without --schedule-low-priority-values-first; here the lowest number "+
			"is served first")
	}
	if p.noPreemption == nil {
		d.differ(p.on, "a request that finds no place takes that of one whose priority is more than 10 lower, without "+
			"--disable-priority-preemption")
	}
	return nil
}
