package groundtruth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// longRuns are the single requests of profiled closed loops, in the order they were sent: lengths and TTFT. How a run
// was set up stands in a table of profiled runs in the same folder, which is found by its columns.
var longRuns = datafile.Schema{
	Name: "requests of profiled closed loops",
	About: "requests of profiled closed loops (JSON lines with run, i, input_tokens, output_tokens, ttft_s; the table " +
		"of profiled runs beside it)",
	Is: func(s *datafile.Source) bool {
		return len(s.JSON) > 0 && s.JSON[0].Has("run", "i", "input_tokens", "output_tokens", "ttft_s")
	},
	Read: readLongRuns,
}

func readLongRuns(s *datafile.Source, f *measured.File) error {
	setups, notes, err := profiledRuns(s)
	if err != nil {
		return err
	}
	f.Notes = append(f.Notes, notes...)
	f.Notes = append(f.Notes, "a run has the requests that its lines list: the k-th sent has the lengths of the k-th line")
	at := map[string]int{}
	var lengths [][][2]int // of the requests of each run, in order
	for _, o := range s.JSON {
		id := o.Text("run")
		if id == "" {
			o.Fail("run", o.Fields["run"], "the id of a run")
		}
		k, known := at[id]
		if !known {
			k = len(f.Runs)
			at[id] = k
			f.Runs, lengths = append(f.Runs, longRun(id, setups)), append(lengths, nil)
		}
		row, length := longRunRow(o, id, len(lengths[k]))
		if o.Origin.Err != nil {
			return o.Origin.Err
		}
		f.Runs[k].Rows, lengths[k] = append(f.Runs[k].Rows, row), append(lengths[k], length)
	}
	for k := range f.Runs {
		recordedLengths(&f.Runs[k], lengths[k])
	}
	return nil
}

// longRunRow reads one request, the i-th of its run.
func longRunRow(o datafile.Object, run string, i int) (measured.Row, [2]int) {
	if n, ok := datafile.NumberOf(o.Fields["i"]); !ok || n != float64(i) {
		o.Fail("i", o.Fields["i"], fmt.Sprintf("%d, for the requests of a run are in the order they were sent", i))
	}
	const tokens = "a whole number of tokens from 1 to 1e9"
	var length [2]int
	for k, key := range []string{"input_tokens", "output_tokens"} {
		n := o.Required(key, tokens)
		length[k] = int(n)
		if float64(length[k]) != n || n > 1e9 {
			o.Fail(key, o.Fields[key], tokens)
		}
	}
	ttft := 1e3 * o.Required("ttft_s", "seconds above 0")
	return measured.Row{ID: fmt.Sprintf("%s#%d", run, i), Request: i, Values: []measured.Value{measured.Lead(measured.TTFT,
		measured.Mean, ttft)}}, length
}

// longRun is a run as its table describes it, without what the table measured.
func longRun(id string, setups []measured.Run) measured.Run {
	k := slices.IndexFunc(setups, func(r measured.Run) bool { return r.ID == id })
	if k < 0 {
		return measured.Run{ID: id, Skip: "the table of profiled runs that describes it is not beside the data",
			Labels: measured.Labels{Source: "inferencex-profiling"}}
	}
	run := setups[k]
	run.Rows = nil
	return run
}

// recordedLengths puts the lengths of the requests, in order, in place of the laws and of the number of requests.
func recordedLengths(run *measured.Run, lengths [][2]int) {
	switch {
	case run.Skip != "":
		return
	case len(lengths) > setup.RecordedMax:
		run.Scenario, run.Skip = "", fmt.Sprintf("more than %d requests, which no scenario lists", setup.RecordedMax)
		return
	}
	lines := slices.DeleteFunc(strings.Split(run.Scenario, "\n"), func(line string) bool {
		key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		return line == "" || slices.Contains([]string{"prompt_tokens", "output_tokens", "requests"}, key)
	})
	run.Scenario = strings.Join(append(lines, "  "+setup.RecordedLengths(lengths), ""), "\n")
}

// profiledRuns returns the runs of all tables of profiled runs that go with the data, and what is assumed of them.
func profiledRuns(s *datafile.Source) (runs []measured.Run, notes []string, err error) {
	for _, path := range s.Neighbours(".csv") {
		table, err := profiledTable(path)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, table.Runs...)
		if notes == nil {
			notes = table.Notes // those of every such table
		}
	}
	return runs, notes, nil
}

// profiledTable returns the runs of a table of profiled runs; none: it is another kind of file.
func profiledTable(path string) (f measured.File, err error) {
	data, err := datafile.ReadFile(path)
	if err != nil {
		return f, fmt.Errorf("data file %q cannot be read: %w", path, err)
	}
	t, err := datafile.ReadTable(path, data, nil)
	if err != nil || !t.HasAll(profiledColumns) {
		return f, nil
	}
	err = readProfiled(&datafile.Source{Path: path, Table: t}, &f)
	return f, err
}
