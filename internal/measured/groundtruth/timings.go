package groundtruth

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
)

// timings are runs of vLLM with the times of every request, in three files that belong together: what each run was set
// up with, a line per request, and a line per second of what the server held. Any of the three names the runs; the
// others lie beside it or in the shared folder and are found by their keys. Each run replays a trace, which is sought
// in the same folders.
var timings = datafile.Schema{
	Name: "request timings",
	About: "request timings (JSON lines with run, i, queued_s, first_token_s, last_token_s; or their runs with run, " +
		"model, system, workload; or CSV with run, t, running, waiting)",
	Columns: seriesColumns,
	Is:      func(s *datafile.Source) bool { return timingPart(s) != noPart },
	Read:    readTimings,
}

// seriesColumns are those of the line per second.
var seriesColumns = []string{"run", "t", "running", "waiting"}

// part is one of the files.
type part uint8

const (
	noPart part = iota
	runsPart
	requestsPart
	seriesPart
)

// timingPart says which of the files s is.
func timingPart(s *datafile.Source) part {
	switch {
	case s.Table != nil && s.Table.HasAll(seriesColumns):
		return seriesPart
	case len(s.JSON) == 0:
		return noPart
	}
	return objectPart(s.JSON[0])
}

func objectPart(o datafile.Object) part {
	switch {
	case o.Has("run", "i", "queued_s", "first_token_s", "last_token_s", "output_tokens"):
		return requestsPart
	case o.Has("run", "model", "system", "workload"):
		return runsPart
	}
	return noPart
}

// timingsNotes are what is assumed of every run.
var timingsNotes = []string{
	"times count from when the server queued the request, a few hundredths of a second after the client sent it",
	"a run that does not say how many KV blocks it had takes the number of one of the same deployment",
}

func readTimings(s *datafile.Source, f *measured.File) error {
	f.Notes = append(f.Notes, timingsNotes...)
	own := timingPart(s)
	runs, err := timingLines(s, own, runsPart)
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return fmt.Errorf("%s: no file beside it says how its runs were set up; expected JSON lines with run, model, "+
			"system, workload, such as D_runs.jsonl", s.Path)
	}
	requests, err := timingLines(s, own, requestsPart)
	if err != nil {
		return err
	}
	named := runsOf(s.JSON)
	if own == seriesPart {
		named = distinctIn(s.Table, "run")
		f.Notes = append(f.Notes, fmt.Sprintf("%d samples per second of what the servers held are no latencies: not compared",
			len(s.Table.Rows)))
	}
	t := timingReader{source: s, runs: runs, requests: requests}
	return t.read(f, named)
}

// timingLines returns the lines of one kind: those of the given file if it is of this kind, then those of runs that no
// file before has, in order of the files.
func timingLines(s *datafile.Source, own, want part) ([]datafile.Object, error) {
	var lines []datafile.Object
	if own == want {
		lines = s.JSON
	}
	for _, path := range s.Neighbours(".jsonl") {
		more, err := linesOfPart(path, want)
		if err != nil {
			return nil, err
		}
		known := runsOf(lines)
		for _, o := range more {
			if !slices.Contains(known, o.Text("run")) {
				lines = append(lines, o)
			}
		}
	}
	for _, o := range lines {
		if o.Text("run") == "" {
			o.Fail("run", o.Fields["run"], "the name of a run")
			return nil, o.Origin.Err
		}
	}
	return lines, nil
}

// linesOfPart returns the lines of a file of one kind, which its first line tells; of another, none.
func linesOfPart(path string, want part) ([]datafile.Object, error) {
	data, err := datafile.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("data file %q cannot be read: %w", path, err)
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	head, err := datafile.ReadDocuments(path, line, nil)
	if err != nil || len(head) == 0 || objectPart(head[0]) != want {
		return nil, nil // no part of these data, sound or not
	}
	return datafile.ReadDocuments(path, data, nil)
}

// runsOf returns the names of the runs of lines, in order.
func runsOf(lines []datafile.Object) []string {
	return distinct(len(lines), func(i int) string { return lines[i].Text("run") })
}

// distinctIn returns the values of a column, in order.
func distinctIn(t *datafile.Table, column string) []string {
	return distinct(len(t.Rows), func(i int) string { return t.Record(i).Text(column) })
}

func distinct(n int, at func(int) string) []string {
	var names []string
	seen := map[string]bool{}
	for i := range n {
		if name := at(i); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}
