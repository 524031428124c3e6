package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/decodesim/decodesim/internal/describe"
	"github.com/decodesim/decodesim/internal/text"
)

func newList(out io.Writer) *cobra.Command {
	kinds := strings.Join(describe.Kinds(), "|")
	return &cobra.Command{
		Use:       "list " + kinds,
		Short:     "List what is built in",
		ValidArgs: describe.Kinds(),
		Args:      oneArgument("one of " + strings.Join(describe.Kinds(), ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			rows, err := describe.Tables(args[0])
			if err != nil {
				return err
			}
			return columns(out, rows)
		},
	}
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
