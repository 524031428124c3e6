package main

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/text"
)

func newList(out io.Writer) *cobra.Command {
	kinds := strings.Join(describe.Kinds(), "|")
	return &cobra.Command{
		Use:   "list [" + kinds + "]",
		Short: "List what is built in",
		Long: "List what is built in of a kind, in the plural or the singular; alone, the kinds and how many there are of " +
			"each.",
		ValidArgs: describe.Kinds(),
		Args:      atMostOneKind,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listKinds(out)
			}
			rows, err := describe.Tables(plural(args[0]))
			if err != nil {
				return err
			}
			return columns(out, rows)
		},
	}
}

func atMostOneKind(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return oneArgument("one of "+strings.Join(describe.Kinds(), ", "))(c, args)
	}
	return nil
}

// plural returns the kind that a word means: gpu is one of gpus, policy one of policies.
func plural(word string) string {
	for _, kind := range describe.Kinds() {
		if kind == word+"s" || kind == strings.TrimSuffix(word, "y")+"ies" {
			return kind
		}
	}
	return word
}

// listKinds prints the kinds, and how many there are of each.
func listKinds(out io.Writer) error {
	rows := [][]string{{"kind", "built in"}}
	for _, kind := range describe.Kinds() {
		n, err := describe.Count(kind)
		if err != nil {
			return err
		}
		rows = append(rows, []string{kind, strconv.Itoa(n)})
	}
	return columns(out, rows)
}

// columns prints rows, the first of which is the head. A column is aligned to the right if it holds numbers.
func columns(w io.Writer, rows [][]string) error {
	var left []int
	for j := range rows[0] {
		hasNumber := func(row []string) bool { return len(row) > j && isNumber(row[j]) }
		if !slices.ContainsFunc(rows[1:], hasNumber) {
			left = append(left, j)
		}
	}
	_, err := io.WriteString(w, text.Table(rows, left...))
	return err
}

func isNumber(cell string) bool { return cell != "" && cell[0] >= '0' && cell[0] <= '9' }
