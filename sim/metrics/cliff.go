package metrics

// A Cliff is where the percentile of a rule on gaps stands if a small change of the load can change it much, and the
// verdict with it: gaps of steps with prefill are far longer than those of steps without, and the share of them is near
// that which the percentile leaves out.
type Cliff struct {
	Below   float64 `json:"below_percentile"`
	BelowS  float64 `json:"below_s"` // within the limit
	Above   float64 `json:"above_percentile"`
	AboveS  float64 `json:"above_s"`       // beyond it
	Beyond  float64 `json:"beyond_limit"`  // share of the gaps
	Prefill float64 `json:"prefill_share"` // share of the gaps whose step had prefill in it
}

// Percentiles beside that of a rule say whether it stands on a cliff: the upper one is so many times the lower one.
// They leave out a fifth fewer of the gaps and a fifth more, but no more than a hundredth of all.
const (
	cliffNear  = 0.2
	cliffMost  = 1.0
	cliffTimes = 1.5
)

// cliff returns where the percentile of the rule stands in the gaps of m; zero: it is not on a cliff that the limit is
// on, too.
func (m *Recorder) cliff(r *Rule) Cliff {
	h, t := m.ChunkGaps(), &r.Terms[0]
	p := float64(t.At)
	if p <= 0 || p >= 100 || h.N() == 0 {
		return Cliff{}
	}
	near := min(cliffNear*(100-p), cliffMost, p)
	c := Cliff{Below: p - near, Above: p + near}
	c.BelowS, c.AboveS = h.QuantileS(c.Below/100), h.QuantileS(c.Above/100)
	limitS := float64(t.Limit) / 1e12
	if c.BelowS > limitS || c.AboveS <= limitS || c.AboveS < cliffTimes*c.BelowS {
		return Cliff{}
	}
	beyond := int64(0)
	h.Each(func(seconds float64, count int64) {
		if seconds > limitS {
			beyond += count
		}
	})
	c.Beyond = float64(beyond) / float64(h.N())
	c.Prefill = float64(m.Stalls[Mixed].N()) / float64(m.StepGaps().N())
	return c
}
