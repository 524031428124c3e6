package run

import "sync"

// Shares adds up how far some runs are that are simulated at the same time. A nil one does nothing.
type Shares struct {
	report func(done float64)

	mu       sync.Mutex
	ended    int             // runs
	underWay map[int]float64 // share of each
}

// NewShares returns the shares of runs after so many others; nil: nobody wants to know.
func NewShares(report func(done float64), before int) *Shares {
	if report == nil {
		return nil
	}
	return &Shares{report: report, ended: before, underWay: map[int]float64{}}
}

// Of returns what the k-th run reports its progress to; nil: to nobody.
func (s *Shares) Of(k int) func(Progress) {
	if s == nil {
		return nil
	}
	return func(p Progress) { s.Set(k, p.Share) }
}

// Set says how far the k-th run is.
func (s *Shares) Set(k int, share float64) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay[k] = share
	s.say()
}

// Ended says that the k-th run has ended.
func (s *Shares) Ended(k int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.underWay, k)
	s.ended++
	s.say()
}

func (s *Shares) say() {
	sum := 0.0
	for _, share := range s.underWay { // a few, whose order matters to the last digit alone
		sum += share
	}
	s.report(float64(s.ended) + sum)
}
