package metrics

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// TestOctavesAreCountedAsSingleTokens compares a run of tokens with the same tokens one by one, sorted by position.
func TestOctavesAreCountedAsSingleTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fast Full
		var slow [31]Hist
		var reached [31]int64
		for range rapid.IntRange(1, 5).Draw(t, "requests") {
			r := &sim.Request{Traced: true}
			emitted := int32(1)
			for range rapid.IntRange(1, 6).Draw(t, "runs") {
				n := rapid.IntRange(1, 300).Draw(t, "n")
				g := &sim.Segment{
					First:  sim.Duration(rapid.Int64Range(1, 1e11).Draw(t, "first")),
					Growth: sim.Duration(rapid.Int64Range(0, 1e8).Draw(t, "growth")), Steps: n,
				}
				fast.Tokens(r, emitted, 0, g, n)
				for i := range n {
					position := uint32(emitted) + 1 + uint32(i)
					o := bits.Len32(position) - 1
					slow[o].Add(g.Step(i), 1)
					if position == 1<<o {
						reached[o]++
					}
				}
				emitted += int32(n)
				if rapid.Bool().Draw(t, "preempted") {
					emitted++
					r.Emitted, r.Last = emitted, 1000
					fast.Gap(nil, r, 1e12, sim.Preempted)
					o := bits.Len32(uint32(emitted)) - 1
					slow[o].Add(1e12-1000, 1)
					if emitted == 1<<o {
						reached[o]++
					}
				}
			}
		}
		for i := range slow {
			require.Equal(t, slow[i].Counts(), fast.octaves[i].gaps.Counts(), "octave %d", i)
			require.Equal(t, reached[i], fast.octaves[i].reached, "octave %d", i)
		}
		positions := fast.positions()
		for i, o := range positions {
			require.Equal(t, int32(2)<<i, o.From)
			require.Equal(t, 2*o.From, o.To)
		}
	})
}

func TestWarmUpRequestsHaveNoOctaves(t *testing.T) {
	f := Full{Recorder: Recorder{Warmup: 10}}
	g := &sim.Segment{First: 5, Steps: 3}
	f.Tokens(&sim.Request{Traced: true, Arrival: 9}, 1, 20, g, 3)
	require.Empty(t, f.positions())
	f.Tokens(&sim.Request{Traced: true, Arrival: 10}, 1, 20, g, 3)
	require.Len(t, f.positions(), 2)
}

// TestTokensThatWaitedOrCameTogetherHaveTheirOctaves: the fourth token of an output was delayed by 7, and the fifth to
// the eighth came with it. Of every third request only that is recorded.
func TestTokensThatWaitedOrCameTogetherHaveTheirOctaves(t *testing.T) {
	f := Full{SampleEvery: 3}
	for id := range int32(6) {
		r := &sim.Request{ID: id, Traced: true}
		f.Delayed(r, 3, 20, 27)
		f.Accepted(r, 4, 27, 4)
	}
	var want [4]Hist
	for range 2 {
		want[2].Add(7, 1)
		want[2].Add(0, 3)
		want[3].Add(0, 1)
	}
	for i := range want {
		require.Equal(t, want[i].Counts(), f.octaves[i].gaps.Counts(), "octave %d", i)
	}
}

// TestAStreamHearsOfAllTokens: those of steps, of waits and of drafts, which clients get three at a time.
func TestAStreamHearsOfAllTokens(t *testing.T) {
	f, want := Full{Recorder: Recorder{Warmup: 1000}, SampleEvery: 7}, NewChunks(3)
	f.Stream = NewChunks(3)
	r, g := &sim.Request{ID: 1, Traced: true}, &sim.Segment{First: 5, Steps: 4}
	for _, c := range []*Chunks{f.Stream, want} {
		c.First(&sim.Request{ID: 0})
		c.First(r)
	}
	f.Tokens(r, 1, 20, g, 4)
	want.Tokens(r, 20, g, 4)
	f.Delayed(r, 5, 40, 90)
	want.One(r, 90)
	f.Accepted(r, 6, 90, 4)
	want.Accepted(r, 90, 4)
	f.Delayed(r, 10, 90, 130)
	want.One(r, 130)
	require.NotEmpty(t, want.Gaps().Counts())
	require.Equal(t, want, f.Stream)
}

// TestOctavesEndAtTwiceTheirBeginning, or with the last token that a request can have.
func TestOctavesEndAtTwiceTheirBeginning(t *testing.T) {
	var f Full
	f.octave(3).gaps.Add(1, 1)
	f.octave(1<<30).gaps.Add(1, 1)
	list := f.positions()
	require.Equal(t, []int32{2, 4, 1 << 30, 1<<31 - 1}, []int32{list[0].From, list[0].To, list[1].From, list[1].To})
}
