package vllmargs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPrioritiesOfSGLang: the queue is ordered by priority if that is switched on, and exactly so if the lowest comes
// first.
func TestPrioritiesOfSGLang(t *testing.T) {
	for _, c := range []struct {
		flags   string
		orders  bool
		differs int
		note    string
	}{
		{"--enable-priority-scheduling --schedule-low-priority-values-first --disable-priority-preemption", true, 0, ""},
		{"--enable-priority-scheduling --disable-priority-preemption", true, 1, ""},
		{"--enable-priority-scheduling --schedule-low-priority-values-first", true, 0, ""},
		{"--enable-priority-scheduling --schedule-low-priority-values-first --priority-scheduling-preemption-threshold 0",
			true, 0, ""},
		{"--schedule-policy fcfs --enable-priority-scheduling", true, 1, ""},
		{"--schedule-low-priority-values-first --disable-priority-preemption", false, 0, ""},
		{"--enable-priority-scheduling=false", false, 0, ""},
		{"--schedule-policy lpm --enable-priority-scheduling --schedule-low-priority-values-first " +
			"--disable-priority-preemption", true, 0, "--schedule-policy lpm: SGLang does not start with it and " +
			"--enable-priority-scheduling; taken as fcfs, within a priority"},
		{"--schedule-policy priority", true, 0, "--schedule-policy priority: SGLang does not start with it; taken as " +
			"--enable-priority-scheduling --schedule-low-priority-values-first"},
		{"--schedule-policy shortest-prefill-first", false, 1, ""},
	} {
		i, err := read("sglang serve --model qwen3-8b "+c.flags, "h100", nil)
		require.NoError(t, err, c.flags)
		if c.orders {
			assert.Contains(t, keys(i.Text), "schedule_policy: priority", c.flags)
		} else {
			assert.NotContains(t, keys(i.Text), "schedule_policy", c.flags)
		}
		assert.Len(t, i.Differs, c.differs, "%s: %v", c.flags, i.Differs)
		assert.Empty(t, i.Unknown, c.flags)
		if c.note == "" {
			assert.Empty(t, i.Notes, c.flags)
		} else {
			assert.Equal(t, []string{c.note}, i.Notes, c.flags)
		}
	}
}
