package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/chrometrace"
	"github.com/decodesim/decodesim/internal/headroom"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/results"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// runFlags are the flags of decodesim run.
type runFlags struct {
	out  string
	json bool
	set  []string
	seed uint64
	view []string

	headroom  string
	precision string

	trace  string
	window string
}

func newRun(out, errOut io.Writer) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Simulate a scenario once",
		Long: "Simulate a scenario once and print what its users feel and what it costs.\n\n" +
			"SCENARIO is the name of a built-in scenario (decodesim list scenarios), a path to a YAML file, or - for what " +
			"comes on stdin: decodesim import … | decodesim run -.",
		Example: "  decodesim run chat-70b\n" +
			"  decodesim run chat-70b --set workload.arrivals.rate=12 --set pools.serve.replicas=3 --out busy\n" +
			"  decodesim run my-scenario.yaml --seed 2 --json\n" +
			"  decodesim run chat-8b --view vllm,aiperf --out as-measured\n" +
			"  decodesim run chat-8b --trace chat.json --trace-window 10s:12s",
		Args:              oneArgument("a scenario: a name or a path to a YAML file"),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			if err := outNamed(c); err != nil {
				return err
			}
			if flags := c.Flags(); flags.Changed("trace-window") && f.trace == "" {
				return errors.New("--trace-window has no effect without --trace; expected a file beside it")
			}
			if !slices.Contains([]string{headroomAuto, headroomOn, headroomOff}, f.headroom) {
				return fmt.Errorf("--headroom %q is unknown; valid values: auto, on, off", f.headroom)
			}
			options := configs.Options{Set: f.set, Env: os.Environ()}
			if f.precision != "" {
				set, err := precisionSet(f.precision)
				if err != nil {
					return err
				}
				options.Set = append(options.Set, set)
			}
			if c.Flags().Changed("seed") {
				options.Seed = &f.seed
			}
			var err error
			options.Stdin, err = stdinFor(c, args)
			if err != nil {
				return err
			}
			return f.run(c.Context(), out, errOut, args[0], options)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.out, "out", "", "write scenario, summary, requests, plots and a report to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON instead of the table")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` over the scenario's; repeatable, such as pools.serve.replicas=3")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of every random stream, in place of the scenario's")
	flags.StringSliceVar(&f.view, "view", nil,
		"`TOOLS` in whose terms to print the run instead, repeatable or with commas: "+
			strings.Join(views.Names(), " ")+"; with --out, also their result files")
	flags.StringVar(&f.precision, "precision", "",
		"lengthen the run until half of every headline number's 95% interval is within `SHARE` of it, such as 2%")
	flags.StringVar(&f.headroom, "headroom", headroomAuto, "how much more load is sustained within the SLO: "+
		"`on`, off, or auto: where short runs can say it")
	flags.StringVar(&f.trace, "trace", "",
		"write what the replicas do, step by step, to `FILE`, for ui.perfetto.dev; gzip where its name ends in .gz")
	flags.StringVar(&f.window, "trace-window", chrometrace.DefaultWindow, "`FROM:TO` of the run that --trace shows")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	cobra.CheckErr(c.MarkFlagFilename("trace", "json"))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("trace-window", cobra.NoFileCompletions))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("view",
		cobra.FixedCompletions(views.Names(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("headroom",
		cobra.FixedCompletions([]string{headroomAuto, headroomOn, headroomOff}, cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("precision", cobra.NoFileCompletions))
	return c
}

func completeScenario(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return configs.ScenarioNames(), cobra.ShellCompDirectiveDefault // and files
}

// run simulates a scenario. A directory that cannot take the results is refused before the run, not after it.
func (f *runFlags) run(ctx context.Context, out, errOut io.Writer, scenario string,
	options configs.Options) (err error) {
	chosen, err := results.Tools(f.view)
	if err != nil {
		return err
	}
	s, err := configs.Load(scenario, options)
	if err != nil {
		return err
	}
	b, err := built(ctx, s, errOut)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }() // a longer run may have taken its place
	if f.headroom == headroomOn {
		if err := headroom.Check(b); err != nil {
			return fmt.Errorf("--headroom on: %w", err)
		}
	}
	if f.trace != "" && s.Workload.Precision > 0 {
		return errors.New("--trace shows one run, and a precision takes several; expected only one of them")
	}
	o := run.Options{Sample: chosen != nil, Cores: runtime.GOMAXPROCS(0)}
	dir, err := openOut(f.out, results.FileNames(chosen)...)
	if err != nil {
		return err
	}
	defer dir.Abandon()
	if dir != nil {
		o.Rows, o.Timeline = run.RowsOf(b.Scenario), true
	}
	if dir.Reserves(f.trace) {
		return fmt.Errorf("--trace %q is a name that --out gives a file of its own; expected another", f.trace)
	}
	trace, err := chrometrace.OpenFile(ctx, f.trace, f.window)
	if err != nil {
		return err
	}
	if trace != nil {
		defer trace.Abandon()
		o.Observers = []run.Observer{trace}
	}
	r := &results.Result{}
	b, r.Result, err = run.Precisely(ctx, b, func(b *build.Built) (*run.Result, error) {
		return simulate(ctx, b, errOut, o)
	})
	if err != nil {
		return err
	}
	if f.headroom == headroomOn || f.headroom == headroomAuto && headroom.Worthwhile(b) {
		if err := findHeadroom(ctx, b, errOut, r); err != nil {
			return err
		}
	}
	if trace != nil {
		if err := trace.Write(errOut, b.Scenario, programVersion()); err != nil {
			return failed(err)
		}
	}
	if chosen != nil {
		r.Viewed = results.Of(b, r.Result, chosen)
	}
	if dir != nil {
		if err := results.WriteFiles(ctx, dir, b, r); err != nil {
			return failed(err)
		}
	}
	return f.print(out, errOut, b, r, dir)
}

// The values of --headroom.
const (
	headroomAuto = "auto"
	headroomOn   = "on"
	headroomOff  = "off"
)

// findHeadroom adds the headroom to a summary, or why it has none.
func findHeadroom(ctx context.Context, b *build.Built, errOut io.Writer, r *results.Result) (err error) {
	line := progressOn(errOut)
	defer line.Clear()
	r.Summary.Headroom, err = headroom.Of(ctx, b, r.Result, func(runs int) {
		line.Set(progress.Work{What: "headroom", Done: float64(runs), Unit: "run"})
	})
	if err == nil && r.Summary.Headroom == nil {
		r.Summary.Warnings = append(r.Summary.Warnings, "headroom: nothing was measured that the SLO could be judged by")
	}
	return err
}

// simulate runs b once.
func simulate(ctx context.Context, b *build.Built, errOut io.Writer, o run.Options) (*run.Result, error) {
	line := progressOn(errOut)
	o.Version = programVersion()
	o.Progress = requestsDone(line, b.Requests)
	r, err := run.Simulate(ctx, b, o)
	line.Clear()
	return r, err
}

// print writes the results to out, and where the files are: to errOut if out is for a program.
func (f *runFlags) print(out, errOut io.Writer, b *build.Built, r *results.Result, dir *output.Dir) error {
	return printed{json: f.json, files: dir.Files()}.print(out, errOut, func(w io.Writer) error {
		return results.Print(w, b, r, f.json, colour(out))
	})
}

// openOut prepares the directory of --out before there is anything for it; nil, if none is asked for.
func openOut(path string, also ...string) (*output.Dir, error) {
	if path == "" {
		return nil, nil
	}
	return output.Open(path, also...)
}

// outNamed refuses an --out that names nothing, as an unset shell variable leaves it: it would get no files. So it does
// a trace and a queue.
func outNamed(c *cobra.Command) error {
	for _, of := range [][2]string{
		{"out", "a directory"}, {"trace", "a file"}, {"listen", "HOST:PORT"}, {"queue", "a URL"},
	} {
		if flag := c.Flags().Lookup(of[0]); flag != nil && flag.Changed && flag.Value.String() == "" {
			return fmt.Errorf("--%s is empty; expected %s", of[0], of[1])
		}
	}
	return nil
}

// precisionSet returns what --precision sets: a share, or a percentage.
func precisionSet(text string) (set string, err error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		x /= 100
	}
	if err != nil || !(x >= 0.001 && x <= 0.5) {
		return "", fmt.Errorf("--precision %q is no share of a number; expected one from 0.1%% to 50%%, such as 2%% or 0.02",
			text)
	}
	return fmt.Sprintf("workload.precision=%g", x), nil
}
