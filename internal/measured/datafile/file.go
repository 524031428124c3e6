package datafile

import (
	"path/filepath"
	"strings"

	"github.com/decodesim/decodesim/configs/inputs"
)

// zippedSuffix ends the name of a file that is compressed, as its first bytes say too.
const zippedSuffix = ".gz"

// ReadFile reads a file that is plain or gzip, as its first bytes say.
func ReadFile(path string) ([]byte, error) { return inputs.Read(path, inputs.DataMax) }

// stemOf returns the name of a file without what says its kind.
func stemOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), zippedSuffix)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
