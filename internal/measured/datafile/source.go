package datafile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/measured"
)

// Source is a file before it is recognised.
type Source struct {
	Path   string
	Shared string // folder of data that a file may refer to; empty: none
	Data   []byte
	Table  *Table   // CSV, or nil
	JSON   []Object // JSON values, or nil
}

// dirs are the folders in which lies what the file refers to: its own, then the shared one.
func (s *Source) dirs() []string {
	dirs := []string{filepath.Dir(s.Path)}
	if s.Shared != "" {
		dirs = append(dirs, s.Shared, filepath.Join(s.Shared, "groundtruth"))
	}
	return dirs
}

// Neighbours returns the other files with an extension, compressed or not, in those folders.
func (s *Source) Neighbours(extension string) []string {
	var paths []string
	for _, dir := range s.dirs() {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a folder that is not there holds nothing
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if !e.IsDir() && filepath.Ext(strings.TrimSuffix(path, zippedSuffix)) == extension &&
				path != filepath.Clean(s.Path) && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// Companion returns a file that goes with the data: beside it, or under the shared folder.
func (s *Source) Companion(names ...string) ([]byte, string, error) {
	return s.CompanionUpTo(inputs.DataMax, names...)
}

// CompanionUpTo is Companion of a file that has at most so many bytes.
func (s *Source) CompanionUpTo(limit int64, names ...string) ([]byte, string, error) {
	for _, dir := range s.dirs() {
		for _, name := range names {
			path := filepath.Join(dir, filepath.FromSlash(name))
			data, err := inputs.Read(path, limit)
			if err == nil {
				return data, path, nil
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return nil, "", fmt.Errorf("%q, which goes with %q, cannot be read: %w", path, s.Path, err)
			}
		}
	}
	return nil, "", nil
}

// RunIDs labels the runs of a file by its name, and by their place if there are several.
func (s *Source) RunIDs(runs int) []string {
	stem := stemOf(s.Path)
	all := make([]string, runs)
	for i := range all {
		all[i] = stem
		if runs > 1 {
			all[i] = fmt.Sprintf("%s-%d", stem, i+1)
		}
	}
	return all
}

// Schema is one kind of file.
type Schema struct {
	Name    string
	About   string             // what it holds, for the error that lists them; empty: it is not listed
	Columns []string           // of a CSV file, each required, where a|b is either; nil: no table
	Is      func(*Source) bool // nil: a CSV file with the columns
	Read    func(*Source, *measured.File) error
}

// Knows reports whether a file is of this kind.
func (s *Schema) Knows(src *Source) bool {
	if s.Is != nil {
		return s.Is(src)
	}
	return src.Table != nil && src.Table.HasAll(s.Columns)
}
