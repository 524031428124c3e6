package sizing

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"math"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
	"github.com/decodesim/decodesim/internal/text"
)

// others stand in for other processes: what they are asked and what they answer is JSON, and each has read the plan
// by itself.
type others struct {
	makers []*Maker
	asked  atomic.Int64
	ended  []bool
}

func (o *others) open(_ context.Context, p *Plan) (Asks, error) {
	sent, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	o.makers = nil
	for range 3 {
		var got Plan
		if err := json.Unmarshal(sent, &got); err != nil {
			return nil, err
		}
		m, err := got.Open()
		if err != nil {
			return nil, err
		}
		o.makers = append(o.makers, m)
	}
	return o, nil
}

func (o *others) Ask(ctx context.Context, about json.RawMessage) (json.RawMessage, error) {
	n := o.asked.Add(1)
	return o.makers[int(n)%len(o.makers)].Make(ctx, 0, about)
}

func (o *others) End(_ context.Context, done bool) error {
	o.ended = append(o.ended, done)
	return nil
}

// TestASearchElsewhereHasTheSameAnswer, to the byte: other processes know what it rests on from the plan alone.
func TestASearchElsewhereHasTheSameAnswer(t *testing.T) {
	const conversations = `
model: llama-3.1-8b
pools: [{gpu: h100-sxm, max_num_seqs: 64}]
workload:
  arrivals: {process: poisson, rate: 1}
  prompt_tokens: {distribution: lognormal, mean: 400, cv: 1}
  output_tokens: {distribution: lognormal, mean: 40, cv: 0.7}
  sessions: {turns: {distribution: fixed, mean: 3}, think_time_s: {distribution: exponential, mean: 1}}
  requests: 400
`
	for name, s := range map[string]struct{ scenario, study string }{
		"the most":     {chat, "budget: {gpus: 4}\nrate: {min: 1, max: 200}\nrequests: 400\nseeds: 2\n" + both},
		"the cheapest": {chat, "budget: {gpus: 8}\nrate: {at: 40}\nrequests: 400\nseeds: 2\n" + both},
		"nothing": {chat, "budget: {gpus: 2}\nrate: {at: 20}\nslo: ['ttft p95 <= 1ms']\nrequests: 400\nseeds: 1\n" +
			"search: {tensor_parallel: [1, 2]}\n"},
		"sessions": {conversations, "budget: {gpus: 2}\nrate: {at: 4}\nslo: ['ttft p95 <= 1s', 'itl p95 <= 50ms']\n" +
			"requests: 400\nseeds: 1\nsearch: {tensor_parallel: [1]}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "the most" || name == "sessions" {
				soak.TakesLong(t)
			}
			study := studyOf(t, s.scenario, s.study)
			written := func(o Options) string {
				answer, _, err := Search(t.Context(), study, o)
				require.NoError(t, err)
				var b bytes.Buffer
				require.NoError(t, text.WriteJSON(&b, answer))
				return b.String()
			}
			here := written(Options{Version: "v"})
			o := &others{}
			require.Equal(t, here, written(Options{Version: "v", Elsewhere: o.open}))
			assert.Equal(t, []bool{true}, o.ended)
			assert.Positive(t, o.asked.Load())
		})
	}
}

// TestAnOutcomeIsSentWhole: every field arrives, also those that are no numbers.
func TestAnOutcomeIsSentWhole(t *testing.T) {
	for i := range reflect.TypeFor[outcome]().NumField() {
		assert.True(t, reflect.TypeFor[outcome]().Field(i).IsExported(), "fields of an outcome are sent to other processes")
	}
	for i := range reflect.TypeFor[work]().NumField() {
		assert.True(t, reflect.TypeFor[work]().Field(i).IsExported())
	}
	sent := outcome{Rate: 0.1, E2ES: math.Inf(1), Busy: []float64{0, math.Copysign(0, -1), 1.0 / 3},
		Missed: [3]float64{1, 0, 2}}
	var b bytes.Buffer
	require.NoError(t, gob.NewEncoder(&b).Encode(&sent))
	var got outcome
	require.NoError(t, gob.NewDecoder(&b).Decode(&got))
	assert.Equal(t, sent, got)
}

// TestARunThatIsRefusedElsewhereIsRefusedHere with the same words.
func TestARunThatIsRefusedElsewhereIsRefusedHere(t *testing.T) {
	z := &sizer{study: studyOf(t, chat, "budget: {gpus: 1}\nrate: {at: 1}\n"),
		options: Options{Version: "v"}, ctx: t.Context()}
	require.NoError(t, z.prepare())
	o := &others{}
	z.options.Elsewhere = o.open
	require.NoError(t, z.open())
	_, err := z.ask(&order{Topology: "colocated", Setting: setting{GPU: "nowhere"}, Replicas: []int{1}, RatePerS: 1})
	require.ErrorContains(t, err, `gpu "nowhere" not found`)
	_, err = z.ask(&order{Topology: "colocated", Replicas: []int{1}, RatePerS: 1, Requests: 10})
	require.NoError(t, err)
}
