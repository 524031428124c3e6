package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/policies/fleet"
	"github.com/decodesim/decodesim/policies/internal/testcluster"
	"github.com/decodesim/decodesim/policies/routers"
	"github.com/decodesim/decodesim/sim"
)

// TestABucketHoldsItsBurst: it earns its rate, and never admits more than that and its burst.
func TestABucketHoldsItsBurst(t *testing.T) {
	b := testcluster.Must(fleet.NewTokenBucket(2, 3, false))
	ask := func(ms int64) bool {
		return b.Admit(sim.Time(sim.Duration(ms)*sim.Millisecond), &sim.Request{Prompt: 1, Output: 1}, nil)
	}
	for i, one := range []struct {
		ms   int64
		want bool
	}{
		{0, true}, {0, true}, {0, true}, {0, false}, {499, false}, {500, true}, {500, false},
		{60_000, true}, {60_000, true}, {60_000, true}, {60_000, false},
	} {
		assert.Equal(t, one.want, ask(one.ms), i)
	}
	n := 0
	for ms := range int64(100_000) {
		if ask(60_000 + ms) {
			n++
		}
	}
	assert.Equal(t, 199, n, "two a second, the last of them not yet")
}

// TestABucketOfTokensCountsWhatMayBeEmitted: the prompt and max_tokens, not the true output; what is more than the
// burst never enters.
func TestABucketOfTokensCountsWhatMayBeEmitted(t *testing.T) {
	b := testcluster.Must(fleet.NewTokenBucket(10, 100, true))
	assert.False(t, b.Admit(0, &sim.Request{Prompt: 41, Output: 1, MaxOutput: 60}, nil))
	assert.True(t, b.Admit(0, &sim.Request{Prompt: 40, Output: 1, MaxOutput: 60}, nil))
	assert.False(t, b.Admit(testcluster.At(1), &sim.Request{Prompt: 10, Output: 1}, nil))
	assert.True(t, b.Admit(testcluster.At(1), &sim.Request{Prompt: 9, Output: 1}, nil))
	slow := testcluster.Must(fleet.NewTokenBucket(1e-6, 2, true))
	for _, prompt := range []int32{2, 9, 10, 28, 1<<31 - 1} {
		assert.False(t, slow.Admit(0, &sim.Request{Prompt: prompt, Output: 1}, nil), prompt)
	}
}

// TestOneWaitingRequestIsALimit, for all requests or for those that are shed.
func TestOneWaitingRequestIsALimit(t *testing.T) {
	of := fleet.Entries{0}
	assert.Equal(t, fleet.Shed{Entries: of, Limit: 1, Above: 2},
		testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{Entries: of, ShedLimit: 1, ShedAbove: 2})))
	assert.Equal(t, fleet.QueueLimit{Entries: of, Limit: 1},
		testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{Entries: of, QueueLimit: 1})))
	assert.Nil(t, testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{Entries: of})))
}

// TestQueuesAreBounded: an instance runs 8 of 20 that come at once, in each of two; the limit is on waiting requests.
func TestQueuesAreBounded(t *testing.T) {
	for limit, want := range map[int64]int{1: 2, 3: 6, 100: 40} {
		c, e := testcluster.New(func(c *sim.Config) {
			c.Admission = testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{Entries: []int{0}, QueueLimit: limit}))
		}, testcluster.Together(40, 0), testcluster.NewPool(2, routers.LeastLoaded{}))
		c.Run()
		assert.Equal(t, want, e.Count(sim.Completed), "limit %d: all wait until the instances plan", limit)
		assert.Equal(t, int64(40-want), c.Totals().NotAdmitted)
	}
}

// TestSheddingAdmitsTheUrgent: requests with a priority up to the bound enter whatever waits.
func TestSheddingAdmitsTheUrgent(t *testing.T) {
	requests := testcluster.Together(40, 0)
	for i := range requests {
		requests[i].Priority = int8(i % 2)
	}
	c, e := testcluster.New(func(c *sim.Config) {
		c.Admission = testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{Entries: []int{0}, ShedLimit: 5}))
	}, requests, testcluster.NewPool(1, routers.LeastLoaded{}))
	c.Run()
	for id, o := range e.Outcome {
		assert.Equal(t, id%2 == 1 && id >= 5, o == sim.Rejected, id)
	}
}

// TestSheddingCountsInstances: three requests wait for each of them.
func TestSheddingCountsInstances(t *testing.T) {
	for size := range 3 {
		requests := testcluster.Together(40, 0)
		for i := range requests {
			requests[i].Priority = 1
		}
		c, e := testcluster.New(func(c *sim.Config) {
			c.Admission = testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{Entries: []int{0}, ShedLimit: 3}))
		}, requests, testcluster.NewPool(1+size, routers.LeastLoaded{}))
		c.Run()
		assert.Equal(t, 3*(1+size), e.Count(sim.Completed))
	}
}

// TestRulesAreAskedInOrder: a request that a queue rejects costs the bucket nothing, and without rules there is
// nothing to ask.
func TestRulesAreAskedInOrder(t *testing.T) {
	requests := append(testcluster.Together(8, 0), testcluster.Together(8, testcluster.At(5))...)
	c, e := testcluster.New(func(c *sim.Config) {
		c.Admission = testcluster.Must(fleet.NewAdmission(fleet.AdmissionArguments{
			Entries: []int{0}, QueueLimit: 4, Rate: 1e-3, Burst: 6, TokenRate: 1e3, TokenBurst: 1e6}))
	}, requests, testcluster.NewPool(1, routers.LeastLoaded{}))
	c.Run()
	assert.Equal(t, 6, e.Count(sim.Completed), "four, and what was left in the bucket")
	none, err := fleet.NewAdmission(fleet.AdmissionArguments{})
	require.NoError(t, err)
	assert.Nil(t, none)
}

// TestAdmissionRefusesWhatMakesNoSense, with the value.
func TestAdmissionRefusesWhatMakesNoSense(t *testing.T) {
	for want, a := range map[string]fleet.AdmissionArguments{
		"queue_limit is -1":       {QueueLimit: -1},
		"each route begins":       {QueueLimit: 1},
		"that each route begins":  {ShedLimit: 1},
		"rate is -1 per second":   {Rate: -1, Burst: 1},
		"burst is 0, must be":     {Rate: 1},
		"rate is 1e-07 per":       {TokenRate: 1e-7, TokenBurst: 1},
		"burst is 10000000000000": {Rate: 1e-6, Burst: 1e13},
	} {
		_, err := fleet.NewAdmission(a)
		assert.ErrorContains(t, err, want)
	}
	_, err := fleet.NewAdmission(fleet.AdmissionArguments{Rate: 1, Burst: 1})
	assert.NoError(t, err, "one request at a time")
}
