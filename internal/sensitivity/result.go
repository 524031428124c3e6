package sensitivity

import (
	"fmt"
	"math"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/stats"
	"github.com/decodesim/decodesim/internal/sweep"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// Schema names the format of sensitivity.json. Fields are added, never renamed.
const Schema = "decodesim/sensitivity/v1"

// Result is what the inputs do to an answer, those that do most first.
type Result struct {
	Schema    string   `json:"schema"`
	Scenario  string   `json:"scenario"` // or the study
	Is        string   `json:"deployment"`
	Version   string   `json:"version"`
	Of        string   `json:"of"` // run or size
	Seed      uint64   `json:"seed"`
	Seeds     int      `json:"seeds,omitempty"` // of a run
	Metric    string   `json:"metric"`
	Base      float64  `json:"base"`
	Decision  string   `json:"decision"`
	Sentences []string `json:"sentences"`
	Effects   []Effect `json:"effects"`
	Command   string   `json:"command"` // that makes it again, where the scenario is

	Expected []metrics.ExpectedError `json:"expected_error,omitempty"` // of the scenario as it is

	base *configs.Scenario
}

// Effect is what one input does.
type Effect struct {
	Input
	AtLow      End         `json:"at_low"`
	AtHigh     End         `json:"at_high"`
	Swing      float64     `json:"swing"` // of the metric, the most between any two of low, base and high
	Changes    bool        `json:"changes_decision"`
	Thresholds []Threshold `json:"thresholds,omitempty"` // of a run: where the decision changes
}

// End is the answer at one end of a range.
type End struct {
	Answer   stats.Number    `json:"answer"`
	Interval *stats.Interval `json:"difference,omitempty"` // to the base, paired by seed; absent with one seed
	Decision string          `json:"decision"`
}

// Threshold is where a decision changes.
type Threshold struct {
	At       float64 `json:"at"`
	Below    bool    `json:"below"` // it changes below; else above
	Decision string  `json:"decision"`
}

// say says what matters: what changes the decision.
func (r *Result) say() []string {
	all := []string{fmt.Sprintf("As it is, %s: %s is %s.", r.decided(), r.Metric, r.format(r.Base))}
	var inputs []string
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Changes {
			inputs = append(inputs, e.Name)
			all = append(all, e.sentence(r))
		}
	}
	if len(inputs) == 0 {
		return append(all, "The decision does not change within any of these ranges, one at a time.")
	}
	return append(all, fmt.Sprintf("No other of the %s changes the decision within its range, one at a time.",
		text.Counted(len(r.Effects), "input")))
}

// decided is the decision as a part of a sentence.
func (r *Result) decided() string {
	if r.Of == "size" && !strings.HasPrefix(r.Decision, "no ") {
		return "the best is " + r.Decision
	}
	return r.Decision
}

// sentence says where an input changes the decision.
func (e *Effect) sentence(r *Result) string {
	var parts []string
	for _, t := range e.Thresholds {
		side := "above"
		if t.Below {
			side = "below"
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s): %s", side, e.format(t.At),
			text.SignedPercent(100*e.shift(t.At)), t.Decision))
	}
	if r.Of == "size" {
		for _, at := range []struct {
			value float64
			end   *End
		}{{e.Low, &e.AtLow}, {e.High, &e.AtHigh}} {
			if at.end.Decision != r.Decision {
				parts = append(parts, fmt.Sprintf("at %s (%s): %s", e.format(at.value),
					text.SignedPercent(100*e.shift(at.value)), at.end.Decision))
			}
		}
	}
	return fmt.Sprintf("The decision changes if %s is %s.", e.Name, strings.Join(parts, "; "))
}

// format prints a value of the input: of times and rates with a prefix.
func (i *Input) format(x float64) string {
	switch {
	case strings.HasSuffix(i.Name, "_bytes"):
		return text.Scaled(x, "B")
	case strings.HasSuffix(i.Name, "_bps"):
		return text.Scaled(x, "B/s")
	case strings.Contains(i.Name, "flops."):
		return text.Scaled(x, "FLOP/s")
	case i.Kind == Fitted && strings.HasSuffix(i.Name, "_s"):
		return text.Duration(x)
	}
	return text.Significant(x)
}

// format prints a value of the metric.
func (r *Result) format(x float64) string {
	if math.IsNaN(x) {
		return text.Dash
	}
	if r.Of == "size" {
		if r.Metric == "usd_per_hour" {
			return text.USD(x)
		}
		return text.Significant(x)
	}
	return sweep.Format(r.Metric, x)
}
