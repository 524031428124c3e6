package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/progress"
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
	queue     queueFlags
	shard     string // only to be refused
}

// sizeLong is what --help says of the search.
const sizeLong = `Search GPUs, how the GPUs of a replica share the model (tensor and pipeline parallelism, attention-DP and experts),
replicas, the split into prefill and decode pools, and batch limits for the cheapest deployment that sustains a rate, or
the one that sustains most within a budget. It sustains a rate if every rule of the SLO holds. STUDY is a built-in name
(decodesim list studies) or a path to a YAML file; decodesim show size-70b-64gpu prints one to copy. Without a study, flags
say all there is to say, and what they leave out is searched; beside one, they stand above it. In place of --trace,
--prompt and --output say the lengths of requests; they then arrive by a Poisson process, unless --set says otherwise.

Every answer is simulated. All deployments meet the same requests, at the same rates, one half of a percent above the
other. Short runs find roughly what each sustains, longer ones go on with those ahead, and the last few are run under several
seeds: their capacities have 95 % intervals over the seeds, and the lead of the first over the second one from the pairs.
Beside each stands its roofline limit, the rate at which every GPU would be at its roofline bound at all times and nothing
would ever wait: no deployment sustains more, and those that could not win even so are not simulated.

--workers N has N processes make the runs in place of this one, and --listen serves the queue for decodesim worker on
other machines, which may come, go, be killed or suspended: the answer is the same to the byte.

A file with fleet: [STUDY, ...] and a budget is of several models that share it: the deployments that sustain the rate of
each and cost least together. A key of --set is one of the study, such as budget.gpus, or else one of its scenario, such
as workload.output_tokens.mean.`

func newSize(out, errOut io.Writer) *cobra.Command {
	var f sizeFlags
	c := &cobra.Command{
		Use:   "size [STUDY]",
		Short: "Search the deployment that serves a load best",
		Long:  sizeLong,
		Example: "  decodesim size --model llama-3.3-70b --weights fp8 --gpu h200,b200,mi300x " +
			"--trace conv.csv.gz --rate 40 --slo 'ttft p95<=1s, itl p95<=50ms'\n" +
			"  decodesim size --model llama-3.1-8b --gpu l40s --rate 5 --slo 'ttft p95<=1s, tpot p95<=50ms' " +
			"--prompt 1000 --output 250\n" +
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
			if err := f.checkQueue(func() error { return f.queue.check(c) }); err != nil {
				return err
			}
			f.seedGiven = c.Flags().Changed("seed")
			if len(args) == 1 && configs.IsFleet(args[0]) {
				return f.fleet(c, out, errOut, args[0])
			}
			s, err := f.study(c, args)
			if err != nil {
				return err
			}
			err = f.run(c.Context(), out, errOut, s)
			if name, ok := catalog.ModelNamed(f.model); ok && err == nil && !strings.Contains(strings.ToLower(f.model), name) {
				fmt.Fprintf(errOut, "note: --model %s is sized as %s, the catalog's model of its shape\n", f.model, name)
			}
			return err
		},
	}
	f.add(c)
	flags := c.Flags()
	flags.StringArrayVar(&f.set, "set", nil,
		"`KEY=VALUE` over the study's, or else its scenario's; repeatable, such as budget.gpus=32")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of every random stream, in place of the scenario's")
	flags.StringVar(&f.out, "out", "", "write study, results, candidates, plots, a report and the best scenario to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print JSON instead of tables")
	f.addQueue(c)
	cobra.CheckErr(c.MarkFlagDirname("out"))
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	return c
}

// fleet searches deployments of several models that share a budget.
func (f *sizeFlags) fleet(c *cobra.Command, out, errOut io.Writer, name string) error {
	given, err := f.subject.settings(c)
	if err != nil {
		return err
	}
	if len(given) > 0 {
		return fmt.Errorf("size: %s beside %q, a fleet, whose studies say it; expected --set", given[0].By, name)
	}
	fleet, members, err := configs.LoadFleet(name, f.set)
	if err != nil {
		return err
	}
	line := progressOn(errOut)
	options := f.options(line, errOut)
	dir, err := openOut(f.out, "fleet.yaml")
	if err != nil {
		return err
	}
	defer dir.Abandon()
	var answer *sizing.Fleet
	err = f.searching(withReading(c.Context(), line), errOut, &options, func(ctx context.Context) (err error) {
		answer, err = sizing.SearchFleet(ctx, fleet, members, options)
		line.Clear()
		return err
	})
	if err != nil {
		return err
	}
	if dir != nil {
		if err := sizing.WriteFleetFiles(c.Context(), dir, answer); err != nil {
			return failed(err)
		}
	}
	return printed{json: f.json, files: dir.Files()}.print(out, errOut, func(w io.Writer) error {
		if f.json {
			return text.WriteJSON(w, answer)
		}
		return sizing.WriteFleet(w, answer)
	})
}

// searching searches, by other processes if that is asked for.
func (f *sizeFlags) searching(ctx context.Context, errOut io.Writer, o *sizing.Options,
	search func(context.Context) error) error {
	others, err := f.others(ctx, errOut)
	if err != nil {
		return err
	}
	if others == nil {
		return search(ctx)
	}
	o.Elsewhere = others.begin
	err = others.leave(search(others.ctx))
	if errors.Is(err, context.Canceled) {
		others.remains(errOut)
	}
	return err
}

// options are what surrounds a search, with its progress on a line, and what it had found if it is interrupted.
func (f *sizeFlags) options(line *progress.Line, errOut io.Writer) sizing.Options {
	options := sizing.Options{Env: os.Environ(), Version: programVersion(),
		Progress: func(what string, done, of int) {
			line.Set(progress.Work{What: what, Done: float64(done), Of: float64(of), Unit: "deployment",
				Step: true})
		},
		Unfinished: func(words string) {
			line.Clear()
			fmt.Fprintln(errOut, "decodesim: "+words)
		}}
	if f.seedGiven {
		options.Seed = &f.seed
	}
	return options
}

// run searches. A directory that cannot take the results is refused before the first simulation.
func (f *sizeFlags) run(ctx context.Context, out, errOut io.Writer, s *configs.Study) error {
	line := progressOn(errOut)
	options := f.options(line, errOut)
	dir, err := openOut(f.out, "study.yaml", "best.yaml")
	if err != nil {
		return err
	}
	defer dir.Abandon()
	began := time.Now()
	var answer *sizing.Sizing
	var best *configs.Scenario
	err = f.searching(withReading(ctx, line), errOut, &options, func(ctx context.Context) (err error) {
		answer, best, err = sizing.Search(ctx, s, options)
		line.Clear()
		return err
	})
	if err != nil {
		return err
	}
	tookS := time.Since(began).Seconds()
	if dir != nil {
		if err := sizing.WriteFiles(ctx, dir, s, answer, best); err != nil {
			return failed(err)
		}
	}
	err = printed{json: f.json, files: dir.Files()}.print(out, errOut, func(w io.Writer) error {
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

// subject is the flags that say what is sized, in place of a study's file or above one.
type subject struct {
	model, weights, kvCache, engine, trace string
	gpus, topology, parallel, slo          []string
	rate, budgetUSD                        string
	budgetGPUs, budgetPower                string
	prompt, output                         string // a mean, or a law
	seeds                                  string // of the last round
}

// add declares the flags.
func (s *subject) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&s.model, "model", "", "`MODEL` to serve: a name, or a path to a config.json; in place of a study")
	flags.StringVar(&s.weights, "weights", "", "`PRECISION` of its weights: bf16 fp8 int8 int4 mxfp4 nvfp4")
	flags.StringVar(&s.kvCache, "kv-cache", "", "`PRECISION` of its KV cache")
	flags.StringVar(&s.engine, "engine", "", "`ENGINE` that serves it; without a study vllm-v1")
	flags.StringVar(&s.trace, "trace", "", "`FILE` of recorded requests to serve, plain or gzipped")
	flags.StringSliceVar(&s.gpus, "gpu", nil, "`GPUS` to choose from, with commas, such as h200,b200")
	flags.StringVar(&s.rate, "rate", "", "`REQUESTS` per second to sustain as cheaply as possible")
	flags.StringArrayVar(&s.slo, "slo", nil, "`RULES` to keep, with commas, such as 'ttft p95<=1s, itl p95<=50ms'")
	flags.StringSliceVar(&s.topology, "topology", nil, "`TOPOLOGIES`: colocated, disaggregated; without a study both")
	flags.StringSliceVar(&s.parallel, "parallel", nil,
		"`LAYOUTS` of a replica, such as tp4,tp8-pp2,dp16-ep; without a study all that fit the memory")
	flags.StringVar(&s.budgetGPUs, "budget-gpus", "", "`GPUS` that a deployment may have")
	flags.StringVar(&s.budgetPower, "budget-power-w", "", "`WATTS` that its accelerators may draw, by their data sheets")
	flags.StringVar(&s.budgetUSD, "budget-usd-per-hour", "", "`DOLLARS` per hour that it may cost")
	flags.StringVar(&s.prompt, "prompt", "",
		"mean `TOKENS` of a prompt, 4k for 4,096, of a lognormal law with cv 1; or a law in braces")
	flags.StringVar(&s.output, "output", "", "mean `TOKENS` of an output, as of --prompt")
	flags.StringVar(&s.seeds, "seeds", "", "`N` runs of each deployment of the last round; without a study 5")
	cobra.CheckErr(c.MarkFlagFilename("trace"))
}

// law returns the law of lengths that a flag asks for: a mean, of which import makes the same, or a law as it stands.
func law(flag, value string) (string, error) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "{") {
		return value, nil
	}
	var mean tokens
	if err := mean.Set(value); err != nil || !(mean >= 1 && mean <= 1e6) {
		return "", fmt.Errorf("--%s %s: expected a mean from 1 to 1e+06 tokens, such as 1000, or 4k for 4,096, or a law "+
			"such as '{distribution: fixed, mean: 1000}'", flag, value)
	}
	return "{distribution: lognormal, mean: " + mean.String() + ", cv: 1}", nil
}

// named returns the name of the model in the catalog, or the path to its config.json.
func (s *subject) named() (string, error) {
	if _, err := os.Stat(s.model); s.model == "" || err == nil && catalog.IsModelPath(s.model) {
		return s.model, nil
	}
	if _, unknown := names.PublishedName(s.model); unknown != "" {
		return "", fmt.Errorf("--model %s: %s (decodesim list models)", s.model, unknown)
	}
	return s.model, nil // a repository's name may speak of a precision
}

// settings returns what the flags say, as values of a study.
func (s *subject) settings(c *cobra.Command) (all []configs.Setting, err error) {
	add := func(flag, key, value string) {
		if c.Flags().Changed(flag) {
			all = append(all, configs.Setting{Key: key, Value: value, By: fmt.Sprintf("--%s %s", flag, value)})
		}
	}
	model, err := s.named()
	if err != nil {
		return nil, err
	}
	var gpus []string
	for _, written := range s.gpus {
		name, count := catalog.CountedGPU(strings.TrimSpace(written))
		gpu, unknown := names.PublishedGPU(name)
		switch {
		case unknown != "":
			return nil, fmt.Errorf("--gpu %s: %s (decodesim list gpus)", written, unknown)
		case count > 0:
			return nil, fmt.Errorf("--gpu %s: how many GPUs is for the search to say; expected --gpu %s, and --budget-gpus %d "+
				"for no more than so many", written, gpu, count)
		}
		gpus = append(gpus, gpu)
	}
	list := func(words []string) string { return "[" + strings.Join(words, ", ") + "]" }
	add("model", "model", model)
	add("weights", "weights", s.weights)
	add("kv-cache", "kv_cache", s.kvCache)
	add("engine", "engine", s.engine)
	add("trace", "trace", s.trace)
	for _, of := range []struct{ flag, key, value string }{
		{"prompt", "workload.prompt_tokens", s.prompt}, {"output", "workload.output_tokens", s.output},
	} {
		if !c.Flags().Changed(of.flag) {
			continue
		}
		lengths, err := law(of.flag, of.value)
		if err != nil {
			return nil, err
		}
		all = append(all, configs.Setting{Key: of.key, Value: lengths, By: "--" + of.flag + " " + of.value})
	}
	add("gpu", "search.gpu", list(gpus))
	if c.Flags().Changed("rate") {
		add("rate", "rate.min", "null")
		add("rate", "rate.max", "null")
	}
	add("rate", "rate.at", s.rate)
	if c.Flags().Changed("slo") {
		for _, key := range []string{"slo.ttft_ms", "slo.tpot_ms", "slo.e2e_ms"} {
			add("slo", key, "null")
		}
	}
	add("slo", "slo", strings.Join(s.slo, ", "))
	add("topology", "search.topology", list(s.topology))
	if c.Flags().Changed("parallel") {
		add("parallel", "search.tensor_parallel", "null")
		add("parallel", "search.prefill_tensor_parallel", "null")
	}
	add("parallel", "search.parallel", list(s.parallel))
	add("seeds", "seeds", s.seeds)
	add("budget-gpus", "budget.gpus", s.budgetGPUs)
	add("budget-usd-per-hour", "budget.usd_per_hour", s.budgetUSD)
	add("budget-power-w", "budget.power_w", s.budgetPower)
	return all, nil
}

// study returns the study that the arguments and the flags name.
func (f *sizeFlags) study(c *cobra.Command, args []string) (*configs.Study, error) {
	given, err := f.subject.settings(c)
	switch {
	case err != nil:
		return nil, err
	case len(args) > 1:
		return nil, oneArgument(aStudy)(c, args)
	case len(args) == 0 && f.model == "":
		return nil, fmt.Errorf("size: missing %s, or --model with --gpu, --trace (or --prompt and --output), --rate and "+
			"--slo; see decodesim size --help", aStudy)
	case len(args) == 0 && (len(f.gpus) == 0 || f.rate == "" || len(f.slo) == 0):
		return nil, errors.New("size: --model needs --gpu, --rate and --slo beside it, such as --gpu h200,b200 --rate 40 " +
			"--slo 'ttft p95<=1s, itl p95<=50ms'")
	case len(args) == 0 && (f.prompt == "") != (f.output == "") && len(f.set) == 0:
		return nil, errors.New("size: --prompt and --output need one another, such as --prompt 1000 --output 250")
	}
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	return configs.LoadStudyUnder(given, name, f.set)
}

const aStudy = "a study: a name or a path to a YAML file"
