package sensitivity

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/hardware"
	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/plot/plottest"
	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/internal/sweep"
	"github.com/decodesim/decodesim/internal/text"
)

const chat = `name: chat
model: llama-3.1-8b
pools: [{gpu: h100-sxm, max_num_seqs: 16}]
workload:
  arrivals: {process: poisson, rate: 20}
  prompt_tokens: {distribution: lognormal, mean: 300, cv: 1}
  output_tokens: {distribution: lognormal, mean: 60, cv: 1}
  requests: 300
slo: {ttft_ms: 300, tpot_ms: 30}
`

func inDir(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("chat.yaml", []byte(chat), 0o600))
	require.NoError(t, os.WriteFile("study.yaml", []byte("scenario: ./chat.yaml\nbudget: {gpus: 4}\nrate: {at: 25}\n"+
		"slo: {ttft_ms: 300, tpot_ms: 30}\nsearch: {tensor_parallel: [1]}\nrequests: 400\nseeds: 1\n"), 0o600))
}

func TestARangeIsAsGoodAsItsSource(t *testing.T) {
	for _, c := range []struct {
		q         hardware.Quantity
		low, high float64
		source    string
	}{
		{hardware.Quantity{Value: 3.35e12, Grade: "A"}, 3.345e12, 3.355e12, "rounding of the vendor's number"},
		{hardware.Quantity{Value: 8e12, Grade: "A"}, 7.5e12, 8.5e12, "rounding of the vendor's number"},
		{hardware.Quantity{Value: 85520809984, Grade: "A"}, 85470809984, 85570809984, "rounding of the vendor's number"},
		{hardware.Quantity{Value: 100, Grade: "B"}, 95, 105, "±5 %: of secondary sources"},
		{hardware.Quantity{Value: 100, Grade: "C"}, 80, 120, "±20 %: read in no document, or derived"},
		{hardware.Quantity{Value: 100, Grade: "A", Unverified: true}, 80, 120, "±20 %: read in no document, or derived"},
		{hardware.Quantity{Value: 3.35e12, Conflict: "launch said 3.0e12, x 9e1"}, 3e12, 1.05 * 3.35e12,
			"sources disagree: launch said 3.0e12, x 9e1"},
	} {
		low, high, source := rangeOf(c.q)
		assert.InEpsilon(t, c.low, low, 1e-9)
		assert.InEpsilon(t, c.high, high, 1e-9)
		assert.Equal(t, c.source, source)
	}
}

// TestAllStepTimesScaleTheStep: by the factor that the input has, for a dense model, one with experts and one over
// several GPUs; downwards as far as no share exceeds its peak.
func TestAllStepTimesScaleTheStep(t *testing.T) {
	inDir(t)
	for _, set := range [][]string{
		nil, {"pools.serve.tensor_parallel=4"}, {"model=gpt-oss-120b"}, {"pools.serve.engine=sglang", "weights=fp8"},
	} {
		s, err := configs.Load("chat.yaml", configs.Options{Set: set})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		in, ok := together(b)
		require.True(t, ok)
		base := b.Replica.Model.Step(8, 500).First.Seconds()
		ratio := func(times float64) float64 {
			s, err := configs.Load("chat.yaml", configs.Options{Set: append(set, in.assign(times)...)})
			require.NoError(t, err)
			other, err := build.New(s)
			require.NoError(t, err)
			return other.Replica.Model.Step(8, 500).First.Seconds() / base
		}
		assert.InEpsilon(t, in.High, ratio(in.High), 0.02, "%v", set)
		assert.GreaterOrEqual(t, ratio(in.Low), in.Low-0.02, "%v: shares end at their peak", set)
		assert.Less(t, ratio(in.Low), 1.0)
	}
}

// TestEveryInputCanBeVaried: both ends of every range of some deployments can be loaded and built.
func TestEveryInputCanBeVaried(t *testing.T) {
	all := []string{"pd-r1", "eagle3-70b", "chat-70b", "pd-70b", "multi-turn-8b"}
	for _, name := range all[:soak.Part(len(all))] {
		s, err := configs.Load(name, configs.Options{})
		require.NoError(t, err)
		b, err := build.New(s)
		require.NoError(t, err)
		inputs := append(inputsOf(b, nil), prices(b, s)...)
		require.Greater(t, len(inputs), 10, name)
		names := map[string]bool{}
		for _, in := range inputs {
			assert.False(t, names[in.Name], "%s: %s twice", name, in.Name)
			names[in.Name] = true
			assert.NotEmpty(t, in.Source)
			for _, x := range []float64{in.Low, in.High} {
				s, err := configs.Load(name, configs.Options{Set: in.assign(x)})
				require.NoError(t, err, "%s: %s", name, in.Name)
				_, err = build.New(s)
				require.NoError(t, err, "%s: %s", name, in.Name)
			}
		}
		require.NoError(t, b.Close())
	}
}

// linear is an answer that is known: 10·a + b, which is too much from 27 on.
type linear struct{ fails bool }

func (linear) Inputs() []Input {
	in := func(name string, value, low, high float64) Input {
		return Input{Name: name, Kind: Own, Value: value, Low: low, High: high, Source: "known",
			assign: func(x float64) []string { return []string{name, literal(x)} }}
	}
	return []Input{in("b", 5, 4, 6), in("a", 2, 1, 3), in("c", 1, 0, 2)}
}

func (l linear) Answer(_ context.Context, set []string, _ func(float64)) (Answer, error) {
	a, b := 2.0, 5.0
	if len(set) == 2 {
		x, err := strconv.ParseFloat(set[1], 64)
		if err != nil {
			return Answer{}, err
		}
		switch set[0] {
		case "a":
			a = x
		case "b":
			b = x
		case "c":
			if l.fails && x > 1 {
				return Answer{}, errors.New("out of memory")
			}
		}
	}
	y := 10*a + b
	decision := "enough"
	if y >= 27 {
		decision = "too much"
	}
	return Answer{Values: []float64{y, y}, Decision: decision}, nil
}

func TestInputsAreRankedAndThresholdsFound(t *testing.T) {
	analyse := func(s Subject) *Result {
		a := &analysis{ctx: context.Background(), subject: s}
		r := &Result{Metric: "e2e_p95_s", Of: "run", Scenario: "known"}
		inputs := s.Inputs()
		answers, err := a.ask(inputs)
		require.NoError(t, err)
		r.Base, r.Decision = answers[0].mean(), answers[0].Decision
		for i := range inputs {
			r.Effects = append(r.Effects, effectOf(inputs[i], &answers[0], &answers[1+2*i], &answers[2+2*i]))
		}
		require.NoError(t, a.thresholds(r))
		r.rank()
		return r
	}
	r := analyse(linear{})
	var names []string
	for _, e := range r.Effects {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"a", "b", "c"}, names)
	assert.InDelta(t, 20, r.Effects[0].Swing, 1e-9)
	assert.InDelta(t, 2, r.Effects[1].Swing, 1e-9)
	require.Len(t, r.Effects[0].Thresholds, 1)
	assert.InDelta(t, 2.2, r.Effects[0].Thresholds[0].At, 1.0/64)
	assert.False(t, r.Effects[0].Thresholds[0].Below)
	assert.False(t, r.Effects[1].Changes, "26 is not yet too much")
	assert.Contains(t, strings.Join(r.Sentences, "\n"), "The decision changes if a is above 2.2")
	assert.Contains(t, strings.Join(r.Sentences, "\n"), "No other of the 3 inputs changes the decision")
	r = analyse(linear{fails: true})
	assert.Contains(t, strings.Join(r.Sentences, "\n"), "it cannot be run: out of memory")
}

func TestTheAnswerOfARun(t *testing.T) {
	inDir(t)
	p := Plan{Source: "chat.yaml", Seeds: 2, Version: "test", Vary: []string{"rate=10:60", "pools.serve.block_size=8:32"}}
	encoded := func(r *Result) string {
		var b bytes.Buffer
		require.NoError(t, text.WriteJSON(&b, r))
		return b.String()
	}
	r, err := Analyse(context.Background(), p, nil)
	require.NoError(t, err)
	if !soak.Brief() {
		cores := runtime.GOMAXPROCS(1)
		again, err := Analyse(context.Background(), p, nil)
		runtime.GOMAXPROCS(cores)
		require.NoError(t, err)
		assert.Equal(t, encoded(r), encoded(again), "whatever the number of cores")
	}
	assert.Equal(t, "slo_attainment", r.Metric)
	assert.Equal(t, "the SLO is met", r.Decision)
	assert.Equal(t, "rate", r.Effects[0].Name, "three times what it serves")
	require.Len(t, r.Effects[0].Thresholds, 1)
	at := r.Effects[0].Thresholds[0].At
	for x, want := range map[float64]string{at: "the SLO is missed", at - 50.0/64: "the SLO is met"} {
		run, _, err := newRun(t.Context(), Plan{Source: "chat.yaml", Seeds: 2, Metric: "slo_attainment"})
		require.NoError(t, err)
		answer, err := run.Answer(context.Background(), []string{"workload.arrivals.rate=" + literal(x)}, func(float64) {})
		require.NoError(t, err)
		assert.Equal(t, want, answer.Decision, "at %g", x)
	}
	for i := range r.Effects {
		if r.Effects[i].Name == "nic_bps" {
			assert.Zero(t, r.Effects[i].Swing, "the same requests and no network: the same answer")
		}
	}
}

// TestAFixedLengthIsVariedByWholeTokens: a share of a token is no length, and would be refused.
func TestAFixedLengthIsVariedByWholeTokens(t *testing.T) {
	inDir(t)
	fixed := strings.ReplaceAll(chat, "lognormal, mean: 60, cv: 1", "fixed, mean: 61")
	require.NoError(t, os.WriteFile("chat.yaml", []byte(fixed), 0o600))
	p := Plan{Source: "chat.yaml", Seeds: 1, Metric: "tpot_p50_s", Version: "test"}
	r, err := Analyse(context.Background(), p, nil)
	require.NoError(t, err)
	i := slices.IndexFunc(r.Effects, func(e Effect) bool { return e.Name == "output_tokens.mean" })
	require.GreaterOrEqual(t, i, 0)
	for _, end := range []End{r.Effects[i].AtLow, r.Effects[i].AtHigh} {
		assert.NotContains(t, end.Decision, "cannot be run")
		assert.Positive(t, float64(end.Answer))
	}
}

func TestTheAnswerOfASize(t *testing.T) {
	soak.TakesLong(t)
	inDir(t)
	r, err := Analyse(context.Background(), Plan{Source: "study.yaml", Size: true, Version: "test",
		Vary: []string{"workload.output_tokens.mean=30:200"}}, nil)
	require.NoError(t, err)
	assert.Equal(t, "usd_per_hour", r.Metric)
	changes := map[string]bool{}
	for _, e := range r.Effects {
		changes[e.Name] = e.Changes
	}
	assert.True(t, changes["workload.output_tokens.mean"], "three times the tokens take more GPUs")
	assert.False(t, changes["nic_bps"])
	assert.Contains(t, r.Sentences[0], "As it is, the best is ")
}

func TestWrongRangesAreRefused(t *testing.T) {
	inDir(t)
	for vary, want := range map[string]string{
		"rate":            "expected KEY=LOW:HIGH",
		"rate=5":          "expected KEY=LOW:HIGH",
		"rate=9:5":        "expected KEY=LOW:HIGH",
		"rate=30:40":      "the scenario has 20; expected a range around it",
		"speed=1:2":       "no such key of the scenario with a value",
		"router=1:2":      "expected a key with a number",
		"workload.x=1e:2": "expected KEY=LOW:HIGH",
	} {
		_, err := Analyse(context.Background(), Plan{Source: "chat.yaml", Seeds: 1, Vary: []string{vary}}, nil)
		require.ErrorContains(t, err, "--vary "+vary+": ", vary)
		assert.ErrorContains(t, err, want, vary)
	}
	_, err := Analyse(context.Background(), Plan{Source: "chat.yaml", Seeds: 1, Metric: "speed"}, nil)
	require.ErrorContains(t, err, `--metric speed: no column "speed"`)
	_, err = Analyse(context.Background(), Plan{Source: "chat.yaml", Seeds: 1, Set: []string{"model=llama-3.1-405b"}}, nil)
	require.ErrorContains(t, err, "does not fit")
	require.NoError(t, sweep.HasColumn("ttft_p95_s"))
}

func TestTornadoes(t *testing.T) {
	inDir(t)
	p := Plan{Source: "chat.yaml", Seeds: 1, Metric: "ttft_p95_s", Version: "test"}
	r, err := Analyse(context.Background(), p, nil)
	require.NoError(t, err)
	none := *r
	none.Effects = nil
	const caption = "chat · llama-3.1-8b"
	plottest.Check(t, []plottest.Drawing{
		{Name: "tornado", Caption: caption, Draw: func() (plot.Figure, error) { return Tornado(r) }},
		{Name: "tornado-none", Caption: caption, Draw: func() (plot.Figure, error) { return Tornado(&none) }},
	})
}
