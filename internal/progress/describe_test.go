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
		from  float64 // of what was done when it began
	}{
		"2,000,000 of 20,000,000 requests (10 %) · 500,000 requests/s · 36 s left · 4,000 s simulated": {
			Work{Done: 2e6, Of: 2e7, Unit: "request", More: "4,000 s simulated"}, 4 * time.Second, 0},
		"2,000,000 requests · 500,000 requests/s": {Work{Done: 2e6, Unit: "request"}, 4 * time.Second, 0},
		"first round: 3 of 60 runs · 45.0 runs/min · 1:16 min left": {
			Work{What: "first round", Done: 3, Of: 60, Unit: "run"}, 4 * time.Second, 0},
		"reading t.csv: 120 of 395 MB (30 %) · 30.0 MB/s · 10 s left": {
			Work{What: "reading t.csv", Done: 120, Of: 395, Unit: "MB"}, 4 * time.Second, 0},
		"reading t.csv: 4 s so far":                         {Work{What: "reading t.csv"}, 4 * time.Second, 0},
		"0 of 1 run · 4 s so far":                           {Work{Of: 1, Unit: "run"}, 4 * time.Second, 0},
		"2 of 10 runs (25 %) · 37.5 runs/min · 12 s left":   {Work{Done: 2.5, Of: 10, Unit: "run"}, 4 * time.Second, 0},
		"1 of 4,000 runs (0 %) · 1.00 runs/s · 1:06 h left": {Work{Done: 1, Of: 4000, Unit: "run"}, time.Second, 0},
		"10 of 10 runs · 2.50 runs/s":                       {Work{Done: 10, Of: 10, Unit: "run"}, 4 * time.Second, 0},
		"pools: 8 of 10 runs · 2.00 runs/s · 1 s left in this step": {
			Work{What: "pools", Done: 8, Of: 10, Unit: "run", Step: true}, 4 * time.Second, 0},
		"199 of 200 runs (99 %) · 49.8 runs/s · 1 s left": {
			Work{Done: 199, Of: 200, Unit: "run"}, 4 * time.Second, 0},
		// Nothing of what was done before it began says how fast it is.
		"300 of 400 MB (75 %) · 50.0 MB/s · 2 s left": {Work{Done: 300, Of: 400, Unit: "MB"}, 4 * time.Second, 100},
	} {
		assert.Equal(t, want, of.work.describe(of.since, 0, of.from))
	}
}

// TestTheLastOfManyMayBeTheLongOnes: what takes longer than its share takes as long again, and there is never no time
// left while there is work.
func TestTheLastOfManyMayBeTheLongOnes(t *testing.T) {
	w := Work{Done: 99, Of: 100, Unit: "run"}
	for still, want := range map[time.Duration]string{0: "1 s left", 5 * time.Second: "5 s left",
		time.Minute: "1:00 min left"} {
		assert.Contains(t, w.describe(60*time.Second, still, 0), want)
	}
	w.Done = 100
	assert.NotContains(t, w.describe(60*time.Second, time.Minute, 0), "left")

	l := new(Line)
	l.Set(Work{What: "a", Done: 1, Of: 3, Unit: "run"})
	moved := l.moved
	l.Set(Work{What: "a", Done: 1, Of: 3, Unit: "run"})
	assert.Equal(t, moved, l.moved)
	l.Set(Work{What: "b", Done: 1, Of: 3, Unit: "run"})
	assert.NotEqual(t, moved, l.moved)
}

// TestWhatIsDoneBesideGivesWay: a file that is read is on the line until the work has got anywhere. Its rate is that
// of the reading alone, of each file anew.
func TestWhatIsDoneBesideGivesWay(t *testing.T) {
	l := new(Line)
	reading := func(done float64) { l.Offer(Work{What: "reading", Done: done, Of: 71, Unit: "MB"}) }
	l.Set(Work{Of: 2, Unit: "run"})
	reading(30)
	assert.Equal(t, "reading", l.work.What, "no run has got anywhere")
	assert.InDelta(t, 30, l.from, 0)
	reading(40)
	assert.InDelta(t, 30, l.from, 0)
	reading(10)
	assert.InDelta(t, 10, l.from, 0, "another file begins")
	l.Set(Work{Done: 0.1, Of: 2, Unit: "run"})
	reading(50)
	assert.Equal(t, "run", l.work.Unit)
	assert.InDelta(t, 0.1, l.work.Done, 0)
}
