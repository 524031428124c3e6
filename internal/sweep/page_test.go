package sweep

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/soak"
)

// counted returns n values of an axis.
func counted(n int) (values []string) {
	for i := range n {
		values = append(values, fmt.Sprint(i+1))
	}
	return values
}

// TestAPageIsShortWhateverTheSweep: it has some of many points, and says so.
func TestAPageIsShortWhateverTheSweep(t *testing.T) {
	soak.TakesLong(t)
	number := func(point int) map[string]float64 {
		all := map[string]float64{}
		for _, c := range columns() { // none of which has a short text
			all[c.Name] = 1 + float64(point%7919)/7919*3.14159265358979
		}
		all["saturated"] = 0
		return all
	}
	several := loads(counted(300)...)
	several.Axes = append(several.Axes,
		Axis{Name: "max_num_seqs", Key: "max_num_seqs", Values: counted(60), Numbers: true})
	several.Plots = []Plot{{X: "rate", Y: "ttft_p95_s"}, {X: "ttft_p95_s", Y: "busy"},
		{X: "rate", Y: "max_num_seqs", Heat: "busy"}}
	for name, of := range map[string]struct {
		head Head
		says []string
	}{
		"one curve": {loads(counted(20_000)...), []string{"One of 50 loads is drawn", "One of 9 points is drawn",
			"The first 40 of 20000 loads; sweep.json has all."}},
		"a grid": {several, []string{"the first 50 of 60 rows and 40 of 300 columns", "The first 40 of 60 combinations",
			"One of 30 points is drawn", "The first 8 of 60 lines. One of 4 values is drawn"}},
		"few": {loads(counted(30)...), nil},
	} {
		r := invented(of.head, number)
		var b bytes.Buffer
		require.NoError(t, r.Page(nil, page.Section{}).Write(&b))
		assert.Less(t, b.Len(), 400_000, "%s: what it rests on and the scenario come to it", name)
		for _, said := range of.says {
			assert.Contains(t, b.String(), said, name)
		}
		if of.says == nil {
			assert.NotContains(t, b.String(), "is drawn", name)
		}
	}
}
