package main

import (
	"context"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// scoredFiles are files that the page compares with predictions a value a row: published figures, and logs.
type scoredFiles struct{ published, logs []*measured.File }

// readScored reads them.
func readScored(published, logs []string) (s scoredFiles, err error) {
	s.published, err = read(published)
	if err != nil {
		return s, err
	}
	s.logs, err = read(logs)
	return s, err
}

// predict scores them under the fit for the page.
func (s *scoredFiles) predict(ctx context.Context, c *catalog.Catalog, sets catalog.Sets, a *page.Accuracy) error {
	type predict = func(context.Context, []measured.Run) ([]validation.Prediction, error)
	scored := func(files []*measured.File, by predict) (all []*validation.Validation, err error) {
		for _, f := range files {
			predictions, err := by(ctx, f.Runs)
			if err != nil {
				return nil, err
			}
			all = append(all, validation.Score(f, predictions))
		}
		return all, nil
	}
	published, err := scored(s.published, c.PredictPublished)
	if err != nil {
		return err
	}
	if len(published) > 0 {
		a.Published = published[0]
	}
	a.Logs, err = scored(s.logs, sets.Predict)
	return err
}
