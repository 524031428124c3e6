package views

import (
	"math"

	"github.com/decodesim/decodesim/sim"
)

// View is a run in the terms of one tool.
type View struct {
	Tool    Tool
	Rows    []Row
	Rates   []float64 // as Tool.Rates
	Goodput *Goodput  // nil: the tool knows none, or nothing is asked of the run
}

// Row is a measure of a run.
type Row struct {
	*Measure
	Distribution
	Sampled bool // of the sample, not of every request
}

// Percentile returns the p-quantile by the rule of the tool, in SI units.
func (r *Row) Percentile(p float64) float64 { return r.Measure.quantile(&r.Distribution, p) }

// Max returns the greatest value; NaN: there is none, or buckets hide it.
func (r *Row) Max() float64 {
	if r.Buckets != nil {
		return math.NaN()
	}
	return r.Distribution.Max()
}

// Of returns the run in the terms of a tool.
func Of(t Tool, run *Run) *View {
	v := &View{Tool: t, Goodput: t.Good.apply(run)}
	for i := range t.Measures {
		v.Rows = append(v.Rows, run.row(&t.Measures[i]))
	}
	for _, r := range t.Rates {
		v.Rates = append(v.Rates, r.of(&run.Counts, run.DurationS))
	}
	return v
}

// row measures a run: every request where the recorder knows the measure or all are sampled, else the sample.
func (run *Run) row(m *Measure) Row {
	all := int64(len(run.Records)) >= run.Counts.Completed+run.Counts.Failed
	if m.whole != nil && !all {
		if h, shiftS := m.whole(run); h != nil {
			return Row{m, distributionOfHist(h, shiftS), false}
		}
	}
	return Row{m, run.sampled(m), !all}
}

// sampled measures the completed requests of the sample.
func (run *Run) sampled(m *Measure) Distribution {
	var values []weighted
	for i := range run.Records {
		r := &run.Records[i]
		if r.Outcome == sim.Completed {
			m.each(r, func(x float64, w int64) { values = append(values, weighted{x, w}) })
		}
	}
	return distributionOf(values)
}

// Row returns the first row of a kind; nil: the tool has none.
func (v *View) Row(k Kind) *Row {
	for i := range v.Rows {
		if v.Rows[i].Kind == k {
			return &v.Rows[i]
		}
	}
	return nil
}

// Keyed returns the row of a key; nil: the tool has none.
func (v *View) Keyed(key string) *Row {
	for i := range v.Rows {
		if v.Rows[i].Key == key {
			return &v.Rows[i]
		}
	}
	return nil
}

// Seen returns what is known of the run of the sample, which has ended. Its last token came durationS after its first
// send.
func (s *Sample) Seen(durationS float64) *Run {
	return &Run{
		Full: s.Full, Counts: s.counts, DurationS: durationS, Records: s.Records(), Every: s.every,
		Stream: s.wire.stream, SLO: s.SLO,
	}
}

// Tokens returns the lengths of the completed requests among the records.
func Tokens(records []Record) (prompts, outputs Distribution) {
	var in, out []weighted
	for i := range records {
		if r := &records[i]; r.Outcome == sim.Completed {
			in, out = append(in, weighted{float64(r.Prompt), 1}), append(out, weighted{float64(r.Tokens()), 1})
		}
	}
	return distributionOf(in), distributionOf(out)
}
