package inputs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
)

// DataMax bounds a file of measurements, unzipped, in bytes.
const DataMax = 256 << 20

// ShortMax bounds what is one word or a few pages: a token, a certificate.
const ShortMax = 1 << 20

// Open opens a regular file. A pipe or a socket opens only when somebody is at the other end, and a device may have no
// end: they are refused by their kind.
func Open(path string) (*os.File, error) {
	at, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case at.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return nil, fmt.Errorf("%q is a pipe; expected a regular file", path)
	case at.Mode()&fs.ModeDevice != 0:
		return nil, fmt.Errorf("%q is a device; expected a regular file", path)
	}
	f, err := os.Open(path)
	if err == nil && at.Mode().IsRegular() && at.Size() == 0 && isAwaited(f) {
		_ = f.Close()
		return nil, fmt.Errorf("%q has no length, and is waited for as a pipe is; expected a regular file", path)
	}
	return f, err
}

// isAwaited reports whether reading a file may wait for somebody, as of /proc/kmsg, which calls itself regular. Files
// on a disk have no deadlines.
func isAwaited(f *os.File) bool { return f.SetReadDeadline(time.Time{}) == nil }

// CopyTo writes what a regular file holds to w, as long as somebody waits for it.
func CopyTo(ctx context.Context, w io.Writer, path string) error {
	f, err := Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, awaited{ctx, f})
	return errors.Join(err, f.Close())
}

// awaited reads until nobody waits.
type awaited struct {
	ctx  context.Context
	from io.Reader
}

func (a awaited) Read(b []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	return a.from.Read(b)
}

// ReadShort reads a file of at most ShortMax bytes. It may be a pipe, by which a shell passes on what is secret.
func ReadShort(path string) ([]byte, error) { return readShort(path, pipeMax) }

// pipeMax is how long a pipe may take to say all.
const pipeMax = 10 * time.Second

func readShort(path string, within time.Duration) ([]byte, error) {
	at, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	isPipe := at.Mode()&fs.ModeNamedPipe != 0
	open := Open
	if isPipe { // without a writer, it opens at once and is empty
		open = func(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|unawaited, 0) }
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if isPipe {
		_ = f.SetReadDeadline(time.Now().Add(within))
	}
	text, err := readAll(f, 0, ShortMax)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%q is a pipe that nobody has closed within %s; expected a file, or a pipe that ends", path,
			within)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	return text, nil
}

// Read reads a file of at most limit bytes, plain or gzip as its first bytes say; the limit holds for what is unzipped.
// How long it is is known before it is read, so that what is too long takes no memory.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	at, err := f.Stat()
	if err != nil {
		return nil, err
	}
	magic := make([]byte, 2)
	if n, _ := f.ReadAt(magic, 0); n == len(magic) && string(magic) == "\x1f\x8b" {
		return readZipped(f, limit)
	}
	if at.Mode().IsRegular() && at.Size() > limit {
		return nil, long(limit)
	}
	return readAll(f, at.Size(), limit)
}

// readZipped reads a file once for its length and once for what it says.
func readZipped(f *os.File, limit int64) (data []byte, err error) {
	zip, err := gzip.NewReader(f)
	size := int64(0)
	if err == nil {
		size, err = io.Copy(io.Discard, io.LimitReader(zip, limit+1))
	}
	if err == nil && size > limit {
		return nil, long(limit)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = zip.Reset(f)
	}
	if err == nil {
		data, err = readAll(zip, size, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("its gzip data cannot be unpacked: %w; expected a whole file", err)
	}
	return data, nil
}

func long(limit int64) error {
	return fmt.Errorf("it is too long: more than %d MiB, unzipped; expected a shorter file", limit>>20)
}

// readAll reads what is probably so many bytes, and at most limit.
func readAll(r io.Reader, size, limit int64) ([]byte, error) {
	b := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead))
	_, err := b.ReadFrom(io.LimitReader(r, limit+1))
	if err == nil && int64(b.Len()) > limit {
		return nil, long(limit)
	}
	return b.Bytes(), err
}
