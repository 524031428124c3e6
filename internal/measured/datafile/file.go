package datafile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// zippedSuffix ends the name of a file that is compressed, as its first bytes say too.
const zippedSuffix = ".gz"

// ReadFile reads a file that is plain or gzip, as its first bytes say.
func ReadFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(zip)
	}
	if err != nil {
		return nil, fmt.Errorf("its gzip data cannot be unpacked: %w; expected a whole file", err)
	}
	return data, nil
}

// stemOf returns the name of a file without what says its kind.
func stemOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), zippedSuffix)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
