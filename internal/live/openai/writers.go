package openai

import (
	"runtime"
	"sync"
)

// writers write streams that have something to send, a few goroutines for all of them: waking one for each token of
// each stream costs as much as what it does. They come when there is something to do and go when there is not.
type writers struct {
	mu      sync.Mutex
	queue   []*stream
	head    int
	running int
}

// atOnce is how many streams a writer takes at a time.
const atOnce = 8

// add has a stream visited after those that were added before it.
func (w *writers) add(st *stream) {
	w.mu.Lock()
	w.queue = append(w.queue, st)
	another := w.running < max(1, runtime.GOMAXPROCS(0)/2) && len(w.queue)-w.head > w.running*atOnce
	if another {
		w.running++
	}
	w.mu.Unlock()
	if another {
		go w.work()
	}
}

// work visits streams until none is left.
func (w *writers) work() {
	var mine [atOnce]*stream
	for {
		w.mu.Lock()
		n := copy(mine[:], w.queue[w.head:])
		clear(w.queue[w.head : w.head+n])
		w.head += n
		if w.head == len(w.queue) {
			w.queue, w.head = w.queue[:0], 0
		}
		if n == 0 {
			w.running--
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		for _, st := range mine[:n] {
			st.visit()
		}
	}
}
