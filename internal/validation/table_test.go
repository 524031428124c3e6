package validation

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/plot/plottest"
	"github.com/decodesim/decodesim/internal/text"
)

// measuredValidation returns n rows in a closed loop of 2^(i mod octaves) clients, whose errors spread by a factor.
func measuredValidation(n, octaves int, spread float64, label func(i int, l *measured.Labels)) *Validation {
	r := rand.New(rand.NewPCG(7, 7))
	f := &measured.File{Path: "some/data.csv", Schema: "points", Notes: []string{"lengths are means"},
		Runs: make([]measured.Run, n)}
	var predictions []Prediction
	for i := range f.Runs {
		run := &f.Runs[i]
		*run = measured.Run{ID: fmt.Sprintf("run %d", i),
			Labels: measured.Labels{Quality: "A", Concurrency: 1 << (i % octaves)}}
		if label != nil {
			label(i, &run.Labels)
		}
		ms := 5 * math.Exp(4*r.Float64())
		run.Rows = []measured.Row{{ID: run.ID, Request: -1, Values: []measured.Value{
			measured.Lead(measured.TTFT, measured.Mean, 20*ms), measured.Lead(measured.TPOT, measured.Mean, ms),
		}}}
		row := &run.Rows[0]
		for j := range row.Values {
			v := &row.Values[j]
			predictions = append(predictions, Prediction{
				Run: run, Row: row, Value: v, Predicted: v.Measured * math.Exp(spread*r.NormFloat64()),
			})
		}
	}
	return Score(f, predictions)
}

func TestPlotsOfErrorsKeepTheHouseRules(t *testing.T) {
	c := text.Caption{Scenario: "data.csv", Model: "points", Hardware: "all rows"}
	few := measuredValidation(200, 8, 0.15, func(i int, l *measured.Labels) {
		l.Engine = []string{"vllm", "sglang"}[i%2]
		l.Quality = []string{"A", "A", "A", "C"}[i%4]
	})
	many := measuredValidation(900, 14, 2,
		func(i int, l *measured.Labels) { l.GPU = fmt.Sprintf("an accelerator with a long name %d", i%11) })
	one := measuredValidation(1, 1, 0.1, nil)
	none := Score(&measured.File{}, nil)
	drawing := func(name string, draw func() (plot.Figure, error)) plottest.Drawing {
		return plottest.Drawing{Name: name, Caption: c.String(), Draw: draw}
	}
	parity := func(name string, v *Validation, metric string) plottest.Drawing {
		return drawing(name, func() (plot.Figure, error) { return Parity(c, v, metric) })
	}
	spread := func(name string, v *Validation) plottest.Drawing {
		return drawing(name, func() (plot.Figure, error) { return ErrorByConcurrency(c, v) })
	}
	plottest.Check(t, []plottest.Drawing{
		parity("parity", few, "tpot"), parity("parity-wide", many, "ttft"), parity("parity-one", one, "ttft"),
		parity("parity-none", none, "tpot"), parity("parity-unmeasured-none", few, "e2e"),
		spread("spread", few), spread("spread-wide", many), spread("spread-one", one), spread("spread-none", none),
	})
}

func TestTheBandsEndAtTheirErrors(t *testing.T) {
	for _, share := range []float64{0.1, 0.25} {
		upper, lower := 0, 0
		for _, q := range corners(2, 500, share) {
			assert.True(t, min(q.X, q.Y) >= 2 && max(q.X, q.Y) <= 500, "inside the chart")
			switch e := q.Y/q.X - 1; {
			case math.Abs(e-share) < 1e-9:
				upper++
			case math.Abs(e+share) < 1e-9:
				lower++
			default:
				assert.InDelta(t, 0, e, 1e-9)
			}
		}
		assert.Equal(t, []int{2, 2}, []int{upper, lower})
	}
}

func TestPredictionsAsCSV(t *testing.T) {
	x := func(v float64) *float64 { return &v }
	rows := []Row{
		{ID: "a,b", Values: []Value{
			{Metric: "ttft", Measured: 1000000, Predicted: x(1250000.5), ErrorPct: x(25.00005)},
			{Metric: "tpot", Measured: 0.00001, Skipped: `not "trusted", really`},
		}},
		{ID: "c", Skipped: "nothing was measured"},
	}
	var out bytes.Buffer
	require.NoError(t, WriteCSV(&out, rows))
	assert.Equal(t, "id,metric,measured,predicted,error_pct,skipped\n"+
		"\"a,b\",ttft,1000000,1250000.5,25.00005,\n"+
		"\"a,b\",tpot,0.00001,,,\"not \"\"trusted\"\", really\"\n"+
		"c,,,,,nothing was measured\n", out.String())
}

func TestTheSentenceSaysHowWrong(t *testing.T) {
	of := func(percents ...float64) *MetricErrors {
		return &MetricErrors{Metric: "tpot", All: ErrorsOf(percents)}
	}
	for want, m := range map[string]*MetricErrors{
		"TPOT of quality A: half of 3 predictions are within 8 %, nine in ten within 22 %; " +
			"it runs 8 % low": of(-8, -25, 4),
		"TPOT of quality A: half of 2 predictions are within 0.3 %, nine in ten within 0.3 %; " +
			"it runs neither high nor low": of(-0.3, 0.3),
		"TPOT of quality A: half of 2 predictions are within a factor of 21, nine in ten within a factor of 21; it runs a " +
			"factor of 21 high": of(2000, 2000),
		"TPOT of quality A: 1 prediction, 12 % high": of(12),
		"TPOT of quality A: no prediction":           of(),
	} {
		assert.Equal(t, want, ErrorSentence(m, "A"))
	}
	assert.Equal(t, "output tokens/s: 1 prediction, neither high nor low",
		ErrorSentence(&MetricErrors{Metric: "output_tokens_per_s", All: ErrorsOf([]float64{0})}, ""))
}

func TestOnlyAFewRowsAreListed(t *testing.T) {
	print := func(n int) string {
		var out bytes.Buffer
		require.NoError(t, WriteTable(&out, measuredValidation(n, 3, 0.1, nil), false))
		return out.String()
	}
	assert.Contains(t, print(rowsMax), "\nrun 39 ")
	assert.NotContains(t, print(rowsMax+1), "\nrun 39 ")
	assert.Contains(t, print(rowsMax+1), "some/data.csv · points · 41 rows: 41 simulated, 0 skipped\n")
	assert.Contains(t, print(1), "note: lengths are means\n")
}

// TestServersOfUnstatedPromptsAreOfAKindOfTheirOwn: whatever they are off by, and only servers.
func TestServersOfUnstatedPromptsAreOfAKindOfTheirOwn(t *testing.T) {
	v := measuredValidation(40, 1, 0.1, func(i int, l *measured.Labels) {
		l.Kind = []string{"server", "offline_throughput"}[i%2]
		l.Load = []string{"1024/128", "dataset/272"}[i/2%2]
	})
	n := map[string]int{}
	for _, k := range v.Kinds {
		assert.Empty(t, k.Source, "there is one")
		n[k.Kind+" "+k.Metric] += k.Errors.N
	}
	assert.Equal(t, map[string]int{"server tpot": 10, "server_of_unstated_prompts tpot": 10, "offline_throughput tpot": 20,
		"server ttft": 10, "server_of_unstated_prompts ttft": 10, "offline_throughput ttft": 20}, n)
}
