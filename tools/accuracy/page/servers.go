package page

import (
	"fmt"
	"math"
	"slices"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/internal/validation"
)

// Servers are published servers whose prompts are a dataset, of which the mean TPOT was measured.
type Servers []Server

// Server is what is predicted of one, in percent.
type Server struct {
	Name     string
	AtRate   float64 // error of TPOT at its rate
	InFlight float64 // error of TPOT with as many requests in flight as it had
	Rate     float64 // error of the rate that as many requests in flight are answered at
	Bears    float64 // by what the rate that the simulated one bears at most is above its rate
	Quicker  float64 // by what TPOT at that rate is longer were steps ServerSpeedPct shorter
	Slower   float64 // and longer; infinite: it would not bear the rate
	Margin   float64 // by what steps may be longer until TPOT at that rate is longer by ServerAimPct
}

const (
	// ServerSpeedPct is by what steps are taken to be wrong: half of the lists of requests are off by no more.
	ServerSpeedPct = 7.0
	// ServerAimPct is the error of TPOT that is asked for.
	ServerAimPct = 15.0
)

// of are the values of all.
func (s Servers) of(value func(*Server) float64) (values []float64) {
	for i := range s {
		values = append(values, value(&s[i]))
	}
	return values
}

// servers says what part of their errors is how many requests are in flight.
func (a *Accuracy) servers(m *markdown) {
	s := a.Servers
	if len(s) == 0 {
		return
	}
	slower := s.of(func(x *Server) float64 { return x.Slower })
	quicker := s.of(func(x *Server) float64 { return x.Quicker })
	margins := s.of(func(x *Server) float64 { return x.Margin })
	slices.Sort(margins)
	m.para("What steps take is not what a rate makes of it. How many requests a server had in flight "+
		"follows from what was measured of it, by Little's law: the rate times what a request takes. With as many in "+
		"flight, TPOT and the rate are off as the last lines of the next table say, which is what is wrong with "+
		"steps and their prompts. At the rate the same is wrong many times over, for TPOT and the requests in flight "+
		"raise each other. How many times follows from simulated replicas with more and more requests in flight: were "+
		"every step %.0f %% shorter, TPOT at the rate would be %s %% shorter in the median, and were it %.0f %% longer, "+
		"%s of %d servers would not bear their rate. That is the least error that there is under steps "+
		"as wrong as those: half of the lists of requests are off by more. For TPOT within %.0f %%, steps would have to be "+
		"within %s %% in the median, and within %s %% for nine of ten servers. The rate was "+
		"chosen by TPOT, so that a server's speed is in the rate and not in TPOT. That lengths are simulated as their mean "+
		"is not what is wrong: in a trial with lognormal ones, of a standard deviation of 0.8 means, TPOT at the rate of 39 "+
		"of them was 51 %% off in the median and 74 %% nine times in ten, where 47 and 74 %% with equal ones.",
		ServerSpeedPct, text.Significant(-measured.Quantile(sorted(quicker), 0.5)), ServerSpeedPct,
		longer(slower), len(s), ServerAimPct, text.Significant(measured.Quantile(margins, 0.5)),
		text.Significant(measured.Quantile(margins, 0.1)))
	rows := [][]string{{"servers of unstated prompts", "n", "error"}}
	for _, x := range []struct {
		name  string
		value func(*Server) float64
	}{
		{"mean TPOT at their rate", func(x *Server) float64 { return x.AtRate }},
		{"mean TPOT with as many requests in flight as they had", func(x *Server) float64 { return x.InFlight }},
		{"rate with as many requests in flight as they had", func(x *Server) float64 { return x.Rate }},
	} {
		e := validation.ErrorsOf(s.of(x.value))
		rows = append(rows, []string{x.name, fmt.Sprint(e.N), cell(e)})
	}
	m.table(1, rows)
	s.each(m)
}

// each says of every server what its error is made of.
func (s Servers) each(m *markdown) {
	m.para("Of each, with its rate and TPOT: the error of TPOT at the rate; those of TPOT and of the rate with as many "+
		"requests in flight; by how much the rate that the simulated server bears at most is above its rate; and by how "+
		"much steps may be longer until TPOT is %.0f %% longer. In percent, the worst first.", ServerAimPct)
	rows := [][]string{{"server", "TPOT at its rate", "TPOT, as many in flight", "rate, as many in flight",
		"bears more than its rate", "steps have to be within"}}
	worst := slices.Clone(s)
	slices.SortStableFunc(worst, func(a, b Server) int {
		switch x, y := math.Abs(a.AtRate), math.Abs(b.AtRate); {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, x := range worst {
		rows = append(rows, []string{x.Name, biasDigits(x.AtRate), biasDigits(x.InFlight), biasDigits(x.Rate),
			biasDigits(x.Bears), text.Significant(x.Margin)})
	}
	m.table(1, rows)
}

// longer begins a sentence on by how many percent TPOT is longer, with the median and how many have no limit.
func longer(percents []float64) string {
	middle, unborne := sorted(percents)[(len(percents)-1)/2], count(infinite(percents))
	if math.IsInf(middle, 1) {
		return "longer without limit, for " + unborne
	}
	return text.Significant(middle) + " % longer, and " + unborne
}

func infinite(values []float64) (n int) {
	for _, x := range values {
		if math.IsInf(x, 1) {
			n++
		}
	}
	return n
}

func sorted(values []float64) []float64 { return slices.Sorted(slices.Values(values)) }
