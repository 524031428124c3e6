package measured

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// longRuns are the single requests of profiled closed loops, in the order they were sent: lengths and TTFT. How a run was
// set up stands in a table of profiled runs in the same folder, which is found by its columns.
var longRuns = schema{
	name:  "requests of profiled closed loops",
	about: "requests of profiled closed loops (JSON lines with run, i, input_tokens, output_tokens, ttft_s; the table of profiled runs beside it)",
	is: func(s *source) bool {
		return len(s.json) > 0 && s.json[0].has("run", "i", "input_tokens", "output_tokens", "ttft_s")
	},
	read: readLongRuns,
}

func readLongRuns(s *source, f *File) error {
	setups, err := profiledRuns(s)
	if err != nil {
		return err
	}
	at := map[string]int{}
	var lengths [][][2]int // of the requests of each run, in order
	for _, o := range s.json {
		id := o.text("run")
		if id == "" {
			o.fail("run", o.fields["run"], "the id of a run")
		}
		k, known := at[id]
		if !known {
			k = len(f.Runs)
			at[id] = k
			f.Runs, lengths = append(f.Runs, longRun(id, setups)), append(lengths, nil)
		}
		row, length := longRunRow(o, id, len(lengths[k]))
		if o.origin.err != nil {
			return o.origin.err
		}
		f.Runs[k].Rows, lengths[k] = append(f.Runs[k].Rows, row), append(lengths[k], length)
	}
	for k := range f.Runs {
		recordedLengths(&f.Runs[k], lengths[k])
	}
	return nil
}

// longRunRow reads one request, the i-th of its run.
func longRunRow(o object, run string, i int) (Row, [2]int) {
	if n, ok := numberOf(o.fields["i"]); !ok || n != float64(i) {
		o.fail("i", o.fields["i"], fmt.Sprintf("%d, for the requests of a run are in the order they were sent", i))
	}
	const tokens = "a whole number of tokens from 1 to 1e9"
	var length [2]int
	for k, key := range []string{"input_tokens", "output_tokens"} {
		n := o.required(key, tokens)
		if length[k] = int(n); float64(length[k]) != n || n > 1e9 {
			o.fail(key, o.fields[key], tokens)
		}
	}
	ttft := 1e3 * o.required("ttft_s", "seconds above 0")
	return Row{ID: fmt.Sprintf("%s#%d", run, i), Request: i, Values: []Value{Lead(TTFT, Mean, ttft)}}, length
}

// longRun is a run as its table describes it, without what the table measured.
func longRun(id string, setups []Run) Run {
	k := slices.IndexFunc(setups, func(r Run) bool { return r.ID == id })
	if k < 0 {
		return Run{ID: id, Skip: "the table of profiled runs that describes it is not beside the data", Labels: Labels{Source: "inferencex-profiling"}}
	}
	run := setups[k]
	run.Rows = nil
	return run
}

// recordedLengths puts the lengths of the requests, in order, in place of the laws. No key of a scenario states them for a
// closed loop, so the run is skipped: prompts drawn from the law have other lengths than the request they would stand for.
func recordedLengths(run *Run, _ [][2]int) {
	if run.Skip == "" {
		run.Scenario, run.Skip = "", "a closed loop over recorded lengths, which no key of a scenario states"
	}
}

// profiledRuns returns the runs of all tables of profiled runs that go with the data.
func profiledRuns(s *source) ([]Run, error) {
	var runs []Run
	dirs := []string{s.dir()}
	if s.shared != "" {
		dirs = append(dirs, s.shared, filepath.Join(s.shared, "groundtruth"))
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a folder that is not there holds no tables
		}
		for _, e := range entries {
			if e.IsDir() || filepath.Ext(e.Name()) != ".csv" {
				continue
			}
			table, err := profiledTable(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			runs = append(runs, table...)
		}
	}
	return runs, nil
}

// profiledTable returns the runs of a table of profiled runs; none: it is another kind of file.
func profiledTable(path string) ([]Run, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("data file %q cannot be read: %w", path, err)
	}
	t, err := readTable(path, data)
	if err != nil || !isProfiled(t) {
		return nil, nil
	}
	var f File
	if err := readProfiled(&source{path: path, table: t}, &f); err != nil {
		return nil, err
	}
	return f.Runs, nil
}
