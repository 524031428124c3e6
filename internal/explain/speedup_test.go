package explain

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/plot"
)

// gains returns what three drafts may gain in so many batches.
func gains(batches int, ridge float64) SpeedUps {
	h := SpeedUps{Drafts: "3 drafts, eagle", Ridge: ridge}
	for i := range 11 {
		h.Rates = append(h.Rates, float64(i)/10)
	}
	for i := range batches {
		h.Batches = append(h.Batches, 1<<i)
		var column []float64
		for _, rate := range h.Rates {
			column = append(column, (1+rate+rate*rate+rate*rate*rate)/(1.1+0.2*float64(i)))
		}
		h.Factor = append(h.Factor, column)
	}
	return h
}

// The ends of the colours differ in lightness from the middle and in hue, red against blue, from each other.
func TestSpeedUpsAreDistinct(t *testing.T) {
	light := func(s plot.Shade) float64 {
		return 0.299*float64(s>>16&0xff) + 0.587*float64(s>>8&0xff) + 0.114*float64(s&0xff)
	}
	last := math.Inf(-1)
	for _, f := range []float64{0.25, 0.4, 0.6, 0.8, 1} {
		assert.Greater(t, light(between(f, 4)), last)
		last = light(between(f, 4))
	}
	for _, f := range []float64{1.25, 1.6, 2.5, 4} {
		assert.Less(t, light(between(f, 4)), last)
		last = light(between(f, 4))
	}
	assert.Equal(t, evenShade, between(1, 4))
	assert.Equal(t, slowerShade, between(0.25, 4))
	assert.Equal(t, fasterShade, between(4, 4))
}

// A ridge beyond the batches shown is not in the key.
func TestTheKeyNamesTheRidgeThatIsThere(t *testing.T) {
	for ridge, want := range map[float64]bool{74: true, 128: true, 129: false, 0: false} {
		h := gains(8, ridge)
		f, err := h.Draw(caption())
		require.NoError(t, err)
		assert.Equal(t, want, bytes.Contains(f.SVG, []byte("compute binds")), ridge)
	}
}
