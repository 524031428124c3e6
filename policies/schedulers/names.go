package schedulers

// Names returns the schedulers that engines can name.
func Names() []string { return []string{"continuous", "prefill-first", "sglang", "static"} }
