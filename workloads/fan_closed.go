package workloads

import "github.com/decodesim/decodesim/sim"

// FanClosed is the Fan of a closed loop: a client waits for all answers to its prompt before it thinks.
type FanClosed struct {
	Fan
	loop *Closed
	open []waiting // by prompt, from base on; those in front of head have all their answers
	head int
	base int32
}

// waiting is a prompt that lacks answers.
type waiting struct {
	left  int32
	ended sim.Time // the latest so far
}

// NewFanClosed returns the source that gives each prompt of a closed loop its answers.
func NewFanClosed(loop *Closed, c Choices, seed uint64) (*FanClosed, error) {
	f, err := newFan(loop, c, seed)
	if err != nil {
		return nil, err
	}
	return &FanClosed{Fan: *f, loop: loop}, nil
}

// When returns the instant of the earliest answer that is asked for.
func (f *FanClosed) When() sim.Time {
	if f.next < f.n {
		return f.current.Arrival
	}
	return f.loop.When()
}

// Next fills the next answer.
func (f *FanClosed) Next(r *sim.Request) bool {
	if !f.Fan.Next(r) {
		return false
	}
	if f.next == 1 {
		f.open = append(f.open, waiting{left: f.n, ended: r.Arrival})
	}
	return true
}

// Done counts the answer r. With the last, however many failed, the client has waited until the latest ended.
func (f *FanClosed) Done(at sim.Time, r *sim.Request) {
	w := &f.open[r.ID/f.n-f.base]
	w.ended = max(w.ended, at)
	if w.left--; w.left > 0 {
		return
	}
	f.loop.Done(w.ended, r)
	f.forget()
}

// forget drops the prompts in front that have all their answers, and moves the rest when that is at most half.
func (f *FanClosed) forget() {
	for f.head < len(f.open) && f.open[f.head].left == 0 {
		f.head++
	}
	if 2*f.head >= len(f.open) {
		n := copy(f.open, f.open[f.head:])
		f.open, f.base, f.head = f.open[:n], f.base+int32(f.head), 0
	}
}
