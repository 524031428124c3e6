package main

import (
	"context"
	"fmt"
	"io"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/logs"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// scoredFiles are files that the page compares with predictions a value a row: published figures, and logs.
type scoredFiles struct{ published, logs []*measured.File }

// readScored reads them.
func readScored(published, logFiles []string) (s scoredFiles, err error) {
	s.published, err = read(published)
	if err != nil {
		return s, err
	}
	for _, path := range logFiles {
		f, err := logs.Read(path)
		if err != nil {
			return s, err
		}
		s.logs = append(s.logs, f)
	}
	return s, nil
}

// predict scores them under the fit for the page.
func (s *scoredFiles) predict(ctx context.Context, sets catalog.Sets, a *page.Accuracy) error {
	scored := func(files []*measured.File) (all []*validation.Validation, err error) {
		for _, f := range files {
			predictions, err := sets.Predict(ctx, f.Runs)
			if err != nil {
				return nil, err
			}
			all = append(all, validation.Score(f, predictions))
		}
		return all, nil
	}
	published, err := scored(s.published)
	if err != nil {
		return err
	}
	if len(published) > 0 {
		a.Published = published[0]
	}
	a.Logs, err = scored(s.logs)
	return err
}

// score prints how far what is built in is off tables of logs: what a change of the model is tried on between two fits.
func score(ctx context.Context, out io.Writer, paths []string) error {
	for _, path := range paths {
		f, err := logs.Read(path)
		if err != nil {
			return err
		}
		predictions, err := validation.Predict(ctx, f.Runs, nil, nil)
		if err != nil {
			return err
		}
		if err := validation.WriteTable(out, validation.Score(f, predictions), false); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	return nil
}
