package chrometrace

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/decodesim/decodesim/sim"
)

// TestTimesAreExact: what is written, in microseconds, is the very picosecond.
func TestTimesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64Range(0, int64(sim.Seconds(sim.HorizonS))).Draw(t, "ps")
		text := string(microseconds(nil, sim.Duration(d)))
		written, ok := new(big.Rat).SetString(text)
		require.True(t, ok, text)
		assert.Zero(t, written.Mul(written, big.NewRat(1_000_000, 1)).Cmp(big.NewRat(d, 1)), text)
	})
}

// TestEventsAreJSON whatever their names are, and say what they were given.
func TestEventsAreJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := strings.ToValidUTF8(rapid.String().Draw(t, "name"), "")
		at, d := sim.Time(rapid.Int64Range(0, 1<<60).Draw(t, "at")), sim.Duration(rapid.Int64Range(0, 1<<60).Draw(t, "d"))
		var b bytes.Buffer
		w := newWriter(&b)
		e := w.begin("X", name, "step", at, 3, 4)
		e.duration(d)
		e.count("tokens", 5)
		e.milliseconds("kv_ms", sim.Millisecond)
		e.end()
		w.name("process_name", 1, 0, name)
		require.NoError(t, w.end(map[string]string{"scenario": name, "a": "b"}))
		assert.Equal(t, 2, w.events)
		var got struct {
			Generator   string
			TraceEvents []struct {
				Ph, Name, Cat string
				Pid, Tid      int
				Args          map[string]any
			}
			OtherData map[string]string
		}
		require.NoError(t, json.Unmarshal(b.Bytes(), &got), b.String())
		assert.Equal(t, "decodesim", got.Generator)
		assert.Equal(t, map[string]string{"scenario": name, "a": "b"}, got.OtherData)
		require.Len(t, got.TraceEvents, 2)
		slice, named := got.TraceEvents[0], got.TraceEvents[1]
		assert.Equal(t, []any{"X", name, "step", 3, 4}, []any{slice.Ph, slice.Name, slice.Cat, slice.Pid, slice.Tid})
		assert.Equal(t, map[string]any{"tokens": 5.0, "kv_ms": 1.0}, slice.Args)
		assert.Equal(t, map[string]any{"name": name}, named.Args)
	})
}

func TestAFullDiskIsAnError(t *testing.T) {
	w := newWriter(full{})
	for range 10_000 {
		w.begin("i", "instant", "step", 0, 1, 1).end()
	}
	require.ErrorIs(t, w.end(nil), errFull)
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestOnlyItsOwnTracesAreKnown(t *testing.T) {
	var own, zipped bytes.Buffer
	w := newWriter(&own)
	require.NoError(t, w.end(nil))
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(own.Bytes())
	require.NoError(t, err)
	require.NoError(t, z.Close())
	assert.True(t, isTrace(bytes.NewReader(own.Bytes())))
	assert.True(t, isTrace(bytes.NewReader(zipped.Bytes())))
	for _, other := range []string{"", "{}", `{"generator":"another"}`, `{"displayTimeUnit":"ms"}`, "\x1f\x8b", "\x1f\x8bno"} {
		assert.False(t, isTrace(strings.NewReader(other)), "%q", other)
	}
}

func TestAWindowHasAStartAndAnEnd(t *testing.T) {
	w, err := parseWindow("1.5s:2m")
	require.NoError(t, err)
	assert.Equal(t, Window{From: sim.Time(1500 * sim.Millisecond), To: sim.Time(120 * sim.Second)}, w)
	for _, bad := range []string{"", "1s", "2s:1s", "1s:1s", "-1s:1s", "1:2", "0s:9999999h", "a:b"} {
		_, err := parseWindow(bad)
		require.ErrorContains(t, err, "expected its start and its end", bad)
	}
	for _, c := range []struct {
		start, end sim.Time
		want       bool
	}{{0, 9, false}, {0, 10, true}, {15, 16, true}, {19, 30, true}, {20, 30, false}} {
		assert.Equal(t, c.want, Window{From: 10, To: 20}.overlaps(c.start, c.end), "%d to %d", c.start, c.end)
	}
}
