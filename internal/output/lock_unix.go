//go:build unix

package output

import (
	"os"
	"syscall"
)

// lock takes the lock of an open directory, which ends with the process. It does not wait.
func lock(f *os.File, _ bool) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
