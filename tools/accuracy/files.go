package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// read reads files of measurements, and what goes with them from the folder of shared data.
func read(paths []string) (files []*measured.File, err error) {
	shared := cmp.Or(os.Getenv("DECODESIM_SHARED"), filepath.Join("..", "shared"))
	for _, path := range paths {
		f, err := formats.Read(path, shared)
		if err != nil {
			return nil, err
		}
		if err := f.Whole(); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// rounds prints the progress of a fit, at most five times a second; nil: to nobody.
func rounds(w io.Writer) func(round, done int) {
	if w == nil {
		return nil
	}
	start := time.Now()
	printed := start
	return func(round, done int) {
		if time.Since(printed) > 200*time.Millisecond {
			printed = time.Now()
			fmt.Fprintf(w, "\r\x1b[Kround %d: %d runs simulated (%.0f s)", round+1, done, time.Since(start).Seconds())
		}
	}
}

// writeAccuracy writes the page and, beside it, its figures.
func writeAccuracy(path string, a *page.Accuracy) (written []string, err error) {
	figures, err := page.Figures(a)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for _, f := range figures {
		name := filepath.Join(filepath.Dir(path), base+"_"+f.Name+".svg")
		if err := replaceFile(name, func(w io.Writer) error { _, err := w.Write(f.SVG); return err }); err != nil {
			return nil, err
		}
		written = append(written, name)
	}
	err = replaceFile(path, func(w io.Writer) error { return page.Write(w, a, base) })
	return append(written, path), err
}

// replaceFile writes a file by a temporary name and then renames it.
func replaceFile(path string, write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("%q cannot be written: %w", path, err)
	}
	defer os.Remove(temp.Name())
	for _, step := range []func() error{func() error { return write(temp) }, func() error { return temp.Chmod(0o644) },
		temp.Close} {
		if err := step(); err != nil {
			_ = temp.Close()
			return fmt.Errorf("%q cannot be written: %w", path, err)
		}
	}
	return os.Rename(temp.Name(), path)
}

// replaceCatalog writes the files of the catalog.
func replaceCatalog(dir string, sets []catalog.Efficiencies) (written []string, err error) {
	const head = "Fitted by make calibrate; see docs/accuracy.md for what it was fitted to and how far off it is."
	for i := range sets {
		path := filepath.Join(dir, sets[i].Name+".yaml")
		err := replaceFile(path, func(w io.Writer) error { return calibration.WriteEfficiencies(w, &sets[i], head) })
		if err != nil {
			return nil, err
		}
		written = append(written, path)
	}
	return written, nil
}
