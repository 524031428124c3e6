//go:build unix

package scratch

import (
	"os"
	"syscall"
)

// Lock takes the lock of an open directory, which ends with the process. It does not wait.
func Lock(f *os.File, _ bool) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
