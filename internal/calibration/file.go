package calibration

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/output"
)

// File is the efficiency file to be: written whole or not at all.
type File struct {
	path string
	file *output.File
}

// OpenFile makes sure, before the fit, that the file can be written and is not there.
func OpenFile(ctx context.Context, path string) (*File, error) {
	if e := filepath.Ext(path); e != ".yaml" && e != ".yml" {
		return nil, fmt.Errorf("--out %q: expected a file whose name ends in .yaml", path)
	}
	file, err := output.OpenFile(ctx, path, nil)
	if err != nil {
		return nil, fmt.Errorf("--out %q: %w", path, err)
	}
	return &File{path, file}, nil
}

// Write writes the efficiencies.
func (f *File) Write(c *Calibration) error {
	err := WriteEfficiency(f.file, &c.Efficiency, c.leftOut(), c.Head())
	if err == nil {
		err = f.file.Keep()
	}
	if err != nil {
		return fmt.Errorf("--out %q: %w", f.path, err)
	}
	return nil
}

// Abandon removes what a failed fit leaves.
func (f *File) Abandon() { f.file.Abandon() }
