package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/text"
)

// calibrateFlags are the flags of decodesim calibrate.
type calibrateFlags struct {
	data     []string
	scenario string
	set      []string
	out      string
	json     bool
}

func newCalibrate(out, errOut io.Writer) *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate --data FILE",
		Short: "Fit what a deployment achieves to measurements of it",
		Long: `Fit efficiencies to measured runs of one GPU and engine, from what is built in for them: a few points already help.
Prints each constant before and after and how much the data say of it, the errors on the data and on each run predicted
from the others alone, what to measure to know more, and runs that beat the bound of the data sheet. --out writes a file
that a pool's efficiency takes.

The data are what decodesim validate reads, with --scenario for the deployment where they do not say it.`,
		Example: "  decodesim calibrate --data measured.csv --scenario my-scenario.yaml --out my-efficiency.yaml\n" +
			"  decodesim run my-scenario.yaml --set pools.serve.efficiency=my-efficiency.yaml",
		Args: onlyData,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			return f.run(c.Context(), out, errOut)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.data, "data", nil, "measurements: a CSV, JSON or JSONL `FILE`, gzip or plain; repeatable")
	flags.StringVar(&f.scenario, "scenario", "",
		"deployment of runs whose data do not say it: the name of a `SCENARIO` or a YAML file")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` over the scenario of every run; repeatable")
	flags.StringVar(&f.out, "out", "", "write the efficiencies to this YAML `FILE`")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	cobra.CheckErr(c.MarkFlagFilename("data", "csv", "json", "jsonl"))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	// and files
	completeNames(c, map[string][]string{"scenario": configs.ScenarioNames()}, cobra.ShellCompDirectiveDefault)
	return c
}

// check refuses flags that are missing, empty, or at odds.
func (f *calibrateFlags) check(c *cobra.Command) error {
	if len(f.data) == 0 {
		return fmt.Errorf("calibrate: missing --data: a file of measurements; see %s --help", c.CommandPath())
	}
	for i, path := range f.data {
		switch {
		case path == "":
			return errors.New("--data is empty; expected a file of measurements")
		case slices.Contains(f.data[:i], path):
			return fmt.Errorf("--data %q is given twice; expected each file once", path)
		}
	}
	for _, name := range []string{"scenario", "out"} {
		if x := c.Flags().Lookup(name); x.Changed && x.Value.String() == "" {
			return fmt.Errorf("--%s is empty; see %s --help", name, c.CommandPath())
		}
	}
	return nil
}

func (f *calibrateFlags) run(ctx context.Context, out, errOut io.Writer) error {
	files, above, err := f.read(ctx, errOut)
	if err != nil {
		return err
	}
	return f.fit(ctx, out, errOut, files, above)
}

// read reads data, each as validate does.
func (f *calibrateFlags) read(ctx context.Context, errOut io.Writer) (files []*measured.File, above configs.Options,
	err error) {
	for _, path := range f.data {
		v := validateFlags{data: path, scenario: f.scenario, set: f.set}
		source, err := v.source()
		if err != nil {
			return nil, above, err
		}
		file, options, err := readData(ctx, source, errOut)
		if err != nil {
			return nil, above, err
		}
		files, above = append(files, file), options
	}
	return files, above, nil
}

// fit fits to the user's own runs. A file that cannot take the result is refused before that.
func (f *calibrateFlags) fit(ctx context.Context, out, errOut io.Writer, files []*measured.File,
	above configs.Options) error {
	var file *calibration.File
	if f.out != "" {
		var err error
		file, err = calibration.OpenFile(ctx, f.out)
		if err != nil {
			return err
		}
		defer file.Abandon()
	}
	line := progressOn(errOut)
	runs := 0
	for _, f := range files {
		runs += len(f.Runs)
	}
	say := runsDone(line, runs*calibration.OwnRounds)
	c, err := calibration.Own(ctx, files, above, func(round, done int) {
		if say != nil {
			say(float64(round*runs + done))
		}
	})
	line.Clear()
	if err != nil {
		return err
	}
	c.Version, c.Data = programVersion(), f.data
	c.Scenario, c.Set = f.scenario, f.set
	if file != nil {
		if err := file.Write(c); err != nil {
			return failed(err)
		}
	}
	return f.print(out, errOut, c)
}

// print writes the result to out, and where the file is: to errOut if out is for a program.
func (f *calibrateFlags) print(out, errOut io.Writer, c *calibration.Calibration) error {
	var files []string
	if f.out != "" {
		files = []string{f.out}
	}
	return printed{json: f.json, files: files}.print(out, errOut, func(w io.Writer) error {
		if f.json {
			return text.WriteJSON(w, c)
		}
		return calibration.WriteTable(w, c, colour(out))
	})
}
