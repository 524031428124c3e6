package study

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
)

// Predict simulates runs over all cores and returns the predictions in the order of the runs, rows and values. told,
// which may be nil, hears how many runs are done. It ends early, with the error of ctx, when that is cancelled.
func Predict(ctx context.Context, runs []measured.Run, with Efficiencies, told func(done int)) ([]Prediction, error) {
	return PredictUnder(ctx, runs, configs.Options{}, with, told)
}

// PredictUnder is Predict with options that stand above the scenario of every run.
func PredictUnder(ctx context.Context, runs []measured.Run, above configs.Options, with Efficiencies, told func(done int)) ([]Prediction, error) {
	parts := make([][]Prediction, len(runs))
	each(len(runs), func(i int) {
		parts[i] = predictUnder(ctx, &runs[i], above, with)
	}, told)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []Prediction
	for _, p := range parts {
		out = append(out, p...)
	}
	return out, nil
}

// Each calls do(0) … do(n−1) over all cores.
func Each(n int, do func(i int)) { each(n, do, nil) }

// each calls do(0) … do(n−1) over all cores.
func each(n int, do func(i int), told func(done int)) {
	var next, done atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
				d := int(done.Add(1))
				if told != nil {
					mu.Lock()
					told(d)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
}
