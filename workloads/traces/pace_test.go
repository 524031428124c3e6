package traces

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/check"
	"github.com/decodesim/decodesim/workloads/sourcetest"
)

const paced = "arrival_s,input_tokens,output_tokens\n0,1,1\n10,2,1\n12,3,1\n16,4,1\n"

// A rate is a speed: the same requests with every arrival divided by one factor, whose mean rate is the asked one.
func TestARateRescalesATraceByOneFactor(t *testing.T) {
	for _, c := range []struct {
		options Options
		want    []wanted
		speed   float64
		rate    float64
	}{
		{Options{Rate: 0.5}, []wanted{{0, 1, 1}, {5000, 2, 1}, {6000, 3, 1}, {8000, 4, 1}}, 2, 0.5},
		{Options{Rate: 1, StartS: 10}, []wanted{{0, 2, 1}, {1000, 3, 1}, {3000, 4, 1}}, 2, 1},
		{Options{Rate: 1. / 3, Limit: 3}, []wanted{{0, 1, 1}, {7500, 2, 1}, {9000, 3, 1}}, 4. / 3, 1. / 3},
		// What the window leaves empty counts, where the file goes on behind it.
		{Options{Rate: 0.4, EndS: 15}, []wanted{{0, 1, 1}, {5000, 2, 1}, {6000, 3, 1}}, 2, 0.4},
		// Ends of the run cut what is sent, at the factor of all that is selected.
		{Options{Rate: 0.5, Requests: 2}, []wanted{{0, 1, 1}, {5000, 2, 1}}, 2, 0.4},
		{Options{Rate: 0.5, DurationS: 6}, []wanted{{0, 1, 1}, {5000, 2, 1}}, 2, 2. / 6},
		{Options{DurationS: 1e-12}, []wanted{{0, 1, 1}}, 1, 1e12},
		{Options{Rate: 0.5, DurationS: 6, Limit: 9, Requests: 9}, []wanted{{0, 1, 1}, {5000, 2, 1}}, 2, 2. / 6},
	} {
		tr, err := New("trace", strings.NewReader(paced), c.options)
		require.NoError(t, err)
		require.InDelta(t, c.speed, tr.Speed(), 1e-12, c.options)
		require.InDelta(t, c.rate, tr.Rate(), 1e-12, c.options)
		all, stats := replay(t, paced, c.options)
		require.Equal(t, c.want, all, c.options)
		require.EqualValues(t, len(c.want), stats.Requests)
	}
}

func TestARateThatNoReplayHasIsRefused(t *testing.T) {
	at := "arrival_s,input_tokens,output_tokens\n3,1,1\n3,1,1\n"
	for _, c := range []struct {
		text    string
		options Options
		said    string
	}{
		{paced, Options{Rate: -1}, "trace.rate is -1"},
		{paced, Options{Rate: 40, Speed: 2}, "accepted: null beside a trace.speed of 2"},
		{paced, Options{Rate: 1e8}, "trace.rate is 1e+08; accepted: 2.5e-07 to 2.5e+05"},
		{at, Options{Rate: 40}, "all requests of the trace arrive at one instant"},
	} {
		_, err := New("trace", strings.NewReader(c.text), c.options)
		require.ErrorContains(t, err, c.said)
	}
	for _, factor := range []float64{1e-6, 1e6} { // as slow and as fast as may be
		text := "arrival_s,input_tokens,output_tokens\n0,1,1\n0.5,1,1\n"
		x, err := New("trace", strings.NewReader(text), Options{})
		require.NoError(t, err)
		tr, err := New("trace", strings.NewReader(text), Options{Rate: x.Rate() * factor})
		require.NoError(t, err)
		require.InEpsilon(t, factor, tr.Speed(), 1e-12)
	}
}

// TestATraceHasAsManyRequestsAsThereAreIDs: the one after is an error with its number.
func TestATraceHasAsManyRequestsAsThereAreIDs(t *testing.T) {
	tr, err := New("trace", strings.NewReader(paced), Options{})
	require.NoError(t, err)
	var r sim.Request
	require.True(t, tr.Next(&r))
	tr.sent = check.RequestsMax - 1
	require.True(t, tr.Next(&r))
	require.False(t, tr.Next(&r))
	require.ErrorContains(t, tr.Err(), "trace:4: this is request 2147483648; accepted: at most 2147483647")
}

// TestAllReadingIsReported: of each pass over a file, for its rate, for what is wrong with it and for its requests, the
// last of which may be left out: nothing is heard then once the trace is open.
func TestAllReadingIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(path, []byte(paced), 0o600))
	for passes, o := range map[int]Options{1: {Unchecked: true}, 2: {}, 3: {Rate: 1}} {
		for _, before := range []bool{false, true} {
			last, all, heard := int64(0), int64(0), 0
			o.Before, o.Reading = before, func(done, of int64) error {
				require.GreaterOrEqual(t, done, last)
				last, all, heard = done, of, heard+1
				return nil
			}
			tr, err := Open(path, o)
			require.NoError(t, err)
			opened := heard
			require.Len(t, sourcetest.Drain(tr), 4)
			require.Equal(t, before, heard == opened, "%+v", o)
			require.NoError(t, tr.Close())
			want := passes
			if before {
				want--
			}
			require.EqualValues(t, want*len(paced), all)
			require.Equal(t, all, last, "%+v", o)
		}
	}
}
