package progress

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	patience = 2 * time.Second        // before the line appears: what ends earlier says nothing
	drawn    = 200 * time.Millisecond // between two looks of the line
)

const clearLine = "\r\x1b[K"

// Line is the progress of one command. It is safe for concurrent use, and a nil one says nothing.
type Line struct {
	terminal *os.File
	stop     chan struct{}
	stopped  sync.WaitGroup
	cleared  sync.Once

	mu    sync.Mutex
	work  Work
	began time.Time // of the work under its present name
	from  float64   // what was done of it then
	moved time.Time // when more of it was last done
}

// On returns the progress line of a terminal, which appears when the work has taken two seconds; nil: f is none.
// Clear ends it.
func On(f *os.File) *Line {
	if f == nil || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	l := &Line{terminal: f, stop: make(chan struct{})}
	l.stopped.Go(l.draw)
	return l
}

// Set says how far the work is. Its rate is counted from when it was first set under the same What.
func (l *Line) Set(w Work) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set(w)
}

// Offer is Set unless something else has got anywhere: what is done beside the work is worth a line as long as there is
// nothing to say of the work.
func (l *Line) Offer(w Work) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.What == l.work.What || l.work.Done == 0 {
		l.set(w)
	}
}

func (l *Line) set(w Work) {
	if l.began.IsZero() || w.What != l.work.What || w.Done < l.work.Done {
		l.began, l.from = time.Now(), w.Done
	}
	if l.moved.IsZero() || w.What != l.work.What || w.Done != l.work.Done {
		l.moved = time.Now()
	}
	l.work = w
}

// Clear ends the line, and leaves nothing of it on the terminal; again, it does nothing.
func (l *Line) Clear() {
	if l == nil {
		return
	}
	l.cleared.Do(func() { close(l.stop) })
	l.stopped.Wait()
}

// draw draws the line a few times a second, whether anything was reported since or not: a clock that stands looks like
// a program that hangs.
func (l *Line) draw() {
	began, there := time.Now(), false
	tick := time.NewTicker(drawn)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			if there {
				fmt.Fprint(l.terminal, clearLine)
			}
			return
		case <-tick.C:
		}
		if time.Since(began) < patience {
			continue
		}
		if line := l.line(); line != "" {
			there = true
			fmt.Fprint(l.terminal, clearLine+line)
		}
	}
}

// line is what to draw now, no wider than the terminal, on whose last column the cursor would wrap.
func (l *Line) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.began.IsZero() {
		return ""
	}
	letters := []rune(l.work.describe(time.Since(l.began), time.Since(l.moved), l.from))
	if width, _, err := term.GetSize(int(l.terminal.Fd())); err == nil && width > 1 && len(letters) >= width {
		letters = letters[:width-1]
	}
	return string(letters)
}
