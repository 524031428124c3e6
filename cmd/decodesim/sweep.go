package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/sweep"
	"github.com/decodesim/decodesim/internal/text"
)

// sweepFlags are the flags of decodesim sweep.
type sweepFlags struct {
	over, set, plots []string
	ladder           bool
	study            string
	seed             uint64
	seeds            int
	shard            string
	queue            queueFlags
	out              string
	json             bool
}

func newSweep(out, errOut io.Writer) *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep SCENARIO",
		Short: "Run a grid of scenarios and tabulate what comes of it",
		Long: `Run every combination of values of some keys, under one or more seeds, over all cores, and write a table with a row for
each run (sweep.csv, sweep.parquet), the load curve with its knee and its saturation, and the Pareto frontier of tokens/s
per GPU against tokens/s per user. SCENARIO is a built-in name or a path to a YAML file; --study names a file that says
all that the flags do.

--over KEY=VALUES is an axis: values with commas between, lo:hi:step for a range, lo:hi:xF for one by factors. KEY is
that of --set; rate and concurrency stand for those of the load, and a key that only pools have for the one pool's. The
last axis varies fastest. --ladder is an axis of loads from a tenth of the scenario's to four times it.

The scenarios of all points are read before the first runs: one error, and nothing is run. What only a run can say, such
as a model that does not fit the memory, becomes a row with its error, unless it is the same error at every point. A
sweep that is interrupted or killed leaves its rows in DIR, and the same command goes on with those that are missing;
the files are the same to the byte as without the interruption, and whatever the number of cores.

--workers N has N processes make the runs in place of this one, and --listen serves the queue for decodesim worker on
other machines: workers may come, go, be killed or suspended, and the files are still the same to the byte.

--shard i/n runs the i-th of n parts, on whichever machine; sweep merge makes of their directories what one sweep would
have written.`,
		Example: "  decodesim sweep chat-70b --ladder --out curve\n" +
			"  decodesim sweep chat-70b --over rate=10:80:10 --over max_num_seqs=32,64,128 --seeds 3 --out grid\n" +
			"  decodesim sweep chat-70b --over gpu=h100-sxm,h200-sxm --over rate=2:64:x2 --plot rate,ttft_p95_s --out gpus\n" +
			"  decodesim sweep --study grid.yaml --out grid\n" +
			"  decodesim sweep chat-70b --ladder --listen 0.0.0.0:4222 --out curve\n" +
			"  decodesim sweep chat-70b --ladder --shard 1/4 --out part-1",
		Args:              cobra.ArbitraryArgs, // see plan
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := f.plan(c, args)
			if err != nil {
				return err
			}
			return f.run(c.Context(), out, errOut, p)
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.over, "over", nil, "`KEY=VALUES` to vary, such as rate=10:80:10; repeatable")
	flags.BoolVar(&f.ladder, "ladder", false, "vary the load from a tenth of the scenario's to four times it")
	flags.StringVar(&f.study, "study", "", "`FILE` that says what to vary, in place of SCENARIO and flags")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` over the scenario's; repeatable")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of every random stream, in place of the scenario's")
	flags.IntVar(&f.seeds, "seeds", 1, "`N` seeds to run every point under, from the first on")
	flags.StringArrayVar(&f.plots, "plot", nil,
		"`X,Y` to draw a column against an axis or a column, X,Y,Z for a heat map of Z over two axes; repeatable")
	flags.StringVar(&f.shard, "shard", "", "`I/N`: only the I-th of N parts, for sweep merge")
	f.queue.add(c)
	flags.StringVar(&f.out, "out", "",
		"write tables, figures and sweep.json to `DIR`, and go on with what an interrupted sweep has left there")
	flags.BoolVar(&f.json, "json", false, "print sweep.json instead of a table")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	cobra.CheckErr(c.MarkFlagFilename("study", "yaml", "yml"))
	for _, name := range []string{"over", "set", "plot", "shard"} {
		cobra.CheckErr(c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	c.AddCommand(newSweepMerge(out, errOut))
	return c
}

// plan returns what the arguments and the flags, or the study, ask for.
func (f *sweepFlags) plan(c *cobra.Command, args []string) (sweep.Plan, error) {
	p := sweep.Plan{Over: f.over, Ladder: f.ladder, Set: f.set, Seeds: f.seeds, Plots: f.plots, Env: os.Environ(),
		Version: programVersion()}
	if c.Flags().Changed("seed") {
		p.Seed = &f.seed
	}
	switch {
	case f.study != "" && len(args) > 0:
		return p, fmt.Errorf("sweep: both --study %s and %q; expected only one of them", f.study, args[0])
	case f.study != "":
		for _, name := range []string{"over", "ladder", "seeds", "plot"} {
			if c.Flags().Changed(name) {
				return p, fmt.Errorf("sweep: both --study and --%s; expected the study to say it", name)
			}
		}
		s, err := configs.LoadSweep(f.study)
		if err != nil {
			return p, err
		}
		p.Source, p.Set = s.Scenario, slices.Concat(s.Set, f.set)
		p.Over, p.Ladder = s.Over, s.Ladder
		p.Seeds, p.Plots = s.Seeds, s.Plots
	default:
		if err := oneArgument("a scenario: a name or a path to a YAML file, or --study FILE")(c, args); err != nil {
			return p, err
		}
		p.Source = args[0]
	}
	if p.Seeds < 1 || p.Seeds > seedsMax {
		return p, fmt.Errorf("--seeds %d: expected 1 to %d", p.Seeds, seedsMax)
	}
	if err := f.queue.check(c); err != nil {
		return p, err
	}
	if f.shard != "" && f.queue.used() {
		return p, errors.New("sweep: --shard stands beside workers; expected one way to use several machines")
	}
	if f.out == "" {
		return p, errors.New("sweep: missing --out DIR, in which rows are kept should the sweep be interrupted")
	}
	return p, outNamed(c)
}

// run sweeps. What cannot be read, and a directory that cannot take the results, are refused before the first run.
func (f *sweepFlags) run(ctx context.Context, out, errOut io.Writer, p sweep.Plan) error {
	var shard sweep.Shard
	if f.shard != "" {
		var err error
		shard, err = sweep.ParseShard(f.shard)
		if err != nil {
			return err
		}
	}
	line := progressOn(errOut)
	s, notes, err := sweep.NewHeard(withReading(ctx, line), p, pointsRead(line))
	line.Clear()
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(errOut, "decodesim: "+note)
	}
	w, err := sweep.Open(ctx, f.out, s, shard)
	if err != nil {
		return err
	}
	defer w.Close()
	makes := w.Run
	if f.queue.used() {
		q, err := f.queue.open(errOut, filepath.Join(f.out, queueName))
		if err != nil {
			return err
		}
		defer q.leave(f.out, w)
		makes = func(ctx context.Context, progress func(float64)) error {
			return q.collect(ctx, errOut, w, progress)
		}
	}
	line = progressOn(errOut)
	err = makes(withReading(ctx, line), pointsDone(line, w))
	line.Clear()
	if err != nil {
		return f.interrupted(errOut, w, err)
	}
	r, err := w.Finish(ctx)
	if err != nil {
		return f.interrupted(errOut, w, err)
	}
	return f.print(out, errOut, w, r)
}

// interrupted says what remains of a sweep that did not come to its end.
func (f *sweepFlags) interrupted(errOut io.Writer, w *sweep.Work, err error) error {
	if !errors.Is(err, context.Canceled) {
		return failed(err)
	}
	if w.Ended() > 0 {
		fmt.Fprintf(errOut, "decodesim: %s of %s are kept in %s; the same command goes on with the others\n",
			text.Count(w.Ended()), text.Counted(w.Runs(), "run"), f.out)
	}
	return err
}

// print writes the result to out. A shard has none of its own.
func (f *sweepFlags) print(out, errOut io.Writer, w *sweep.Work, r *sweep.Result) error {
	p := printed{json: f.json, files: w.Dir.Files()}
	return p.print(out, errOut, func(b io.Writer) error {
		switch {
		case r == nil && f.json:
			return text.WriteJSON(b, w.Head)
		case r == nil:
			_, err := fmt.Fprintf(b, "shard %s of %s: %s\n", w.Shard, w.Scenario, text.Counted(w.Runs(), "run"))
			return err
		case f.json:
			return text.WriteJSON(b, r)
		}
		return sweep.WriteText(b, r, colour(out))
	})
}

// pointsDone returns what says on a line how many runs of a sweep are done; nil: there is no line.
func pointsDone(line *progress.Line, w *sweep.Work) func(done float64) {
	if line == nil {
		return nil
	}
	before, more := w.Resumed, ""
	if before > 0 {
		more = text.Count(before) + " from before"
	}
	say := func(done float64) {
		line.Set(progress.Work{Done: done, Of: float64(w.Runs() - before), Unit: "run", More: more})
	}
	say(0)
	return say
}

func newSweepMerge(out, errOut io.Writer) *cobra.Command {
	var to string
	var asJSON bool
	c := &cobra.Command{
		Use:   "merge DIR ...",
		Short: "Make one sweep of its shards",
		Long: `Write what one sweep would have written from the directories of all its shards, to the byte. Shards that are missing,
given twice or of another sweep are refused.`,
		Example: "  decodesim sweep merge part-1 part-2 part-3 part-4 --out whole",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if to == "" {
				return errors.New("merge: missing --out DIR")
			}
			if err := outNamed(c); err != nil {
				return err
			}
			r, files, err := sweep.Merge(c.Context(), args, to)
			if err != nil {
				return err
			}
			return printed{json: asJSON, files: files}.print(out, errOut, func(b io.Writer) error {
				if asJSON {
					return text.WriteJSON(b, r)
				}
				return sweep.WriteText(b, r, colour(out))
			})
		},
	}
	c.Flags().StringVar(&to, "out", "", "write tables, figures and sweep.json to `DIR`")
	c.Flags().BoolVar(&asJSON, "json", false, "print sweep.json instead of a table")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	return c
}
