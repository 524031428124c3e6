package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/formats"
	"github.com/decodesim/decodesim/internal/validation"
)

// onlyData refuses arguments: the files are named by --data.
func onlyData(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s: %q is one argument too many; expected only flags, such as --data %s", c.Name(), args[0], args[0])
	}
	return nil
}

// sets are the values that stand above every scenario.
func (f *validateFlags) sets() []string {
	if f.efficiency == "" {
		return f.set
	}
	return append(slices.Clone(f.set), "pools.0.efficiency="+f.efficiency)
}

// read reads the data, on their deployment, and what stands above their scenarios.
func (f *validateFlags) read() (*measured.File, configs.Options, error) {
	above := configs.Options{Set: f.sets(), Env: decodesimVariables()}
	shared, err := sharedFolder()
	if err != nil {
		return nil, above, err
	}
	file, err := formats.Read(f.data, shared)
	if err != nil {
		return nil, above, err
	}
	if f.efficiency != "" && !slices.Contains(catalog.EfficiencyNames(), f.efficiency) {
		if _, err := catalog.LoadEfficiency(f.efficiency); err != nil {
			return nil, above, err
		}
	}
	if f.scenario != "" {
		deployed := slices.ContainsFunc(file.Runs, func(r measured.Run) bool { return r.Skip == "" })
		if deployed && !file.Takes() {
			return nil, above, fmt.Errorf("--scenario %q: the runs of %s say their own deployments; expected no scenario, but --set for "+
				"what is to differ", f.scenario, f.data)
		}
		if err := file.On(f.scenario); err != nil {
			return nil, above, err
		}
	}
	if err := file.Whole(); err != nil {
		return nil, above, err
	}
	return file, above, f.label(file, above)
}

// sharedFolder is where data may lie that others refer to: DECODESIM_SHARED, or a folder beside this one.
func sharedFolder() (string, error) {
	dir, beside := os.Getenv("DECODESIM_SHARED"), "../shared"
	if dir == "" {
		if at, err := os.Stat(beside); err != nil || !at.IsDir() {
			return "", nil
		}
		return beside, nil
	}
	if at, err := os.Stat(dir); err != nil || !at.IsDir() {
		return "", fmt.Errorf("DECODESIM_SHARED=%s: no such directory; expected the folder of shared data, or the variable unset", dir)
	}
	return dir, nil
}

// label fills in the labels of runs that were put on a scenario. What stands above the scenarios and suits none of them is
// an error; runs that it does not suit are skipped with the reason if it suits others.
func (f *validateFlags) label(file *measured.File, above configs.Options) error {
	var refused error
	loads := false
	for i := range file.Runs {
		run := &file.Runs[i]
		if run.Skip != "" || run.Over == "" && (loads || len(above.Set)+len(above.Env) == 0) {
			continue
		}
		name := nameOfRun(run)
		if f.scenario != "" && run.Over != "" {
			name = f.scenario // whose lines the text has kept
		}
		s, err := configs.Read(name, []byte(run.Scenario), above)
		if err != nil {
			refused = firstOf(refused, err)
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

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// suitsNone is an error if a flag or a variable makes every run impossible that was not before.
func suitsNone(predictions []validation.Prediction) error {
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

// showRun prints the scenario of a run, complete: why a number is what it is.
func showRun(out io.Writer, file *measured.File, id string, above configs.Options) error {
	i := slices.IndexFunc(file.Runs, func(r measured.Run) bool {
		return r.ID == id || slices.ContainsFunc(r.Rows, func(row measured.Row) bool { return row.ID == id })
	})
	if i < 0 {
		return fmt.Errorf("--show %q: no such run in %s; have %s", id, file.Path, someRuns(file))
	}
	run := &file.Runs[i]
	if run.Skip != "" {
		return fmt.Errorf("--show %q: the run is not simulated: %s", id, run.Skip)
	}
	s, err := configs.Read(nameOfRun(run), []byte(run.Scenario), above)
	if err != nil {
		return err
	}
	if _, err := out.Write(s.YAML()); err != nil {
		return failed(err)
	}
	return nil
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
