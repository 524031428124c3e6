package measured

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is a file before it is recognised.
type source struct {
	path   string
	shared string // folder of data that a file may refer to; empty: none
	data   []byte
	table  *table   // CSV, or nil
	json   []object // JSON values, or nil
}

// dirs are the folders in which lies what the file refers to: its own, then the shared one.
func (s *source) dirs() []string {
	dirs := []string{filepath.Dir(s.path)}
	if s.shared != "" {
		dirs = append(dirs, s.shared, filepath.Join(s.shared, "groundtruth"))
	}
	return dirs
}

// neighbours returns the other files with an extension, compressed or not, in those folders.
func (s *source) neighbours(extension string) []string {
	var paths []string
	for _, dir := range s.dirs() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a folder that is not there holds nothing
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !e.IsDir() && filepath.Ext(strings.TrimSuffix(path, zippedSuffix)) == extension && path != filepath.Clean(s.path) && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Read reads a file of measurements. Whatever else it names is sought beside it and then under shared, which may be empty.
func Read(path, shared string) (*File, error) {
	data, err := readPlain(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("data file %q does not exist", path)
	case err != nil:
		return nil, fmt.Errorf("data file %q cannot be read: %w", path, err)
	}
	src := &source{path: path, shared: shared, data: data}
	first := bytes.TrimLeft(data, "\ufeff \t\r\n")
	switch {
	case len(first) == 0:
		return nil, fmt.Errorf("data file %q is empty", path)
	case first[0] != '{' && first[0] != '[':
		if src.table, err = readTable(path, data); err != nil {
			return nil, err
		}
	default:
		if src.json, err = readDocuments(path, data); err != nil {
			return nil, err
		}
	}
	for _, s := range schemas() {
		if s.knows(src) {
			f := &File{Path: path, Schema: s.name}
			if err := s.read(src, f); err != nil {
				return nil, err
			}
			if err := f.plausible(); err != nil {
				return nil, err
			}
			return f, nil
		}
	}
	return nil, unrecognised(src)
}

// companion returns a file that goes with the data: beside it, or under the shared folder.
func (s *source) companion(names ...string) ([]byte, string, error) {
	for _, dir := range s.dirs() {
		for _, name := range names {
			path := filepath.Join(dir, filepath.FromSlash(name))
			data, err := readPlain(path)
			if err == nil {
				return data, path, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return nil, "", fmt.Errorf("%q, which goes with %q, cannot be read: %w", path, s.path, err)
			}
		}
	}
	return nil, "", nil
}
