package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs/catalog"
)

func newShow(out io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME",
		Short: "Print a built-in file, to copy",
		Long: "Print the YAML file of a built-in scenario, study, GPU, model, engine, efficiency or acceptance curve, to " +
			"copy and change.\n" +
			"Where an engine and its efficiencies have one name, that is the engine's; the efficiencies are " +
			"efficiencies/NAME.\n" +
			"Built-in efficiencies are of several GPUs; a pool's efficiency takes a file of one: those under default, or " +
			"under a gpu.",
		Example: "  decodesim show chat-70b > my-scenario.yaml",
		Args:    oneArgument("the name of a scenario, study, GPU, model, engine, efficiency or acceptance curve"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return catalog.FileNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := catalog.File(args[0])
			if err != nil {
				return err
			}
			_, err = out.Write(text)
			return err
		},
	}
}
