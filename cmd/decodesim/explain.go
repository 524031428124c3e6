package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/hardware/llm"
	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics/views"
)

// explainFlags are the flags of explain that are no key of a scenario.
type explainFlags struct {
	batch, context string
	set            []string
	out            string
	json           bool
	metrics        bool
	stdin          []byte // the scenario that - names
}

func newExplain(out, errOut io.Writer) *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain SCENARIO | explain --model NAME --gpu NAME",
		Short: "Take one decode step apart: bytes, FLOPs, the bound, and what limits it",
		Long: `Take one decode step apart: what each part of the model moves and computes, how long that takes, how far the
step is above the bound max(bytes / bandwidth, FLOPs / peak), what limits it, and at which batch and context that
changes. With speculation it says what drafting does to the step, and at which batch and acceptance it pays. The
deployment is that of a scenario or of flags; given both, the flags stand above the scenario. Batch, context, weights,
KV cache, GPU and tensor parallel take several values with commas between them: then the step of every combination is a
row of a table.`,
		Example: `  decodesim explain chat-70b
  decodesim explain --model llama-3.1-8b --gpu h100-sxm --batch 64 --context 4096
  decodesim explain --model llama-3.1-8b --gpu h100-sxm --batch 1,8,64 --context 4k,32k --weights bf16,fp8
  decodesim explain --model path/to/config.json --gpu h200-sxm --tensor-parallel 8 --weights fp8 --json
  decodesim explain --model llama-3.1-70b --gpu h100-sxm --tensor-parallel 4 --speculation eagle --num-speculative-tokens 3 --acceptance 0.8`,
		Args:              atMostOneScenario,
		ValidArgsFunction: completeScenario,
		RunE:              func(c *cobra.Command, args []string) error { return runExplain(c, args, &f, out, errOut) },
	}
	flags := c.Flags()
	flags.String("model", "", "catalog name, or a path to a HuggingFace config.json")
	flags.String("gpu", "", "catalog name")
	flags.String("weights", "", "bf16 fp8 int8 int4 mxfp4 nvfp4; default: as in the checkpoint")
	flags.String("kv-cache", "", "bf16 fp8 int8 int4 mxfp4 nvfp4; default: as in the checkpoint")
	flags.String("tensor-parallel", "1", "GPUs that share every layer")
	flags.Int("pipeline-parallel", 1, "stages of layers")
	flags.String("engine", "", strings.Join(catalog.EngineNames(), " ")+"; default: vllm-v1, or the scenario's")
	flags.String("speculation", "none", strings.Join(configs.SpeculationMethods(), " ")+": what drafts tokens")
	flags.Int("num-speculative-tokens", 0, "drafts of a sequence in a step")
	flags.String("draft-model", "", "what drafts: catalog name, or a path to a HuggingFace config.json")
	flags.Float64("acceptance", 0, "rate at which each draft is accepted after accepted ones")
	flags.StringVar(&f.batch, "batch", "1", "sequences that decode; for a scenario, by default all that fit")
	flags.StringVar(&f.context, "context", strconv.Itoa(explain.ContextDefault),
		"tokens each attends to, the new one included, 4k for 4,096; for a scenario, by default the workload's mean")
	flags.StringArrayVar(&f.set, "set", nil,
		"`KEY=VALUE` over the scenario's; repeatable, such as pools.serve.block_size=32")
	flags.StringVar(&f.out, "out", "", "write explain.json and the plots roofline and itl_vs_batch, or steps, to `DIR`")
	flags.BoolVar(&f.json, "json", false, "print JSON (SI units) instead of tables")
	flags.BoolVar(&f.metrics, "metrics", false,
		"explain instead what benchmark tools say of one request: an example, or one of the scenario's run")
	flags.SetNormalizeFunc(engineNames)
	cobra.CheckErr(c.MarkFlagDirname("out"))
	completeNames(c, map[string][]string{
		"gpu": catalog.GPUNames(), "engine": catalog.EngineNames(), "weights": llm.Dtypes(), "kv-cache": hardware.KVDtypes(),
		"speculation": configs.SpeculationMethods(),
	}, cobra.ShellCompDirectiveNoFileComp)
	// and files
	completeNames(c, map[string][]string{"model": catalog.ModelNames(), "draft-model": catalog.ModelNames()},
		cobra.ShellCompDirectiveDefault)
	return c
}

// engineNames lets flags of layouts go by the names that engines have for them.
func engineNames(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if key := strict.Synonym(name); key == "tensor_parallel" || key == "pipeline_parallel" {
		name = strings.ReplaceAll(key, "_", "-")
	}
	return pflag.NormalizedName(name)
}

// flagCalled returns the flag for a word that engines, calculators and load testers have for what it says; empty: it is
// none of theirs.
func flagCalled(word string) string {
	switch strings.ReplaceAll(strings.ToLower(word), "_", "-") {
	case "ctx", "ctx-len", "context-len", "context-length", "seq-len", "seqlen", "sequence-length", "kv-len",
		"prompt", "prompt-len", "input-len":
		return "context"
	case "bs", "batchsize", "batch-size", "num-seqs":
		return "batch"
	case "dtype", "quant", "quantization", "weight-dtype", "weights-dtype":
		return "weights"
	case "kv", "kv-dtype", "kv-cache-dtype", "cache-dtype":
		return "kv-cache"
	case "hardware", "device", "accelerator", "gpu-type", "gpu-name":
		return "gpu"
	case "spec", "spec-method", "speculative-method":
		return "speculation"
	case "k", "gamma", "num-spec", "num-spec-tokens", "num-draft-tokens", "draft-tokens":
		return "num-speculative-tokens"
	case "drafter", "draft", "speculative-model", "draft-model-path":
		return "draft-model"
	case "acceptance-rate", "alpha":
		return "acceptance"
	case "backend", "framework":
		return "engine"
	case "model-name", "model-path", "model-id":
		return "model"
	case "out-dir", "outdir", "output-dir":
		return "out"
	case "out", "output", "output-file":
		return "to"
	case "qps", "rps", "request-rate":
		return "rate"
	}
	return ""
}

// completeNames makes the shell offer names for flags.
func completeNames(c *cobra.Command, names map[string][]string, others cobra.ShellCompDirective) {
	for flag, have := range names {
		cobra.CheckErr(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(have, others)))
	}
}

func atMostOneScenario(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("%s: %q is one argument too many; expected at most one scenario", c.Name(), args[1])
	}
	return nil
}

func runExplain(c *cobra.Command, args []string, f *explainFlags, out, errOut io.Writer) (err error) {
	f.stdin, err = stdinFor(c, args)
	if err != nil {
		return err
	}
	if f.metrics {
		return explainMetrics(c, args, f, out, errOut)
	}
	if err := outNamed(c); err != nil {
		return err
	}
	axes, err := axesOf(c)
	if err != nil {
		return err
	}
	if len(axes) > 0 {
		return explainSeveral(c, args, f, axes, out, errOut)
	}
	s, err := f.step(c, args, errOut)
	if err != nil {
		return err
	}
	dir, err := openOut(f.out)
	if err != nil {
		return err
	}
	defer dir.Abandon()
	x, err := s.Explain()
	if err != nil {
		return err
	}
	if dir != nil {
		if err := explain.WriteFiles(dir, s, x); err != nil {
			return failed(err)
		}
	}
	return printed{json: f.json, files: dir.Files(), dense: true}.print(out, errOut, func(w io.Writer) error {
		if f.json {
			return text.WriteJSON(w, x)
		}
		_, err := w.Write(explain.Text(s, x))
		return err
	})
}

// flagKeys are the keys of a scenario that have a flag of their own.
var flagKeys = []struct{ flag, key string }{
	{"model", "model"}, {"gpu", "pools.0.gpu"}, {"weights", "weights"}, {"kv-cache", "kv_cache"},
	{"tensor-parallel", "pools.0.tensor_parallel"}, {"pipeline-parallel", "pools.0.pipeline_parallel"},
	{"engine", "pools.0.engine"}, {"speculation", "speculation.method"},
	{"num-speculative-tokens", "speculation.num_speculative_tokens"},
	{"draft-model", "speculation.draft_model"}, {"acceptance", "speculation.acceptance.rate"},
}

// setPosition is how an error names a key that a flag set, and the key's path.
var setPosition = regexp.MustCompile(`^--set ([a-z_0-9.]+)=(.*?): (?:(?:pools\[0\]\.)?[a-z_]+: )?`)

// inFlags rewrites an error about a key as one about the flag that the user typed.
func inFlags(err error) error {
	message := err.Error()
	if m := setPosition.FindStringSubmatch(message); m != nil {
		for _, k := range flagKeys {
			if k.key == m[1] {
				says := strings.TrimPrefix(message, m[0])
				return fmt.Errorf("--%s %s: %s", k.flag, m[2], strings.ReplaceAll(says, "speculation.method", "--speculation"))
			}
		}
	}
	return err
}

// question is what the command line asks for; one has the values of flags that were given several. The flags of a
// deployment are the first pool's.
func (f *explainFlags) question(c *cobra.Command, args []string, one map[string]string) (q explain.Question,
	err error) {
	flags := c.Flags()
	value := func(flag string) string {
		if v, ok := one[flag]; ok {
			return v
		}
		return flags.Lookup(flag).Value.String()
	}
	q.Options = configs.Options{Env: os.Environ(), Stdin: f.stdin}
	switch {
	case len(args) == 1:
		q.Scenario = args[0]
	case !flags.Changed("model") || !flags.Changed("gpu"):
		return q, errors.New("explain: missing what to explain; expected a SCENARIO, or both --model and --gpu; " +
			"see decodesim explain --help")
	}
	for _, k := range flagKeys {
		if !flags.Changed(k.flag) {
			continue
		}
		q.Set = append(q.Set, k.key+"="+value(k.flag))
		if strings.HasPrefix(k.key, "speculation.") && k.flag != "speculation" {
			q.Drafts = append(q.Drafts, "--"+k.flag+" "+value(k.flag))
		}
	}
	q.Set = append(q.Set, f.set...)
	for flag, to := range map[string]**int{"batch": &q.Batch, "context": &q.Context} {
		if !flags.Changed(flag) {
			continue
		}
		n, err := countOf(flag, value(flag))
		if err != nil {
			return q, err
		}
		*to = &n
	}
	return q, nil
}

// step builds the step that the command line asks for.
func (f *explainFlags) step(c *cobra.Command, args []string, errOut io.Writer) (*explain.Step, error) {
	flags := c.Flags()
	q, err := f.question(c, args, nil)
	if err != nil {
		return nil, err
	}
	line := progressOn(errOut)
	defer line.Clear()
	ctx := withReading(c.Context(), line)
	s, err := explain.New(ctx, q)
	if err != nil {
		return nil, inFlags(err)
	}
	for _, k := range flagKeys {
		if own, ok := strings.CutPrefix(k.key, "pools.0."); ok && s.Number > 0 && flags.Changed(k.flag) {
			return nil, fmt.Errorf(
				"explain: --%s is for scenarios of one pool, and pool %q of %s decodes; expected --set pools.%s.%s=%s",
				k.flag, s.Pool.Name, q.Scenario, s.Pool.Name, own, flags.Lookup(k.flag).Value)
		}
	}
	return s, nil
}

// explainMetrics prints what each benchmark tool says of one request: of the example, or of one that a scenario's run
// traced.
func explainMetrics(c *cobra.Command, args []string, f *explainFlags, out, errOut io.Writer) error {
	for _, name := range []string{"model", "gpu", "weights", "kv-cache", "tensor-parallel", "pipeline-parallel", "engine",
		"batch", "context", "out"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf(
				"explain: --%s is of a step, and --metrics explains a request; expected a SCENARIO, --set, --json or none of them",
				name)
		}
	}
	record, heading := views.Example(), "the example: one request on which the tools disagree"
	if len(args) == 1 {
		var err error
		record, heading, err = tracedRequest(c, args[0], f, errOut)
		if err != nil {
			return err
		}
	} else if len(f.set) > 0 {
		return errors.New("explain: --set needs a SCENARIO; the example has none")
	}
	var said bytes.Buffer
	err := report.Definitions(&said, &record, heading, report.Options{Colour: colour(out)})
	if f.json {
		said.Reset()
		err = explain.WriteDefinitions(&said, &record, heading)
	}
	if err == nil {
		_, err = out.Write(said.Bytes())
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// tracedRequest simulates a scenario and returns the traced request of median latency among those with several tokens.
func tracedRequest(c *cobra.Command, scenario string, f *explainFlags, errOut io.Writer) (r views.Record,
	heading string, err error) {
	s, err := configs.Load(scenario, configs.Options{Set: f.set, Env: os.Environ(), Stdin: f.stdin})
	if err != nil {
		return r, "", err
	}
	b, err := built(c.Context(), s, errOut)
	if err != nil {
		return r, "", err
	}
	defer b.Close()
	ran, err := simulate(c.Context(), b, errOut, run.Options{Sample: true})
	if err != nil {
		return r, "", err
	}
	r, of, ok := explain.MedianRecord(ran.Sample.Records())
	if !ok {
		return r, "", failed(errors.New("no traced request completed with more than one chunk; nothing to explain"))
	}
	return r, fmt.Sprintf("%s · seed %d · request %d, of median latency among %d traced", s.Name, s.Seed, r.ID, of), nil
}
