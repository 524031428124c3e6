package formats

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
)

// Read reads a file of measurements. Whatever else it names is sought beside it and then under shared, which may be
// empty.
func Read(path, shared string) (*measured.File, error) { return ReadReporting(path, shared, nil) }

// ReadReporting is Read that says how far it is.
func ReadReporting(path, shared string, report datafile.Reading) (*measured.File, error) {
	data, err := datafile.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("data file %q does not exist", path)
	case err != nil:
		return nil, fmt.Errorf("data file %q cannot be read: %w", path, err)
	}
	src := &datafile.Source{Path: path, Shared: shared, Data: data}
	first := bytes.TrimLeft(data, "\ufeff \t\r\n")
	switch {
	case len(first) == 0:
		return nil, fmt.Errorf("data file %q is empty", path)
	case first[0] != '{' && first[0] != '[':
		src.Table, err = datafile.ReadTable(path, data, report)
		if err != nil {
			return nil, err
		}
	default:
		src.JSON, err = datafile.ReadDocuments(path, data, report)
		if err != nil {
			return nil, err
		}
	}
	for _, s := range Schemas() {
		if s.Knows(src) {
			f := &measured.File{Path: path, Schema: s.Name}
			if err := s.Read(src, f); err != nil {
				return nil, err
			}
			if err := f.CheckPlausible(); err != nil {
				return nil, err
			}
			return f, nil
		}
	}
	return nil, unrecognised(src)
}
