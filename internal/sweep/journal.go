package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// journalName is the file in which rows stand, in the order in which their runs ended, until the sweep is whole.
const journalName = "sweep.journal"

// schemaJournal names its format: a line for the sweep, and then one a row.
const schemaJournal = "decodesim/sweep-journal/v1"

// opening is the first line of a journal.
type opening struct {
	Schema string `json:"schema"`
	Print  string `json:"print"` // of the sweep
	Shard  Shard  `json:"shard"`
}

// journal holds the rows of a sweep on disk; in memory it has only where they begin. It is safe for concurrent use.
type journal struct {
	path string

	mu    sync.Mutex
	file  *os.File
	end   int64
	begin []int64 // by run of the shard, bytes; 0: it has no row
	runs  int     // with a row
}

// errOther says that a directory has the journal of something else.
var errOther = errors.New("it holds an unfinished sweep that is another one, or of another version; name another " +
	"directory or remove it")

// openJournal opens the journal in a directory, or makes one. Rows that are there need not be run again; what a killed
// process left half written is cut off.
func openJournal(dir string, is opening, runs int) (*journal, error) {
	path := filepath.Join(dir, journalName)
	if at, err := os.Lstat(path); err == nil && !at.Mode().IsRegular() {
		return nil, fmt.Errorf("output %q: %w", dir, errOther)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	j := &journal{path: path, file: f, begin: make([]int64, runs)}
	if err := j.recover(is); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("output %q: %w", dir, err)
	}
	return j, nil
}

// recover reads what the journal has, and begins one that has nothing. A file that does not begin as the journal of
// this sweep does is somebody else's and stays as it is.
func (j *journal) recover(is opening) error {
	first, err := json.Marshal(is)
	if err != nil {
		return err
	}
	first = append(first, '\n')
	head := make([]byte, len(first))
	n, err := io.ReadFull(j.file, head)
	switch whole := err == nil; {
	case !whole && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case !bytes.HasPrefix(first, head[:n]):
		return errOther
	case !whole: // nothing, or less than a line
		return j.write(is)
	}
	r := bufio.NewReaderSize(j.file, 1<<16)
	for j.end = int64(len(first)); ; {
		line, err := readLine(r, rowMax)
		if errors.Is(err, io.EOF) {
			return j.file.Truncate(j.end)
		}
		if err != nil {
			return fmt.Errorf("%s is damaged at byte %d: %w; remove it", journalName, j.end, err)
		}
		var row Row
		place, of := 0, false
		if err := json.Unmarshal(line, &row); err == nil && row.Run >= 0 {
			place, of = is.Shard.place(row.Run)
		}
		if !of || place >= len(j.begin) {
			return fmt.Errorf("%s is damaged at byte %d; remove it", journalName, j.end)
		}
		j.note(place, j.end)
		j.end += int64(len(line))
	}
}

// rowMax bounds the line of a row, in bytes: it has a few hundred numbers, and names that are bounded.
const rowMax = 16 << 20

// readLine reads a line of at most so many bytes with its end. What is less than a line is io.EOF.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most:
			return nil, fmt.Errorf("a line has more than %d MiB", most>>20)
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// note says where the row of a run begins.
func (j *journal) note(place int, begin int64) {
	if j.begin[place] == 0 {
		j.runs++
	}
	j.begin[place] = begin
}

// write appends a line by one call, so that a process that is killed leaves a whole line or the beginning of one.
func (j *journal) write(x any) error {
	line, err := json.Marshal(x)
	if err != nil {
		return err
	}
	n, err := j.file.WriteAt(append(line, '\n'), j.end)
	if err == nil {
		j.end += int64(n)
	}
	return err
}

// has reports whether a run has its row.
func (j *journal) has(place int) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.begin[place] > 0
}

// add appends the row of a run that has none.
func (j *journal) add(place int, r Row) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	begin := j.end
	if err := j.write(r); err != nil {
		return fmt.Errorf("%s cannot be written: %w", journalName, err)
	}
	j.note(place, begin)
	return nil
}

// row reads the row of a run.
func (j *journal) row(place int) (r Row, err error) {
	if j.begin[place] == 0 {
		return r, fmt.Errorf("sweep: run %d has no row", place)
	}
	line, err := bufio.NewReader(io.NewSectionReader(j.file, j.begin[place], j.end-j.begin[place])).ReadBytes('\n')
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(bytes.TrimSpace(line), &r)
}

// close closes the file, which stays.
func (j *journal) close() { _ = j.file.Close() }

// remove removes the journal of a sweep that is whole.
func (j *journal) remove() error { return errors.Join(j.file.Close(), os.Remove(j.path)) }
