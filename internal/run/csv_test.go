package run

import (
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
)

func TestTimesInTheCSVAreExact(t *testing.T) {
	for _, d := range []sim.Duration{0, 1, 999, sim.Millisecond, sim.Second, 12*sim.Second + 34, 1<<63 - 1} {
		got, ok := new(big.Rat).SetString(string(appendSeconds(nil, d)))
		require.True(t, ok)
		assert.Zero(t, got.Cmp(big.NewRat(int64(d), int64(sim.Second))), "%d ps", d)
	}
	assert.Equal(t, "0.0142", string(appendSeconds(nil, 14200*sim.Microsecond)))
	assert.Empty(t, appendSeconds(nil, Unknown))
}

func TestRequestsBecomeLines(t *testing.T) {
	rows := []Row{
		{ID: 0, Arrival: sim.Time(sim.Second / 2), PromptTokens: 512, OutputTokens: 256, CachedTokens: 16,
			TTFT: 70 * sim.Millisecond,
			TPOT: 14 * sim.Millisecond, E2E: 4 * sim.Second, Queue: 0, Preemptions: 1, Pool: "serve", Instance: 1,
			Outcome: "completed"},
		{ID: 1, PromptTokens: 99999, TTFT: Unknown, TPOT: Unknown, E2E: Unknown, Queue: Unknown, Pool: `a,"b"`,
			Outcome: "rejected"},
	}
	var b strings.Builder
	require.NoError(t, WriteRows(&b, slices.Values(rows)))
	assert.Equal(t, rowsHead+"\n"+
		"0,0.5,512,256,16,0.07,0.014,4,0,1,serve,1,completed\n"+
		"1,0,99999,0,0,,,,,0,\"a,\"\"b\"\"\",0,rejected\n", b.String())
}

func TestRequestsOfClassesHaveAColumnForThem(t *testing.T) {
	var b strings.Builder
	rows := []Row{{TTFT: Unknown, TPOT: Unknown, E2E: Unknown, Queue: Unknown, Pool: "serve", Outcome: "failed",
		Class: "batch"}}
	require.NoError(t, WriteRows(&b, slices.Values(rows)))
	assert.Equal(t, rowsHead+",class\n0,0,0,0,0,,,,,0,serve,0,failed,batch\n", b.String())
	b.Reset()
	require.NoError(t, WriteRows(&b, slices.Values(rows[:0])))
	assert.Equal(t, rowsHead+"\n", b.String())
}

func TestRequestsOfSeveralPoolsHaveAColumnForTheirWay(t *testing.T) {
	var b strings.Builder
	rows := []Row{{TTFT: Unknown, TPOT: Unknown, E2E: Unknown, Queue: Unknown, Pool: "decode", Instance: 1,
		Outcome: "failed", Way: "prefill/0 decode/1", Class: "chat"}}
	require.NoError(t, WriteRows(&b, slices.Values(rows)))
	assert.Equal(t, rowsHead+",route,class\n0,0,0,0,0,,,,,0,decode,1,failed,prefill/0 decode/1,chat\n", b.String())
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAWriteErrorIsReported(t *testing.T) {
	require.ErrorContains(t, WriteRows(brokenWriter{}, slices.Values(make([]Row, 5000))), "disk full")
}

func BenchmarkWriteRows(b *testing.B) {
	row := Row{ID: 12345, Arrival: 123456789012345, PromptTokens: 512, OutputTokens: 256, TTFT: 71234567890,
		TPOT: 14212345678, E2E: 3912345678901, Queue: 123456, Pool: "serve", Outcome: "completed"}
	b.ReportAllocs()
	_ = WriteRows(io.Discard, func(yield func(Row) bool) {
		for b.Loop() {
			if !yield(row) {
				return
			}
		}
	})
}
