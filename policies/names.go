package policies

// SchedulerNames returns the schedulers that engines can name.
func SchedulerNames() []string { return []string{"continuous", "prefill-first", "sglang", "static"} }
