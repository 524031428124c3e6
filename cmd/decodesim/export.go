package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/commands"
)

func newExport(out, errOut io.Writer) *cobra.Command {
	var set []string
	c := &cobra.Command{
		Use:   "export SCENARIO",
		Short: "Print the command lines that start the servers of a scenario",
		Long: `Print how a replica of each pool of a scenario is started, as a shell script: vllm serve, python -m sglang.launch_server
or trtllm-serve with a file of settings, by the engine of the pool. It is the reverse of decodesim import.

A comment above each command names the pool and its GPUs, and what the scenario asks for that no argument of the engine
says. Limits that people tune are written out even where they are the default, which differs between versions.`,
		Example: "  decodesim export chat-70b > start.sh\n" +
			"  decodesim export sized/best.yaml\n" +
			"  decodesim export chat-70b --set pools.serve.engine=sglang",
		Args:              oneArgument("a scenario: a name or a path to a YAML file"),
		ValidArgsFunction: completeScenario,
		RunE: func(c *cobra.Command, args []string) error {
			stdin, err := stdinFor(c, args)
			if err != nil {
				return err
			}
			s, err := configs.Load(args[0], configs.Options{Set: set, Env: os.Environ(), Stdin: stdin})
			if err != nil {
				return err
			}
			b, err := built(c.Context(), s, errOut)
			if err != nil {
				return err
			}
			defer b.Close()
			lines, err := commands.Lines(b.Scenario)
			if err != nil {
				return err
			}
			if _, err := io.WriteString(out, strings.Join(lines, "\n")+"\n"); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	c.Flags().StringArrayVar(&set, "set", nil,
		"`KEY=VALUE` over the scenario's; repeatable, such as pools.serve.engine=sglang")
	cobra.CheckErr(c.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions))
	return c
}
