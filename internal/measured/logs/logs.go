package logs

import (
	"fmt"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
)

// Schemas are the kinds of table, by columns that no other has.
func Schemas() []datafile.Schema {
	of := func(name string, read func(*datafile.Source, *measured.File) error, columns ...string) datafile.Schema {
		return datafile.Schema{Name: name, Read: read,
			Is: func(s *datafile.Source) bool { return s.Table != nil && s.Table.HasAll(columns) }}
	}
	return []datafile.Schema{
		of("engine steps", readSteps, "deployment_id", "step_index", "step_ms"),
		of("expert kernels", readExperts, "deployment_id", "rows_per_expert", "latency_us"),
		of("collectives", readCollectives, "deployment_id", "impl", "nodes", "latency_us"),
		of("latent attention", readLatent, "deployment_id", "mla_dtype", "latency_us"),
		of("servers", readServers, "deployment_id", "load_kind", "ttft_mean_ms"),
	}
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
