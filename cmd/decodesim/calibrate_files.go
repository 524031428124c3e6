package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/decodesim/decodesim/cmd/internal/calibrate"
	"github.com/decodesim/decodesim/configs"
)

// calibrationFile is the efficiency file to be: written whole or not at all.
type calibrationFile struct {
	path string
	temp *os.File
}

// openCalibration makes sure, before the fit, that the file can be written and is not there.
func openCalibration(path string) (*calibrationFile, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("--out %q exists; name another file or remove it", path)
	}
	if e := filepath.Ext(path); e != ".yaml" && e != ".yml" {
		return nil, fmt.Errorf("--out %q: expected a file that ends in .yaml", path)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".calibration-*")
	if err != nil {
		return nil, fmt.Errorf("--out %q cannot be written: %w", path, err)
	}
	return &calibrationFile{path, temp}, nil
}

func (f *calibrationFile) write(c *calibrate.Calibration) error {
	if err := calibrate.WriteEfficiency(f.temp, &c.Efficiency, c.Head()); err != nil {
		return err
	}
	if err := f.temp.Chmod(0o644); err != nil {
		return err
	}
	if err := f.temp.Close(); err != nil {
		return err
	}
	return os.Rename(f.temp.Name(), f.path)
}

// abandon removes what a failed fit leaves.
func (f *calibrationFile) abandon() {
	_ = f.temp.Close()
	_ = os.Remove(f.temp.Name())
}

// replaceEfficiencies writes a file of the catalog.
func replaceEfficiencies(dir string, set *configs.Efficiencies) (path string, err error) {
	path = filepath.Join(dir, set.Name+".yaml")
	temp, err := os.CreateTemp(dir, ".efficiencies-*")
	if err != nil {
		return path, err
	}
	defer os.Remove(temp.Name())
	var b strings.Builder
	if err := calibrate.WriteEfficiencies(&b, set, "Fitted by make calibrate; see docs/accuracy.md for what it was fitted to and how far off it is."); err != nil {
		return path, err
	}
	if _, err := io.WriteString(temp, b.String()); err != nil {
		return path, err
	}
	if err := temp.Chmod(0o644); err != nil {
		return path, err
	}
	if err := temp.Close(); err != nil {
		return path, err
	}
	return path, os.Rename(temp.Name(), path)
}
