package check_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/check"
)

// TestBoundsBelongToIntervals, but for the lower one of Above, and NaN is nowhere.
func TestBoundsBelongToIntervals(t *testing.T) {
	above := func(x float64) float64 { return math.Nextafter(x, math.Inf(1)) }
	below := func(x float64) float64 { return math.Nextafter(x, math.Inf(-1)) }
	nan := math.NaN()
	for i, err := range []error{
		check.Within("x", 1, 1, 2), check.Within("x", 2, 1, 2), check.Above("x", above(1), 1, 2), check.Above("x", 2, 1, 2),
		check.Count("n", 1, 9), check.Count("n", 9, 9), check.OneOf("x", "b", []string{"a", "b"}),
		check.Absent("x", "it", false, 1), check.Extent(1, 0), check.Extent(check.RequestsMax, 0), check.Extent(0, 1),
		check.Extent(5, sim.HorizonS), check.Extent(0, 1e-9),
	} {
		assert.NoError(t, err, i)
	}
	for i, c := range []struct {
		err  error
		want string
	}{
		{check.Within("x", below(1), 1, 2), "x is 0.9999999999999999; accepted: a number from 1 to 2"},
		{check.Within("x", above(2), 1, 2), "x is 2.0000000000000004; accepted: a number from 1 to 2"},
		{check.Within("x", nan, 1, 2), "x is NaN; accepted: a number from 1 to 2"},
		{check.Above("x", 1, 1, 2), "x is 1; accepted: a number above 1 and at most 2"},
		{check.Above("x", 3, 1, 2), "x is 3; accepted: a number above 1 and at most 2"},
		{check.Above("x", nan, 1, 2), "x is NaN; accepted: a number above 1 and at most 2"},
		{check.Count("n", 0, 9), "n is 0; accepted: a whole number from 1 to 9"},
		{check.Count("n", 10, 9), "n is 10; accepted: a whole number from 1 to 9"},
		{check.OneOf("x", "c", []string{"a", "b"}), `x is "c"; accepted: a, b`},
		{check.Absent("x", "it", true, 1), "x is 1; accepted: null, for it has no such parameter"},
		{check.Extent(0, 0), "requests is 0; accepted: a number of requests, a duration_s, or both"},
		{check.Extent(-1, 1), "requests is -1; accepted: a whole number from 1 to 2147483647"},
		{check.Extent(1<<31, 0), "requests is 2147483648; accepted: a whole number from 1 to 2147483647"},
		{check.Extent(1, -1), "duration_s is -1; accepted: a number above 0 and at most 4579200"},
		{check.Extent(check.RequestsMax, -1), "duration_s is -1; accepted: a number above 0 and at most 4579200"},
		{check.Extent(1, nan), "duration_s is NaN; accepted: a number above 0 and at most 4579200"},
		{check.Under("a", check.Under("b", check.Refuse("x", 1, "none"))), "a.b.x is 1; accepted: none"},
	} {
		assert.EqualError(t, c.err, "workloads: "+c.want, i)
	}
	other := errors.New("other")
	assert.Equal(t, other, check.Under("a", other))
	assert.NoError(t, check.Under("a", nil))
}

// TestParametersOfOthersAreRefused, by their keys; one that is not set is none.
func TestParametersOfOthersAreRefused(t *testing.T) {
	type law struct {
		Mean float64 `yaml:"mean,omitempty"`
		CV   float64 `yaml:"cv"`
		Max  int     `yaml:"max,omitempty"`
	}
	assert.NoError(t, check.Parameters("p", "constant", law{Mean: 1, CV: 2, Max: 3}, "mean", "cv", "max"))
	assert.NoError(t, check.Parameters("p", "constant", law{Mean: 1}, "mean"))
	assert.EqualError(t, check.Parameters("p", "constant", law{Mean: 1, Max: 3}, "mean", "cv"),
		"workloads: p.max is 3; accepted: null, for constant has no such parameter")
	assert.EqualError(t, check.Parameters("p", "constant", law{CV: 2, Max: 3}, "mean"),
		"workloads: p.cv is 2; accepted: null, for constant has no such parameter")
}
