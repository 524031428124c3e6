package output

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/text"
)

// Dir is a directory that receives the files of a command. They are built aside and put in place by Keep, so that a
// command that fails, or is killed, leaves none of them. A directory belongs to one command at a time.
type Dir struct {
	*build
	folder string // of the directory, that this Dir writes to; empty: the directory itself
}

// build is the state of a directory and of all its folders.
type build struct {
	path    string   // where the files are to be
	names   []string // that the command may give them
	new     bool     // nothing was there
	made    []string // parents that Open made, deepest first
	staging *staging
	files   []string // built so far, relative to path, in order
	placed  bool
}

// Open prepares the directory, which need not be there yet. It refuses one that holds results, of which two under one
// name are worse than none, one that has files of these other names, and one that another command writes to.
func Open(path string, also ...string) (*Dir, error) {
	path = where(path)
	b := &build{path: path, names: namesWith(also)}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("output %q is a file, want a directory", path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("output %q is a link to nothing, want a directory", path)
		}
		b.new = true
	case err != nil:
		return nil, fmt.Errorf("output %q: %w", path, err)
	}
	for _, step := range []func() error{
		b.makeParents, b.stage, func() error { return refuseResults(path, b.names) }, b.probe,
	} {
		if err := step(); err != nil {
			b.abandon()
			return nil, err
		}
	}
	return &Dir{build: b}, nil
}

// Folder returns the folder of this name within the directory.
func (d *Dir) Folder(name string) (*Dir, error) {
	if name == "" || name != filepath.Base(name) {
		return nil, fmt.Errorf("output folder %q: want a plain name", name)
	}
	there := filepath.Join(d.path, name)
	if at, err := os.Stat(there); err == nil && !at.IsDir() {
		return nil, fmt.Errorf("output %q is a file, want a directory", there)
	}
	if err := refuseResults(there, namesWith(nil)); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(d.staging.path, name), 0o755); err != nil {
		return nil, fmt.Errorf("output %q: %w", name, err)
	}
	return &Dir{d.build, name}, nil
}

// where returns path or, if it leads through a directory that is not there, what it comes to without that: new/../out
// is out. The other directories may be links, through which the system goes.
func where(path string) string {
	above, _ := split(path)
	if _, err := os.Stat(above); errors.Is(err, fs.ErrNotExist) {
		return filepath.Clean(path)
	}
	return path
}

// split returns the directory above a path, as the system reads it, and the name there.
func split(path string) (above, name string) {
	const separator = string(filepath.Separator)
	above, name = filepath.Split(strings.TrimRight(path, separator))
	if above == "" {
		above = "." + separator
	}
	return above, name
}

// Reserves reports whether the command that a directory is of may write a file of this path there; of a nil directory
// it writes none.
func (d *Dir) Reserves(path string) bool {
	if d == nil || !slices.Contains(d.names, filepath.Base(path)) {
		return false
	}
	at, err := os.Stat(filepath.Dir(path))
	here, ourErr := os.Stat(d.path)
	return err == nil && ourErr == nil && os.SameFile(at, here)
}

// makeParents makes the directory above a new one, and remembers what of it was lacking.
func (b *build) makeParents() error {
	if !b.new {
		return nil
	}
	parent, _ := split(b.path)
	for p := filepath.Clean(parent); ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		b.made = append(b.made, p)
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("output %q cannot be made: %w", b.path, err)
	}
	return nil
}

// stage claims the place where the files are built: beside a new directory, within one that exists.
func (b *build) stage() (err error) {
	at := filepath.Join(b.path, unfinished)
	if b.new {
		above, name := split(b.path)
		real, err := filepath.EvalSymlinks(above)
		if err != nil {
			return fmt.Errorf("output %q: %w", b.path, err)
		}
		at = filepath.Join(real, "."+name+unfinished)
	}
	b.staging, err = claim(at, func() error { return b.takeBack(at) })
	if err != nil {
		return fmt.Errorf("output %q: %w", b.path, err)
	}
	return nil
}

// results are the names of files that commands leave, those that mark a directory as one of results first.
var results = []string{
	"summary.json", "scenario.yaml", "explain.json", "predictions.csv", "validation.json", "compare.json", "size.json",
	"fleet.json", "sweep.json", "sweep.csv", "shard.json", "sensitivity.json",
	"requests.csv", "timeline.csv", "timeline_classes.csv", "views.json", "compare.csv", "candidates.csv", "report.html",
	"sweep.parquet", "sensitivity.csv", "tasks.csv",
}

// figures are the names of figures that commands leave, without what they end in.
var figures = []string{
	"cdfs", "error_by_concurrency", "frontier", "goodput_by_split", "itl_cdf", "itl_parts", "itl_vs_batch", "load_curve",
	"parity_e2e", "parity_tpot", "parity_ttft", "roofline", "speculation", "steps", "timeline", "tornado", "ttft_cdf",
	"workload",
}

// namesWith returns all names of files that commands leave, and these.
func namesWith(also []string) []string {
	names := slices.Concat(results, also)
	for _, name := range figures {
		names = append(names, name+".svg", name+".png")
	}
	return names
}

func refuseResults(path string, names []string) error {
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			return fmt.Errorf("output %q already holds a run (%s); name another directory or remove it", path, name)
		}
	}
	return nil
}

// probeBytes is about what the files of a run take: a disk with less is full.
const probeBytes = 4 << 20

// probe finds out before the run, not after it, that nothing can be written.
func (b *build) probe() error {
	name := filepath.Join(b.staging.path, ".probe")
	err := writeNew(name, func(w io.Writer) error {
		_, err := w.Write(make([]byte, probeBytes))
		return err
	})
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil {
		return fmt.Errorf("output %q cannot be written: %w", b.path, err)
	}
	return nil
}

// Path returns the path at which the files will be.
func (d *Dir) Path() string { return filepath.Join(d.path, d.folder) }

// WriteFile builds a file; nothing remains of it if write fails.
func (d *Dir) WriteFile(name string, write func(io.Writer) error) error {
	if name == "" || name != filepath.Base(name) {
		return fmt.Errorf("output file %q: want a plain file name", name)
	}
	relative := filepath.Join(d.folder, name)
	if err := writeNew(filepath.Join(d.staging.path, relative), write); err != nil {
		return fmt.Errorf("output %q: %w", name, err)
	}
	d.files = append(d.files, relative)
	return nil
}

// writeNew writes a file that is not there yet, down to the disk.
func writeNew(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	done := false
	defer func() {
		if !done { // also when write panics
			_ = f.Close()
			_ = os.Remove(path)
		}
	}()
	b := bufio.NewWriterSize(f, 1<<16)
	for _, step := range []func() error{func() error { return write(b) }, b.Flush, f.Sync, f.Close} {
		if err := step(); err != nil {
			return err
		}
	}
	done = true
	return nil
}

// WriteBytes builds a file of these bytes.
func (d *Dir) WriteBytes(name string, b []byte) error {
	return d.WriteFile(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteJSON builds a file with the JSON of x.
func (d *Dir) WriteJSON(name string, x any) error {
	return d.WriteFile(name, func(w io.Writer) error { return text.WriteJSON(w, x) })
}

// Draw is the step that draws a figure and builds its files.
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

// Files returns the paths at which the files are, or will be, in the order in which they were written; none of a nil
// directory.
func (d *Dir) Files() []string {
	if d == nil {
		return nil
	}
	paths := make([]string, len(d.files))
	for i, name := range d.files {
		paths[i] = filepath.Join(d.path, name)
	}
	return paths
}

// Abandon removes what was built and the directories that Open made, unless Keep has put it in place. Deferred, it
// leaves nothing of a command that failed. Of a nil directory there is nothing to remove.
func (d *Dir) Abandon() {
	if d != nil {
		d.abandon()
	}
}

func (b *build) abandon() {
	if b.placed {
		return
	}
	if b.staging != nil {
		b.staging.remove()
	}
	for _, path := range b.made {
		_ = os.Remove(path) // fails where somebody else put something: then it stays
	}
}
