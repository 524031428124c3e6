package traces

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// lines reads a text line by line without copying lines that fit its buffer.
type lines struct {
	name   string
	in     *bufio.Reader
	number int    // of the last line, from 1
	long   []byte // a line longer than the buffer
}

// lineMax bounds the memory of a line: a million block ids.
const lineMax = 16 << 20

// bufferSize holds several rows with block ids.
const bufferSize = 64 << 10

// next returns the next line without its end, valid until the call after; io.EOF after the last.
func (l *lines) next() ([]byte, error) {
	b, err := l.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		b, err = l.longLine(b)
	}
	if len(b) == 0 && err == io.EOF {
		return nil, io.EOF
	}
	l.number++
	if err != nil && err != io.EOF {
		return nil, l.fail("%s", reason(err))
	}
	b = bytes.TrimSuffix(b, []byte{'\n'})
	return bytes.TrimSuffix(b, []byte{'\r'}), nil
}

// longLine gathers a line that exceeds the buffer.
func (l *lines) longLine(b []byte) ([]byte, error) {
	l.long = append(l.long[:0], b...)
	for {
		b, err := l.in.ReadSlice('\n')
		l.long = append(l.long, b...)
		if len(l.long) > lineMax {
			return nil, fmt.Errorf("the line is longer than %d bytes; accepted: shorter lines", lineMax)
		}
		if err != bufio.ErrBufferFull {
			return l.long, err
		}
	}
}

// fail returns an error about the last line.
func (l *lines) fail(text string, args ...any) error {
	return fmt.Errorf("workloads: %s:%d: %s", l.name, l.number, fmt.Sprintf(text, args...))
}

// reason says what a reading error means for the file.
func reason(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the gzip data end too early; accepted: a whole file"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return "the gzip data are damaged (" + err.Error() + "); accepted: a whole file"
	}
	return err.Error()
}
