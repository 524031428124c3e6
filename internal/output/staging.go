package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/scratch"
)

// unfinished ends the name of a directory in which files are built. One that nobody holds a lock on was left by a
// command that was killed.
const unfinished = scratch.Suffix

// staging is a directory of this process alone: a lock is on it for as long as the process lives.
type staging struct {
	path string
	lock *os.File
}

// errBusy says that another process writes to the same place.
var errBusy = errors.New("another decodesim is writing to it; wait for it, or name another directory")

// claim makes the directory, or takes over what a command that was killed has left there: takeBack undoes what that one
// had begun to put in place, and what it had built is removed.
func claim(path string, takeBack func() error) (*staging, error) {
	for {
		err := os.Mkdir(path, 0o755)
		left := errors.Is(err, fs.ErrExist)
		if err != nil && !left {
			return nil, fmt.Errorf("cannot be written: %w", err)
		}
		s, err := lockStaging(path, !left)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its owner has just finished
		}
		if err != nil {
			return nil, err
		}
		if left {
			if err := errors.Join(takeBack(), s.empty()); err != nil {
				_ = s.lock.Close()
				return nil, err
			}
		}
		return s, nil
	}
}

// lockStaging locks the directory at path, which this process may just have made. The error is fs.ErrNotExist if it is
// gone by then.
func lockStaging(path string, fresh bool) (*staging, error) {
	switch at, err := os.Lstat(path); {
	case err != nil:
		return nil, err
	case !at.IsDir():
		return nil, fmt.Errorf("%q is in the way; remove it", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := scratch.Lock(f, fresh); err != nil {
		_ = f.Close()
		return nil, errBusy
	}
	locked, err := f.Stat()
	if at, atErr := os.Lstat(path); err != nil || atErr != nil || !os.SameFile(locked, at) {
		_ = f.Close()
		return nil, fs.ErrNotExist
	}
	return &staging{path, f}, nil
}

// empty removes what is in the directory.
func (s *staging) empty() error {
	entries, err := os.ReadDir(s.path)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.path, e.Name())))
	}
	return err
}

// remove removes the directory and, with it, the lock.
func (s *staging) remove() {
	_ = os.RemoveAll(s.path)
	_ = s.lock.Close()
}
