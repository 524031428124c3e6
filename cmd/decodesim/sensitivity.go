package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/sensitivity"
	"github.com/decodesim/decodesim/internal/text"
)

// sensitivityFlags are the flags of decodesim sensitivity.
type sensitivityFlags struct {
	of, metric string
	vary, set  []string
	seed       uint64
	seeds      int
	out        string
	json       bool
}

func newSensitivity(out, errOut io.Writer) *cobra.Command {
	var f sensitivityFlags
	c := &cobra.Command{
		Use:   "sensitivity SCENARIO",
		Short: "Vary what an answer rests on, and say what changes the decision",
		Long: `Vary every input of a run by its own uncertainty, one at a time and under the same seeds, rank the inputs by what they do
to a metric, and say at which value of which input the decision changes: whether the SLO is met, or, without one, whether
the load is sustained. SCENARIO is a built-in name or a path to a YAML file. With --of size it is a study, and the
decision is which deployment is best.

Ranges come from where the numbers do, and the table says so for each: a number of a data sheet from its source, how it
is rounded and what other sources say; a fitted constant from the GPUs that it was fitted on; all step times together
from the errors of runs that were left out of the fit. What the user forecasts, the load and the lengths, is varied by
20 % unless --vary says another range.`,
		Example: "  decodesim sensitivity chat-70b\n" +
			"  decodesim sensitivity chat-70b --metric ttft_p95_s --vary rate=10:18 --out tornado\n" +
			"  decodesim sensitivity chat-70b --vary speculation.acceptance.rate=0.6:0.8 --seeds 5 --json\n" +
			"  decodesim sensitivity my-study.yaml --of size --out sized",
		Args:              oneArgument("a scenario: a name or a path to a YAML file"),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			p, err := f.plan(c, args[0])
			if err != nil {
				return err
			}
			return f.run(c.Context(), out, errOut, p)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.of, "of", "run", "`COMMAND` whose answer it is: run or size")
	flags.StringVar(&f.metric, "metric", "",
		"`COLUMN` of a sweep to rank by, such as ttft_p95_s; without it slo_attainment, or e2e_p95_s where there is no SLO")
	flags.StringArrayVar(&f.vary, "vary", nil, "`KEY=LOW:HIGH`, your own range of an input; repeatable")
	flags.StringArrayVar(&f.set, "set", nil, "`KEY=VALUE` over the scenario's, or the study's; repeatable")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of every random stream, in place of the scenario's")
	flags.IntVar(&f.seeds, "seeds", 3, "`N` seeds to run the scenario under, from the first on")
	flags.StringVar(&f.out, "out", "", "write sensitivity.json, sensitivity.csv and the tornado to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of a table")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	for _, name := range []string{"vary", "set", "metric"} {
		cobra.CheckErr(c.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions))
	}
	completeNames(c, map[string][]string{"of": {"run", "size"}}, cobra.ShellCompDirectiveNoFileComp)
	return c
}

// plan returns what the flags ask for.
func (f *sensitivityFlags) plan(c *cobra.Command, source string) (sensitivity.Plan, error) {
	p := sensitivity.Plan{Source: source, Size: f.of == "size", Metric: f.metric, Vary: f.vary, Set: f.set,
		Env: os.Environ(), Seeds: f.seeds, Version: programVersion()}
	if c.Flags().Changed("seed") {
		p.Seed = &f.seed
	}
	switch {
	case f.of != "run" && f.of != "size":
		return p, fmt.Errorf("--of %s: expected run or size", f.of)
	case p.Size && f.metric != "":
		return p, errors.New("sensitivity: --metric is of a run; a size is judged by its best deployment")
	case p.Size && c.Flags().Changed("seeds"):
		return p, errors.New("sensitivity: --seeds is of a run; the study says its own (--set seeds=3)")
	case f.seeds < 1 || f.seeds > seedsMax:
		return p, fmt.Errorf("--seeds %d: expected 1 to %d", f.seeds, seedsMax)
	}
	return p, outNamed(c)
}

// run analyses. A directory that cannot take the results is refused before the first run.
func (f *sensitivityFlags) run(ctx context.Context, out, errOut io.Writer, p sensitivity.Plan) error {
	dir, err := openOut(f.out)
	if err != nil {
		return err
	}
	defer dir.Abandon()
	line := progressOn(errOut)
	line.Set(progress.Work{What: "the answer that inputs are varied from"})
	r, err := sensitivity.Analyse(withReading(ctx, line), p, func(done float64, of int) {
		line.Set(progress.Work{Done: done, Of: float64(of), Unit: "answer"})
	})
	line.Clear()
	if err != nil {
		return err
	}
	if dir != nil {
		if err := sensitivity.WriteFiles(ctx, dir, r); err != nil {
			return failed(err)
		}
	}
	return printed{json: f.json, files: dir.Files()}.print(out, errOut, func(w io.Writer) error {
		if f.json {
			return text.WriteJSON(w, r)
		}
		return sensitivity.WriteText(w, r, colour(out))
	})
}
