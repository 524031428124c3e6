package validation

import (
	"context"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/run"
)

// Predict simulates runs over all cores and returns the predictions in the order of the runs, rows and values.
// progress, which may be nil, hears how many runs are done. It ends early, with the error of ctx, when that is
// cancelled.
func Predict(ctx context.Context, runs []measured.Run, with Efficiencies, progress func(done int)) ([]Prediction,
	error) {
	return PredictUnder(ctx, runs, configs.Options{}, with, progress)
}

// PredictUnder is Predict with options that stand above the scenario of every run.
func PredictUnder(ctx context.Context, runs []measured.Run, above configs.Options, with Efficiencies,
	progress func(done int)) ([]Prediction, error) {
	parts := make([][]Prediction, len(runs))
	steps := &replicas{}
	run.EachReported(len(runs), func(i int) {
		if runs[i].Priced != nil {
			parts[i] = steps.predict(&runs[i], above, with)
			return
		}
		parts[i] = predictUnder(ctx, &runs[i], above, with)
	}, progress)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []Prediction
	for _, p := range parts {
		out = append(out, p...)
	}
	return out, nil
}
