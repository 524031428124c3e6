package openai

import (
	"syscall"
	"unsafe"
)

// writesAtOnce says that writeAtOnce does what it says.
const writesAtOnce = true

// writeAtOnce writes what of b, which is not empty, the socket takes without waiting. The scheduler of Go does not hear
// of it: there is nothing to wait for.
func writeAtOnce(fd uintptr, b []byte) (n int, err error) {
	for {
		n, _, e := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch e {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil
		default:
			return 0, e
		}
	}
}
