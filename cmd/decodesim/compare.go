package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/compare"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/text"
)

// compareFlags are the flags of decodesim compare.
type compareFlags struct {
	engines []string
	with    []string
	set     []string
	seed    uint64
	seeds   int
	out     string
	json    bool

	seedGiven bool
}

const (
	scenariosMax = 12   // curves that eyes tell apart
	seedsMax     = 1000 // runs of each, of which more change no interval that matters
)

func newCompare(out, errOut io.Writer) *cobra.Command {
	var f compareFlags
	c := &cobra.Command{
		Use:   "compare A B ...",
		Short: "Run scenarios on the same requests and say how they differ",
		Long: `Run two or more scenarios on the same requests (arrivals, lengths and seed) and print their metrics beside those of the
first, what differs in the scenarios, and why each tail looks so. A scenario is a built-in name or a path to a YAML file.
With --engines, one scenario is run under each engine; with --with, as it is and with each change.

Differences come with 95 % intervals, and as ~ where they may be chance. Requests are paired, so what both scenarios
suffer cancels. Of one run, TTFT, TPOT, E2E and queue have intervals from batch means, of all requests and of a class's:
requests in order of arrival are cut into 10 to 25 batches of consecutive ones, for neighbours wait for one another and
are no independent samples. With --seeds N every scenario is run under N seeds from the scenario's own, and every metric
has an interval from the N paired differences. Both use Student's t.

Requests are the same if arrivals and lengths are. In a closed loop and in conversations lengths are the same, and clients
send when their answer has come. If the workloads differ so do the requests, and the table says so.`,
		Example: "  decodesim compare chat-70b my-scenario.yaml\n" +
			"  decodesim compare --engines vllm-v0,sarathi,vllm-v1,sglang chat-8b --out engines\n" +
			"  decodesim compare chat-70b --with weights=bf16 --with 'pools.serve.replicas=3 router=round-robin'\n" +
			"  decodesim compare chat-8b code-completion --seeds 10 --json",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return configs.ScenarioNames(), cobra.ShellCompDirectiveDefault // and files
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c, args); err != nil {
				return err
			}
			return f.run(c.Context(), out, errOut, args)
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&f.engines, "engines", nil,
		"`NAMES` of engines, with commas, each of which runs the one scenario")
	flags.StringArrayVar(&f.with, "with", nil,
		"`KEY=VALUE` of one more variant of the one scenario, several with spaces; repeatable")
	flags.StringArrayVar(&f.set, "set", nil,
		"`KEY=VALUE` over every scenario's; repeatable, such as pools.serve.replicas=3")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of every random stream, in place of the first scenario's")
	flags.IntVar(&f.seeds, "seeds", 1, "`N` seeds to run every scenario under, from the first on")
	flags.StringVar(&f.out, "out", "",
		"write compare.json and .csv, plots and a report to `DIR`, and scenario and summary of each to a folder of its own")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("with", cobra.NoFileCompletions))
	completeNames(c, map[string][]string{"engines": catalog.EngineNames()}, cobra.ShellCompDirectiveNoFileComp)
	return c
}

// check refuses what does not make a comparison.
func (f *compareFlags) check(c *cobra.Command, args []string) error {
	f.seedGiven = c.Flags().Changed("seed")
	engines, with := c.Flags().Changed("engines"), c.Flags().Changed("with")
	const one = "expected one scenario, a name or a path to a YAML file"
	switch {
	case engines && with:
		return errors.New("compare: both --engines and --with; expected only one of them")
	case len(args) == 0:
		return fmt.Errorf("compare: missing scenarios: two or more names or paths to YAML files; see %s --help",
			c.CommandPath())
	case engines && len(args) > 1:
		return fmt.Errorf("compare: %d scenarios with --engines; %s", len(args), one)
	case with && len(args) > 1:
		return fmt.Errorf("compare: %d scenarios with --with; %s", len(args), one)
	case engines && len(f.engines) < 2:
		return fmt.Errorf("--engines %q: expected two or more with commas between; valid names: %s",
			strings.Join(f.engines, ","), strings.Join(catalog.EngineNames(), ", "))
	case !engines && !with && len(args) == 1:
		return fmt.Errorf("compare: only %q; expected a second scenario, or --engines or --with and what to vary", args[0])
	case f.seeds < 1 || f.seeds > seedsMax:
		return fmt.Errorf("--seeds %d: expected 1 to %d", f.seeds, seedsMax)
	}
	if n := max(len(args), len(f.engines), len(f.with)+1); n > scenariosMax {
		return fmt.Errorf("compare: %d scenarios; expected at most %d", n, scenariosMax)
	}
	return outNamed(c)
}

// run compares. What cannot be built, and a directory that cannot take the results, are refused before the first run.
func (f *compareFlags) run(ctx context.Context, out, errOut io.Writer, args []string) error {
	q := compare.Plan{Sources: args, Engines: f.engines, With: f.with, Set: f.set, Env: os.Environ(), Seeds: f.seeds,
		Version: programVersion()}
	if f.seedGiven {
		q.Seed = &f.seed
	}
	line := progressOn(errOut)
	r, notes, err := compare.NewRace(withReading(ctx, line), q)
	line.Clear()
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(errOut, "decodesim: "+note)
	}
	var files *compare.Files
	if f.out != "" {
		files, err = compare.OpenFiles(f.out, r.Names())
		if err != nil {
			return err
		}
		defer files.Abandon()
		r.Timed = true
	}
	line = progressOn(errOut)
	r.Comparison.Pairing = func(done, of int) {
		line.Set(progress.Work{What: "pairing requests", Done: float64(done), Of: float64(of), Unit: "metric"})
	}
	err = r.Run(withReading(ctx, line), runsDone(line, r.Runs()))
	line.Clear()
	if err != nil {
		return err
	}
	for i := range r.Comparison.Scenarios {
		r.Comparison.Scenarios[i].Why = compare.TailSentence(r.Comparison, i)
	}
	if files != nil {
		if err := files.Write(ctx, r); err != nil {
			return failed(err)
		}
	}
	return f.print(out, errOut, r.Comparison, files)
}

// print writes the results to out, and where the files are: to errOut if out is for a program.
func (f *compareFlags) print(out, errOut io.Writer, c *compare.Comparison, files *compare.Files) error {
	var paths []string
	if files != nil {
		paths = files.Files()
	}
	return printed{json: f.json, files: paths}.print(out, errOut, func(w io.Writer) error {
		if f.json {
			return text.WriteJSON(w, c)
		}
		return compare.WriteTable(w, c, colour(out))
	})
}
