package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/progress"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/sizing"
	"github.com/decodesim/decodesim/internal/text"
)

// sizeFlags are the flags of decodesim size.
type sizeFlags struct {
	set  []string
	seed uint64
	out  string
	json bool

	subject
	seedGiven bool
}

func newSize(out, errOut io.Writer) *cobra.Command {
	var f sizeFlags
	c := &cobra.Command{
		Use:   "size [STUDY]",
		Short: "Search the deployment that serves a load best",
		Long: `Search GPUs, how the GPUs of a replica share the model (tensor and pipeline parallelism, attention-DP and experts),
replicas, the split into prefill and decode pools, and batch limits for the cheapest deployment that sustains a rate, or
the one that sustains most within a budget. It sustains a rate if every rule of the SLO holds. STUDY is a built-in name
(decodesim list studies) or a path to a YAML file; decodesim show size-70b-64gpu prints one to copy. Without a study, flags
say all there is to say, and what they leave out is searched; beside one, they stand above it.

Every answer is simulated. All deployments meet the same requests, at the same rates, one half of a percent above the
other. Short runs find roughly what each sustains, longer ones go on with those ahead, and the last few are run under several
seeds: their capacities have 95 % intervals over the seeds, and the lead of the first over the second one from the pairs.
Beside each stands its roofline limit, the rate at which every GPU would be at its roofline bound at all times and nothing
would ever wait: no deployment sustains more, and those that could not win even so are not simulated.

A key of --set is one of the study, such as budget.gpus, or else one of its scenario, such as workload.output_tokens.mean.`,
		Example: "  decodesim size --model llama-3.3-70b --weights fp8 --gpu h200,b200,mi300x " +
			"--trace conv.csv.gz --rate 40 --slo 'ttft p95<=1s, itl p95<=50ms'\n" +
			"  decodesim size size-70b-64gpu\n" +
			"  decodesim size size-70b-64gpu --set budget.gpus=16 --set slo.tpot_ms=25 --out sized\n" +
			"  decodesim size size-70b-64gpu --set rate.min=null --set rate.max=null --set rate.at=40 --json\n" +
			"  decodesim size my-study.yaml",
		Args: cobra.ArbitraryArgs, // see study
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return configs.StudyNames(), cobra.ShellCompDirectiveDefault // and files
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := outNamed(c); err != nil {
				return err
			}
			f.seedGiven = c.Flags().Changed("seed")
			s, err := f.study(c, args)
			if err != nil {
				return err
			}
			return f.run(c.Context(), out, errOut, s)
		},
	}
	f.add(c)
	flags := c.Flags()
	flags.StringArrayVar(&f.set, "set", nil,
		"`KEY=VALUE` over the study's, or else its scenario's; repeatable, such as budget.gpus=32")
	flags.Uint64Var(&f.seed, "seed", 0, "of every random stream, over the scenario's")
	flags.StringVar(&f.out, "out", "", "write study, results, candidates, plots, a report and the best scenario to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	cobra.CheckErr(c.MarkFlagDirname("out"))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	return c
}

// run searches. A directory that cannot take the results is refused before the first simulation.
func (f *sizeFlags) run(ctx context.Context, out, errOut io.Writer, s *configs.Study) (err error) {
	line := progressOn(errOut)
	options := sizing.Options{Env: os.Environ(), Version: programVersion(),
		Progress: func(what string, done, of int) {
			line.Set(progress.Work{What: what, Done: float64(done), Of: float64(of), Unit: "deployment"})
		}}
	if f.seedGiven {
		options.Seed = &f.seed
	}
	var dir *report.Dir
	if f.out != "" {
		dir, err = report.Open(f.out)
		if err != nil {
			return err
		}
		defer dir.Abandon()
	}
	began := time.Now()
	answer, best, err := sizing.Search(ctx, s, options)
	line.Clear()
	if err != nil {
		return err
	}
	tookS := time.Since(began).Seconds()
	var files []string
	if dir != nil {
		if err := sizing.WriteFiles(ctx, dir, s, answer, best); err != nil {
			return failed(err)
		}
		files = dir.Files()
	}
	err = printed{json: f.json, files: files}.print(out, errOut, func(w io.Writer) error {
		if f.json {
			return text.WriteJSON(w, answer)
		}
		return sizing.WriteText(w, answer)
	})
	if err == nil { // how long is no result: it differs from run to run
		fmt.Fprintf(errOut, "decodesim: %s in %s s\n", text.Counted(answer.Simulations, "simulation"),
			text.Significant(tookS))
	}
	return err
}
