package measured

// Two kinds of table go with the measurements and hold none: what a simulation takes, and what others fitted. Their rows
// are kept, so that a reader of results sees that nothing was lost.

// acceptance is a table of how many tokens a step of a speculating engine yields on average, by number of drafts.
var acceptance = schema{
	name:  "acceptance lengths",
	about: "acceptance lengths of drafts (CSV with model, method, curve, thinking, draft_tokens, accept_len, accept_rate)",
	columns: []string{
		"model", "method", "curve", "thinking", "draft_tokens", "accept_len", "accept_rate",
	},
	read: func(s *source, f *File) error { return readUnmeasured(s, f, acceptanceRow) },
}

func acceptanceRow(r *record) Run {
	drafts, length := r.count("draft_tokens", 1), r.number("accept_len")
	if r.err == nil && r.open == "" && !(length >= 1 && length <= float64(drafts+1)) {
		r.fail("accept_len", "tokens of a step, from 1 to 1 + draft_tokens")
	}
	run := Run{
		ID:     r.text("curve") + "/" + r.text("thinking") + "/" + r.text("draft_tokens"),
		Labels: Labels{Source: "golden-acceptance", Quality: "C", Load: r.text("dataset")},
	}
	deployed(&run.Labels, &setup{}, r.text("model"), r.text("hardware"), "")
	run.Skip = "an acceptance length, which simulations take and do not predict"
	return run
}

// fits is a table of coefficients that others fitted to step times: a model, whose errors against its own measurements are
// not stated.
var fits = schema{
	name:  "fitted step times",
	about: "fitted step times (CSV with engine, hardware, model, tp, prefill_a_ms, dec_small_a, dec_large_a)",
	columns: []string{
		"engine", "hardware", "model", "tp", "prefill_a_ms", "dec_small_a", "dec_large_a",
	},
	read: func(s *source, f *File) error { return readUnmeasured(s, f, fitRow) },
}

func fitRow(r *record) Run {
	tensor := r.count("tp", 1)
	run := Run{Labels: Labels{
		Source: "distserve", Engine: engineOf(r.text("engine")), Quality: "C", Parallel: layoutOf(tensor, 1, false),
	}}
	deployed(&run.Labels, &setup{}, r.text("model"), r.text("hardware"), "")
	run.ID = r.text("engine") + "/" + r.text("model") + "/" + run.Labels.Parallel
	run.Skip = "a fit by others, not a measurement"
	return run
}

// readUnmeasured makes a row without values of every row.
func readUnmeasured(s *source, f *File, read func(*record) Run) error {
	return f.each(s.table, func(r *record) Run {
		run := read(r)
		run.Rows = []Row{{ID: run.ID, Request: -1}}
		return run
	})
}
