//go:build unix && !linux

package openai

import "syscall"

// writesAtOnce says that writeAtOnce does what it says.
const writesAtOnce = true

// writeAtOnce writes what of b the socket takes without waiting.
func writeAtOnce(fd uintptr, b []byte) (n int, err error) {
	for {
		n, err = syscall.Write(int(fd), b)
		switch err {
		case nil:
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil
		default:
			return 0, err
		}
	}
}
