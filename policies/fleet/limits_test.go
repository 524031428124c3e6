package fleet_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/sim"
)

// above and below are the floats next to x.
func above(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
func below(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }

// TestLimitsOfNoiseBelongToIt: the first and the last value that an error names are accepted, their neighbours are not.
func TestLimitsOfNoiseBelongToIt(t *testing.T) {
	noise := func(jitter, share, slowdown float64, period sim.Duration) error {
		_, err := fleet.NewNoise(
			fleet.Noise{Jitter: jitter, NeighbourShare: share, NeighbourSlowdown: slowdown, Period: period}, 1)
		return err
	}
	straggler := func(slowdown float64) error {
		_, err := fleet.NewStraggler(nil, slowdown, nil)
		return err
	}
	for i, err := range []error{
		noise(0, 0, 0, 0), noise(10, 1, 100, 1), noise(0, 1e-9, 1, 1), noise(0, 0, 1000, 0), straggler(1), straggler(100),
	} {
		assert.NoError(t, err, i)
	}
	for i, err := range []error{
		noise(below(0), 0, 0, 0), noise(above(10), 0, 0, 0), noise(0, below(0), 1, 1), noise(0, above(1), 1, 1),
		noise(0, 1, above(100), 1), noise(0, 1, below(1), 1), noise(0, 1, 1, 0), noise(0, 1e-9, 0, 1),
		straggler(below(1)), straggler(above(100)),
	} {
		assert.Error(t, err, i)
	}
}

// TestLimitsOfFailuresBelongToThem, in instants, instances and means.
func TestLimitsOfFailuresBelongToThem(t *testing.T) {
	listed := func(pool, instance int, at sim.Time) error {
		_, err := fleet.NewFailures([]fleet.Failure{{Pool: pool, Instance: instance, At: at}}, []int{2, 3})
		return err
	}
	random := func(mtbf, mttr sim.Duration) error {
		_, err := fleet.NewRandomFailures(fleet.RandomFailureArguments{MTBF: mtbf, MTTR: mttr})
		return err
	}
	const end = sim.Duration(sim.ClockEnd)
	for i, err := range []error{
		listed(0, 0, 0), listed(0, 1, sim.ClockEnd), listed(1, 2, 0), random(sim.Millisecond, 0), random(end, end),
	} {
		assert.NoError(t, err, i)
	}
	for i, err := range []error{
		listed(-1, 0, 0), listed(2, 0, 0), listed(0, -1, 0), listed(0, 2, 0), listed(0, 0, -1),
		listed(0, 0, sim.ClockEnd+1), random(sim.Millisecond-1, 0), random(end+1, 0), random(end, -1), random(end, end+1),
	} {
		assert.Error(t, err, i)
	}
}

// TestLimitsOfScalingBelongToIt, and a switch of roles needs two pools.
func TestLimitsOfScalingBelongToIt(t *testing.T) {
	type arguments = fleet.AutoscaleArguments
	row := func(at sim.Time, replicas int) fleet.ScheduledSize {
		return fleet.ScheduledSize{At: at, Replicas: replicas}
	}
	scheduled := func(rows ...fleet.ScheduledSize) func(*arguments) {
		return func(a *arguments) { a.On, a.Schedule = "schedule", rows }
	}
	signal := func(on string, target float64) func(*arguments) {
		return func(a *arguments) { a.On, a.Target = on, target }
	}
	size := func(fewest, most int) func(*arguments) { return func(a *arguments) { a.Min, a.Max = fewest, most } }
	for i, c := range []struct {
		ok     bool
		change func(*arguments)
	}{
		{true, size(0, 1)}, {true, size(6, 6)}, {false, size(0, 0)}, {false, size(3, 2)}, {false, size(6, 7)},
		{false, size(-1, 1)},
		{true, func(a *arguments) { a.Interval = sim.Millisecond }},
		{false, func(a *arguments) { a.Interval = sim.Millisecond - 1 }},
		{true, func(a *arguments) { a.Provision, a.Stabilisation = 0, 0 }},
		{false, func(a *arguments) { a.Provision = -1 }}, {false, func(a *arguments) { a.Stabilisation = -1 }},
		{true, func(a *arguments) { a.Low = 0 }}, {true, func(a *arguments) { a.Low = 1 }},
		{false, func(a *arguments) { a.Low = above(1) }}, {false, func(a *arguments) { a.Low = below(0) }},
		{true, signal("queue", 1e6)}, {false, signal("queue", above(1e6))}, {false, signal("queue", 0)},
		{true, signal("requests", 1e-9)}, {true, signal("kv", 1)}, {false, signal("kv", above(1))},
		{true, signal("ttft", 0)}, {true, signal("ttft", below(1))}, {false, signal("ttft", below(0))},
		{true, scheduled(row(0, 0), row(1, 9))}, {false, scheduled(row(0, 1), row(0, 1))},
		{false, scheduled(row(-1, 1))}, {false, scheduled(row(0, -1))},
	} {
		a := scaling("queue", 1)
		c.change(&a)
		_, err := fleet.NewAutoscale(a, 6)
		assert.Equal(t, c.ok, err == nil, "%d: %v", i, err)
	}
	for i, c := range []struct {
		ok bool
		a  fleet.RoleSwitchArguments
	}{
		{true, fleet.RoleSwitchArguments{Decode: 1, Interval: sim.Millisecond, High: 1}},
		{true, fleet.RoleSwitchArguments{Prefill: 1, Interval: sim.Second, Queue: 1e6, Low: .5, High: above(.5)}},
		{false, fleet.RoleSwitchArguments{Decode: 1, Interval: sim.Millisecond - 1, High: 1}},
		{false, fleet.RoleSwitchArguments{Decode: 1, Interval: sim.Second, Delay: -1, High: 1}},
		{false, fleet.RoleSwitchArguments{Decode: 1, Interval: sim.Second, Queue: above(1e6), High: 1}},
		{false, fleet.RoleSwitchArguments{Decode: 1, Interval: sim.Second, Queue: below(0), High: 1}},
		{false, fleet.RoleSwitchArguments{Decode: 1, Interval: sim.Second, Low: .5, High: .5}},
		{false, fleet.RoleSwitchArguments{Decode: 1, Interval: sim.Second, Low: .5, High: above(1)}},
		{false, fleet.RoleSwitchArguments{Interval: sim.Second, High: 1}},
	} {
		_, err := fleet.NewRoleSwitch(c.a)
		assert.Equal(t, c.ok, err == nil, "%d: %v", i, err)
	}
}

// TestLimitsOfAdmissionBelongToIt: at 1e8 a second a request is earned in 10,000 ps, and a quarter of the 63 bits of a
// duration has room for 230,584,300,921,369 such spans.
func TestLimitsOfAdmissionBelongToIt(t *testing.T) {
	const most = 1 << 61 / 10_000
	bucket := func(rate float64, burst int64) error {
		_, err := fleet.NewTokenBucket(rate, burst, false)
		return err
	}
	for i, err := range []error{bucket(1e-6, 1), bucket(1e8, 1), bucket(1e8, most)} {
		assert.NoError(t, err, i)
	}
	for i, err := range []error{
		bucket(below(1e-6), 1), bucket(above(1e8), 1), bucket(1e8, 0), bucket(1e8, most+1), bucket(math.NaN(), 1),
	} {
		assert.Error(t, err, i)
	}
	for _, a := range []fleet.AdmissionArguments{{ShedLimit: -1}, {QueueLimit: -1}, {ShedLimit: 1}, {QueueLimit: 1}} {
		_, err := fleet.NewAdmission(a)
		assert.Error(t, err, "%+v", a)
	}
}

// TestEveryRuleOfTwoBinds, and one rule alone is asked itself.
func TestEveryRuleOfTwoBinds(t *testing.T) {
	one := testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{Rate: 1, Burst: 3}))
	assert.IsType(t, &fleet.TokenBucket{}, one)
	for _, burst := range [][2]int64{{2, 1000}, {1000, 20}} { // two requests, or the tokens of two
		two := testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{
			Rate: 1e-3, Burst: burst[0], TokenRate: 1e-3, TokenBurst: burst[1]}))
		admitted := 0
		for range 5 {
			if two.Admit(0, &sim.Request{Prompt: 9, Output: 1}, nil) {
				admitted++
			}
		}
		assert.Equal(t, 2, admitted, burst)
	}
}

// TestAnUnusedRateIsSavedToThePicosecond: a request is admitted at the instant at which it has been earned.
func TestAnUnusedRateIsSavedToThePicosecond(t *testing.T) {
	b := testcluster.Must(fleet.NewTokenBucket(2, 1, false))
	require.True(t, b.Admit(0, &sim.Request{}, nil))
	assert.False(t, b.Admit(testcluster.At(1)/2-1, &sim.Request{}, nil))
	assert.True(t, b.Admit(testcluster.At(1)/2, &sim.Request{}, nil))
}
