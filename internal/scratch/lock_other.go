//go:build !unix

package scratch

import (
	"errors"
	"os"
)

// Lock has none to take. What a command that was killed has left may be in use, and is refused.
func Lock(_ *os.File, fresh bool) error {
	if fresh {
		return nil
	}
	return errors.ErrUnsupported
}
