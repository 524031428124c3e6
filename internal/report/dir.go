package report

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// Dir is the directory that receives the files of a run. Each is written whole or not at all.
type Dir struct {
	path      string
	created   []string // directories that Open made, deepest first
	files     []string // written so far
	committed bool
}

// Open returns the directory, which it makes if need be. It refuses one that holds a run: results of two runs under one
// name are worse than none.
func Open(path string) (*Dir, error) {
	d := &Dir{path: path}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("output %q is a file, want a directory", path)
	case err == nil:
		if err := d.refuseRun(); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist):
		if err := d.make(); err != nil {
			d.Abandon()
			return nil, err
		}
	default:
		return nil, fmt.Errorf("output %q: %w", path, err)
	}
	if err := d.probe(); err != nil {
		d.Abandon()
		return nil, err
	}
	return d, nil
}

func (d *Dir) refuseRun() error {
	for _, name := range []string{"summary.json", "scenario.yaml", "explain.json", "predictions.csv", "validation.json",
		"compare.json", "size.json"} {
		if _, err := os.Lstat(filepath.Join(d.path, name)); err == nil {
			return fmt.Errorf("output %q already holds a run (%s); name another directory or remove it", d.path, name)
		}
	}
	return nil
}

// make makes the directory and the parents it lacks, and remembers which.
func (d *Dir) make() error {
	for p := filepath.Clean(d.path); ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		d.created = append(d.created, p)
	}
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return fmt.Errorf("output %q cannot be made: %w", d.path, err)
	}
	return nil
}

// probeBytes is about what the files of a run take: a disk with less is full.
const probeBytes = 4 << 20

// probe finds out before the run, not after it, that nothing can be written.
func (d *Dir) probe() error {
	f, err := os.CreateTemp(d.path, ".probe-*")
	if err != nil {
		return fmt.Errorf("output %q cannot be written: %w", d.path, err)
	}
	_, err = f.Write(make([]byte, probeBytes))
	err = errors.Join(err, f.Close(), os.Remove(f.Name()))
	if err != nil {
		return fmt.Errorf("output %q cannot be written: %w", d.path, err)
	}
	return nil
}

// Path returns the path of the directory.
func (d *Dir) Path() string { return d.path }

// WriteFile writes a file by a temporary name, which it takes back if write fails, and then renames it.
func (d *Dir) WriteFile(name string, write func(io.Writer) error) (err error) {
	if name != filepath.Base(name) {
		return fmt.Errorf("output file %q: want a plain file name", name)
	}
	f, err := os.CreateTemp(d.path, "."+name+"-*")
	if err != nil {
		return fmt.Errorf("output %q: %w", name, err)
	}
	done := false
	defer func() {
		if !done { // also when write panics
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	b := bufio.NewWriterSize(f, 1<<16)
	for _, step := range []func() error{func() error { return write(b) }, b.Flush, func() error { return f.Chmod(0o644) },
		f.Close} {
		if err := step(); err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
	}
	if err := os.Rename(f.Name(), filepath.Join(d.path, name)); err != nil {
		return fmt.Errorf("output %q: %w", name, err)
	}
	done, d.files = true, append(d.files, name)
	return nil
}

// WriteBytes writes a file of these bytes.
func (d *Dir) WriteBytes(name string, b []byte) error {
	return d.WriteFile(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteJSON writes a file with the JSON of x.
func (d *Dir) WriteJSON(name string, x any) error {
	return d.WriteFile(name, func(w io.Writer) error { return text.WriteJSON(w, x) })
}

// Draw is the step that draws a figure and writes it.
func (d *Dir) Draw(name string, draw func() (plot.Figure, error)) func() error {
	return func() error {
		f, err := draw()
		if err != nil {
			return err
		}
		return f.Write(d, name)
	}
}

// InOrder takes the steps that write files until one fails or ctx is cancelled.
func InOrder(ctx context.Context, steps []func() error) error {
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Files returns the paths of the files, in the order in which they were written.
func (d *Dir) Files() []string {
	paths := make([]string, len(d.files))
	for i, name := range d.files {
		paths[i] = filepath.Join(d.path, name)
	}
	return paths
}

// Keep makes the files stay: all of them are written.
func (d *Dir) Keep() { d.committed = true }

// Abandon removes the files and the directories that Open made, unless Keep was called before. Deferred, it leaves
// nothing of a run that failed.
func (d *Dir) Abandon() {
	if d.committed {
		return
	}
	for _, path := range d.Files() {
		_ = os.Remove(path)
	}
	for _, path := range d.created {
		_ = os.Remove(path) // fails where somebody else put something: then it stays
	}
}
