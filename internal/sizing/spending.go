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

// spendingOf returns what a run took; nil: neither power nor price is known, or nothing was emitted. Shares of the
// power are the usual ones where the scenario says no others.
func spendingOf(b *build.Built, c *sim.Cluster, completed int64) *Spending {
	if b.Scenario.Energy == nil {
		b.Scenario.Energy = configs.DefaultEnergy()
	}
	all := c.Totals()
	if all.OutputTokens == 0 {
		return nil
	}
	d, s := b.Describe("", all.Arrived), &Spending{}
	if e := metrics.EnergyOf(c, &d, completed); e != nil {
		s.JPerOutputToken, s.JPerRequest, s.MeanW = e.JPerOutputToken, e.JPerRequest, e.MeanW
		s.GCO2PerMillion = e.GCO2PerMillion
	}
	if x := metrics.SplitOf(c, &d, d.USDPerHour); x != nil {
		s.Split = whileItGoesOn(x, d.USDPerHour, b.SpanS, all.PromptTokens, all.OutputTokens)
	}
	if d.USDPerHour > 0 {
		for i := range d.Pools {
			t := c.PoolTotals(i)
			busy := min(1, t.BusyS/max(t.UpS, 1e-12))
			s.IdleUSDPerHour += float64(d.Pools[i].USDPerHourAt(float64(d.Pools[i].Replicas)) * (1 - busy))
		}
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

// costOf is the rent of a replay, with tokens at the price that they have while its load goes on; nil: it has none.
func costOf(s *metrics.Summary, spanS float64) *metrics.Cost {
	if s.Cost == nil || !(spanS > 0) {
		return s.Cost
	}
	x, output := *s.Cost, s.Tokens.Output
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
