package sweep

import (
	"fmt"
	"io"
	"math"
	"reflect"

	"github.com/parquet-go/parquet-go"
)

// groupRows is how many rows are in memory at once before they are written.
const groupRows = 4096

// parquetTable is the table of csvTable as Parquet, in columns of the same names and order. What is not known is null.
type parquetTable struct {
	of  *Head
	w   *parquet.GenericWriter[any]
	row parquet.Row
}

func newParquet(w io.Writer, of *Head) *parquetTable {
	schema := parquet.NewSchema("sweep", parquet.SchemaOf(reflect.New(rowType(of)).Interface()))
	return &parquetTable{of: of, w: parquet.NewGenericWriter[any](w, schema, parquet.MaxRowsPerRowGroup(groupRows),
		parquet.CreatedBy("decodesim", "", ""), parquet.KeyValueMetadata("scenario", of.Scenario))}
}

// rowType is a struct with a field for each column: the library takes the order of columns from one.
func rowType(of *Head) reflect.Type {
	var fields []reflect.StructField
	add := func(name string, t reflect.Type, options string) {
		tag := fmt.Sprintf("parquet:%q", name+options+",snappy")
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("C%d", len(fields)), Type: t,
			Tag: reflect.StructTag(tag)})
	}
	add("point", reflect.TypeFor[int64](), "")
	add("seed", reflect.TypeFor[uint64](), "")
	for i := range of.Axes {
		if of.Axes[i].Numbers {
			add(of.Axes[i].Name, reflect.TypeFor[float64](), "")
			continue
		}
		add(of.Axes[i].Name, reflect.TypeFor[string](), "")
	}
	add("error", reflect.TypeFor[string](), ",optional")
	for _, c := range columns() {
		add(c.Name, reflect.TypeFor[float64](), ",optional")
	}
	return reflect.StructOf(fields)
}

func (t *parquetTable) add(r *Row) error {
	point, seed := t.of.place(r)
	row := t.row[:0]
	required := func(x any) { row = append(row, parquet.ValueOf(x).Level(0, 0, len(row))) }
	optional := func(x any, known bool) {
		if !known {
			row = append(row, parquet.NullValue().Level(0, 0, len(row)))
			return
		}
		row = append(row, parquet.ValueOf(x).Level(0, 1, len(row)))
	}
	required(int64(point))
	required(seed)
	for i, which := range at(t.of.Axes, point) {
		if a := &t.of.Axes[i]; a.Numbers {
			required(a.number(which))
		} else {
			required(a.Values[which])
		}
	}
	optional(r.Error, r.Error != "")
	for i := range columns() {
		known := r.Error == "" && !math.IsNaN(r.Values[i])
		x := 0.0
		if known {
			x = r.Values[i]
		}
		optional(x, known)
	}
	t.row = row
	_, err := t.w.WriteRows([]parquet.Row{row})
	return err
}

func (t *parquetTable) close() error { return t.w.Close() }
