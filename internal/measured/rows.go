package measured

// eachID adds a run for every row of a table whose ids name one row each.
func (f *File) eachID(t *table, read func(*record) Run) error {
	if err := t.oneRowPerID(); err != nil {
		return err
	}
	return f.each(t, read)
}

// each adds a run for every row.
func (f *File) each(t *table, read func(*record) Run) error {
	for i := range t.rows {
		r := t.record(i)
		if err := f.keep(read(r), r); err != nil {
			return err
		}
	}
	return nil
}

// keep adds a run that was read from these rows, unless one of them is malformed. Where one leaves open what it takes, the
// run is skipped.
func (f *File) keep(run Run, rows ...*record) error {
	for _, r := range rows {
		if r.err != nil {
			return r.err
		}
	}
	for _, r := range rows {
		if r.open != "" {
			run.Skip, run.Scenario = r.open, ""
			break
		}
	}
	f.Runs = append(f.Runs, run)
	return nil
}
