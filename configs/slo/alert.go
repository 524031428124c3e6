package slo

// Alert is a rule that is evaluated at the end of every window of time, over the latest of them.
type Alert struct {
	Rule  Lines   `yaml:"rule" doc:"as in slo.rules, such as 'ttft p95 <= 1s'"`
	OverS float64 `yaml:"over_s,omitempty" bound:"[0.001,horizon]" doc:"span of the latencies that it is about, a multiple of slo.window_s; null: one window"`
	ForS  float64 `yaml:"for_s,omitempty" bound:"[0,horizon]" doc:"how long it must have been broken before it fires; null: it fires at once"`
}
