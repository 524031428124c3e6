package vllmargs

import (
	"slices"
	"strconv"
)

// prioritySwitches are the switches of SGLang's scheduling by priority (sglang 0.5.23,
// sglang/srt/arg_groups/fields/schedule.py); nil: not given.
type prioritySwitches struct {
	on, lowFirst, noPreemption *given
}

// priorities turns the switches into the order of the queue: SGLang's schedule_policy is fcfs with them, and the lowest
// number comes first only with one of them. With an order of the cache SGLang does not start (sglang 0.5.23,
// sglang/srt/arg_groups/validation_hook.py), and by itself it has no policy priority, though it accepts the name.
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
				"--schedule-low-priority-values-first")
		}
		return nil
	}
	if order != "" && order != "fcfs" {
		d.note("--schedule-policy %s: SGLang does not start with it and --enable-priority-scheduling; taken as fcfs, within "+
			"a priority", order)
	}
	d.pool = slices.DeleteFunc(d.pool, func(s setting) bool { return s.key == key })
	for _, g := range []*given{p.lowFirst, p.on} {
		if g != nil {
			d.set(key, "priority", g)
		}
	}
	if p.noPreemption != nil {
		d.set("disable_priority_preemption", "true", p.noPreemption)
	}
	if p.lowFirst == nil {
		d.differ(p.on, "the highest priority first, without --schedule-low-priority-values-first; here the lowest number "+
			"is served first")
	}
	return nil
}

// preemptionThreshold reads by how much priorities must differ for a request to take the place of another.
func preemptionThreshold(d *draft, g *given) error {
	n, err := g.whole(0, 255)
	if err == nil {
		d.set("priority_scheduling_preemption_threshold", strconv.FormatInt(n, 10), g)
	}
	return err
}
