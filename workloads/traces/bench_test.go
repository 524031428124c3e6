package traces

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

func TestTracesDoNotAllocatePerRequest(t *testing.T) {
	var r sim.Request
	for _, text := range []string{generated(3000), objects(3000)} {
		tr, err := New("trace", strings.NewReader(text), Options{})
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(2000, func() { tr.Next(&r) }))
	}
}

func BenchmarkTrace(b *testing.B) {
	const n = 100_000
	for name, text := range map[string]string{
		"csv": generated(n), "csv.gz": zipped(generated(n)), "jsonl": objects(n), "jsonl.gz": zipped(objects(n)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tr, err := New("trace", strings.NewReader(text), Options{Unchecked: true})
				require.NoError(b, err)
				var r sim.Request
				for tr.Next(&r) {
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
