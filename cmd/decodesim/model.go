package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/configs/inputs"
	"github.com/decodesim/decodesim/configs/strict"
	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/text"
)

func newModel(out io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use:   "model check MODEL",
		Short: "Count a model by part, and say what of its file was not understood",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("model: unknown command %q; expected check MODEL", args[0])
			}
			return fmt.Errorf("model: expected check MODEL; see %s --help", c.CommandPath())
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	c.AddCommand(newModelCheck(out))
	return c
}

func newModelCheck(out io.Writer) *cobra.Command {
	var ignore []string
	var published string
	var asJSON bool
	c := &cobra.Command{
		Use:   "check MODEL",
		Short: "Count a model by part, and say what of its file was not understood",
		Long: `Read a model as a scenario would, and print its parameters by part, the bytes of its weights, the cache of a
sequence by its length, and every field of its file that was not read: harmless, needing a capability that decodesim
lacks, or unknown. MODEL is a catalog name, the path of a HuggingFace config.json, or that of a file like those of the
catalog (decodesim show llama-3.1-8b > mine.yaml). Fields that are not understood and could change the cost refuse a
file: the check then prints what it counts without them, beside the error, and exits with 2. --ignore leaves them out,
and then --published says what the publisher counts, from which 2 % is as far as a count may be.`,
		Example: "  decodesim model check path/to/config.json\n" +
			"  decodesim model check new.json --ignore mystery_dim --published 284e9/13e9",
		Args: oneArgument("a model: a catalog name, or the path of a config.json or of a YAML file"),
		RunE: func(_ *cobra.Command, args []string) error {
			source := catalog.ModelSource{Config: args[0], Ignore: ignore}
			if name, ok := catalog.ModelNamed(args[0]); ok && !catalog.IsModelPath(args[0]) {
				source.Config = name
			}
			var err error
			source.Total, source.Active, err = sizes(published)
			if err != nil {
				return err
			}
			x, refused := describe.Check(source)
			if refused != nil {
				refused = fmt.Errorf("%s: %s", inputs.OneLine(args[0]), strict.Message(refused))
			}
			switch {
			case x == nil:
			case asJSON:
				err = text.WriteJSON(out, x)
			default:
				_, err = out.Write(x.Text(colour(out)))
			}
			return cmp.Or(err, refused)
		},
	}
	flags := c.Flags()
	flags.StringSliceVar(&ignore, "ignore", nil, "`FIELDS` of a config.json to leave out, with commas between them")
	flags.StringVar(&published, "published", "",
		"parameters that the publisher states, as `TOTAL` or TOTAL/ACTIVE, such as 284e9/13e9")
	flags.BoolVar(&asJSON, "json", false, "print JSON instead of tables")
	return c
}

// sizes reads TOTAL or TOTAL/ACTIVE.
func sizes(written string) (total, active float64, err error) {
	if written == "" {
		return 0, 0, nil
	}
	first, second, both := strings.Cut(written, "/")
	total, err = strconv.ParseFloat(first, 64)
	if err == nil && both {
		active, err = strconv.ParseFloat(second, 64)
	}
	if err != nil || !(total > 0 && total < 1e16) || both && !(active > 0 && active <= total) {
		return 0, 0, fmt.Errorf("--published is %q; expected numbers of parameters such as 744e9 or 284e9/13e9", written)
	}
	return total, active, nil
}
