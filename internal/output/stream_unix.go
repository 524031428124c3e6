//go:build unix

package output

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// openStream opens a pipe, of which it waits for the reader, or a device.
func openStream(ctx context.Context, path string, waits bool) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !waits || !errors.Is(err, syscall.ENXIO) {
			return f, err
		}
		select { // a pipe without a reader
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
