package pages

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// courses are so many runs of 2,048 samples and 4,096 windows, of which the i-th has i tokens more in each.
func courses(n int) []Course {
	all := make([]Course, n)
	for i := range all {
		c := Course{Name: fmt.Sprintf("scenario %d", i), OverTime: &metrics.OverTime{WidthS: 1}}
		for k := range int64(2048) {
			c.Samples = append(c.Samples, metrics.Sample{At: sim.Time(0).Add(sim.Seconds(2 * float64(k))), Arrived: 7 * k,
				Tokens: k * (1000 + int64(i)), Running: k % 97, Waiting: int64(i), KVUsed: k, KVTotal: 2048})
		}
		for k := range 4096 {
			p99 := metrics.WindowLatency{N: 1, P99: 0.0123456 * float64(1+k%89)}
			c.OverTime.Windows = append(c.OverTime.Windows, metrics.WindowResult{FromS: float64(k), ToS: float64(k + 1),
				TTFT: p99, ITL: p99})
		}
		all[i] = c
	}
	return all
}

func TestCoursesLieOverEachOtherUnderOneCursor(t *testing.T) {
	section, ok := Courses("Two runs.", append(courses(2), Course{Name: "none"}))
	require.True(t, ok)
	assert.Equal(t, []string{"none: too short to have a course"}, section.Blocks[0].List)
	plots := section.Blocks[1].Plots
	require.Len(t, plots, 7)
	for _, p := range plots {
		assert.Equal(t, "time", p.Sync)
		require.Len(t, p.Curves, 2, p.Title)
		for i, c := range p.Curves {
			assert.Equal(t, fmt.Sprintf("scenario %d", i), c.Name)
			assert.False(t, c.Tint, "the ground of one would hide the other")
			assert.Equal(t, float64(0), c.X[0])
			assert.InDelta(t, 4095, c.X[len(c.X)-1], 1)
		}
	}
	tokens, waiting, p99 := plots[1].Curves[1].Y, plots[3].Curves[1].Y, plots[5].Curves[1].Y
	assert.InDelta(t, 1001./2, tokens[len(tokens)/2], 1e-9)
	assert.Equal(t, 1., waiting[len(waiting)/2])
	high := 0.
	for _, y := range p99 {
		high = max(high, y)
	}
	assert.InDelta(t, 0.0123456*89, high, 1e-12, "the latest window stands out, however many are drawn as one")
}

func TestManyCoursesAreNoLargerThanFew(t *testing.T) {
	section, ok := Courses("Twelve runs.", courses(12))
	require.True(t, ok)
	plots, err := json.Marshal(section.Blocks[0].Plots)
	require.NoError(t, err)
	assert.Less(t, len(plots), 120_000)
	_, ok = Courses("None.", []Course{{Name: "none"}})
	assert.False(t, ok)
	assert.Equal(t, page.Section{}, func() page.Section { s, _ := Courses("", nil); return s }())
}
