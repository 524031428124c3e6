package validation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/formats"
)

// Source is measurements and the deployment that they are replayed on.
type Source struct {
	Data       string   // a file
	Shared     string   // the folder of data that others refer to; empty: there is none
	Scenario   string   // deployment of runs whose data do not say it; empty: they do
	Set        []string // over the scenario of every run
	Env        []string // as of os.Environ, over it too
	Replay     bool     // the trace of Scenario is the requests that were measured, in place of the load that the data say
	Speed      float64  // simulated seconds in one of the clock of the data; 0: 1
	Efficiency string   // what the steps of every run achieve; empty: what its scenario says

	Reading   func(done, of int64) // hears how many bytes have been read; nil: nobody does
	Preparing func(done, of int)   // hears how many runs have got their scenario; nil: nobody does
}

// efficiencyAbove is how efficiencies are set above every scenario.
const efficiencyAbove = "pools.0.efficiency="

// Sets are the values that stand above every scenario.
func (f *Source) Sets() []string {
	if f.Efficiency == "" {
		return f.Set
	}
	return append(slices.Clone(f.Set), efficiencyAbove+f.Efficiency)
}

// Read reads the data, on their deployment, and what stands above their scenarios.
func (f *Source) Read() (*measured.File, configs.Options, error) {
	above := configs.Options{Set: f.Sets(), Env: f.Env}
	file, err := formats.ReadReporting(f.Data, f.Shared, f.Reading)
	if err != nil {
		return nil, above, err
	}
	if f.Efficiency != "" && !slices.Contains(catalog.EfficiencyNames(), catalog.Unreleased(f.Efficiency)) {
		if _, err := catalog.LoadEfficiency(f.Efficiency); err != nil {
			return nil, above, err
		}
	}
	if f.Scenario != "" {
		deployed := slices.ContainsFunc(file.Runs, func(r measured.Run) bool { return r.Skip == "" })
		if deployed && !file.Takes() {
			return nil, above, fmt.Errorf(
				"--scenario %q: the runs of %s say their own deployments; expected no scenario, but --set for "+
					"what is to differ", f.Scenario, f.Data)
		}
		if err := f.deploy(file, above); err != nil {
			return nil, above, err
		}
	}
	if err := file.Whole(); err != nil {
		return nil, above, err
	}
	return file, above, f.label(file, above)
}

// deploy puts the runs of file on the scenario.
func (f *Source) deploy(file *measured.File, above configs.Options) error {
	if !f.Replay {
		return file.On(f.Scenario)
	}
	s, err := configs.Load(f.Scenario, above)
	if err != nil {
		return err
	}
	if s.Workload.Trace == nil {
		return s.Errorf("workload", "has no trace; expected one with --replay, such as that of decodesim serve --out")
	}
	file.Notes = slices.Insert(file.Notes, 0, "the requests are those of the trace of "+f.Scenario+
		", in place of the load and the lengths of which other notes speak")
	return file.Replayed(f.Scenario, cmp.Or(f.Speed, 1))
}

// label fills in the labels of runs that were put on a scenario. What stands above the scenarios and suits none of them
// is an error; runs that it does not suit are skipped with the reason if it suits others.
func (f *Source) label(file *measured.File, above configs.Options) error {
	var refused error
	loads := false
	for i := range file.Runs {
		if f.Preparing != nil && i%100 == 0 {
			f.Preparing(i, len(file.Runs))
		}
		run := &file.Runs[i]
		if run.Skip != "" || run.Scenario == "" || run.Over == "" && (loads || len(above.Set)+len(above.Env) == 0) {
			continue
		}
		name := nameOfRun(run)
		if f.Scenario != "" && run.Over != "" {
			name = f.Scenario // whose lines the text has kept
		}
		s, err := configs.Read(name, []byte(run.Scenario), above)
		if err != nil {
			if refused == nil {
				refused = err
			}
			continue
		}
		loads = true
		if run.Over == "" {
			continue
		}
		if err := run.Label(s); err != nil {
			return err
		}
	}
	if loads {
		return nil
	}
	return refused
}

// SuitsNone is an error if a flag or a variable makes every run impossible that was not before.
func SuitsNone(predictions []Prediction) error {
	why := ""
	for i := range predictions {
		p := &predictions[i]
		if p.Run.Skip != "" {
			continue
		}
		if !strings.HasPrefix(p.Skip, "--set ") && !strings.HasPrefix(p.Skip, "DECODESIM_") {
			return nil
		}
		why = cmp.Or(why, p.Skip)
	}
	if why != "" {
		return errors.New(why)
	}
	return nil
}

// nameOfRun is what the scenario of a run is called.
func nameOfRun(run *measured.Run) string { return strings.ReplaceAll(run.ID, "/", "-") }

// ScenarioOf returns the scenario of a run, complete: why a number is what it is.
func ScenarioOf(file *measured.File, id string, above configs.Options) (*configs.Scenario, error) {
	i := slices.IndexFunc(file.Runs, func(r measured.Run) bool {
		return r.ID == id || slices.ContainsFunc(r.Rows, func(row measured.Row) bool { return row.ID == id })
	})
	if i < 0 {
		return nil, fmt.Errorf("--show %q: no such run in %s; valid names: %s", id, file.Path, someRuns(file))
	}
	run := &file.Runs[i]
	if run.Skip != "" {
		return nil, fmt.Errorf("--show %q: the run is not simulated: %s", id, run.Skip)
	}
	if run.Scenario == "" {
		return nil, fmt.Errorf("--show %q: a collective or a kernel by itself has no scenario", id)
	}
	return configs.Read(nameOfRun(run), []byte(run.Scenario), above)
}

// someRuns names the first runs of a file, for errors.
func someRuns(file *measured.File) string {
	const most = 5
	var names []string
	for i := range file.Runs[:min(most, len(file.Runs))] {
		names = append(names, fmt.Sprintf("%q", file.Runs[i].ID))
	}
	if rest := len(file.Runs) - most; rest > 0 {
		names = append(names, fmt.Sprintf("and %d others", rest))
	}
	return strings.Join(names, ", ")
}
