package pages

import (
	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// money is a section of what the rent is paid for and what the run draws; false: neither is known.
func money(s *metrics.Summary) (page.Section, bool) {
	section := page.Section{Title: "Money and energy"}
	if c := s.Cost; c != nil {
		section.Title = "Money"
		section.Blocks = append(section.Blocks, page.Block{Table: rent(c)})
		if c.Split != nil {
			section.Lead = "The rent is divided between prompts and outputs by the time that steps took for each."
		}
	}
	if e := s.Energy; e != nil {
		section.Title = "Money and energy"
		section.Blocks = append(section.Blocks, page.Block{Table: drawn(e)}, page.Block{Text: "The run draws " +
			report.EnergySentence(e) + "."}, page.Block{Text: "Power by phase: " + e.Model + "."})
	}
	return section, len(section.Blocks) > 0
}

// rent is what is paid, and what for.
func rent(c *metrics.Cost) *page.Table {
	t := &page.Table{Head: []string{"rent", "USD"}}
	add := func(name, key string, usd float64) {
		cells := []page.Cell{page.Words(name), page.Number(text.USD(usd), "cost."+key, usd)}
		t.Rows = append(t.Rows, page.Row{Cells: cells})
	}
	add("per hour", "usd_per_hour", c.USDPerHour)
	if c.ReservedUSDPerHour > 0 {
		add("of it reserved", "reserved_usd_per_hour", c.ReservedUSDPerHour)
	}
	if c.SpotUSDPerHour > 0 {
		add("of it spot", "spot_usd_per_hour", c.SpotUSDPerHour)
	}
	add("of it while no step runs", "idle_usd_per_hour", c.IdleUSDPerHour)
	if c.PeakUSDPerHour > 0 {
		add("of it for the busiest window alone", "peak_usd_per_hour", c.PeakUSDPerHour)
	}
	add("per million output tokens, all of it", "usd_per_million_output_tokens", c.USDPerMillionOutputTokens)
	if x := c.Split; x != nil {
		add("per million input tokens, divided", "split.usd_per_million_input_tokens", x.USDPerMillionInputTokens)
		add("per million output tokens, divided", "split.usd_per_million_output_tokens", x.USDPerMillionOutputTokens)
	}
	return t
}

// drawn is the energy by what it was for.
func drawn(e *metrics.Energy) *page.Table {
	t := &page.Table{Head: []string{"energy", "kWh"}}
	for _, of := range []struct {
		name, key string
		kWh       float64
	}{{"all", "kwh", e.KWh}, {"while no step runs", "kwh_by_phase.idle", e.ByPhase.Idle},
		{"in steps with prompts", "kwh_by_phase.prefill", e.ByPhase.Prefill},
		{"in steps of decodes alone", "kwh_by_phase.decode", e.ByPhase.Decode},
		{"for the rest of the servers", "kwh_by_phase.host", e.ByPhase.Host}} {
		if of.kWh == 0 && of.key == "kwh_by_phase.host" {
			continue // absent in the JSON
		}
		t.Rows = append(t.Rows, page.Row{Strong: of.key == "kwh", Cells: []page.Cell{page.Words(of.name),
			page.Number(text.Significant(of.kWh), "energy."+of.key, of.kWh)}})
	}
	return t
}
