package sweep

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/stats"
)

// leading are the columns in front of every table, beside the axes.
func leading() []string { return []string{"point", "seed", "error"} }

// rowTable writes rows somewhere.
type rowTable interface {
	add(r *Row) error
	close() error
}

// csvTable is a table with a line for each run. Cells of what is not known stay empty.
type csvTable struct {
	of    *Head
	w     *csv.Writer
	cells []string
}

func newCSV(w io.Writer, of *Head) (*csvTable, error) {
	t := &csvTable{of: of, w: csv.NewWriter(w), cells: []string{"point", "seed"}}
	for i := range of.Axes {
		t.cells = append(t.cells, output.Cell(of.Axes[i].Name))
	}
	t.cells = append(t.cells, "error")
	for _, c := range columns() {
		t.cells = append(t.cells, c.Name)
	}
	return t, t.w.Write(t.cells)
}

func (t *csvTable) add(r *Row) error {
	point, seed := t.of.place(r)
	cells := append(t.cells[:0], strconv.Itoa(point), strconv.FormatUint(seed, 10))
	for i, which := range at(t.of.Axes, point) {
		cells = append(cells, output.Cell(t.of.Axes[i].Values[which]))
	}
	cells = append(cells, output.Cell(r.Error))
	for i := range columns() {
		if r.Error != "" {
			cells = append(cells, "")
			continue
		}
		cells = append(cells, stats.Number(r.Values[i]).Cell())
	}
	t.cells = cells
	return t.w.Write(cells)
}

func (t *csvTable) close() error {
	t.w.Flush()
	return t.w.Error()
}

// place returns the point of a row, counted from 0, and its seed.
func (h *Head) place(r *Row) (point int, seed uint64) {
	return r.Run / len(h.Seeds), h.Seeds[r.Run%len(h.Seeds)]
}
