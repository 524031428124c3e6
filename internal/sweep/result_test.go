package sweep

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/plot/plottest"
)

// invented is a result whose points have the columns that of says.
func invented(h Head, of func(point int) map[string]float64) *Result {
	h.Points = 1
	for i := range h.Axes {
		h.Points *= len(h.Axes[i].Values)
	}
	c := newCollector(&h)
	for point := range h.Points {
		r := Row{Run: point, Values: make([]float64, len(columns()))}
		for i := range r.Values {
			r.Values[i] = math.NaN()
		}
		for name, x := range of(point) {
			r.Values[index(name)] = x
		}
		_ = c.add(&r)
	}
	_ = c.close()
	return c.Result
}

func loads(values ...string) Head {
	return Head{Scenario: "invented", Is: "a queue", Seeds: []uint64{1}, Load: &Load{Unit: "requests/s"},
		Axes: []Axis{{Name: "rate", Key: keyRate, Values: values, Numbers: true}}}
}

// TestTheKneeOfAnMM1QueueIsAtHalfItsCapacity, where ρ/(1/(1−ρ)) = ρ(1−ρ) is most.
func TestTheKneeOfAnMM1QueueIsAtHalfItsCapacity(t *testing.T) {
	const capacity = 10
	head := loads("1", "2", "3", "4", "5", "6", "7", "8", "9", "9.5", "11", "15")
	r := invented(head, func(point int) map[string]float64 {
		load := head.Axes[0].number(point)
		if load > capacity {
			return map[string]float64{"offered_per_s": load, "requests_per_s": capacity, "e2e_mean_s": 100 * load,
				"saturated": one(load > 12), "slo_met": 0}
		}
		return map[string]float64{"offered_per_s": load, "requests_per_s": load, "e2e_mean_s": 1 / (capacity - load),
			"saturated": 0, "slo_met": one(load < 8.5)}
	})
	require.Len(t, r.Curves, 1)
	c := r.Curves[0]
	assert.Equal(t, 5.0, *c.Knee)
	assert.Equal(t, 9.5, *c.SustainedTo)
	assert.Equal(t, 11.0, *c.SaturatedFrom, "it drifts too little to show, but more is offered than is ever completed")
	assert.Equal(t, 10.0, *c.CapacityPerS)
	assert.Equal(t, 8.0, *c.SLOTo)
	assert.Contains(t, c.Sentences[0], "Saturates between 9.5 and 11 requests/s")
	assert.Contains(t, c.Sentences[2], "Meets the SLO up to 8 requests/s.")
}

func TestCurvesSayWhatTheyDoNotShow(t *testing.T) {
	say := func(saturated, met float64) string {
		r := invented(loads("1", "2", "3"), func(point int) map[string]float64 {
			return map[string]float64{"offered_per_s": 1, "requests_per_s": 1, "e2e_mean_s": 1, "saturated": saturated,
				"slo_met": met}
		})
		return strings.Join(r.Curves[0].Sentences, " ")
	}
	assert.Contains(t, say(0, 1), "No load tried saturates it: up to 3 requests/s")
	assert.Contains(t, say(1, 0), "Every load saturates it: at 1 requests/s")
	short := say(1, 1)
	assert.NotContains(t, short, "Meets the SLO", "of a run that ends before its queue shows")
	assert.NotContains(t, short, "Misses the SLO")
	assert.Contains(t, short, "At 1 requests/s the runs end before the queue that grows breaks the SLO")
	assert.Contains(t, say(1, 0), "Misses the SLO at 1 requests/s already")
	r := invented(loads("1", "2"), func(int) map[string]float64 { return nil })
	assert.NotContains(t, strings.Join(r.Curves[0].Sentences, " "), "SLO", "there is none")
}

// TestAScenarioThatNoPointCanBuildIsOneError, and one that an axis mends is none.
func TestAScenarioThatNoPointCanBuildIsOneError(t *testing.T) {
	inDir(t)
	plan := Plan{Source: "chat.yaml", Set: []string{"pools.serve.tensor_parallel=3"}, Over: []string{"rate=1,2"}, Seeds: 1}
	_, _, err := New(t.Context(), plan)
	require.ErrorContains(t, err, "--set pools.serve.tensor_parallel=3: 3 does not divide")
	plan.Set, plan.Over = []string{"pools.serve.tensor_parallel=3"}, []string{"tensor_parallel=2,3"}
	_, _, err = New(t.Context(), plan)
	require.NoError(t, err, "what one point cannot do is a row")
	plan.Over = []string{"tensor_parallel=3,5"}
	_, _, err = New(t.Context(), plan)
	require.NoError(t, err, "each says what is wrong with it")
}

// TestALoadThatIsCompletedDoesNotSaturate, though a deployment that saturates completes less: its queues push prefixes
// out of the cache, which are read again.
func TestALoadThatIsCompletedDoesNotSaturate(t *testing.T) {
	head := loads("1", "2", "3", "4", "5")
	c := invented(head, func(point int) map[string]float64 {
		load := head.Axes[0].number(point)
		completed := load
		if load > 3 {
			completed = 1.5
		}
		return map[string]float64{"offered_per_s": load, "requests_per_s": completed, "e2e_mean_s": load,
			"saturated": one(load > 3)}
	}).Curves[0]
	assert.Equal(t, 3.0, *c.SustainedTo)
	assert.Equal(t, 4.0, *c.SaturatedFrom)
	assert.Equal(t, 3.0, *c.CapacityPerS)
}

// TestARunThatEndsBeforeItsTasksAreAllThereSustainsNothing: what so few tasks send does not grow at any rate, and an
// SLO that they meet is not one that the load meets.
func TestARunThatEndsBeforeItsTasksAreAllThereSustainsNothing(t *testing.T) {
	curve := func(from, saturated int) Curve {
		head := loads("1", "2", "3", "4", "5")
		head.Load.Unit = "tasks/s"
		return invented(head, func(point int) map[string]float64 {
			return map[string]float64{"offered_per_s": 1, "requests_per_s": 1, "e2e_mean_s": 1,
				"saturated": one(point >= saturated), "slo_met": 1, "filling": one(point >= from)}
		}).Curves[0]
	}
	c := curve(2, 5)
	assert.Equal(t, 2.0, *c.SustainedTo)
	assert.Equal(t, 2.0, *c.SLOTo)
	assert.Contains(t, c.Sentences[0], "Up to 2 tasks/s the requests under way do not grow. At 3 tasks/s the runs end "+
		"before their tasks are all there")
	assert.NotContains(t, strings.Join(c.Sentences, " "), "No load tried saturates it")
	assert.NotContains(t, c.Sentences[0], "grow;")
	c = curve(2, 4)
	assert.Equal(t, 2.0, *c.SustainedTo)
	assert.Contains(t, c.Sentences[0], "At 3 tasks/s the runs end before")
	assert.Contains(t, c.Sentences[0], "From 5 tasks/s on the requests under way grow; it completes at "+
		"most 1.00 requests/s.")
	c = curve(0, 5)
	assert.Nil(t, c.SustainedTo)
	assert.Nil(t, c.SLOTo)
	require.Len(t, c.Sentences, 1)
	assert.True(t, strings.HasPrefix(c.Sentences[0], "At 1 tasks/s the runs end before"))
}

// TestSaturationIsWhereADeploymentCompletesNoMore: a real one, from well below to well above what it completes.
func TestSaturationIsWhereADeploymentCompletesNoMore(t *testing.T) {
	inDir(t)
	r := swept(t, Plan{Source: "chat.yaml", Over: []string{"rate=5:60:5"}, Set: []string{"workload.requests=4000"},
		Seeds: 1, Version: "test"}, "out", Shard{})
	c := r.Curves[0]
	require.NotNil(t, c.SaturatedFrom)
	require.NotNil(t, c.SustainedTo)
	assert.Less(t, *c.SustainedTo, 1.1**c.CapacityPerS, "short runs complete a little less than long ones")
	assert.Greater(t, *c.SaturatedFrom, 0.95**c.CapacityPerS)
	assert.Less(t, *c.Knee, *c.SaturatedFrom)
}

// TestTheFrontierHasWhatNothingBeats, against every pair of points.
func TestTheFrontierHasWhatNothingBeats(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	values := make([]string, 60)
	user, gpu, saturated := make([]float64, 60), make([]float64, 60), make([]float64, 60)
	for i := range values {
		values[i] = written(float64(i + 1))
		user[i], gpu[i], saturated[i] = float64(random.IntN(20)), float64(random.IntN(20)), one(random.IntN(5) == 0)
	}
	r := invented(loads(values...), func(point int) map[string]float64 {
		return map[string]float64{"output_tokens_per_s_per_user": user[point], "output_tokens_per_s_per_gpu": gpu[point],
			"saturated": saturated[point]}
	})
	on := map[[2]float64]bool{}
	for _, p := range r.Frontier {
		on[[2]float64{p.PerUser, p.PerGPU}] = true
	}
	for i := range values {
		beaten := saturated[i] > 0
		for j := range values {
			better := user[j] >= user[i] && gpu[j] >= gpu[i] && (user[j] > user[i] || gpu[j] > gpu[i])
			beaten = beaten || saturated[j] == 0 && better
		}
		if !beaten {
			assert.True(t, on[[2]float64{user[i], gpu[i]}], "nothing beats %g, %g", user[i], gpu[i])
		} else if saturated[i] == 0 {
			assert.False(t, on[[2]float64{user[i], gpu[i]}], "%g, %g is beaten", user[i], gpu[i])
		}
	}
}

func TestFiguresOfASweep(t *testing.T) {
	inDir(t)
	one := swept(t, Plan{Source: "chat.yaml", Ladder: true, Seeds: 1, Version: "test"}, "one", Shard{})
	closed := swept(t, Plan{Source: "chat.yaml", Ladder: true, Seeds: 1, Version: "test",
		Set: []string{"workload.arrivals=null", "workload.closed_loop.concurrency=16"}}, "closed", Shard{})
	two := swept(t, Plan{Source: "chat.yaml", Over: []string{"rate=4:40:4", "engine=vllm-v1,sglang,textbook"}, Seeds: 1,
		Version: "test"}, "two", Shard{})
	nothing := swept(t, Plan{Source: "chat.yaml", Over: []string{"rate=4", "model=llama-3.1-70b"}, Seeds: 1,
		Version: "test"}, "nothing", Shard{})
	drawn := func(r *Result, x, y, heat string) func() (plot.Figure, error) {
		return func() (plot.Figure, error) { return r.draw(Plot{x, y, heat}) }
	}
	wide := *one
	wide.Curves = []Curve{one.Curves[0]}
	wide.Curves[0].Sentences = []string{"Saturates between 1,023.5 and 1,234.5 requests/s: above, the requests under " +
		"way grow as long as requests arrive; it completes at most 1,129.4 requests/s."}
	const caption = "chat · llama-3.1-8b"
	plottest.Check(t, []plottest.Drawing{
		{Name: "curve", Caption: caption, Draw: func() (plot.Figure, error) { return LoadCurve(one) }},
		{Name: "curve-wide", Caption: caption, Draw: func() (plot.Figure, error) { return LoadCurve(&wide) }},
		{Name: "curve-closed", Caption: caption, Draw: func() (plot.Figure, error) { return LoadCurve(closed) }},
		{Name: "curves", Caption: caption, Draw: func() (plot.Figure, error) { return LoadCurve(two) }},
		{Name: "curve-none", Caption: "chat", Draw: func() (plot.Figure, error) { return LoadCurve(nothing) }},
		{Name: "frontier", Caption: caption, Draw: func() (plot.Figure, error) { return FrontierFigure(two) }},
		{Name: "frontier-none", Caption: "chat", Draw: func() (plot.Figure, error) { return FrontierFigure(nothing) }},
		{Name: "lines", Caption: caption, Draw: drawn(two, "rate", "ttft_p95_s", "")},
		{Name: "words", Caption: caption, Draw: drawn(two, "engine", "output_tokens_per_s", "")},
		{Name: "scatter", Caption: caption, Draw: drawn(two, "busy", "itl_p99_s", "")},
		{Name: "lines-none", Caption: "chat", Draw: drawn(nothing, "rate", "itl_p99_s", "")},
		{Name: "heat", Caption: caption, Draw: drawn(two, "rate", "engine", "goodput_per_s")},
	})
}
