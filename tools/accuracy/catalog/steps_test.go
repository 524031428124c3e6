package catalog

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/internal/measured"
)

// A deployment of which many steps were logged weighs no more than one with few of each kind.
func TestStepsAreSampledEvenlyByDeploymentAndKind(t *testing.T) {
	var runs []measured.Run
	add := func(deployment, kind string, n int) {
		for i := range n {
			runs = append(runs, measured.Run{ID: fmt.Sprint(deployment, kind, i), Priced: &measured.Priced{},
				Labels: measured.Labels{Own: deployment, Kind: kind}})
		}
	}
	add("a", "decode step", 1000)
	add("a", "mixed step", 5)
	add("b", "decode step", StepsPerKind)
	runs = append(runs, measured.Run{ID: "simulated"},
		measured.Run{ID: "unknown", Skip: "unknown", Priced: &measured.Priced{}})
	s := sampleSteps(runs)
	n, weight := map[[2]string]int{}, map[[2]string]float64{}
	last := -1
	for i := range runs {
		r := &runs[i]
		if r.Skip != "" || r.Priced == nil {
			continue
		}
		n[kindOf(r)]++
		weight[kindOf(r)] += s.weigh(r)
		if kindOf(r) == [2]string{"a", "decode step"} {
			if last >= 0 {
				assert.Equal(t, 1000/StepsPerKind, i-last, "evenly spaced")
			}
			last = i
		}
	}
	assert.Equal(t, map[[2]string]int{{"a", "decode step"}: StepsPerKind, {"a", "mixed step"}: 5,
		{"b", "decode step"}: StepsPerKind}, n)
	for k, w := range weight {
		assert.InDelta(t, RunsPerKind, w, 1e-12, k)
	}
	assert.Equal(t, 1.0, s.weigh(&measured.Run{}))
	assert.Equal(t, notSampled, runs[0].Skip)
	assert.Equal(t, "unknown", runs[len(runs)-1].Skip)
}
