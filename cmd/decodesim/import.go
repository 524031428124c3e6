package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/internal/vllmargs"
)

// importFlags are the flags of decodesim import.
type importFlags struct {
	options vllmargs.Options
	strict  bool
}

func newImport(out, errOut io.Writer) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import 'COMMAND' --gpu GPU",
		Short: "Make a scenario of the command line of a server",
		Long: `Make a scenario of how a server is started: vllm serve, python -m vllm.entrypoints.openai.api_server, docker run with
vLLM's image, python -m sglang.launch_server, sglang serve or trtllm-serve, as it is pasted: over several lines, with
comments, variables, within a script, or in a Compose file or a Kubernetes manifest. COMMAND is that text in quotes, a
file, or - for standard input; or give the words of the command behind --.

The scenario goes to standard output with the flag behind each key. Flags that have no influence, that are not modelled
or that are not known are named in it and on standard error. What the command line leaves out stays the engine's default.`,
		Example: "  decodesim import 'vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 4 --max-num-seqs 256' --gpu " +
			"h100-sxm > my-scenario.yaml\n" +
			"  decodesim import docker-compose.yaml --gpu l40s\n" +
			"  decodesim import launch.sh --gpu b200-sxm --var CONC=64\n" +
			"  decodesim import --gpu h200-sxm -- sglang serve --model-path openai/gpt-oss-120b --tp 2",
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c, args); err != nil {
				return err
			}
			return f.run(c, out, errOut, args)
		},
	}
	flags, o := c.Flags(), &f.options
	flags.StringVar(&o.GPU, "gpu", "", "the `GPU` it runs on; required, for no command line says it")
	flags.StringVar(&o.ModelConfig, "model-config", "",
		"`PATH` of the model's config.json, for a model that is not in the catalog")
	flags.StringVar(&o.Engine, "engine", "", "the `ENGINE`, for a text that is arguments alone: "+
		strings.Join(vllmargs.Engines(), ", "))
	flags.StringArrayVar(&o.Vars, "var", nil, "`NAME=VALUE` of a variable in the text; repeatable")
	flags.Float64Var(&o.Load.Rate, "rate", 0, "`REQUESTS` per second, in place of a placeholder")
	flags.Var((*tokens)(&o.Load.Prompt), "prompt", "mean `TOKENS` of a prompt, 4k for 4,096, in place of a placeholder")
	flags.Var((*tokens)(&o.Load.Output), "output", "mean `TOKENS` of an output, as of --prompt, in place of a placeholder")
	flags.BoolVar(&f.strict, "strict", false, "refuse flags that are not known or not modelled")
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w; a server's flags go into quotes, or behind --; see %s --help", err, c.CommandPath())
	})
	completeNames(c, map[string][]string{"gpu": catalog.GPUNames(), "engine": vllmargs.Engines()},
		cobra.ShellCompDirectiveNoFileComp)
	return c
}

// check refuses flags that make no sense, and a missing command.
func (f *importFlags) check(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf(
			"import: missing the command line of a server, in quotes, as a file, or - for standard input; see %s --help",
			c.CommandPath())
	}
	for _, name := range []string{"gpu", "model-config", "engine"} {
		if x := c.Flags().Lookup(name); x.Changed && x.Value.String() == "" {
			return fmt.Errorf("--%s is empty; see %s --help", name, c.CommandPath())
		}
	}
	if e := f.options.Engine; e != "" && !slices.Contains(vllmargs.Engines(), e) {
		return fmt.Errorf("--engine %q: expected one of %s", e, strings.Join(vllmargs.Engines(), ", "))
	}
	l := &f.options.Load
	for _, n := range []struct {
		name       string
		value, low float64
	}{{"rate", l.Rate, 1e-6}, {"prompt", l.Prompt, 1}, {"output", l.Output, 1}} {
		if c.Flags().Changed(n.name) && !(n.value >= n.low && n.value <= 1e6) {
			return fmt.Errorf("--%s %v: expected a number from %v to 1e+06", n.name, n.value, n.low)
		}
	}
	return nil
}

func (f *importFlags) run(c *cobra.Command, out, errOut io.Writer, args []string) error {
	f.options.ReadFile = readNamed
	i, err := awaited(c.Context(), func() (*checked, error) { return f.checked(c.InOrStdin(), args) })
	if err != nil {
		return err
	}
	if refused := slices.Concat(i.Unknown, i.Differs); f.strict && len(refused) > 0 {
		return fmt.Errorf("--strict: %s", strings.Join(refused, "\n  "))
	}
	f.report(errOut, i.Import, i.doubt)
	if _, err := out.Write(i.Text); err != nil {
		return failed(err)
	}
	return nil
}

// checked is an import and why it does not run as it stands; nil: it does.
type checked struct {
	*vllmargs.Import
	doubt error
}

func (f *importFlags) checked(in io.Reader, args []string) (*checked, error) {
	i, err := f.read(in, args)
	if err != nil {
		return nil, err
	}
	wrong, doubt := i.Check()
	if wrong {
		return nil, doubt
	}
	return &checked{i, doubt}, nil
}

// report says what became of every flag.
func (*importFlags) report(errOut io.Writer, i *vllmargs.Import, doubt error) {
	if len(i.Taken) > 0 {
		fmt.Fprintf(errOut, "taken: %s\n", strings.Join(i.Taken, ", "))
	}
	for _, group := range []struct {
		heading string
		lines   []string
	}{
		{"without influence here", i.Idle},
		{"not modelled, so results will differ", i.Differs}, {"unknown", i.Unknown}, {"note", i.Notes},
	} {
		for _, l := range group.lines {
			fmt.Fprintf(errOut, "%s: %s\n", group.heading, l)
		}
	}
	if doubt != nil {
		fmt.Fprintf(errOut, "the scenario does not run as it stands: %v\n", doubt)
	}
}

// read makes the scenario of one argument, a text or where there is one, or of several, the words of a command.
func (f *importFlags) read(in io.Reader, args []string) (*vllmargs.Import, error) {
	if len(args) > 1 {
		return vllmargs.ReadWords(args, f.options)
	}
	text := args[0]
	if text == "-" {
		all, err := io.ReadAll(io.LimitReader(in, namedMax+1))
		if err != nil {
			return nil, fmt.Errorf("standard input: %w; expected the command line of a server", err)
		}
		return vllmargs.Read(string(all), f.options)
	}
	at, err := os.Stat(text)
	switch {
	case err == nil && at.IsDir():
		return nil, fmt.Errorf("%s is a directory; expected a file with the command line of a server, or that text in quotes",
			text)
	case err == nil:
		all, err := readNamed(text)
		if err != nil {
			return nil, err
		}
		text = string(all)
		if strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("%s is empty; expected the command line of a server", args[0])
		}
	case isPath(text):
		return nil, fmt.Errorf("no such file %q; expected a file with the command line of a server, or that text in quotes",
			text)
	}
	return vllmargs.Read(text, f.options)
}

// isPath tells the name of a file from a command line, which has more than one word.
func isPath(text string) bool {
	const ends = `.+\.[A-Za-z]\w{0,4}`
	return !strings.HasPrefix(text, "-") && !strings.ContainsAny(text, " \t\r\n='\"$") &&
		(strings.ContainsAny(text, `/\`) || regexp.MustCompile("^"+ends+"$").MatchString(text))
}

// namedMax bounds what is read of a file that a command line names, in bytes.
const namedMax = 4 << 20

// readNamed reads a file that a command line names.
func readNamed(path string) ([]byte, error) {
	file, err := inputs.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if at, err := file.Stat(); err != nil || at.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("%s is a directory", path))
	}
	text, err := io.ReadAll(io.LimitReader(file, namedMax+1))
	if err == nil && len(text) > namedMax {
		return nil, fmt.Errorf("%s is longer than %d bytes (4 MiB)", path, namedMax)
	}
	return text, err
}
