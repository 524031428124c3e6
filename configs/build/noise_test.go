package build

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// lonely is one client that asks again and again, so that every step has one request, whatever steps last. Nothing of
// it is random.
const lonely = `model: llama-3.1-8b
pools: [{gpu: h100-sxm, enable_prefix_caching: false}]
workload:
  closed_loop: {concurrency: 1}
  prompt_tokens: {distribution: fixed, mean: 100}
  output_tokens: {distribution: fixed, mean: 200}
  requests: 50
`

// durations keeps what each step of a run lasts, beside all that metrics do.
type durations struct {
	*metrics.Full
	steps []sim.Duration
}

func (l *durations) Run(in *sim.Instance, start sim.Time, g *sim.Segment, n, tokens int) {
	for i := range n {
		l.steps = append(l.steps, g.Span(i+1)-g.Span(i))
	}
	l.Full.Run(in, start, g, n, tokens)
}

// stepsOf runs the lonely client with noise and returns what its steps last, and the mean ITL.
func stepsOf(t *testing.T, noise string) ([]sim.Duration, float64) {
	t.Helper()
	s, err := configs.Read("s.yaml", []byte(lonely+noise+"\n"), configs.Options{})
	require.NoError(t, err)
	b, err := New(s)
	require.NoError(t, err)
	l := &durations{Full: &metrics.Full{}}
	b.Config.Sink = l
	c, err := sim.New(b.Config)
	require.NoError(t, err)
	c.Run()
	return l.steps, l.ITL.MeanS()
}

// TestNoiseLengthensStepsAndShortensNone: step by step the noisy run is that without noise, and longer. Of 10,000
// exponential draws the mean is within 5 % with near certainty.
func TestNoiseLengthensStepsAndShortensNone(t *testing.T) {
	quiet, itl := stepsOf(t, "")
	noisy, longer := stepsOf(t, "noise: {jitter: 0.1}")
	require.Len(t, noisy, len(quiet))
	stretched := 0
	for i := range quiet {
		require.GreaterOrEqual(t, noisy[i], quiet[i], "step %d", i)
		if noisy[i] > quiet[i] {
			stretched++
		}
	}
	assert.Greater(t, stretched, len(quiet)*99/100)
	assert.InEpsilon(t, 1.1*itl, longer, 0.005)

	slow, always := stepsOf(t, "noise: {neighbour_share: 1, neighbour_slowdown: 1.5, neighbour_period_s: 3}")
	for i := range quiet {
		require.InDelta(t, 1.5*float64(quiet[i]), float64(slow[i]), 1, "step %d", i)
	}
	assert.InEpsilon(t, 1.5*itl, always, 1e-6)
}

// TestNoiseIsOffUnlessAsked: what it lengthens nothing by is no noise, and what the resolved scenario says is what it
// was.
func TestNoiseIsOffUnlessAsked(t *testing.T) {
	for noise, on := range map[string]bool{
		"": false, "noise: {}": false, "noise: null": false, "noise: {jitter: 0}": false, "noise: {jitter: 0.05}": true,
		"noise: {neighbour_share: 0, neighbour_slowdown: 1.5, neighbour_period_s: 10}":                 false,
		"noise: {jitter: 0.05, neighbour_share: 0.1, neighbour_slowdown: 1.5, neighbour_period_s: 10}": true,
	} {
		s, err := configs.Read("s.yaml", []byte(lonely+noise+"\n"), configs.Options{})
		require.NoError(t, err, noise)
		again, err := configs.Read("s.yaml", s.YAML(), configs.Options{})
		require.NoError(t, err, noise)
		assert.Equal(t, s.Noise, again.Noise, noise)
		b, err := New(again)
		require.NoError(t, err)
		assert.Equal(t, on, b.Config.Pools[0].Noise != nil, noise)
	}
}

func TestNoiseThatCannotBeIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"noise: {jitter: -0.1}": "s.yaml:8:9: noise.jitter: -0.1 is out of range; expected " +
			"a number from 0 to 10",
		"noise: {jitter: 11}": "s.yaml:8:9: noise.jitter: 11 is " +
			"out of range; expected a number from 0 to 10",
		"noise: {neighbour_share: 1.5}": "s.yaml:8:9: " +
			"noise.neighbour_share: 1.5 is out of range; expected a number from 0 to 1",
		"noise: {neighbour_share: 0.1}": "s.yaml:8:1: " +
			"noise.neighbour_slowdown: missing beside neighbour_share 0.1; expected a number such as 1.5",
		"noise: {neighbour_share: 0.1, neighbour_slowdown: 2}": "s.yaml:8:1: " +
			"noise.neighbour_period_s: missing beside neighbour_share 0.1; expected a number such as 10",
		"noise: {neighbour_slowdown: 2}": "s.yaml:8:9: " +
			"noise.neighbour_slowdown: has no effect without neighbour_share; expected a share such as 0.1 beside it",
		"noise: {neighbour_share: 1, neighbour_slowdown: 0.5, neighbour_period_s: 1}": "s.yaml:8:29: " +
			"noise.neighbour_slowdown: 0.5 is out of range; expected a number from 1 to 100",
		"noise: {neighbour_share: 1, neighbour_slowdown: 2, neighbour_period_s: 0}": "s.yaml:8:52: " +
			"noise.neighbour_period_s: 0 is out of range; expected a number above 1e-12 and at most 4.5792e+06",
		"noise: {neighbour_share: 1, neighbour_slowdown: 2, neighbour_period_s: 1e-30}": "s.yaml:8:52: " +
			"noise.neighbour_period_s: 1e-30 is out of range; expected a number above 1e-12 and at most 4.5792e+06",
		"noise: {jiter: 0.1}": `s.yaml:8:9: noise.jiter: unknown key; did you mean "jitter"?`,
	} {
		_, err := configs.Read("s.yaml", []byte(lonely+line+"\n"), configs.Options{})
		assert.EqualError(t, err, want, line)
	}
}
