package scratch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Suffix ends the name of what a killed process leaves, and the next one removes.
const Suffix = ".decodesim-unfinished"

// Dir is a directory of this process alone: a lock is on it for as long as the process lives.
type Dir struct {
	path string
	lock *os.File
}

// New makes a directory of a kind, and removes those of that kind whose process was killed.
func New(kind string) (*Dir, error) {
	sweep(kind)
	for {
		path, err := os.MkdirTemp("", prefix(kind)+"*"+Suffix)
		if err != nil {
			return nil, fmt.Errorf("no temporary folder can be made in %q: %w; set TMPDIR to where there is room for files",
				os.TempDir(), err)
		}
		lock, err := os.Open(path)
		if err != nil {
			if os.IsNotExist(err) {
				continue // another process has taken it for one that is left
			}
			return nil, err
		}
		if d := (&Dir{path, lock}); Lock(lock, true) == nil && d.stands() {
			return d, nil
		}
		_ = lock.Close()
	}
}

func prefix(kind string) string { return "decodesim-" + kind + "-" }

// Path returns where it is.
func (d *Dir) Path() string { return d.path }

// Remove removes the directory and, with it, the lock. Of a nil Dir there is nothing to remove.
func (d *Dir) Remove() {
	if d == nil {
		return
	}
	_ = os.RemoveAll(d.path)
	_ = d.lock.Close()
}

// stands reports whether what is locked still has its name.
func (d *Dir) stands() bool {
	locked, err := d.lock.Stat()
	at, atErr := os.Lstat(d.path)
	return err == nil && atErr == nil && os.SameFile(locked, at)
}

// sweep removes the directories of a kind that nobody has a lock on. Those of other users cannot be opened.
func sweep(kind string) {
	entries, _ := os.ReadDir(os.TempDir())
	for _, e := range entries {
		if e.Type() == fs.ModeDir && strings.HasPrefix(e.Name(), prefix(kind)) && strings.HasSuffix(e.Name(), Suffix) {
			sweepOne(filepath.Join(os.TempDir(), e.Name()))
		}
	}
}

func sweepOne(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	if d := (&Dir{path, f}); Lock(f, false) == nil && d.stands() {
		d.Remove()
		return
	}
	_ = f.Close()
}
