package traffic

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/workloads/arrivals"
)

// GapLaw is a process of arrivals that may stand for those of a stream, and how far its burstiness is from theirs.
type GapLaw struct {
	Arrivals   arrivals.Spec `json:"-"`
	Process    string        `json:"process"`
	CV         float64       `json:"cv,omitempty"` // that the process has; absent: none
	GapCV      stats.Number  `json:"gap_cv"`
	Dispersion []Dispersion  `json:"dispersion"`
	Tenths     stats.Number  `json:"dispersion_in_tenths"`
	Crowd      Crowd         `json:"crowd_in_1_s"`
	// Distance is the mean of |ln(law/stream)| over the CV of the gaps, the indices of dispersion, in tenths of a second
	// too, and the two crowds, as far as both have them.
	Distance float64 `json:"distance"`
}

// draws returns how often n arrivals of a law are drawn, within what takes no time: what they say of long bursts
// differs from draw to draw as much as one stream differs from the next of its kind.
func draws(n int64) uint64 { return uint64(max(1, min(5, drawnMost/n))) }

// name returns the process, and the cv of its gaps where they need not have one.
func (l *GapLaw) name() string {
	if l.CV > 0 && l.Process != "gamma" && l.Process != "weibull" {
		return fmt.Sprintf("%s with a cv of %g", l.Process, l.CV)
	}
	return l.Process
}

// drawnMost is about how many arrivals of a law are drawn at most.
const drawnMost = 100_000

// gapLaws returns the processes that were tried.
func gapLaws(s *Summary, seed uint64) ([]GapLaw, error) {
	var laws []GapLaw
	for _, spec := range gapCandidates(s) {
		law := GapLaw{Arrivals: spec, Process: spec.Process, CV: spec.CV}
		if err := s.draw(&law, seed); err != nil {
			return nil, err
		}
		law.Distance = s.distance(&law)
		laws = append(laws, law)
	}
	return laws, nil
}

// draw sets the statistics of a law, which are means over its draws.
func (s *Summary) draw(law *GapLaw, seed uint64) error {
	means := make([]float64, 4+len(windowsS()))
	times := draws(sampled(s.Requests))
	for i := range times {
		p, err := arrivals.New(law.Arrivals, seed+i)
		if err != nil {
			return err
		}
		r := NewRecord(true, nil)
		line := arrivals.NewTimeline(p, 0)
		var at [64]sim.Time
		for range sampled(s.Requests) / int64(len(at)) {
			n, _ := line.Fill(at[:])
			for _, t := range at[:n] {
				r.Add(&sim.Request{Arrival: t, Prompt: 1, Output: 1})
			}
		}
		crowd := r.crowd()
		of := []float64{r.gaps.cv(), float64(crowd.P90), float64(crowd.P99), r.dispersionOfTenths()}
		for _, w := range windowsS() {
			of = append(of, r.dispersion(w))
		}
		for k, x := range of {
			means[k] += x / float64(times)
		}
	}
	law.GapCV, law.Tenths = stats.Number(means[0]), stats.Number(means[3])
	law.Crowd = Crowd{stats.Number(means[1]), stats.Number(means[2])}
	for k, w := range windowsS() {
		law.Dispersion = append(law.Dispersion, Dispersion{w, stats.Number(means[4+k])})
	}
	return nil
}

// sampled is how many arrivals of a law are drawn: those of the stream, within what takes no time.
func sampled(n int64) int64 { return max(2_000, min(n, drawnMost)) }

// gapCandidates returns processes with the rate of the stream, each with what it can have of its burstiness.
func gapCandidates(s *Summary) []arrivals.Spec {
	rate, cv := round(float64(s.RatePerS)), round(float64(s.GapCV))
	specs := []arrivals.Spec{{Process: "poisson", Rate: rate}}
	if cv > 0.05 && cv < 50 {
		specs = append(specs, arrivals.Spec{Process: "gamma", Rate: rate, CV: cv},
			arrivals.Spec{Process: "weibull", Rate: rate, CV: cv})
	} else if cv <= 0.05 {
		specs = append(specs, arrivals.Spec{Process: "constant", Rate: rate})
	}
	for _, cv := range cvsWithin() {
		specs = append(specs, s.bursts(cv)...)
	}
	if float64(s.DurationS) >= 10*parts && s.Requests >= 40*parts {
		course := s.course()
		for _, course.CV = range cvsWithin() {
			specs = append(specs, course)
		}
	}
	return specs
}

// cvsWithin are those of gaps that are tried where the rate changes; 0: 1, of Poisson arrivals.
func cvsWithin() []float64 { return []float64{0, 1.25, 1.5, 2, 2.5, 3} }

// distance compares the burstiness of a law with that of the stream.
func (s *Summary) distance(law *GapLaw) float64 {
	sum, n := 0.0, 0.0
	add := func(a, b stats.Number) {
		d := math.Abs(math.Log(float64(a) / float64(b)))
		if math.IsNaN(float64(b)) || math.IsNaN(d) {
			return
		}
		sum, n = sum+min(d, 5), n+1 // equal gaps have a CV of 0
	}
	add(law.GapCV, s.GapCV)
	for i := range s.Dispersion {
		add(law.Dispersion[i].Index, s.Dispersion[i].Index)
	}
	add(law.Tenths, s.Tenths)
	add(law.Crowd.P90, s.Crowd.P90)
	add(law.Crowd.P99, s.Crowd.P99)
	return sum / max(1, n)
}

// sortByDistance puts the nearest law first.
func sortByDistance(laws []GapLaw) {
	slices.SortStableFunc(laws, func(a, b GapLaw) int { return cmp.Compare(a.Distance, b.Distance) })
}

// bursts returns on-off processes with the stream's dispersion, each with another rate between bursts. A rate with
// variance v and autocovariance v·e^(−c·t) makes counts with the index of dispersion
//
//	I(t) = 1 + a·(1 − (1 − e^(−c·t))/(c·t)),   a = 2v/(c·m),
//
// with the mean rate m in requests/s and t in seconds, and cv² in place of 1 where gaps are not exponential, which
// holds for windows of several gaps (Heffes and Lucantoni, "A Markov Modulated Characterization of
// Packetized Voice and Data Traffic and Related Statistical Multiplexer Performance", IEEE JSAC 4 (1986), of which the
// process with two states is a case). c is searched, a is the mean of what the windows say. With the lower rate l and
// the higher one l + d in a share p of the time, m − l = p·d and v = p·(1 − p)·d², so d = v/(m − l) + m − l.
func (s *Summary) bursts(cv float64) []arrivals.Spec {
	var t, excess []float64
	within := cmp.Or(cv, 1)
	for _, d := range s.Dispersion {
		if e := float64(d.Index) - float64(within*within); e > 0.05 {
			t, excess = append(t, float64(d.WindowS)), append(excess, e)
		}
	}
	if len(t) < 2 {
		return nil
	}
	rise := func(c, t float64) float64 { return 1 + math.Expm1(-c*t)/(c*t) }
	bestC, bestA, least := 0.0, 0.0, math.Inf(1)
	for c := 1e-4; c < 10; c *= 1.05 {
		logs, squares := 0.0, 0.0
		for i := range t {
			logs += math.Log(excess[i]/rise(c, t[i])) / float64(len(t))
		}
		for i := range t {
			d := math.Log(excess[i]/rise(c, t[i])) - logs
			squares += float64(d * d)
		}
		if squares < least {
			bestC, bestA, least = c, math.Exp(logs), squares
		}
	}
	m := float64(s.RatePerS)
	v := bestA * bestC * m / 2
	var specs []arrivals.Spec
	for _, share := range []float64{0, 0.1, 0.25, 0.5, 0.75} {
		low := float64(share * m)
		swing := v/(m-low) + (m - low)
		on := (m - low) / swing
		specs = append(specs, arrivals.Spec{Process: "on-off", Rate: round(m), OnRate: round(low + swing),
			OffRate: round(low), OnS: round(1 / (bestC * (1 - on))), OffS: round(1 / (bestC * on)), CV: cv})
	}
	return specs
}

// day is a period that streams of several days repeat.
const day = 86400

// course returns the rate as it went: through the middles of equal parts, or through the mean hours of a day where
// there are two days or more.
func (s *Summary) course() arrivals.Spec {
	spec := arrivals.Spec{Process: "piecewise", Rate: round(float64(s.RatePerS))}
	windows := s.OverTime
	if float64(s.DurationS) >= 2*day {
		windows, spec.PeriodS = s.record.dayOf(), day
	}
	each := partS(windows)
	for i, w := range windows {
		at := w.StartS + float64(each/2)
		if i == 0 {
			at = 0
		}
		spec.Points = append(spec.Points, arrivals.Point{AtS: round(at), Rate: round(w.RatePerS)})
	}
	if last := &spec.Points[len(spec.Points)-1]; spec.PeriodS == 0 {
		last.AtS = round(float64(s.DurationS))
		last.Rate = max(last.Rate, round(float64(s.RatePerS)/100)) // the last rate goes on, and may not be none
	}
	return spec
}

// dayOf returns the mean rate of each hour since the stream began, over its days.
func (r *Record) dayOf() []Window {
	hours, seconds := [24]float64{}, [24]float64{}
	for second, c := range r.perSecond {
		h := second / 3600 % 24
		hours[h] += float64(c)
		seconds[h]++
	}
	var all []Window
	for h := range hours {
		all = append(all, Window{float64(h) * 3600, hours[h] / seconds[h]})
	}
	return all
}

// round keeps four digits, which is more than a stream can tell.
func round(x float64) float64 {
	if x == 0 {
		return 0
	}
	unit := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	if unit >= 1 {
		return math.Round(x*unit) / unit
	}
	return math.Round(x*unit) * math.Round(1/unit)
}
