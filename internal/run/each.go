package run

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do(0) … do(n−1) over all cores.
func Each(n int, do func(i int)) { EachReported(n, do, nil) }

// EachReported is Each; progress, which may be nil, is called after each call with how many are done, one call at a
// time.
func EachReported(n int, do func(i int), progress func(done int)) {
	EachOf(runtime.GOMAXPROCS(0), n, do, progress)
}

// EachOf is EachReported with so many calls at once: more than there are cores, where calls wait for other machines.
func EachOf(atOnce, n int, do func(i int), progress func(done int)) {
	var next, done atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(n, atOnce) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
				d := int(done.Add(1))
				if progress != nil {
					mu.Lock()
					progress(d)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
}
