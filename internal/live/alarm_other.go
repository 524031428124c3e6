//go:build !linux

package live

import "time"

// alarm wakes its owner at an instant.
type alarm struct {
	C     chan struct{}
	timer *time.Timer
}

func newAlarm() (*alarm, error) {
	a := &alarm{C: make(chan struct{}, 1)}
	a.timer = time.AfterFunc(farAway, func() {
		select {
		case a.C <- struct{}{}:
		default:
		}
	})
	return a, nil
}

// set has the owner woken after a while.
func (a *alarm) set(d time.Duration) { a.timer.Reset(d) }

func (a *alarm) close() { a.timer.Stop() }
