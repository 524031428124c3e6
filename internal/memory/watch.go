package memory

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// watchEvery is how often Watch looks. What a run keeps grows by less than a GB in that time.
	watchEvery = 200 * time.Millisecond

	// scarcePart says when memory is scarce: there is less than this part of what the process has taken.
	scarcePart = 1.0 / 8
)

// Watch calls scarce, once, when there is hardly more memory than the process has taken already, garbage apart: soon
// the system would end it, or everything else. It looks until stop is called. Where nobody knows, it calls nothing.
func Watch(scarce func()) (stop func()) { return watch(watchEvery, Available, taken, scarce) }

func watch(every time.Duration, available, taken func() int64, scarce func()) (stop func()) {
	low := func() bool {
		left := available()
		return left > 0 && float64(left) < float64(scarcePart*float64(taken()))
	}
	ended := make(chan struct{})
	ticker := time.NewTicker(every)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
			if !low() {
				continue
			}
			debug.FreeOSMemory()
			if low() {
				scarce()
				return
			}
		}
	}()
	return func() { close(ended) }
}

// taken is the memory that the process holds of the system, in bytes.
func taken() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
