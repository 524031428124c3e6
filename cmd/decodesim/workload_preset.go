package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/internal/traffic"
)

func newPreset(out io.Writer) *cobra.Command {
	var seed uint64
	c := &cobra.Command{
		Use:   "preset [NAME]",
		Short: "Print a workload that is built in, beside what was published of traffic like it",
		Long: `Print the workload of a scenario for chat, code, summarization, rag, reasoning or agentic-coding, to paste into a
scenario. Its comments say where its numbers are from, and set the statistics of the requests that it sends beside those
of the trace that was published: rate, burstiness, lengths and what prompts share. Without a name, list the presets.`,
		Example: "  decodesim workload preset\n" +
			"  (decodesim workload preset chat; echo 'model: llama-3.1-8b'; echo 'pools: [{gpu: h100-sxm}]') | " +
			"decodesim run -",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("preset: %q is one argument too many; expected at most one preset", args[1])
			}
			return nil
		},
		ValidArgs: traffic.PresetNames(),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				list, err := traffic.ListPresets()
				if err != nil {
					return err
				}
				return printedText(out, list)
			}
			p, err := traffic.ReadPreset(args[0])
			if err != nil {
				return err
			}
			if err := p.Draw(c.Context(), seed); err != nil {
				return err
			}
			return printedText(out, p.Text())
		},
	}
	c.Flags().Uint64Var(&seed, "seed", 1, "of the requests that are described")
	return c
}

// printedText writes a text to stdout.
func printedText(out io.Writer, text string) error {
	if _, err := io.WriteString(out, text); err != nil {
		return failed(err)
	}
	return nil
}
