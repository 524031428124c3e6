package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/cmd/internal/calibrate"
	"github.com/decodesim/decodesim/cmd/internal/measured"
	"github.com/decodesim/decodesim/cmd/internal/report"
	"github.com/decodesim/decodesim/configs"
)

// calibrateFlags are the flags of decodesim calibrate.
type calibrateFlags struct {
	data     []string
	scenario string
	set      []string
	out      string
	catalog  string
}

func newCalibrate(out, errOut io.Writer) *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate --data FILE",
		Short: "Fit what a deployment achieves to measurements of it",
		Long: `Fit efficiencies to measured runs of one GPU and engine, from what is built in for them: a few points already help.
Prints each constant before and after and how much the data say of it, the errors on the data and on each run predicted
from the others alone, and runs that beat the bound of the data sheet. --out leaves a file that a pool's efficiency takes.

The data are what decodesim validate reads, with --scenario for the deployment where they do not say it.`,
		Example: "  decodesim calibrate --data measured.csv --scenario my-scenario.yaml --out my-efficiency.yaml\n" +
			"  decodesim run my-scenario.yaml --set pools.serve.efficiency=my-efficiency.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("calibrate: %q is one argument too many; expected only flags, such as --data %s", args[0], args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(c); err != nil {
				return err
			}
			return f.run(c.Context(), out, errOut)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.data, "data", nil, "measurements: a CSV, JSON or JSONL `FILE`; repeatable")
	flags.StringVar(&f.scenario, "scenario", "", "deployment of runs whose data do not say it: the name of a `SCENARIO` or a YAML file")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` over the scenario of every run; repeatable")
	flags.StringVar(&f.out, "out", "", "write the efficiencies to this YAML `FILE`")
	flags.StringVar(&f.catalog, "catalog", "", "fit all engines and GPUs at once and rewrite the efficiencies of this `DIR`, as make calibrate does")
	cobra.CheckErr(c.MarkFlagFilename("data", "csv", "json", "jsonl"))
	cobra.CheckErr(c.MarkFlagDirname("catalog"))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	completeNames(c, map[string][]string{"scenario": configs.ScenarioNames()}, cobra.ShellCompDirectiveDefault) // and files
	return c
}

// check refuses flags that are missing, empty, or at odds.
func (f *calibrateFlags) check(c *cobra.Command) error {
	if len(f.data) == 0 {
		return fmt.Errorf("calibrate: missing --data: a file of measurements; see %s --help", c.CommandPath())
	}
	for _, name := range []string{"scenario", "out", "catalog"} {
		if x := c.Flags().Lookup(name); x.Changed && x.Value.String() == "" {
			return fmt.Errorf("--%s is empty; see %s --help", name, c.CommandPath())
		}
	}
	if f.catalog != "" && (f.out != "" || f.scenario != "" || len(f.set) > 0) {
		return errors.New("--catalog fits everything the data hold; expected no --out, --scenario or --set beside it")
	}
	return nil
}

func (f *calibrateFlags) run(ctx context.Context, out, errOut io.Writer) error {
	files, above, err := f.read()
	if err != nil {
		return err
	}
	if f.catalog != "" {
		return f.rewrite(ctx, out, errOut, files)
	}
	var file *calibrationFile
	if f.out != "" {
		if file, err = openCalibration(f.out); err != nil {
			return err
		}
		defer file.abandon()
	}
	c, err := calibrate.Own(ctx, files, above, toldOfRounds(progressTo(errOut)))
	clear := progressTo(errOut)
	if clear != nil {
		fmt.Fprint(clear, "\r\x1b[K")
	}
	switch {
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case err != nil:
		return err
	}
	if file != nil {
		if err := file.write(c); err != nil {
			return failure{err}
		}
	}
	var text bytes.Buffer
	if err := report.Calibration(&text, c, report.Options{Colour: colour(out)}); err != nil {
		return failure{err}
	}
	if file != nil {
		fmt.Fprintf(&text, "\n%s\n", f.out)
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return failure{err}
	}
	return nil
}

// read reads the data, each as validate does.
func (f *calibrateFlags) read() (files []*measured.File, above configs.Options, err error) {
	for _, path := range f.data {
		v := validateFlags{data: path, scenario: f.scenario, set: f.set}
		file, options, err := v.read()
		if err != nil {
			return nil, above, err
		}
		files, above = append(files, file), options
	}
	return files, above, nil
}

// rewrite fits the catalog and replaces its files.
func (f *calibrateFlags) rewrite(ctx context.Context, out, errOut io.Writer, files []*measured.File) error {
	c, err := calibrate.FitCatalog(ctx, files, toldOfRounds(progressTo(errOut)))
	switch {
	case errors.Is(err, context.Canceled):
		return errInterrupted
	case err != nil:
		return err
	}
	for _, set := range c.Efficiencies() {
		path, err := replaceEfficiencies(f.catalog, &set)
		if err != nil {
			return failure{err}
		}
		fmt.Fprintln(out, path)
	}
	return nil
}

// toldOfRounds prints progress; nil: none.
func toldOfRounds(w io.Writer) func(round, done int) {
	if w == nil {
		return nil
	}
	start := time.Now()
	return func(round, done int) {
		fmt.Fprintf(w, "\r\x1b[Kround %d: %d runs simulated, fitting (%.0f s)", round+1, done, time.Since(start).Seconds())
	}
}
