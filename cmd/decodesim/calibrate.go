package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/report"
)

// calibrateFlags are the flags of decodesim calibrate.
type calibrateFlags struct {
	data     []string
	scenario string
	set      []string
	out      string
	json     bool
	catalog  string
	report   string
	unfitted []string
}

func newCalibrate(out, errOut io.Writer) *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate --data FILE",
		Short: "Fit what a deployment achieves to measurements of it",
		Long: `Fit efficiencies to measured runs of one GPU and engine, from what is built in for them: a few points already help.
Prints each constant before and after and how much the data say of it, the errors on the data and on each run predicted
from the others alone, what to measure to know more, and runs that beat the bound of the data sheet. --out leaves a file
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
	flags.StringVar(&f.scenario, "scenario", "", "deployment of runs whose data do not say it: the name of a `SCENARIO` or a YAML file")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` over the scenario of every run; repeatable")
	flags.StringVar(&f.out, "out", "", "write the efficiencies to this YAML `FILE`")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	flags.StringVar(&f.catalog, "catalog", "", "fit all engines and GPUs at once and rewrite the efficiencies of this `DIR`, as make calibrate does")
	flags.StringVar(&f.report, "report", "", "say in this Markdown `FILE` how accurate that fit is, with figures beside it; without --catalog, nothing is rewritten")
	flags.StringArrayVar(&f.unfitted, "unfitted", nil, "predict these measurements for the report, but fit nothing to them: a `FILE` as of --data; repeatable")
	cobra.CheckErr(c.MarkFlagFilename("data", "csv", "json", "jsonl"))
	cobra.CheckErr(c.MarkFlagFilename("unfitted", "csv", "json", "jsonl"))
	cobra.CheckErr(c.MarkFlagFilename("report", "md"))
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
	for i, path := range f.data {
		switch {
		case path == "":
			return errors.New("--data is empty; expected a file of measurements")
		case slices.Contains(f.data[:i], path):
			return fmt.Errorf("--data %q is given twice; expected each file once", path)
		}
	}
	for _, name := range []string{"scenario", "out", "catalog", "report"} {
		if x := c.Flags().Lookup(name); x.Changed && x.Value.String() == "" {
			return fmt.Errorf("--%s is empty; see %s --help", name, c.CommandPath())
		}
	}
	if f.global() && (f.out != "" || f.scenario != "" || len(f.set) > 0 || f.json) {
		return errors.New("--catalog and --report are of a fit to everything the data hold; expected no --out, --scenario, --set or --json beside them")
	}
	if len(f.unfitted) > 0 && f.report == "" {
		return errors.New("--unfitted is for the page that --report names; expected --report FILE beside it")
	}
	return f.checkPlaces()
}

// checkPlaces refuses, before a fit that takes its time, places where nothing can be written.
func (f *calibrateFlags) checkPlaces() error {
	if at, err := os.Stat(f.catalog); f.catalog != "" && (err != nil || !at.IsDir()) {
		return fmt.Errorf("--catalog %q: no such directory; expected the one of the efficiencies to rewrite", f.catalog)
	}
	dir := filepath.Dir(f.report)
	if at, err := os.Stat(dir); f.report != "" && (err != nil || !at.IsDir()) {
		return fmt.Errorf("--report %q: no such directory as %q; expected a file in one that exists", f.report, dir)
	}
	return nil
}

func (f *calibrateFlags) run(ctx context.Context, out, errOut io.Writer) error {
	files, above, err := f.read(f.data)
	if err != nil {
		return err
	}
	if f.global() {
		return f.rewrite(ctx, out, errOut, files)
	}
	return f.fit(ctx, out, errOut, files, above)
}

// global reports whether all engines and GPUs are fitted at once.
func (f *calibrateFlags) global() bool { return f.catalog != "" || f.report != "" }

// read reads data, each as validate does.
func (f *calibrateFlags) read(paths []string) (files []*measured.File, above configs.Options, err error) {
	for _, path := range paths {
		v := validateFlags{data: path, scenario: f.scenario, set: f.set}
		file, options, err := v.read()
		if err != nil {
			return nil, above, err
		}
		files, above = append(files, file), options
	}
	return files, above, nil
}

// rewrite fits the catalog, and replaces its files and the page about it.
func (f *calibrateFlags) rewrite(ctx context.Context, out, errOut io.Writer, files []*measured.File) error {
	unfitted, _, err := f.read(f.unfitted)
	if err != nil {
		return err
	}
	c, err := calibration.FitCatalog(ctx, files, toldOfRounds(progressTo(errOut)))
	clearProgress(errOut)
	if err != nil {
		return interruptedOr(err)
	}
	sets := calibration.Sets(c.Efficiencies())
	var a *report.Accuracy
	if f.report != "" {
		if a, err = accuracyOf(ctx, c, sets, files, unfitted); err != nil {
			return interruptedOr(err)
		}
	}
	var written []string
	if f.catalog != "" {
		if written, err = replaceCatalog(f.catalog, sets); err != nil {
			return failure{err}
		}
	}
	if a != nil {
		more, err := writeAccuracy(f.report, a)
		if err != nil {
			return failure{err}
		}
		written = append(written, more...)
	}
	for _, path := range written {
		fmt.Fprintln(out, path)
	}
	return nil
}

func interruptedOr(err error) error {
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}

// toldOfRounds prints progress, at most five times a second; nil: none.
func toldOfRounds(w io.Writer) func(round, done int) {
	if w == nil {
		return nil
	}
	start := time.Now()
	printed := start
	return func(round, done int) {
		if time.Since(printed) > 200*time.Millisecond {
			printed = time.Now()
			fmt.Fprintf(w, "\r\x1b[Kround %d: %d runs simulated (%.0f s)", round+1, done, time.Since(start).Seconds())
		}
	}
}
