package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Keep puts what was built in its place: a new directory by one rename, files of a directory that was there one by one
// and never over another.
func (b *build) Keep() error {
	put := b.putFiles
	if b.new {
		put = b.putDirectory
	}
	if err := put(); err != nil {
		return fmt.Errorf("output %q: %w", b.path, err)
	}
	b.placed = true
	return nil
}

// putDirectory gives the directory its name. A rename never replaces a directory in which there is something.
func (b *build) putDirectory() error {
	if err := errors.Join(syncDir(b.staging.path), os.Rename(b.staging.path, b.path)); err != nil {
		return fmt.Errorf("it appeared during the run, or cannot be made: %w", err)
	}
	_ = b.staging.lock.Close()
	above, _ := split(b.path)
	return syncDir(above)
}

// putFiles gives each file a second name, where there is none of that name; then the first names go. Until they are
// gone, they show which files of the directory are these.
func (b *build) putFiles() error {
	for _, name := range b.files {
		to := filepath.Join(b.path, name)
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = putNew(filepath.Join(b.staging.path, name), to)
		}
		if errors.Is(err, fs.ErrExist) {
			err = fmt.Errorf("%s is there already; nothing was written over it", name)
		}
		if err != nil {
			return errors.Join(err, b.takeBack(b.staging.path))
		}
	}
	if err := syncDir(b.path); err != nil {
		return err
	}
	b.staging.remove()
	return nil
}

// putNew gives a file a second name that nothing has yet. Where the file system knows one name a file, the file moves.
func putNew(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, there := os.Lstat(to); !errors.Is(there, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

// takeBack removes from the directory the files that are also in the staging, and folders that are empty then.
func (b *build) takeBack(staging string) error {
	if b.new {
		return nil
	}
	var folders []string
	err := filepath.WalkDir(staging, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == staging {
			return err
		}
		relative, err := filepath.Rel(staging, path)
		if err != nil {
			return err
		}
		placed := filepath.Join(b.path, relative)
		if e.IsDir() {
			folders = append(folders, placed)
			return nil
		}
		return removeSame(path, placed)
	})
	for _, folder := range folders {
		_ = os.Remove(folder) // fails where there are files of others
	}
	return err
}

// removeSame removes the second name of a file.
func removeSame(first, second string) error {
	a, err := os.Lstat(first)
	if err != nil {
		return err
	}
	b, err := os.Lstat(second)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(a, b) {
		return nil
	}
	return errors.Join(err, os.Remove(second))
}

// syncDir makes the names in a directory last.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(d.Sync()), d.Close())
}

// ignoreUnsupported drops the error of file systems that do not sync directories.
func ignoreUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		return nil
	}
	return err
}
