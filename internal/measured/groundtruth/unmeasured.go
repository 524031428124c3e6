package groundtruth

import (
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/measured/datafile"
	"github.com/decodesim/decodesim/internal/measured/names"
	"github.com/decodesim/decodesim/internal/measured/setup"
)

// Two kinds of table go with the measurements and hold none: what a simulation takes, and what others fitted. Their
// rows are kept, so that a reader of results sees that nothing was lost.

// acceptance is a table of how many tokens a step of a speculating engine yields on average, by number of drafts.
var acceptance = datafile.Schema{
	Name:  "acceptance lengths",
	About: "acceptance lengths of drafts (CSV with model, method, curve, thinking, draft_tokens, accept_len, accept_rate)",
	Columns: []string{
		"model", "method", "curve", "thinking", "draft_tokens", "accept_len", "accept_rate",
	},
	Read: func(s *datafile.Source, f *measured.File) error { return readUnmeasured(s, f, acceptanceRow) },
}

func acceptanceRow(r *datafile.Record) measured.Run {
	drafts, length := r.Count("draft_tokens", 1), r.Number("accept_len")
	if r.Err == nil && r.Unstated == "" && !(length >= 1 && length <= float64(drafts+1)) {
		r.Fail("accept_len", "tokens of a step, from 1 to 1 + draft_tokens")
	}
	run := measured.Run{
		ID:     r.Text("curve") + "/" + r.Text("thinking") + "/" + r.Text("draft_tokens"),
		Labels: measured.Labels{Source: "golden-acceptance", Quality: "C", Load: r.Text("dataset")},
	}
	deployed(&run.Labels, &setup.Scenario{}, r.Text("model"), r.Text("hardware"), "")
	run.Skip = "an acceptance length, which simulations take and do not predict"
	return run
}

// fits is a table of coefficients that others fitted to step times: a model, whose errors against its own measurements
// are not stated.
var fits = datafile.Schema{
	Name:  "fitted step times",
	About: "fitted step times (CSV with engine, hardware, model, tp, prefill_a_ms, dec_small_a, dec_large_a)",
	Columns: []string{
		"engine", "hardware", "model", "tp", "prefill_a_ms", "dec_small_a", "dec_large_a",
	},
	Read: func(s *datafile.Source, f *measured.File) error { return readUnmeasured(s, f, fitRow) },
}

func fitRow(r *datafile.Record) measured.Run {
	tensor := r.Count("tp", 1)
	run := measured.Run{Labels: measured.Labels{
		Source: "distserve", Engine: names.EngineOf(r.Text("engine")), Quality: "C",
		Parallel: names.LayoutOf(tensor, 1, false),
	}}
	deployed(&run.Labels, &setup.Scenario{}, r.Text("model"), r.Text("hardware"), "")
	run.ID = r.Text("engine") + "/" + r.Text("model") + "/" + run.Labels.Parallel
	run.Skip = "a fit by others, not a measurement"
	return run
}

// readUnmeasured makes a row without values of every row.
func readUnmeasured(s *datafile.Source, f *measured.File, read func(*datafile.Record) measured.Run) error {
	return datafile.Each(f, s.Table, func(r *datafile.Record) measured.Run {
		run := read(r)
		run.Rows = []measured.Row{{ID: run.ID, Request: -1}}
		return run
	})
}
