package vllmargs

import "slices"

// prioritySwitches are the switches of SGLang's scheduling by priority (sglang 0.5.23,
// sglang/srt/arg_groups/fields/schedule.py); nil: not given.
type prioritySwitches struct {
	on, lowFirst, noPreemption *given
}

// priorities turns the switches into the order of the queue: SGLang's schedule_policy is fcfs with them, and the lowest
// number comes first only with one of them. A request that finds no place takes that of one whose priority is more than
// 10 lower, unless another one forbids it, which is not modelled. With an order of the cache SGLang does not start
// (sglang/srt/arg_groups/validation_hook.py), and by itself it has no policy priority, though it accepts the name.
func (d *draft) priorities() error {
	const key = "schedule_policy"
	p, order := d.priority, d.value(key)
	if p.on == nil {
		for _, g := range []*given{p.lowFirst, p.noPreemption} {
			if g != nil {
				d.idle(g, "--enable-priority-scheduling is not given")
			}
		}
		if order == "priority" {
			d.note("--schedule-policy priority: SGLang does not start with it; taken as --enable-priority-scheduling " +
				"--schedule-low-priority-values-first --disable-priority-preemption")
		}
		return nil
	}
	if order != "" && order != "fcfs" {
		d.note("--schedule-policy %s: SGLang does not start with it and --enable-priority-scheduling; taken as fcfs, within "+
			"a priority", order)
	}
	d.pool = slices.DeleteFunc(d.pool, func(s setting) bool { return s.key == key })
	for _, g := range []*given{p.lowFirst, p.noPreemption, p.on} {
		if g != nil {
			d.set(key, "priority", g)
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
