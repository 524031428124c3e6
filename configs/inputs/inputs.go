package inputs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// DataMax bounds a file of measurements, unzipped, in bytes: reading one takes about ten times as much memory.
const DataMax = 256 << 20

// Open opens a file. A pipe or a socket, which open only when somebody is at the other end, is refused by its kind.
func Open(path string) (*os.File, error) {
	at, err := os.Stat(path)
	if err == nil && at.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0 {
		return nil, fmt.Errorf("%q is a pipe; expected a regular file", path)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// Read reads a file of at most limit bytes, plain or gzip as its first bytes say; the limit holds for what is unzipped.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := readAll(f, limit)
	if err != nil || !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return data, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = readAll(zip, limit)
	}
	if err != nil && !errors.Is(err, errLong) {
		return nil, fmt.Errorf("its gzip data cannot be unpacked: %w; expected a whole file", err)
	}
	return data, err
}

// errLong is that of a file above its limit.
var errLong = errors.New("it is too long")

func readAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: more than %d MiB, unzipped; expected a shorter file", errLong, limit>>20)
	}
	return data, err
}
