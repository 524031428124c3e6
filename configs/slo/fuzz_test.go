package slo

import "testing"

// FuzzRules parses any text as rules: what is understood is written as the same rules.
func FuzzRules(f *testing.F) {
	for _, text := range []string{"ttft p95 <= 1s", "itl p95<=50ms, ttft mean <= 0.5 s",
		"90% of requests: ttft <= 500ms and tpot <= 40ms", "e2e max < 1m", "p99.9"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := Parse(text)
		if err != nil {
			return
		}
		for i := range rules {
			again, err := Parse(rules[i].String())
			if err != nil || len(again) != 1 || again[0].String() != rules[i].String() {
				t.Fatalf("%q is written %q, which reads as %v: %v", text, rules[i].String(), again, err)
			}
		}
	})
}
