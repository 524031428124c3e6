package traces

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"
)

// input is a file that can be read more than once, plain or gzip as its first bytes say.
type input struct {
	name  string
	file  io.ReadSeeker
	size  int64     // of the file, in bytes; 0: it is none
	close io.Closer // nil: not ours to close
	raw   *bufio.Reader
	zip   *gzip.Reader
	text  *bufio.Reader
}

// openInput opens path, unless it cannot be read twice. It examines path first: opening a pipe waits for a writer.
func openInput(path string) (*input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("workloads: %w", err)
	}
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("workloads: %s is a directory; accepted: a file", path)
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0:
		return nil, unseekable(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("workloads: %w", err)
	}
	// What has no length and takes a deadline calls itself regular, and is waited for as a pipe is: /proc/kmsg.
	awaited := info.Size() == 0 && f.SetReadDeadline(time.Time{}) == nil
	if _, err := f.Seek(0, io.SeekStart); err != nil || awaited {
		f.Close()
		return nil, unseekable(path)
	}
	return &input{name: path, file: f, size: info.Size(), close: f}, nil
}

func unseekable(path string) error {
	return fmt.Errorf("workloads: %s is a pipe or device that can be read only once, and a trace is read twice; "+
		"accepted: a file", path)
}

// observed is a file that reports how much of it has been read.
type observed struct {
	io.ReadSeeker
	done, of int64
	report   Reading // nil: nobody hears of it any more
}

func (t *observed) Read(b []byte) (int, error) {
	if t.report == nil {
		return t.ReadSeeker.Read(b)
	}
	n, err := t.ReadSeeker.Read(b)
	t.done += int64(n)
	if ended := t.report(min(t.done, t.of), t.of); ended != nil {
		return 0, ended
	}
	return n, err
}

// observe has it reported how much of the file has been read, of so many passes over it.
func (in *input) observe(reading Reading, passes int64) {
	if reading != nil {
		in.file = &observed{ReadSeeker: in.file, of: in.size * passes, report: reading}
	}
}

// unobserve ends what observe began.
func (in *input) unobserve() {
	if t, ok := in.file.(*observed); ok {
		t.report = nil
	}
}

// rewind returns the text from its start.
func (in *input) rewind() (*lines, error) {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("workloads: %s: %w", in.name, err)
	}
	if in.raw == nil {
		in.raw = bufio.NewReaderSize(in.file, bufferSize)
	} else {
		in.raw.Reset(in.file)
	}
	magic, err := in.raw.Peek(2)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("workloads: %s: %w", in.name, err)
	}
	in.text = in.raw
	if string(magic) == "\x1f\x8b" {
		if err := in.unzip(); err != nil {
			return nil, fmt.Errorf("workloads: %s: %s", in.name, reason(err))
		}
	}
	return &lines{name: in.name, in: in.text}, in.sniff()
}

func (in *input) unzip() (err error) {
	if in.zip == nil {
		in.zip, err = gzip.NewReader(in.raw)
	} else {
		err = in.zip.Reset(in.raw)
	}
	if err == nil {
		in.text = bufio.NewReaderSize(in.zip, bufferSize)
	}
	return err
}

// sniff refuses what is not text and drops a byte order mark.
func (in *input) sniff() error {
	head, err := in.text.Peek(4096)
	if err != nil && err != io.EOF {
		return fmt.Errorf("workloads: %s: %s", in.name, reason(err))
	}
	if len(bytes.TrimSpace(head)) == 0 && err == io.EOF {
		return fmt.Errorf("workloads: %s is empty; accepted: at least one request", in.name)
	}
	if i := strange(head, err == io.EOF); i >= 0 {
		return fmt.Errorf("workloads: %s is not text: its byte %d is %#02x; accepted: UTF-8 CSV or JSON lines, plain or gzip",
			in.name, i, head[i])
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		_, err := in.text.Discard(3)
		return err
	}
	return nil
}

// strange returns the index of the first byte that no text has; −1: none. At the end of b a character may be cut unless
// the text ends there.
func strange(b []byte, ends bool) int {
	for i := 0; i < len(b); {
		if !ends && !utf8.FullRune(b[i:]) {
			return -1
		}
		c, n := utf8.DecodeRune(b[i:])
		if c == 0 || c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// Close closes the file.
func (in *input) Close() error {
	if in.close == nil {
		return nil
	}
	return in.close.Close()
}
