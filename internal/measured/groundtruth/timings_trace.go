package groundtruth

import (
	"fmt"
	"path/filepath"

	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/traces"
)

// replayed is the trace that a run replays.
type replayed struct {
	path     string // absolute
	requests int
}

// traceOf finds the trace of a run, by the path that its line gives, and checks that the measured requests have its
// lengths. What is missing says why the run cannot be simulated.
func traceOf(s *datafile.Source, o datafile.Object, requests []datafile.Object) (found replayed, missing string,
	err error) {
	name := o.Text("workload")
	if name == "" {
		o.Fail("workload", o.Fields["workload"], "the path of a trace")
		return found, "", o.Origin.Err
	}
	_, at, err := s.Companion(name)
	if err != nil {
		return found, "", err
	}
	if at == "" {
		return found, fmt.Sprintf("its trace %s is neither beside the data nor in the folder of shared data", name), nil
	}
	found.path, err = filepath.Abs(at)
	if err != nil {
		return found, "", err
	}
	sent, err := readTrace(found.path)
	if err != nil {
		return found, "", err
	}
	found.requests = len(sent)
	return found, "", sameLengths(found.path, sent, requests)
}

// readTrace returns the requests of a trace.
func readTrace(path string) ([]sim.Request, error) {
	t, err := traces.Open(path, traces.Options{})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	var sent []sim.Request
	for {
		var r sim.Request
		if !t.Next(&r) {
			return sent, t.Err()
		}
		sent = append(sent, r)
	}
}

// sameLengths refuses measured requests that are not those of the trace: they would be compared with others.
func sameLengths(path string, sent []sim.Request, requests []datafile.Object) error {
	for _, o := range requests {
		i := o.Count("i", 0, 0)
		if i >= len(sent) {
			o.Fail("i", o.Fields["i"], fmt.Sprintf("less than the %d requests of %s", len(sent), path))
			return o.Origin.Err
		}
		for _, length := range []struct {
			key  string
			want int32
		}{{"input_tokens", sent[i].Prompt}, {"output_tokens", sent[i].Output}} {
			if o.Count(length.key, 1, int(length.want)) != int(length.want) {
				o.Fail(length.key, o.Fields[length.key], fmt.Sprintf("%d, as request %d of %s has", length.want, i, path))
			}
		}
		if o.Origin.Err != nil {
			return o.Origin.Err
		}
	}
	return nil
}
