package datafile

import "github.com/decodesim/decodesim/internal/measured"

// EachID adds a run for every row of a table whose ids name one row each.
func EachID(f *measured.File, t *Table, read func(*Record) measured.Run) error {
	if err := t.OneRowPerID(); err != nil {
		return err
	}
	return Each(f, t, read)
}

// Each adds a run for every row.
func Each(f *measured.File, t *Table, read func(*Record) measured.Run) error {
	for i := range t.Rows {
		r := t.Record(i)
		if err := Keep(f, read(r), r); err != nil {
			return err
		}
	}
	return nil
}

// Keep adds a run that was read from these rows, unless one of them is malformed. Where one leaves open what it takes,
// the run is skipped.
func Keep(f *measured.File, run measured.Run, rows ...*Record) error {
	for _, r := range rows {
		if r.Err != nil {
			return r.Err
		}
	}
	for _, r := range rows {
		if r.Unstated != "" {
			run.Skip, run.Scenario = r.Unstated, ""
			break
		}
	}
	f.Runs = append(f.Runs, run)
	return nil
}
