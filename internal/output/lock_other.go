//go:build !unix

package output

import (
	"errors"
	"os"
)

// lock has none to take. What a command that was killed has left may be in use, and is refused.
func lock(_ *os.File, fresh bool) error {
	if fresh {
		return nil
	}
	return errors.ErrUnsupported
}
