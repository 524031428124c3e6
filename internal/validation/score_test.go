package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/measured"
)

func TestErrorsAreSummedUpAsByHand(t *testing.T) {
	e := ErrorsOf([]float64{20, -30, 0, -10, 5}) // absolute 0 5 10 20 30; signed -30 -10 0 5 20
	assert.Equal(t, 5, e.N)
	assert.InDelta(t, 10, e.MedianPct, 1e-12)
	assert.InDelta(t, 26, e.P90Pct, 1e-12, "position 3.6: 20 + 0.6 · 10")
	assert.InDelta(t, 0, e.BiasPct, 1e-12)
	for i, want := range []float64{-22, -10, 5, 14} {
		assert.InDelta(t, want, e.Spread[i], 1e-12)
	}
	assert.Equal(t, [2]float64{0.6, 0.8}, e.Within)
	one := ErrorsOf([]float64{-7})
	assert.Equal(t, Errors{N: 1, MedianPct: 7, P90Pct: 7, BiasPct: -7, Spread: [4]float64{-7, -7, -7, -7},
		Within: [2]float64{1, 1}}, one)
	assert.Equal(t, [2]float64{1, 1}, ErrorsOf([]float64{10, -10}).Within, "10 % is within 10 %")
}

func TestErrorsOfNothingAreNull(t *testing.T) {
	e := ErrorsOf(nil)
	assert.True(t, math.IsNaN(e.MedianPct) && math.IsNaN(e.P90Pct) && math.IsNaN(e.BiasPct))
	text, err := json.Marshal(e)
	require.NoError(t, err)
	assert.Contains(t, string(text),
		`"n":0,"skipped":0,"median_abs_error_pct":null,"p90_abs_error_pct":null,"bias_pct":null`)
}

func TestErrorsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		percents := rapid.SliceOfN(rapid.Float64Range(-100, 1e4), 1, 50).Draw(t, "percents")
		e := ErrorsOf(percents)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(percents),
			func(i, j int) { percents[i], percents[j] = percents[j], percents[i] })
		assert.Equal(t, e, ErrorsOf(percents))
		assert.LessOrEqual(t, e.MedianPct, e.P90Pct)
		assert.True(t, e.Spread[0] <= e.Spread[1] && e.Spread[1] <= e.BiasPct && e.BiasPct <= e.Spread[2] &&
			e.Spread[2] <= e.Spread[3])
	})
}

// value is a prediction that is off by so many percent.
func value(m measured.Metric, percent float64) (measured.Value, Prediction) {
	v := measured.Lead(m, measured.Mean, 100)
	return v, Prediction{Predicted: 100 + percent}
}

// handRow is a row with known errors in percent, or why it is skipped.
type handRow struct {
	quality, mode, skip string
	ttft, tpot          float64
}

// hand is a file of such rows.
func hand(rows ...handRow) (*measured.File, []Prediction) {
	f := &measured.File{Path: "hand.csv", Schema: "by hand"}
	var predictions []Prediction
	for i, r := range rows {
		ttft, p := value(measured.TTFT, r.ttft)
		tpot, q := value(measured.TPOT, r.tpot)
		id := fmt.Sprintf("row-%d", i)
		f.Runs = append(f.Runs, measured.Run{
			ID: id, Skip: r.skip, Labels: measured.Labels{Quality: r.quality, Mode: r.mode, GPU: "h100-sxm",
				Concurrency: 1 << i},
			Rows: []measured.Row{{ID: id, Request: -1, Values: []measured.Value{ttft, tpot}}},
		})
		p.Skip, q.Skip = r.skip, r.skip
		predictions = append(predictions, p, q)
	}
	for i := range predictions {
		p := &predictions[i]
		p.Run = &f.Runs[i/2]
		p.Row = &p.Run.Rows[0]
		p.Value = &p.Row.Values[i%2]
	}
	return f, predictions
}

func TestSkippedRowsAndValuesAreCounted(t *testing.T) {
	f, predictions := hand(
		handRow{"A", "agg", "", 10, -20}, handRow{"A", "agg", "", -30, 40}, handRow{"B", "agg", "", 90, 90},
		handRow{"B", "disagg", "two pools", 0, 0}, handRow{"A", "agg", "too long", 0, 0},
		handRow{"B", "disagg", "two pools", 0, 0},
	)
	predictions[2].Skip = "not to be trusted" // the TTFT of the second row
	f.Runs = append(f.Runs, measured.Run{ID: "empty", Rows: []measured.Row{{ID: "empty", Request: -1}}})
	f.Runs = append(f.Runs, measured.Run{ID: "fit", Skip: "a fit", Rows: []measured.Row{{ID: "fit", Request: -1}}})
	v := Score(f, predictions)
	assert.Equal(t, Counts{Rows: 8, Simulated: 3, Skipped: 5, Values: 12, Compared: 5}, v.Counts)
	assert.Equal(t, []Skip{
		{"two pools", 2, 0}, {"a fit", 1, 0}, {"nothing was measured", 1, 0}, {"too long", 1, 0}, {"not to be trusted", 0, 1},
	}, v.Skips)
	assert.Equal(t, "A", v.Quality)
	require.Len(t, v.Metrics, 2)
	ttft, tpot := v.Metrics[0], v.Metrics[1]
	assert.Equal(t, []string{"ttft", "tpot"}, []string{ttft.Metric, tpot.Metric})
	assert.Equal(t, []int{1, 2}, []int{ttft.All.N, ttft.All.Skipped})
	assert.InDelta(t, 30, tpot.All.MedianPct, 1e-9, "of quality A: 20 and 40")
	assert.InDelta(t, 10, tpot.All.BiasPct, 1e-9, "of −20 and 40")
	var groups []string
	for _, g := range tpot.Groups {
		groups = append(groups, fmt.Sprintf("%s %s %d+%d", g.By, g.Name, g.Errors.N, g.Errors.Skipped))
	}
	assert.Equal(t, []string{
		"quality A 2+1", "quality B 1+2", "mode agg 3+1", "mode disagg 0+2",
		"concurrency 1 1+0", "concurrency 2–3 1+0", "concurrency 16–31 0+1",
	}, groups, "one GPU is no group")
	assert.Equal(t, "two pools", v.Rows[3].Skipped)
	assert.Equal(t, "two pools", v.Rows[3].Values[0].Skipped)
	assert.Nil(t, v.Rows[3].Values[0].Predicted)
	assert.Empty(t, v.Rows[1].Skipped)
	assert.Equal(t, "not to be trusted", v.Rows[1].Values[0].Skipped)
	assert.Panics(t, func() { Score(f, predictions[1:]) })
	assert.Panics(t, func() { Score(&measured.File{}, predictions) })
}

func TestWithoutTheBestQualityAllRowsCount(t *testing.T) {
	v := Score(hand(handRow{"B", "agg", "", 10, 20}, handRow{"C", "agg", "", 30, 40}))
	assert.Empty(t, v.Quality)
	assert.Equal(t, 2, v.Metrics[0].All.N)
	v = Score(hand(handRow{"B", "agg", "", 10, 20}, handRow{"A", "agg", "too long", 0, 0}))
	assert.Empty(t, v.Quality, "nothing of the best quality is compared")
	assert.Equal(t, []int{1, 1}, []int{v.Metrics[0].All.N, v.Metrics[0].All.Skipped})
}

func TestTokensFasterThanTheBoundAreListed(t *testing.T) {
	f, predictions := hand(handRow{"A", "agg", "", 0, 0}, handRow{"A", "agg", "", 0, 0}, handRow{"A", "agg", "", 0, 0},
		handRow{"A", "agg", "", 0, 0})
	for i := range predictions {
		predictions[i].FloorMS = 150
	}
	predictions[3].FloorMS = 99              // measured are 100
	predictions[5].Row.Request = 3           // one request sees other batches than the mean
	predictions[7].Value.Stat = measured.P90 // and so do quantiles
	v := Score(f, predictions)
	assert.Equal(t, []TooFast{{"row-0", 100, 150}}, v.TooFast)
}

const closed = `model: llama-3.1-8b
pools: [{gpu: h100-sxm, engine: textbook, max_num_seqs: 8}]
workload: {closed_loop: {concurrency: 4}, requests: 20, prompt_tokens: {distribution: fixed, mean: 200}, output_tokens: {distribution: fixed, mean: 30}}
`

// runOf is a measured run whose latencies are so many milliseconds.
func runOf(scenario string, ms float64) measured.Run {
	row := measured.Row{ID: "r", Request: -1}
	for m := range measured.NumMetrics {
		row.Values = append(row.Values, measured.Lead(m, measured.Mean, ms), measured.Other(m, measured.P90, 2*ms))
	}
	first := measured.Row{ID: "r#0", Request: 0, Values: []measured.Value{measured.Lead(measured.TTFT, measured.Mean, ms)}}
	return measured.Run{ID: "r", Scenario: scenario, Rows: []measured.Row{row, first}}
}

func TestPredictionsDoNotSeeWhatWasMeasured(t *testing.T) {
	predictions := func(ms float64) (out []float64) {
		list, err := Predict(context.Background(), []measured.Run{runOf(closed, ms), runOf(closed, 3*ms)}, nil, nil)
		require.NoError(t, err)
		for _, p := range list {
			assert.Empty(t, p.Skip)
			out = append(out, p.Predicted, p.FloorMS)
		}
		return out
	}
	assert.Equal(t, predictions(5), predictions(1e9))
}

func TestOptionsStandAboveEveryRun(t *testing.T) {
	runs := []measured.Run{runOf(closed, 5), runOf(closed, 5)}
	usual, err := Predict(context.Background(), runs, nil, nil)
	require.NoError(t, err)
	longer, err := PredictUnder(context.Background(), runs,
		configs.Options{Set: []string{"workload.prompt_tokens.mean=2000"}}, nil, nil)
	require.NoError(t, err)
	for i := range usual {
		if usual[i].Value.Metric == measured.TTFT {
			assert.Greater(t, longer[i].Predicted, 1.5*usual[i].Predicted)
		}
	}
}

func TestALongRunEndsWhenItsUserGivesUp(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	endless := []measured.Run{runOf(closed, 5)}
	begun := time.Now()
	_, err := PredictUnder(ctx, endless, configs.Options{Set: []string{"workload.requests=200000000"}}, nil, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(begun), 20*time.Second)
}
