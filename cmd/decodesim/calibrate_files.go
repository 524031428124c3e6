package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/calibration"
)

// calibrationFile is the efficiency file to be: written whole or not at all.
type calibrationFile struct {
	path string
	temp *os.File
}

// openCalibration makes sure, before the fit, that the file can be written and is not there.
func openCalibration(path string) (*calibrationFile, error) {
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
	return &calibrationFile{path, temp}, nil
}

func (f *calibrationFile) write(c *calibration.Calibration) error {
	for _, step := range []func() error{
		func() error { return calibration.WriteEfficiency(f.temp, &c.Efficiency, c.Head()) },
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

// abandon removes what a failed fit leaves.
func (f *calibrationFile) abandon() {
	_ = f.temp.Close()
	_ = os.Remove(f.temp.Name())
}
