package chrometrace

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
)

// traceFile is the file of --trace: whole, or not there.
type traceFile struct {
	path   string
	window Window
	file   *output.File
	zip    *gzip.Writer // on file, where the name ends in .gz; else nil
	trace  *Trace
}

// DefaultWindow is what of a run is traced unless something else is asked for.
const DefaultWindow = "0s:10s"

// OpenFile prepares the file that --trace names, which may replace a trace; nil: none.
func OpenFile(ctx context.Context, path, window string) (*traceFile, error) {
	if path == "" {
		return nil, nil
	}
	w, err := parseWindow(window)
	if err != nil {
		return nil, err
	}
	file, err := output.OpenFile(ctx, path, isTrace)
	if err != nil {
		return nil, fmt.Errorf("--trace %q: %w", path, err)
	}
	f := &traceFile{path: path, window: w, file: file}
	if strings.HasSuffix(path, ".gz") {
		f.zip = gzip.NewWriter(file)
	}
	return f, nil
}

// isTrace says whether a file begins as those that this package writes, zipped or not.
func isTrace(r io.Reader) bool {
	start := bufio.NewReader(r)
	if magic, _ := start.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(start)
		if err != nil {
			return false
		}
		start = bufio.NewReader(unzipped)
	}
	begins := make([]byte, len(head))
	_, err := io.ReadFull(start, begins)
	return err == nil && string(begins) == head
}

// parseWindow reads FROM:TO, such as 10s:12s.
func parseWindow(said string) (w Window, err error) {
	from, to, ok := strings.Cut(said, ":")
	a, errFrom := time.ParseDuration(from)
	b, errTo := time.ParseDuration(to)
	if !ok || errFrom != nil || errTo != nil || a < 0 || b <= a || b.Seconds() > sim.HorizonS {
		return w, fmt.Errorf("--trace-window %q is no stretch of a run; expected its start and its end, such as 10s:12s",
			said)
	}
	return Window{From: sim.Time(a.Nanoseconds()) * 1000, To: sim.Time(b.Nanoseconds()) * 1000}, nil
}

// Observe implements run.Observer: the trace stands in front of the sink.
func (f *traceFile) Observe(c *sim.Config) {
	var to io.Writer = f.file
	if f.zip != nil {
		to = f.zip
	}
	f.trace = New(c.Sink.(Recorder), f.window, to)
	f.trace.Watch(c)
}

// Begin implements run.Observer.
func (f *traceFile) Begin(c *sim.Cluster) { f.trace.Begin(c) }

// Write completes the file, and says on talk what is in it.
func (f *traceFile) Write(talk io.Writer, s *configs.Scenario, version string) error {
	n, full, err := f.trace.End(map[string]string{
		"scenario": s.Name, "seed": strconv.FormatUint(s.Seed, 10), "version": version,
		"window": fmt.Sprintf("%v to %v s", f.window.From.Seconds(), f.window.To.Seconds()),
	})
	if err == nil && f.zip != nil {
		err = f.zip.Close()
	}
	if err == nil {
		err = f.file.Keep()
	}
	if err != nil {
		return fmt.Errorf("--trace %s: %w", f.path, err)
	}
	fmt.Fprintf(talk, "trace: %d events from %v s to %v s in %s; open it at ui.perfetto.dev\n", n, f.window.From.Seconds(),
		f.window.To.Seconds(), inputs.Escaped(f.path))
	if f.trace.Until() == 0 {
		fmt.Fprintln(
			talk, "trace: nothing happens in that window; the run may be over by then, and another --trace-window show more")
	}
	if full {
		fmt.Fprintf(talk, "trace: it holds no more than %d events, and ends at %s s; a shorter --trace-window shows all\n",
			EventsMax,
			text.Short(f.trace.Until().Seconds()))
	}
	return nil
}

// Abandon removes what has not been completed.
func (f *traceFile) Abandon() { f.file.Abandon() }
