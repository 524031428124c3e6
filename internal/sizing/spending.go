package sizing

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Spending is what a deployment takes for what it does at a rate, in energy and in money.
type Spending struct {
	JPerOutputToken float64        `json:"j_per_output_token,omitempty"` // absent where the power of a GPU is unknown
	JPerRequest     float64        `json:"j_per_request,omitempty"`
	MeanW           float64        `json:"mean_w,omitempty"`
	GCO2PerMillion  float64        `json:"gco2_per_million_output_tokens,omitempty"`
	IdleUSDPerHour  float64        `json:"idle_usd_per_hour,omitempty"` // rent of the time in which no step runs
	Split           *metrics.Split `json:"split,omitempty"`             // of the rent, between prompts and outputs
}

// going is what a run took while its load went on: from the end of its warm-up until its requests have arrived. Before,
// the deployment is empty; after, ever more of it waits for the last answers, which never come to an end where users go
// on to ask.
type going struct {
	marks [2]sim.Time
	pools [2][]sim.PoolTotals // until each mark; nil: the run ended before
}

// newGoing returns the observer of a run whose requests arrive in so many seconds, a share of which is its warm-up.
func newGoing(spanS, warm float64) *going {
	at := func(s float64) sim.Time { return sim.Time(0).Add(sim.Seconds(min(sim.HorizonS, max(0, s)))) }
	return &going{marks: [2]sim.Time{at(warm * spanS), at(spanS)}}
}

// Observe has g observe a run, beside whatever else does.
func (g *going) Observe(config *sim.Config) {
	observe, due, seen := config.Observe, sim.Time(0), 0
	config.Observe = func(c *sim.Cluster, now sim.Time) sim.Time {
		switch {
		case observe == nil:
			due = sim.Forever
		case now >= due:
			due = observe(c, now)
		}
		for ; seen < len(g.marks) && now >= g.marks[seen]; seen++ {
			for i := range c.Pools() {
				g.pools[seen] = append(g.pools[seen], c.PoolTotalsNow(i))
			}
		}
		if seen < len(g.marks) {
			return min(due, g.marks[seen])
		}
		return due
	}
}

// Begin implements run.Observer.
func (g *going) Begin(*sim.Cluster) {}

// spanS is how long the load went on; 0: the run ended before its requests had arrived.
func (g *going) spanS() float64 {
	if g.pools[1] == nil {
		return 0
	}
	return g.marks[1].Sub(g.marks[0]).Seconds()
}

// pool returns the times of the i-th pool while the load went on.
func (g *going) pool(i int) (t sim.PoolTotals) {
	from, to := &g.pools[0][i], &g.pools[1][i]
	t.UpS, t.BusyS = to.UpS-from.UpS, to.BusyS-from.BusyS
	t.Phases.PrefillS = to.Phases.PrefillS - from.Phases.PrefillS
	t.Phases.DecodeBoundS = to.Phases.DecodeBoundS - from.Phases.DecodeBoundS
	return t
}

// busy returns the share of the time in which steps of the i-th pool ran.
func (g *going) busy(i int) float64 {
	t := g.pool(i)
	return min(1, max(0, t.BusyS/max(t.UpS, 1e-12)))
}

// idleUSDPerHour returns the rent of the time in which no step runs.
func (g *going) idleUSDPerHour(d *metrics.Description) (usd float64) {
	for i := range d.Pools {
		up := g.pool(i).UpS / g.spanS()
		usd += float64(d.Pools[i].USDPerHourAt(up) * (1 - g.busy(i)))
	}
	return usd
}

// energyOf returns what a run drew, with the mean power of the time in which its load went on, and tokens and requests
// at what that comes to until they have arrived, as their price is.
func (g *going) energyOf(e *metrics.Energy, d *metrics.Description) *metrics.Energy {
	if e == nil || g.spanS() == 0 || !(e.KWh > 0) {
		return e
	}
	var sum float64
	for i := range d.Pools {
		t := g.pool(i)
		j := d.Pools[i].Power.Joules(&t)
		sum += float64(max(1, d.Grid.PUE) * (j.Idle + j.Prefill + j.Decode + j.Host))
	}
	x := *e
	x.MeanW = sum / g.spanS()
	of := x.MeanW * g.marks[1].Seconds() / (e.KWh * jPerKWh)
	x.JPerOutputToken, x.JPerRequest = of*e.JPerOutputToken, of*e.JPerRequest
	x.GCO2PerMillion, x.USDPerMillion = of*e.GCO2PerMillion, of*e.USDPerMillion
	x.USDPerHour = x.MeanW / 1000 * d.Grid.USD
	return &x
}

// jPerKWh is the joules of a kilowatt hour.
const jPerKWh = 3.6e6

// spendingOf returns what a run took; nil: neither power nor price is known, or nothing was emitted. Shares of the
// power are the usual ones where the scenario says no others.
func spendingOf(b *build.Built, c *sim.Cluster, g *going, completed int64) *Spending {
	if b.Scenario.Energy == nil {
		b.Scenario.Energy = configs.DefaultEnergy()
	}
	all := c.Totals()
	if all.OutputTokens == 0 {
		return nil
	}
	d, s := b.Describe("", all.Arrived), &Spending{}
	if e := g.energyOf(metrics.EnergyOf(c, &d, completed), &d); e != nil {
		s.JPerOutputToken, s.JPerRequest, s.MeanW = e.JPerOutputToken, e.JPerRequest, e.MeanW
		s.GCO2PerMillion = e.GCO2PerMillion
	}
	if x := metrics.SplitOf(c, &d, d.USDPerHour); x != nil {
		s.Split = whileItGoesOn(x, d.USDPerHour, b.SpanS, all.PromptTokens, all.OutputTokens)
	}
	if d.USDPerHour > 0 && g.spanS() > 0 {
		s.IdleUSDPerHour = g.idleUSDPerHour(&d)
	}
	if *s == (Spending{}) {
		return nil
	}
	return s
}

// whileItGoesOn has tokens cost what they do under a load that goes on: rent of the time in which requests arrive, over
// their tokens. A run lasts longer, until its last token, and serves ever fewer requests to its end.
func whileItGoesOn(x *metrics.Split, usdPerHour, spanS float64, prompt, output int64) *metrics.Split {
	usd := 1e6 * usdPerHour / 3600 * spanS
	return &metrics.Split{InputShare: x.InputShare, USDPerMillionInputTokens: x.InputShare * usd / float64(prompt),
		USDPerMillionOutputTokens: (1 - x.InputShare) * usd / float64(output)}
}

// costOf is the rent of a replay, with tokens at the price that they have while its load goes on, and idle for as much
// of it as then; nil: it has none.
func costOf(s *metrics.Summary, d *metrics.Description, g *going, spanS float64) *metrics.Cost {
	if s.Cost == nil || !(spanS > 0) {
		return s.Cost
	}
	x, output := *s.Cost, s.Tokens.Output
	if g.spanS() > 0 {
		x.IdleUSDPerHour = g.idleUSDPerHour(d)
	}
	x.USDPerMillionOutputTokens = 1e6 * x.USDPerHour / 3600 * spanS / float64(output)
	if x.Split != nil {
		x.Split = whileItGoesOn(x.Split, x.USDPerHour, spanS, s.Tokens.Prompt, output)
	}
	return &x
}

// joules is what an output token takes; 0: it is not known.
func (s *Spending) joules() float64 {
	if s == nil {
		return 0
	}
	return s.JPerOutputToken
}

// split is the rent between prompts and outputs; zero: it is not known.
func (s *Spending) split() metrics.Split {
	if s == nil || s.Split == nil {
		return metrics.Split{}
	}
	return *s.Split
}

// idle is the rent of idling, in USD per hour; 0: it is not known.
func (s *Spending) idle() float64 {
	if s == nil {
		return 0
	}
	return s.IdleUSDPerHour
}

// joulesCell is what an output token takes, for people.
func (s *Spending) joulesCell() string {
	if s.joules() == 0 {
		return text.Dash
	}
	return text.Scaled(s.joules(), "J")
}

// joulesNumber is the same on a page, of the finalist at a path.
func (s *Spending) joulesNumber(at string) page.Cell {
	if s.joules() == 0 {
		return page.Words(text.Dash)
	}
	return page.Number(s.joulesCell(), at+"spending.j_per_output_token", s.JPerOutputToken)
}

// nothingIdle is the share of the rent below which what idling costs is no sum that anybody counts.
const nothingIdle = 0.001

// spendingWords says what the replay of the best deployment came to; empty: neither power nor price is known.
func spendingWords(r *Replay) string {
	var parts []string
	if c := r.Cost; c != nil {
		if c.Split != nil {
			parts = append(parts, fmt.Sprintf("%s per million input tokens and %s per million output tokens",
				text.USD(c.Split.USDPerMillionInputTokens), text.USD(c.Split.USDPerMillionOutputTokens)))
		}
		idle := text.USD(c.IdleUSDPerHour)
		if c.IdleUSDPerHour < nothingIdle*c.USDPerHour {
			idle = "next to nothing" // in place of $0.00000953
		}
		parts = append(parts, fmt.Sprintf("%s of the %s per hour idle, %s for the busiest window alone", idle,
			text.USD(c.USDPerHour), text.USD(c.PeakUSDPerHour)))
	}
	if e := r.Energy; e != nil {
		parts = append(parts, fmt.Sprintf("%s per output token, %s in the mean of %s",
			text.Scaled(e.JPerOutputToken, "J"), text.Scaled(e.MeanW, "W"), text.Scaled(e.TDPW, "W")))
	}
	if parts == nil {
		return ""
	}
	return "It takes " + strings.Join(parts, "; ") + "."
}
