package logs

import (
	"fmt"
	"os"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
)

// tables are the kinds of table, by columns that no other has.
func tables() []datafile.Schema {
	return []datafile.Schema{
		{Name: "engine steps", Columns: []string{"deployment_id", "step_index", "step_ms"}, Read: readSteps},
		{Name: "expert kernels", Columns: []string{"deployment_id", "rows_per_expert", "latency_us"}, Read: readExperts},
		{Name: "collectives", Columns: []string{"deployment_id", "impl", "nodes", "latency_us"}, Read: readCollectives},
		{Name: "latent attention", Columns: []string{"deployment_id", "mla_dtype", "latency_us"}, Read: readLatent},
		{Name: "servers", Columns: []string{"deployment_id", "load_kind", "ttft_mean_ms"}, Read: readServers},
	}
}

// Read reads a table.
func Read(path string) (*measured.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := datafile.ReadTable(path, data)
	if err != nil {
		return nil, err
	}
	for _, s := range tables() {
		if !t.HasAll(s.Columns) {
			continue
		}
		f := &measured.File{Path: path, Schema: s.Name}
		return f, s.Read(&datafile.Source{Path: path, Data: data, Table: t}, f)
	}
	return nil, fmt.Errorf("%s: none of the tables that are known by their columns", path)
}

// one is a run of one value.
func one(id, source, kind string, v measured.Value) measured.Run {
	return measured.Run{
		ID: id, Labels: measured.Labels{Source: source, Kind: kind},
		Rows: []measured.Row{{ID: id, Request: -1, Values: []measured.Value{v}}},
	}
}

// microseconds is a value of the column in them.
func microseconds(r *datafile.Record, name string) measured.Value {
	return measured.Value{Metric: measured.Duration, Name: name, Measured: r.Number("latency_us"),
		Unit: measured.Unit{Name: "us", Factor: 1e6}}
}

// rowID names a row by its line, for the tables have no ids.
func rowID(r *datafile.Record) string { return fmt.Sprintf("%s:%d", r.Text("deployment_id"), r.Line) }
