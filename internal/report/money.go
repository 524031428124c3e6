package report

import (
	"fmt"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// money prints the rent and, where they are asked for, how it divides and what the run drew.
func money(t *text.Page, s *metrics.Summary) {
	if c := s.Cost; c != nil {
		t.Item("cost", fmt.Sprintf("%s per hour, %s per million output tokens", text.USD(c.USDPerHour),
			text.USD(c.USDPerMillionOutputTokens)))
		if s.Energy != nil || c.ReservedUSDPerHour+c.SpotUSDPerHour > 0 {
			t.Item("of it", RentSentence(c))
		}
	}
	if s.Energy != nil {
		t.Item("energy", EnergySentence(s.Energy))
		t.Item("power", phases(s.Energy))
		t.Item("", s.Energy.Model)
	}
}

// RentSentence says what a rent is paid for.
func RentSentence(c *metrics.Cost) string {
	var parts []string
	if c.ReservedUSDPerHour > 0 {
		parts = append(parts, text.USD(c.ReservedUSDPerHour)+" per hour reserved")
	}
	if c.SpotUSDPerHour > 0 {
		parts = append(parts, text.USD(c.SpotUSDPerHour)+" spot")
	}
	parts = append(parts, text.USD(c.IdleUSDPerHour)+" per hour idle")
	if c.PeakUSDPerHour > 0 {
		parts = append(parts, text.USD(c.PeakUSDPerHour)+" for the busiest window alone")
	}
	if x := c.Split; x != nil {
		parts = append(parts, fmt.Sprintf("%s to prompts: %s per million input tokens and %s per million output tokens",
			text.Percent(x.InputShare), text.USD(x.USDPerMillionInputTokens), text.USD(x.USDPerMillionOutputTokens)))
	}
	return strings.Join(parts, ", ")
}

// phases says for what a run drew its energy.
func phases(e *metrics.Energy) string {
	p := &e.ByPhase
	var parts []string
	for _, of := range []struct {
		kWh  float64
		what string
	}{{p.Prefill, "steps with prompts"}, {p.Decode, "decodes"}, {p.Idle, "idling"}, {p.Host, "hosts"}} {
		if of.kWh > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", text.Percent(of.kWh/e.KWh), of.what))
		}
	}
	return fmt.Sprintf("%s kWh: %s", text.Significant(e.KWh), strings.Join(parts, ", "))
}

// EnergySentence says what a run drew.
func EnergySentence(e *metrics.Energy) string {
	said := fmt.Sprintf("%s in the mean (the accelerators may draw %s), %s per output token, %s per request",
		text.Scaled(e.MeanW, "W"), text.Scaled(e.TDPW, "W"), text.Scaled(e.JPerOutputToken, "J"),
		text.Scaled(e.JPerRequest, "J"))
	if e.GCO2 > 0 {
		said += fmt.Sprintf("; %s CO2 per million output tokens", text.Scaled(e.GCO2PerMillion, "g"))
	}
	if e.USDPerHour > 0 {
		said += fmt.Sprintf("; electricity %s per hour, %s per million output tokens", text.USD(e.USDPerHour),
			text.USD(e.USDPerMillion))
	}
	return said
}
