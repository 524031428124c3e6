package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/chrometrace"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/report/tools"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/toolview"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// runFlags are the flags of decodesim run.
type runFlags struct {
	out  string
	json bool
	set  []string
	seed uint64
	view []string

	trace  string
	window string
}

func newRun(out, errOut io.Writer) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Simulate a scenario once",
		Long: "Simulate a scenario once and print what its users feel and what it costs.\n\n" +
			"SCENARIO is the name of a built-in scenario (decodesim list scenarios) or a path to a YAML file.",
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
			options := configs.Options{Set: f.set, Env: os.Environ()}
			if c.Flags().Changed("seed") {
				options.Seed = &f.seed
			}
			return f.run(c.Context(), out, errOut, args[0], options)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.out, "out", "", "write scenario, summary, requests and plots to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print the summary as JSON instead of the table")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` over the scenario's; repeatable, such as pools.serve.replicas=3")
	flags.Uint64Var(&f.seed, "seed", 0, "of every random stream, over the scenario's")
	flags.StringSliceVar(&f.view, "view", nil,
		"`TOOLS` in whose terms to print the run instead, repeatable or with commas: "+
			strings.Join(views.Names(), " ")+"; with --out, also their result files")
	flags.StringVar(&f.trace, "trace", "", "write what the replicas do, step by step, to `FILE`, for ui.perfetto.dev")
	flags.StringVar(&f.window, "trace-window", chrometrace.DefaultWindow, "`FROM:TO` of the run that --trace shows")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	cobra.CheckErr(c.MarkFlagFilename("trace", "json"))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("trace-window", cobra.NoFileCompletions))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("view",
		cobra.FixedCompletions(views.Names(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
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
	chosen, err := toolview.Tools(f.view)
	if err != nil {
		return err
	}
	s, err := configs.Load(scenario, options)
	if err != nil {
		return err
	}
	b, err := build.New(s)
	if err != nil {
		return err
	}
	defer b.Close()
	o := run.Options{Sample: chosen != nil, Cores: runtime.GOMAXPROCS(0)}
	var box *outbox
	if f.out != "" {
		box, err = openOutbox(f.out)
		if err != nil {
			return err
		}
		defer box.Abandon()
		o.Rows, o.Timeline = run.RowsOf(b.Scenario), true
	}
	trace, err := chrometrace.OpenFile(f.trace, f.window)
	if err != nil {
		return err
	}
	if trace != nil {
		defer trace.Abandon()
		o.Observers = []run.Observer{trace}
	}
	r, err := simulate(ctx, b, errOut, o)
	if err != nil {
		return err
	}
	if trace != nil {
		if err := trace.Write(errOut, b.Scenario, programVersion()); err != nil {
			return failed(err)
		}
	}
	if chosen != nil {
		r.viewed = toolview.Of(b, r.Result, chosen)
	}
	if box != nil {
		if err := box.write(ctx, b, r); err != nil {
			return err
		}
	}
	return f.print(out, errOut, b, r, box)
}

// result is a run that has ended.
type result struct {
	*run.Result
	viewed *report.Viewed // nil without views
}

// simulate runs b once.
func simulate(ctx context.Context, b *build.Built, errOut io.Writer, o run.Options) (*result, error) {
	line := progressOn(errOut)
	o.Version = programVersion()
	o.Progress = requestsDone(line, b.Requests)
	r, err := run.Simulate(ctx, b, o)
	line.Clear()
	return &result{Result: r}, err
}

// print writes the results to out, and where the files are: to errOut if out is for a program.
func (f *runFlags) print(out, errOut io.Writer, b *build.Built, r *result, box *outbox) error {
	files := []string(nil)
	if box != nil {
		files = box.Files()
	}
	return printed{json: f.json, files: files}.print(out, errOut, func(w io.Writer) error {
		o := report.Options{Colour: colour(out), Chunks: chunkLimit(b)}
		switch {
		case r.viewed != nil:
			return f.printViews(w, b, r, o)
		case f.json:
			return text.WriteJSON(w, r.Summary)
		}
		return table(w, b, r, o)
	})
}

// chunkLimit says in the engine's own words what bounds the prompt tokens of a step; empty: nothing does, or not the
// same in every pool.
func chunkLimit(b *build.Built) string {
	p := &b.Scenario.Pools[0]
	if !p.EnableChunkedPrefill || len(b.Scenario.Pools) > 1 {
		return ""
	}
	return fmt.Sprintf("%s %s", p.Own("max_num_batched_tokens"), text.Count(p.MaxNumBatchedTokens))
}

// table writes the report's table with the scenario between its heading and its figures.
func table(w io.Writer, b *build.Built, r *result, o report.Options) error {
	var said bytes.Buffer
	if err := report.Table(&said, r.Summary, report.CaptionOf(r.Summary, b.Deployment.Model.Name), o); err != nil {
		return err
	}
	heading, rest, _ := strings.Cut(said.String(), "\n")
	_, err := io.WriteString(w, heading+"\n"+describe.Head(b)+rest)
	return err
}

// viewFiles are the files of --out that the chosen tools would have left.
func (o *outbox) viewFiles(b *build.Built, r *result) []func() error {
	if r.viewed == nil {
		return nil
	}
	measured := toolview.MeasuredAs(b, r.Result, r.viewed)
	var steps []func() error
	for _, view := range r.viewed.Views {
		for _, file := range tools.Files(view.Tool.Name, measured) {
			steps = append(steps, func() error { return o.WriteFile(file.Name, file.Write) })
		}
	}
	return append(steps, func() error {
		return o.WriteFile("views.json", func(w io.Writer) error { return toolview.WriteJSON(w, r.Summary, r.viewed) })
	})
}

// printViews writes the run in the terms of the chosen tools, as tables or as JSON.
func (f *runFlags) printViews(w io.Writer, b *build.Built, r *result, o report.Options) error {
	if f.json {
		return toolview.WriteJSON(w, r.Summary, r.viewed)
	}
	if err := report.Views(w, r.viewed, report.CaptionOf(r.Summary, b.Deployment.Model.Name), o); err != nil {
		return err
	}
	for _, warning := range r.Summary.Warnings {
		fmt.Fprintln(w, "warning: "+warning)
	}
	return nil
}
