package calibration

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is the efficiency file to be: written whole or not at all.
type File struct {
	path string
	temp *os.File
}

// OpenFile makes sure, before the fit, that the file can be written and is not there.
func OpenFile(path string) (*File, error) {
	if e := filepath.Ext(path); e != ".yaml" && e != ".yml" {
		return nil, fmt.Errorf("--out %q: expected a file whose name ends in .yaml", path)
	}
	switch at, err := os.Lstat(path); {
	case err == nil && at.IsDir():
		return nil, fmt.Errorf("--out %q is a directory; expected a file", path)
	case err == nil:
		return nil, fmt.Errorf("--out %q exists; name another file or remove it", path)
	}
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, ".calibration-*")
	if err != nil {
		var of *fs.PathError
		if errors.As(err, &of) {
			err = of.Err // without the temporary name
		}
		return nil, fmt.Errorf("--out %q cannot be written to directory %q: %w", path, dir, err)
	}
	return &File{path, temp}, nil
}

// Write writes the efficiencies.
func (f *File) Write(c *Calibration) error {
	for _, step := range []func() error{
		func() error { return WriteEfficiency(f.temp, &c.Efficiency, c.Head()) },
		func() error { return f.temp.Chmod(0o644) },
		f.temp.Close,
		func() error { return os.Rename(f.temp.Name(), f.path) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("--out %q: %w", f.path, err)
		}
	}
	return nil
}

// Abandon removes what a failed fit leaves.
func (f *File) Abandon() {
	_ = f.temp.Close()
	_ = os.Remove(f.temp.Name())
}
