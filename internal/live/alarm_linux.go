package live

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes its owner at an instant. The timers of Go's runtime are up to a millisecond late where nothing else
// happens, because it waits for them in whole milliseconds; a file descriptor of a timer is ready when it is due.
type alarm struct {
	C    chan struct{} // has an element some time after the instant that was set last, and perhaps before
	file *os.File
	fd   int
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	a := &alarm{C: make(chan struct{}, 1), file: os.NewFile(uintptr(fd), "timerfd"), fd: fd}
	go a.wait()
	return a, nil
}

// wait passes on what the timer says until it is closed.
func (a *alarm) wait() {
	var count [8]byte
	for {
		if _, err := a.file.Read(count[:]); err != nil {
			return
		}
		select {
		case a.C <- struct{}{}:
		default:
		}
	}
}

// set has the owner woken after a while, at once if there is none to wait.
func (a *alarm) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, d.Nanoseconds()))}
	if err := unix.TimerfdSettime(a.fd, 0, &spec, nil); err != nil {
		panic(err) // the descriptor is open and the time is positive
	}
}

func (a *alarm) close() { _ = a.file.Close() }
