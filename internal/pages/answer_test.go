package pages

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/sim/metrics"
)

// TestTheAnswerIsOfTheRulesOfClassesToo: one that is broken says no, and of one that no request can tell of it is said
// that nobody knows.
func TestTheAnswerIsOfTheRulesOfClassesToo(t *testing.T) {
	s := &metrics.Summary{Rules: []metrics.Verdict{{Rule: "e2e p95 <= 9s", Met: true}},
		Classes: []metrics.ClassResult{{Name: "chat", Rules: []metrics.Verdict{{Rule: "ttft p90 <= 1s", Value: 2}}}}}
	s.Latency.TTFT.N, s.Latency.E2E.N = 1, 1
	r := &Run{Summary: s}
	of := &s.Classes[0].Rules[0]
	answer, mood := r.answer()
	assert.Contains(t, answer, "No: “chat: ttft p90 <= 1s” is broken, with 2.00 s.")
	assert.Equal(t, page.Bad, mood)
	of.Unmeasured = "no request arrived"
	answer, mood = r.answer()
	assert.Contains(t, answer, "Whether “chat: ttft p90 <= 1s” is kept is unknown: no request arrived.")
	assert.Equal(t, page.Plain, mood)
	of.Unmeasured, of.Met = "", true
	answer, mood = r.answer()
	assert.Contains(t, answer, "Yes: every rule is kept.")
	assert.Equal(t, page.Good, mood)
}
