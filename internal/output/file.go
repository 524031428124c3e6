package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/scratch"
)

// File is a file to be: whole, or not there. A pipe or a device is written to as it is.
type File struct {
	io.Writer
	path string
	file *os.File
	old  fs.FileInfo // the regular file to replace; nil: none
	temp bool        // file has a name of its own until Keep
	done bool
}

// Recogniser says whether a file, from its first bytes, is one that this program wrote.
type Recogniser func(io.Reader) bool

// OpenFile prepares a file that may replace a regular one only if ours recognises it; a nil one recognises none.
// Opening a pipe that nobody reads waits until somebody does or ctx is cancelled.
func OpenFile(ctx context.Context, path string, ours Recogniser) (*File, error) {
	at, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(path); err == nil {
			return nil, errors.New("it is a link to nothing; expected a file, or a name that nothing has")
		}
		return newFile(path, nil)
	case err != nil:
		return nil, withoutName(err)
	case at.IsDir():
		return nil, errors.New("it is a directory; expected a file")
	case at.Mode()&fs.ModeSocket != 0:
		return nil, errors.New("it is a socket; expected a file")
	case at.Mode()&fs.ModeDevice != 0 && at.Mode()&fs.ModeCharDevice == 0:
		return nil, errors.New("it is a disk, whose files would be lost; expected a file")
	case !at.Mode().IsRegular():
		f, err := openStream(ctx, path, at.Mode()&fs.ModeNamedPipe != 0)
		return &File{Writer: f, path: path, file: f}, err
	case ours == nil:
		return nil, errors.New("it exists, and this command replaces no file; name another file or remove it")
	case !recognised(path, ours):
		return nil, errors.New("it exists, and is not a file that this command wrote; name another file or remove it")
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	return newFile(real, at)
}

func recognised(path string, ours Recogniser) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return ours(f)
}

// newFile makes a file of a temporary name beside its place, or takes the one that a killed command has left there.
func newFile(path string, old fs.FileInfo) (*File, error) {
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+unfinished)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, withoutName(err)
	}
	if err := claimFile(f, name); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &File{Writer: f, path: path, file: f, old: old, temp: true}, nil
}

// claimFile locks a file and empties it.
func claimFile(f *os.File, name string) error {
	if err := scratch.Lock(f, true); err != nil {
		return errBusy
	}
	opened, err := f.Stat()
	if at, atErr := os.Lstat(name); err != nil || atErr != nil || !os.SameFile(opened, at) {
		return errBusy // its owner has just finished
	}
	return f.Truncate(0)
}

// withoutName drops the temporary name from an error: nobody knows it.
func withoutName(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return fmt.Errorf("cannot be written in %q: %w", filepath.Dir(of.Path), of.Err)
	}
	return err
}

// Keep puts the file in its place.
func (f *File) Keep() error {
	steps := []func() error{f.file.Close}
	if f.temp {
		steps = []func() error{f.chmod, f.file.Sync, f.file.Close, f.place,
			func() error { return syncDir(filepath.Dir(f.path)) }}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return withoutName(err)
		}
	}
	f.done = true
	return nil
}

// chmod keeps the mode of the file that this one replaces.
func (f *File) chmod() error {
	if f.old == nil {
		return nil
	}
	return f.file.Chmod(f.old.Mode().Perm())
}

// place renames the file: over the one that was recognised, or to a name that nothing has.
func (f *File) place() error {
	at, err := os.Lstat(f.path)
	switch {
	case f.old != nil && err == nil && os.SameFile(at, f.old), errors.Is(err, fs.ErrNotExist):
		return os.Rename(f.file.Name(), f.path)
	case err == nil:
		return fmt.Errorf("%q appeared during the run; nothing was written over it", f.path)
	}
	return err
}

// Abandon removes what Keep has not put in place.
func (f *File) Abandon() {
	if f.done {
		return
	}
	_ = f.file.Close()
	if f.temp {
		_ = os.Remove(f.file.Name())
	}
}
