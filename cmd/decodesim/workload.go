package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/traffic"
	"github.com/decodesim/decodesim/workloads/traces"
)

func newWorkload(out, errOut io.Writer) *cobra.Command {
	const verbs = "describe, fit, preset, generate or convert"
	c := &cobra.Command{
		Use:   "workload describe|fit|preset|generate|convert",
		Short: "Describe a trace, fit laws to it, start from a preset, write traces in public formats",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("workload: unknown command %q; expected %s", args[0], verbs)
			}
			return fmt.Errorf("workload: expected %s; see %s --help", verbs, c.CommandPath())
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	c.AddCommand(newDescribe(out, errOut), newFit(out, errOut), newPreset(out), newGenerate(out, errOut),
		newConvert(out, errOut))
	return c
}

// formatsRead is what the help of commands says of traces.
const formatsRead = "TRACE is a file of CSV or JSON lines, plain or gzipped, in any format that run replays: Azure, " +
	"Mooncake,\nQwen's Bailian, BurstGPT, vidur, or arrival_s,input_tokens,output_tokens."

// selected are the flags that select requests of a trace.
type selected struct{ o traces.Options }

func (s *selected) register(c *cobra.Command) {
	flags := c.Flags()
	flags.Int64Var(&s.o.Limit, "limit", 0, "take the first `N` requests")
	flags.Float64Var(&s.o.StartS, "start-s", 0, "leave out the first `SECONDS`")
	flags.Float64Var(&s.o.EndS, "end-s", 0, "leave out what comes from so many `SECONDS` on")
	flags.BoolVar(&s.o.SkipEmpty, "skip-empty", false, "leave out rows without tokens instead of refusing them")
}

// refuse says which flag was given the 0 that stands for its absence: no requests, or all of them, may have been meant.
func (s *selected) refuse(c *cobra.Command) error {
	switch {
	case c.Flags().Changed("limit") && s.o.Limit == 0:
		return errors.New("--limit 0: expected a whole number above 0, or no --limit for all requests")
	case c.Flags().Changed("end-s") && s.o.EndS == 0:
		return errors.New("--end-s 0: expected a number of seconds above 0, or no --end-s for the whole trace")
	}
	return nil
}

// badTrace says what of a trace or of the flags that select from it is wrong.
func badTrace(err error) error {
	var path *fs.PathError
	if errors.Is(err, fs.ErrNotExist) && errors.As(err, &path) {
		return fmt.Errorf("%s does not exist; expected a CSV or JSON-lines file", inputs.OneLine(path.Path))
	}
	if err == nil || !strings.HasPrefix(err.Error(), "workloads: ") {
		return err
	}
	message := strings.TrimPrefix(err.Error(), "workloads: ")
	if rest, ok := strings.CutPrefix(message, "trace."); ok { // an option, which is a flag here
		name, says, _ := strings.Cut(rest, " ")
		message = "--" + strings.ReplaceAll(name, "_", "-") + " " + says
	}
	return errors.New(strings.Replace(message, "; skip_empty leaves", "; --skip-empty leaves", 1))
}

func newDescribe(out, errOut io.Writer) *cobra.Command {
	var f traceFlags
	c := &cobra.Command{
		Use:   "describe TRACE",
		Short: "Summarise a trace: rate, burstiness, lengths, correlation, sharing, time of day",
		Long: `Read a trace and say what it is like: its rate, how bursty it is (CV of the gaps; variance over mean of the requests in
windows of 1, 10 and 60 s), the percentiles of prompts and outputs, whether long prompts have long outputs, what prompts
share, and how the rate goes over time.

` + formatsRead,
		Example: "  decodesim workload describe azure2023_conv.csv.gz\n" +
			"  decodesim workload describe conversation_trace.jsonl --end-s 600 --json",
		Args: oneArgument("a trace"),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := f.open(c)
			if err != nil {
				return err
			}
			defer abandon(d)
			line := progressOn(errOut)
			f.o.Reading = reading(c.Context(), line, args[0])
			f.o.Room = build.Room(c.Context())
			s, err := traffic.Describe(args[0], f.o)
			line.Clear()
			if err != nil {
				return badTrace(cmp.Or(c.Context().Err(), err))
			}
			files, err := leave(c.Context(), d, "summary.json", s, s)
			if err != nil {
				return err
			}
			return printed{json: f.json, files: files}.print(out, errOut, func(w io.Writer) error {
				if f.json {
					return text.WriteJSON(w, s)
				}
				_, err := s.Text(colour(out)).WriteTo(w)
				return err
			})
		},
	}
	f.register(c, "summary.json and a figure")
	return c
}

// traceFlags are the flags of commands that say something of a trace.
type traceFlags struct {
	selected
	out  string
	json bool
}

func (f *traceFlags) register(c *cobra.Command, files string) {
	f.selected.register(c)
	c.Flags().StringVar(&f.out, "out", "", "write "+files+" to `DIR`")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON instead of text")
	cobra.CheckErr(c.MarkFlagDirname("out"))
}

// open opens the directory of --out before anything is read; nil: there is none.
func (f *traceFlags) open(c *cobra.Command, also ...string) (*output.Dir, error) {
	if err := cmp.Or(f.refuse(c), outNamed(c)); err != nil || f.out == "" {
		return nil, err
	}
	return output.Open(f.out, also...)
}

func newFit(out, errOut io.Writer) *cobra.Command {
	var f traceFlags
	var seed uint64
	d := traffic.Deployment{Scenario: "chat-8b"}
	c := &cobra.Command{
		Use:   "fit TRACE",
		Short: "Fit a scenario's workload to a trace, and say how well it stands for it",
		Long: `Fit laws of arrivals and of lengths to a trace and print them as the workload of a scenario. The process of arrivals
is the one whose gaps and counts are as bursty as the trace's; a length has a law with two parameters where that is
within 5 % of the trace everywhere, and else points of the trace's own distribution. How well it stands for the trace is
said in comments: statistics of both, and what a deployment does under both, TTFT and ITL side by side. The deployment
is that of --on; without it Llama 3.1 8B on H100s, doubled until they serve the trace.

` + formatsRead,
		Example: "  decodesim workload fit azure2023_conv.csv.gz > workload.yaml\n" +
			"  decodesim workload fit mine.csv --on my-scenario.yaml --json",
		Args: oneArgument("a trace"),
		RunE: func(c *cobra.Command, args []string) error {
			d.Given, d.Options.Env = c.Flags().Changed("on"), os.Environ()
			if c.Flags().Changed("seed") {
				d.Options.Seed = &seed
			}
			to, err := f.open(c, "workload.yaml")
			if err != nil {
				return err
			}
			defer abandon(to)
			line := progressOn(errOut)
			f.o.Reading = reading(c.Context(), line, args[0])
			f.o.Room = build.Room(c.Context())
			fit, err := traffic.FitTo(c.Context(), args[0], f.o, d, reporting(line))
			line.Clear()
			if err != nil {
				return badTrace(cmp.Or(c.Context().Err(), err))
			}
			files, err := leaveFit(c.Context(), to, fit)
			if err != nil {
				return err
			}
			return printed{json: f.json, files: files}.print(out, errOut, func(w io.Writer) error {
				if f.json {
					return text.WriteJSON(w, fit)
				}
				_, err := io.WriteString(w, fit.Text())
				return err
			})
		},
	}
	f.register(c, "workload.yaml, fit.json and a figure of the trace")
	flags := c.Flags()
	flags.StringVar(&d.Scenario, "on", d.Scenario, "`SCENARIO` whose deployment both are simulated on")
	flags.StringArrayVar(&d.Options.Set, "set", nil, "`KEY=VALUE` over that scenario's; repeatable")
	flags.Uint64Var(&seed, "seed", 0, "seed of every random stream, in place of the scenario's")
	cobra.CheckErr(c.RegisterFlagCompletionFunc("on", completeScenario))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	return c
}

// abandon gives a directory up, if there is one, unless it has been kept.
func abandon(d *output.Dir) {
	if d != nil {
		d.Abandon()
	}
}

// leaveFit writes what a fit leaves in a directory.
func leaveFit(ctx context.Context, d *output.Dir, fit *traffic.Fit) (files []string, err error) {
	if d == nil {
		return nil, nil
	}
	if err := d.WriteBytes("workload.yaml", []byte(fit.Text())); err != nil {
		return nil, failed(err)
	}
	return leave(ctx, d, "fit.json", fit, fit.Trace)
}

// leave writes what a command on a trace leaves in a directory: x as JSON, and the figure of the trace.
func leave(ctx context.Context, d *output.Dir, name string, x any, s *traffic.Summary) (files []string, err error) {
	if d == nil {
		return nil, nil
	}
	err = output.InOrder(ctx, []func() error{
		func() error { return d.WriteJSON(name, x) },
		d.Draw("workload", func() (plot.Figure, error) { return traffic.Figure(s) }),
		d.Keep,
	})
	if err != nil {
		return nil, failed(err)
	}
	return d.Files(), nil
}

// written are the flags of commands that write a trace.
type written struct {
	format, to string
	given      func(flag string) bool
}

func (w *written) register(c *cobra.Command) {
	names := traces.Written()
	w.given = c.Flags().Changed
	c.Flags().StringVar(&w.format, "format", names[0], "`FORMAT` to write: "+strings.Join(names, ", "))
	c.Flags().StringVar(&w.to, "to", "", "write to `FILE` instead of stdout; gzipped if it ends in .gz")
	completeNames(c, map[string][]string{"format": names}, cobra.ShellCompDirectiveNoFileComp)
}

// write has a trace written by what writes it: to stdout, or to a file that is whole or not there.
func (w *written) write(ctx context.Context, out, errOut io.Writer,
	by func(to io.Writer, line *progress.Line) (*traffic.Written, error)) error {
	switch err := known(w.format); {
	case err != nil:
		return err
	case w.to == "" && w.given("to"):
		return errors.New("--to is empty; expected a file")
	case known(w.to) == nil:
		return fmt.Errorf("--to %[1]s: it is a format, for which --format %[1]s asks; expected the name of a file", w.to)
	}
	if err := w.suits(); err != nil {
		return err
	}
	to, keep := out, func() error { return nil }
	if w.to != "" {
		f, err := output.OpenFile(ctx, w.to, nil)
		if err != nil {
			return fmt.Errorf("--to %s: %w", w.to, err)
		}
		defer f.Abandon()
		to, keep = f, f.Keep
		if strings.HasSuffix(w.to, ".gz") {
			z := gzip.NewWriter(f)
			to, keep = z, func() error { return errors.Join(z.Close(), f.Keep()) }
		}
	}
	line := progressOn(errOut)
	done, err := by(to, line)
	line.Clear()
	if err != nil {
		return badTrace(cmp.Or(ctx.Err(), err))
	}
	if err := keep(); err != nil {
		return failed(err)
	}
	for _, note := range done.Lost {
		fmt.Fprintln(errOut, "note: "+note)
	}
	if w.to != "" {
		fmt.Fprintf(errOut, "%s: %s\n", inputs.OneLine(w.to), text.Counted(done.Requests, "request"))
	}
	return nil
}

// suits refuses a name of a file whose ending says something else than the format is. A name without an ending, as
// devices have, says nothing.
func (w *written) suits() error {
	end, lines := filepath.Ext(strings.TrimSuffix(w.to, ".gz")), traces.JSONLines(w.format)
	switch {
	case end == "", lines && (end == ".jsonl" || end == ".json"), !lines && end == ".csv":
		return nil
	case lines:
		return fmt.Errorf("--to %s: --format %s is JSON lines; expected a name that ends in .jsonl, .json, or one of them "+
			"and .gz", w.to, w.format)
	}
	return fmt.Errorf("--to %s: --format %s is CSV; expected a name that ends in .csv or .csv.gz, or --format mooncake "+
		"for JSON lines", w.to, w.format)
}

// known refuses a format that cannot be written.
func known(format string) error {
	for _, name := range traces.Written() {
		if name == format {
			return nil
		}
	}
	return fmt.Errorf("--format %s: expected one of %s", format, strings.Join(traces.Written(), ", "))
}

func newGenerate(out, errOut io.Writer) *cobra.Command {
	var w written
	var set []string
	var seed uint64
	c := &cobra.Command{
		Use:   "generate SCENARIO",
		Short: "Write the requests of a scenario's workload as a trace",
		Long: `Write the requests that a scenario sends as a trace, in the format that a benchmark or another simulator reads. Where
they wait for answers, as clients of a closed loop and turns of sessions do, the scenario is simulated: when its clients
go on depends on its deployment. SCENARIO is a built-in name or a path to a YAML file.`,
		Example: "  decodesim workload generate chat-70b --format azure --to chat.csv.gz\n" +
			"  decodesim workload generate multi-turn-8b --format mooncake --to turns.jsonl",
		Args:              oneArgument("a scenario: a name or a path to a YAML file"),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			o := configs.Options{Set: set, Env: os.Environ()}
			if c.Flags().Changed("seed") {
				o.Seed = &seed
			}
			var err error
			o.Stdin, err = stdinFor(c, args)
			if err != nil {
				return err
			}
			s, err := configs.Load(args[0], o)
			if err != nil {
				return err
			}
			b, err := built(c.Context(), s, errOut)
			if err != nil {
				return err
			}
			defer b.Close()
			return w.write(c.Context(), out, errOut, func(to io.Writer, line *progress.Line) (*traffic.Written, error) {
				return traffic.Generate(c.Context(), to, b, w.format, reporting(line))
			})
		},
	}
	w.register(c)
	c.Flags().StringArrayVar(&set, "set", nil, "`KEY=VALUE` over the scenario's; repeatable")
	c.Flags().Uint64Var(&seed, "seed", 0, "seed of every random stream, in place of the scenario's")
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	return c
}

func newConvert(out, errOut io.Writer) *cobra.Command {
	var from selected
	var w written
	c := &cobra.Command{
		Use:   "convert TRACE",
		Short: "Write a trace in another public format",
		Long: "Write a trace in another format. What that format has no column for is left out, and said.\n\n" +
			formatsRead,
		Example: "  decodesim workload convert conversation_trace.jsonl --format vidur --to conversation.csv",
		Args:    oneArgument("a trace"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := from.refuse(c); err != nil {
				return err
			}
			return w.write(c.Context(), out, errOut, func(to io.Writer, line *progress.Line) (*traffic.Written, error) {
				from.o.Reading = reading(c.Context(), line, args[0])
				from.o.Room = build.Room(c.Context())
				return traffic.Convert(c.Context(), to, args[0], w.format, from.o)
			})
		},
	}
	from.register(c)
	w.register(c)
	return c
}
