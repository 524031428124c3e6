package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/validation"
)

// validateFlags are the flags of decodesim validate.
type validateFlags struct {
	data       string
	scenario   string
	replay     bool
	speed      float64
	set        []string
	efficiency string
	show       string
	out        string
	json       bool
	deployment string // a scenario to check, in place of measurements
}

func newValidate(out, errOut io.Writer) *cobra.Command {
	var f validateFlags
	c := &cobra.Command{
		Use:   "validate --data FILE",
		Short: "Replay measured runs and say how far the predictions are from them",
		Long: `Simulate every run of a file of measurements as it was really run, and print predictions beside measurements: by
how much the latencies and throughputs differ, by model class, GPU, engine, mode and quality. No measured latency is read
before it is predicted, and nothing is fitted. Rows that cannot be simulated are counted with the reason.

The file is recognised by its columns or keys: tables of closed-loop sweeps, stages of inference-perf, request timings,
results of vllm bench serve, AIPerf, GuideLLM and inference-perf, a table of your own, or one with a measured value a
row (decodesim/measurements/v1; docs/validate.md has its columns): lists of requests, servers, single steps, collectives
and kernels. Results of benchmark tools say the load and not the deployment: that is --scenario, a name or a file, whose
workload the data replace, or with --replay a scenario that decodesim serve has written: its trace is the requests that
the tool sent. Of a scenario alone, validate says whether it can be simulated.`,
		Example: "  decodesim validate --data measured.csv --out accuracy\n" +
			"  decodesim validate --data vllm_bench.json --scenario my-scenario.yaml\n" +
			"  decodesim validate --data vllm_bench.json --scenario served/scenario.yaml --replay\n" +
			"  decodesim validate --data measured.csv --set pools.serve.max_num_seqs=256 --json\n" +
			"  decodesim validate --data measured.csv --show run-17 > run-17.yaml && decodesim run run-17.yaml",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && isScenario(args[0]) && f.onlySet(c) {
				f.deployment = args[0]
				return nil
			}
			if len(args) == 1 && !c.Flags().Changed("data") {
				return c.Flags().Set("data", args[0])
			}
			return onlyData(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if f.deployment != "" {
				return f.checkScenario(c.Context(), out, errOut)
			}
			if err := f.check(c); err != nil {
				return err
			}
			return f.run(c.Context(), out, errOut)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.data, "data", "", "the measurements: a CSV, JSON or JSONL `FILE`, gzip or plain")
	flags.StringVar(&f.scenario, "scenario", "",
		"deployment of runs whose data do not say it: the name of a `SCENARIO` or a YAML file")
	flags.BoolVar(&f.replay, "replay", false,
		"the trace of the scenario is the requests that were measured, as decodesim serve has recorded them")
	flags.Float64Var(&f.speed, "speed", 1, "with --replay: the --speed at which they were served")
	flags.StringArrayVar(&f.set, "set", nil,
		"`KEY=VALUE` over the scenario of every run; repeatable, such as pools.serve.max_num_seqs=64")
	flags.StringVar(&f.efficiency, "efficiency", "", "what the steps of every run achieve: a name or a YAML `FILE`")
	flags.StringVar(&f.show, "show", "",
		"print the scenario of the run with this `ID`, which decodesim run takes, and simulate nothing")
	flags.StringVar(&f.out, "out", "", "write predictions.csv, validation.json, plots and a report to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	cobra.CheckErr(c.MarkFlagFilename("data", "csv", "json", "jsonl", "gz"))
	cobra.CheckErr(c.MarkFlagFilename("efficiency", "yaml", "yml"))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	// and files
	completeNames(c, map[string][]string{"scenario": configs.ScenarioNames()}, cobra.ShellCompDirectiveDefault)
	return c
}

// isScenario tells a scenario from a file of measurements.
func isScenario(file string) bool {
	end := filepath.Ext(file)
	return end == ".yaml" || end == ".yml" || slices.Contains(configs.ScenarioNames(), file)
}

// onlySet reports whether no flag was given but --set, which a scenario takes too.
func (f *validateFlags) onlySet(c *cobra.Command) bool {
	only := true
	c.Flags().Visit(func(x *pflag.Flag) { only = only && x.Name == "set" })
	return only
}

// checkScenario says what a scenario deploys, if it is one that can be simulated: who validates a scenario means that.
func (f *validateFlags) checkScenario(ctx context.Context, out, errOut io.Writer) error {
	s, err := configs.Load(f.deployment, configs.Options{Set: f.set, Env: os.Environ()})
	if err != nil {
		return err
	}
	b, err := built(ctx, s, errOut)
	if err != nil {
		return err
	}
	defer b.Close()
	_, err = fmt.Fprintf(out, "%s can be simulated, and has no measurements to compare with\n\n%s", f.deployment,
		describe.Head(b))
	return err
}

// check refuses flags that are missing or empty, as an unset shell variable leaves them.
func (f *validateFlags) check(c *cobra.Command) error {
	if !c.Flags().Changed("data") {
		return fmt.Errorf("validate: missing --data: a file of measurements; see %s --help", c.CommandPath())
	}
	if isScenario(f.data) {
		return fmt.Errorf("validate %s: a scenario has no measurements; expected a CSV, JSON or JSONL file of them, with "+
			"--scenario %s if that is how they were made; %s %s without other flags checks the scenario", f.data, f.data,
			c.CommandPath(), f.data)
	}
	for _, flag := range []struct{ name, want string }{
		{"data", "a file of measurements"}, {"scenario", "a name or a YAML file"}, {"efficiency", "a name or a YAML file"},
		{"show", "the id of a run"},
	} {
		if x := c.Flags().Lookup(flag.name); x.Changed && x.Value.String() == "" {
			return fmt.Errorf("--%s is empty; expected %s", flag.name, flag.want)
		}
	}
	switch {
	case f.replay && f.scenario == "":
		return errors.New("--replay without --scenario: expected a scenario with a trace, such as that of decodesim serve " +
			"--out")
	case !f.replay && c.Flags().Changed("speed"):
		return fmt.Errorf("--speed %g without --replay: expected both, or neither", f.speed)
	case !(f.speed >= speedMin && f.speed <= speedMax):
		return fmt.Errorf("--speed %g: expected a number from %g to %g", f.speed, speedMin, speedMax)
	}
	return outNamed(c)
}

// run simulates the runs of a file and scores them. A directory that cannot take the results is refused before that.
func (f *validateFlags) run(ctx context.Context, out, errOut io.Writer) error {
	source, err := f.source()
	if err != nil {
		return err
	}
	file, above, err := readData(ctx, source, errOut)
	if err != nil {
		return err
	}
	if f.show != "" {
		return showRun(out, file, f.show, above)
	}
	dir, err := openOut(f.out)
	if err != nil {
		return err
	}
	defer dir.Abandon()
	v, err := f.score(ctx, errOut, source, file, above)
	if err != nil {
		return err
	}
	if dir != nil {
		if err := validation.WriteFiles(ctx, dir, v); err != nil {
			return failed(err)
		}
	}
	return f.print(out, errOut, v, dir)
}

// score predicts every value and compares it with what was measured.
func (f *validateFlags) score(ctx context.Context, errOut io.Writer, source *validation.Source, file *measured.File,
	above configs.Options) (*validation.Validation, error) {
	line := progressOn(errOut)
	say := runsDone(line, len(file.Runs))
	predictions, err := validation.PredictUnder(ctx, file.Runs, above, nil, func(done int) {
		if say != nil {
			say(float64(done))
		}
	})
	line.Clear()
	if err != nil {
		return nil, failed(err)
	}
	if err := validation.SuitsNone(predictions); err != nil {
		return nil, err
	}
	v := validation.Score(file, predictions)
	v.Version, v.Scenario, v.Set = programVersion(), f.scenario, source.Sets()
	return v, nil
}

// print writes the results to out, and where the files are: to errOut if out is for a program.
func (f *validateFlags) print(out, errOut io.Writer, v *validation.Validation, dir *output.Dir) error {
	if dir != nil {
	}
	return printed{json: f.json, files: dir.Files()}.print(out, errOut, func(w io.Writer) error {
		words := w
		if f.json {
			words = errOut
		}
		if v.Counts.Simulated == 0 {
			fmt.Fprintf(words, "Nothing could be simulated: %s\n", whySkipped(v))
		}
		if f.json {
			return text.WriteJSON(w, v)
		}
		return validation.WriteTable(w, v, colour(out))
	})
}

// whySkipped says why no row has a prediction, if that is one reason.
func whySkipped(v *validation.Validation) string {
	if len(v.Rows) > 0 && !slices.ContainsFunc(v.Rows,
		func(r validation.Row) bool { return r.Skipped != v.Rows[0].Skipped }) {
		return "every row is skipped: " + v.Rows[0].Skipped
	}
	return "every row is skipped, each for a reason given with it"
}

// decodesimVariables are those of the environment that stand above a scenario.
func decodesimVariables() []string {
	var found []string
	for _, entry := range os.Environ() {
		if strings.HasPrefix(entry, "DECODESIM_") && !strings.HasPrefix(entry, "DECODESIM_SHARED=") {
			found = append(found, entry)
		}
	}
	return found
}

// readData reads measurements, and says on a terminal how far it is.
func readData(ctx context.Context, source *validation.Source, errOut io.Writer) (*measured.File, configs.Options,
	error) {
	line := progressOn(errOut)
	defer line.Clear()
	source.Reading = hearing(line)(source.Data)
	source.Preparing = func(done, of int) {
		line.Set(progress.Work{What: "preparing", Done: float64(done), Of: float64(of), Unit: "run"})
	}
	var above configs.Options
	file, err := awaited(ctx, func() (file *measured.File, err error) {
		file, above, err = source.Read()
		return file, err
	})
	if err != nil {
		return nil, configs.Options{}, err
	}
	return file, above, nil
}

// source is the data of the flags.
func (f *validateFlags) source() (*validation.Source, error) {
	shared, err := sharedFolder()
	return &validation.Source{
		Data: f.data, Shared: shared, Scenario: f.scenario, Set: f.set, Env: decodesimVariables(), Efficiency: f.efficiency,
		Replay: f.replay, Speed: f.speed,
	}, err
}

// showRun prints the scenario of a run.
func showRun(out io.Writer, file *measured.File, id string, above configs.Options) error {
	s, err := validation.ScenarioOf(file, id, above)
	if err != nil {
		return err
	}
	if _, err := out.Write(s.YAML()); err != nil {
		return failed(err)
	}
	return nil
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
		return "", fmt.Errorf(
			"DECODESIM_SHARED=%s: no such directory; expected the folder of shared data, or the variable unset", dir)
	}
	return dir, nil
}

// onlyData refuses arguments: the files are named by --data.
func onlyData(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		flag := "--data"
		if extension := filepath.Ext(args[0]); extension == ".yaml" || extension == ".yml" {
			flag = "--scenario"
		}
		return fmt.Errorf("%s: %q is one argument too many; expected only flags, such as %s %s", c.Name(), args[0], flag,
			args[0])
	}
	return nil
}
