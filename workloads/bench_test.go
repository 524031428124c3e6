package workloads

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/rng"
)

// generated returns a CSV trace of n rows.
func generated(n int) string {
	rnd := rng.Stream(1, "test.trace")
	var b strings.Builder
	b.WriteString("arrival_s,input_tokens,output_tokens\n")
	at := 0.0
	for range n {
		at += rnd.ExpFloat64()
		b.WriteString(strconv.FormatFloat(at, 'f', 6, 64))
		b.WriteString("," + strconv.Itoa(1+rnd.IntN(9000)) + "," + strconv.Itoa(1+rnd.IntN(900)) + "\n")
	}
	return b.String()
}

// objects returns a JSON trace of n rows with block ids.
func objects(n int) string {
	rnd := rng.Stream(1, "test.trace")
	var b strings.Builder
	for i := range n {
		b.WriteString(`{"timestamp": ` + strconv.Itoa(i) + `, "input_length": ` + strconv.Itoa(1+rnd.IntN(9000)) +
			`, "output_length": ` + strconv.Itoa(1+rnd.IntN(900)) + `, "hash_ids": [0`)
		for range 24 {
			b.WriteString(", " + strconv.Itoa(rnd.IntN(200_000)))
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

func TestSourcesDoNotAllocatePerRequest(t *testing.T) {
	l := plain()
	l.MaxOutput = Length{Distribution: "fixed", Mean: 400}
	l.Classes = []Class{{Name: "a", Share: 0.5, Prompt: l.Prompt, MaxOutput: l.MaxOutput}, {Name: "b", Share: 0.5, Priority: 1}}
	o, err := NewOpenLoop(OpenLoop{Arrivals: Arrivals{Process: "poisson", Rate: 8}, Lengths: l, Requests: 1 << 20,
		Patience: Patience{TimeoutS: 9, CancelShare: 0.1, CancelAfterS: 1}}, 1)
	require.NoError(t, err)
	var r sim.Request
	require.Zero(t, testing.AllocsPerRun(2000, func() { o.Next(&r) }))
	l = Lengths{Pairs: recorded(t, []int64{7, 8}, []int64{9, 3}), Repeat: true}
	c, err := NewClosedLoop(ClosedLoop{Concurrency: 64, ThinkTimeS: 1, ThinkLaw: "exponential", Lengths: l, Requests: 1 << 20}, 1)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(2000, func() { c.Next(&r); c.Done(r.Arrival+1, &r) }))
	for _, text := range []string{generated(3000), objects(3000)} {
		tr, err := NewTrace("trace", strings.NewReader(text), TraceOptions{})
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(2000, func() { tr.Next(&r) }))
	}
}

func BenchmarkLaw(b *testing.B) {
	for _, c := range []Length{
		{Distribution: "fixed", Mean: 512},
		{Distribution: "uniform", Mean: 512, CV: 0.5},
		{Distribution: "normal", Mean: 512, CV: 0.2},
		{Distribution: "lognormal", Mean: 512, CV: 1},
		{Distribution: "gamma", Mean: 512, CV: 1.5},
		{Distribution: "pareto", Mean: 512, CV: 0.4},
		{Distribution: "zipf", Mean: 512, Max: 1 << 17},
		{Distribution: "empirical", Values: []float64{1, 2, 3, 400}},
		{Distribution: "empirical", Edges: []float64{1, 2, 3, 400}, Weights: []float64{1, 2, 3}},
	} {
		b.Run(c.Distribution, func(b *testing.B) {
			l, err := newLaw("prompt_tokens", c)
			require.NoError(b, err)
			r := rng.Stream(1, "bench")
			b.ReportAllocs()
			for b.Loop() {
				l.draw(r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/draw")
		})
	}
}

func BenchmarkOpenLoop(b *testing.B) {
	for _, a := range []Arrivals{
		{Process: "poisson", Rate: 1000},
		{Process: "gamma", Rate: 1000, CV: 2},
		{Process: "on-off", OnRate: 2000, OffRate: 10, OnS: 1, OffS: 1},
		{Process: "sinusoid", Rate: 1000, Amplitude: 0.5, PeriodS: 600},
	} {
		b.Run(a.Process, func(b *testing.B) {
			o, err := NewOpenLoop(OpenLoop{Arrivals: a, Lengths: plain(), Requests: 1 << 30}, 1)
			require.NoError(b, err)
			var r sim.Request
			b.ReportAllocs()
			for b.Loop() {
				o.Next(&r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/request")
		})
	}
}

func BenchmarkClosedLoop(b *testing.B) {
	c, err := NewClosedLoop(ClosedLoop{Concurrency: 256, Lengths: plain(), Requests: 1 << 30}, 1)
	require.NoError(b, err)
	var r sim.Request
	b.ReportAllocs()
	for b.Loop() {
		c.Next(&r)
		c.Done(r.Arrival.Add(sim.Duration(r.Output)), &r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/request")
}

func BenchmarkTrace(b *testing.B) {
	const n = 100_000
	for name, text := range map[string]string{
		"csv": generated(n), "csv.gz": zipped(generated(n)), "jsonl": objects(n), "jsonl.gz": zipped(objects(n)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tr, err := NewTrace("trace", strings.NewReader(text), TraceOptions{Unchecked: true})
				require.NoError(b, err)
				var r sim.Request
				for tr.Next(&r) {
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
