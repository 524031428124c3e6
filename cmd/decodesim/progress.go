package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress is the line of a terminal that says how far a command is. A nil one says nothing.
type progress struct {
	w              io.Writer
	began, printed time.Time
}

// progressOn returns the progress line of w; nil: w is no terminal.
func progressOn(w io.Writer) *progress {
	if !isTerminal(w) {
		return nil
	}
	now := time.Now()
	return &progress{w, now, now}
}

// say replaces the line, at most five times a second.
func (p *progress) say(format string, args ...any) {
	if p == nil || time.Since(p.printed) < 200*time.Millisecond {
		return
	}
	p.printed = time.Now()
	fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
}

// sayRuns says how many of some runs are simulated.
func (p *progress) sayRuns(done, of int) {
	if p != nil {
		p.say("%d of %d runs simulated (%.0f s)", done, of, time.Since(p.began).Seconds())
	}
}

// clear removes the line.
func (p *progress) clear() {
	if p != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colour reports whether w is a terminal that wants colour.
func colour(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
