package progress

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgressSaysWorkRateAndTimeLeft(t *testing.T) {
	for want, of := range map[string]struct {
		work  Work
		since time.Duration
	}{
		"2,000,000 of 20,000,000 requests (10 %) · 500,000 requests/s · 36 s left · 4,000 s simulated": {
			Work{Done: 2e6, Of: 2e7, Unit: "request", More: "4,000 s simulated"}, 4 * time.Second},
		"2,000,000 requests · 500,000 requests/s": {Work{Done: 2e6, Unit: "request"}, 4 * time.Second},
		"first round: 3 of 60 runs · 45.0 runs/min · 1:16 min left": {
			Work{What: "first round", Done: 3, Of: 60, Unit: "run"}, 4 * time.Second},
		"reading t.csv: 120 of 395 MB (30 %) · 30.0 MB/s · 10 s left": {
			Work{What: "reading t.csv", Done: 120, Of: 395, Unit: "MB"}, 4 * time.Second},
		"reading t.csv: 4 s so far":                         {Work{What: "reading t.csv"}, 4 * time.Second},
		"0 of 1 run · 4 s so far":                           {Work{Of: 1, Unit: "run"}, 4 * time.Second},
		"2 of 10 runs (25 %) · 37.5 runs/min · 12 s left":   {Work{Done: 2.5, Of: 10, Unit: "run"}, 4 * time.Second},
		"1 of 4,000 runs (0 %) · 1.00 runs/s · 1:06 h left": {Work{Done: 1, Of: 4000, Unit: "run"}, time.Second},
		"10 of 10 runs · 2.50 runs/s · 0 s left":            {Work{Done: 10, Of: 10, Unit: "run"}, 4 * time.Second},
		"199 of 200 runs (99 %) · 49.8 runs/s · 1 s left": {
			Work{Done: 199, Of: 200, Unit: "run"}, 4 * time.Second},
	} {
		assert.Equal(t, want, of.work.describe(of.since))
	}
}
