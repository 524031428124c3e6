//go:build !unix

package output

import (
	"context"
	"os"
)

// openStream opens what stands for a pipe or a device where there are none.
func openStream(_ context.Context, path string, _ bool) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY, 0)
}
