package compare

import (
	"sync"

	"github.com/decodesim/decodesim/internal/run"
)

// shares adds up how far some runs are that are simulated at the same time. A nil one does nothing.
type shares struct {
	report func(done float64)
	before float64 // runs

	mu    sync.Mutex
	share []float64
}

// newShares returns the shares of n runs after so many others; nil: nobody wants to know.
func newShares(report func(done float64), before float64, n int) *shares {
	if report == nil {
		return nil
	}
	return &shares{report: report, before: before, share: make([]float64, n)}
}

// of returns what the k-th run reports its progress to; nil: to nobody.
func (s *shares) of(k int) func(run.Progress) {
	if s == nil {
		return nil
	}
	return func(p run.Progress) { s.set(k, p.Share) }
}

// ended says that the k-th run has ended.
func (s *shares) ended(k int) {
	if s != nil {
		s.set(k, 1)
	}
}

func (s *shares) set(k int, share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share[k] = share
	done := s.before
	for _, x := range s.share {
		done += x
	}
	s.report(done)
}
