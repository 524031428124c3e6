package sizing

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/output"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// SchemaFleet names the format of fleet.json. Fields are added, never renamed.
const SchemaFleet = "decodesim/fleet/v1"

// Fleet is deployments of several models that share a budget, a member each: those that cost least together, of the
// cheapest of each topology, kind of GPU and layout.
type Fleet struct {
	Schema    string   `json:"schema"`
	Fleet     string   `json:"fleet"`
	Version   string   `json:"version"`
	Budget    Takes    `json:"budget"` // 0: no such limit
	Takes     *Takes   `json:"takes"`  // of all members together; null: no choice keeps the budget
	Least     Takes    `json:"least"`  // of each, whatever that means for the others
	Members   []Member `json:"members"`
	Choices   int      `json:"choices"` // of deployments that were compared
	Sentences []string `json:"sentences"`
	Minimised string   `json:"minimised"` // usd_per_hour, or gpus where some GPU has no price

	Expected []metrics.ExpectedError `json:"expected_error,omitempty"` // of what is deployed
	study    *configs.FleetStudy
}

// Takes is what deployments take.
type Takes struct {
	GPUs       int     `json:"gpus"`
	USDPerHour float64 `json:"usd_per_hour"`
	PowerW     float64 `json:"power_w"`
}

// Member is a model of a fleet.
type Member struct {
	Study     string  `json:"study"`
	Model     string  `json:"model"`
	RatePerS  float64 `json:"rate_per_s"`
	Unit      string  `json:"unit"`
	Deployed  *Row    `json:"deployed"`  // in the fleet; null: no choice keeps the budget
	ByItself  *Row    `json:"by_itself"` // the cheapest if it were alone; null: none sustains its rate
	Answer    *Sizing `json:"-"`
	best      *configs.Scenario
	study     *configs.Study
	available []*Row
}

// SearchFleet searches every member by itself and chooses among what sustains its rate.
func SearchFleet(ctx context.Context, f *configs.FleetStudy, members []*configs.Study, o Options) (*Fleet, error) {
	out := &Fleet{Schema: SchemaFleet, Fleet: f.Name, Version: o.Version, Minimised: "usd_per_hour", study: f,
		Budget: Takes{f.Budget.GPUs, f.Budget.USDPerHour, f.Budget.PowerW}}
	for _, s := range members {
		named := o
		named.anyRow = true
		named.Progress = func(what string, done, of int) {
			if o.Progress != nil {
				o.Progress(s.Name+" "+what, done, of)
			}
		}
		answer, best, err := Search(ctx, s, named)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		m := Member{Study: s.Name, Model: answer.Model, RatePerS: answer.AtPerS, Unit: answer.unit(), Answer: answer,
			best: best, study: s}
		for i := range answer.Rows {
			if r := &answer.Rows[i]; r.Name != "" {
				m.available = append(m.available, r)
				if r.USDPerHour == 0 {
					out.Minimised = "gpus"
				}
			}
		}
		slices.SortStableFunc(m.available, cheaperRow)
		if len(m.available) > 0 {
			m.ByItself = m.available[0]
		}
		for _, x := range answer.Expected {
			if !slices.Contains(out.Expected, x) {
				out.Expected = append(out.Expected, x)
			}
		}
		out.Members = append(out.Members, m)
	}
	out.choose()
	out.say()
	return out, nil
}

// takes is what a row takes.
func (r *Row) takes() Takes { return Takes{r.GPUs, r.USDPerHour, r.TDPW} }

func (t Takes) add(o Takes) Takes {
	return Takes{t.GPUs + o.GPUs, t.USDPerHour + o.USDPerHour, t.PowerW + o.PowerW}
}

// within reports whether t keeps a budget. What is not known of a GPU counts as nothing.
func (t Takes) within(budget Takes) bool {
	const share = 1 + 1e-9 // prices are sums
	return (budget.GPUs == 0 || t.GPUs <= budget.GPUs) &&
		(budget.USDPerHour == 0 || t.USDPerHour <= budget.USDPerHour*share) &&
		(budget.PowerW == 0 || t.PowerW <= budget.PowerW*share)
}

// choose finds the choice that costs least among choices that keep the budget. It tries all of them but those that
// begin with what costs more than the best so far or exceeds the budget already.
func (f *Fleet) choose() {
	costs := func(t Takes) float64 {
		if f.Minimised == "gpus" {
			return float64(t.GPUs)
		}
		return t.USDPerHour
	}
	n := len(f.Members)
	least := make([]Takes, n+1) // of the members from i on
	for i := n - 1; i >= 0; i-- {
		rows := f.Members[i].available
		if len(rows) == 0 {
			return
		}
		low := Takes{math.MaxInt32, math.Inf(1), math.Inf(1)}
		for _, r := range rows {
			t := r.takes()
			low = Takes{min(low.GPUs, t.GPUs), min(low.USDPerHour, t.USDPerHour), min(low.PowerW, t.PowerW)}
		}
		least[i] = least[i+1].add(low)
	}
	f.Least = least[0]
	best, chosen := math.Inf(1), make([]*Row, n)
	var try func(i int, so Takes)
	try = func(i int, so Takes) {
		if total := so.add(least[i]); !total.within(f.Budget) || costs(total) >= best {
			return
		}
		if i == n {
			best = costs(so)
			for k := range f.Members {
				f.Members[k].Deployed = chosen[k]
			}
			f.Takes = &Takes{so.GPUs, so.USDPerHour, so.PowerW}
			return
		}
		for _, r := range f.Members[i].available {
			f.Choices++
			chosen[i] = r
			try(i+1, so.add(r.takes()))
		}
	}
	try(0, Takes{})
}

// say says what the choice is.
func (f *Fleet) say() {
	for i := range f.Members {
		if m := &f.Members[i]; m.ByItself == nil {
			f.Sentences = append(f.Sentences, fmt.Sprintf("%s: no deployment within the budget sustains %s %s.", m.Study,
				text.Short(m.RatePerS), m.Unit))
		}
	}
	switch {
	case len(f.Sentences) > 0:
	case f.Takes == nil && f.Least.within(f.Budget):
		f.Sentences = []string{"Each limit of the budget can be kept by itself, but no choice keeps all at once."}
	case f.Takes == nil:
		f.Sentences = []string{fmt.Sprintf("No choice keeps the budget: the models take at least %s, of %s.",
			f.Least.words(f.Budget), f.Budget.words(f.Budget))}
	default:
		f.Sentences = []string{fmt.Sprintf("Together they take %s%s.", f.Takes.words(*f.Takes), f.left())}
		for i := range f.Members {
			if m := &f.Members[i]; m.Deployed != m.ByItself {
				f.Sentences = append(f.Sentences, fmt.Sprintf("%s is on %s, since the budget is shared: by itself it would be "+
					"on %s, for %s per hour.", m.Study, m.Deployed.short(), m.ByItself.short(), text.USD(m.ByItself.USDPerHour)))
			}
		}
	}
}

// left says how much of the budget they leave; empty: there is none.
func (f *Fleet) left() string {
	if f.Budget == (Takes{}) {
		return ""
	}
	return ", of " + f.Budget.words(f.Budget)
}

// words are the numbers for which a budget has a limit.
func (t Takes) words(which Takes) string {
	var parts []string
	if which.GPUs > 0 {
		parts = append(parts, text.Counted(t.GPUs, "GPU"))
	}
	if which.USDPerHour > 0 {
		parts = append(parts, text.USD(t.USDPerHour)+" per hour")
	}
	if which.PowerW > 0 {
		parts = append(parts, text.Scaled(t.PowerW, "W"))
	}
	return strings.Join(parts, ", ")
}

// WriteFleet writes a fleet for people.
func WriteFleet(w io.Writer, f *Fleet) error {
	t := text.NewPage(false)
	t.Heading(fmt.Sprintf("%s · %s that share a budget", f.Fleet, text.Counted(len(f.Members), "model")))
	for _, s := range f.Sentences {
		t.Line(s)
	}
	t.Blank()
	rows := [][]string{{"", "model", "rate", "deployment", "GPUs", "per hour", "$/M tokens", "J/token", "TDP"}}
	for i := range f.Members {
		m := &f.Members[i]
		r := cmp.Or(m.Deployed, m.ByItself)
		row := []string{m.Study, m.Model, text.Short(m.RatePerS) + " " + m.Unit}
		if r == nil {
			rows = append(rows, append(row, "none", text.Dash, text.Dash, text.Dash, text.Dash, text.Dash))
			continue
		}
		tdp := text.Dash
		if r.TDPW > 0 {
			tdp = text.Scaled(r.TDPW, "W")
		}
		rows = append(rows, append(append(row, r.short()), append(r.costs(), tdp)...))
	}
	t.Table(rows, 0, 1, 2, 3)
	_, err := t.WriteTo(w)
	return err
}

// WriteFleetFiles writes the answer of each member into a folder of its name, and the fleet's, or nothing.
func WriteFleetFiles(ctx context.Context, dir *output.Dir, f *Fleet) error {
	for i := range f.Members {
		m := &f.Members[i]
		folder, err := dir.Folder(m.Study)
		if err != nil {
			return err
		}
		if err := writeFiles(ctx, folder, m.study, m.Answer, m.best); err != nil {
			return err
		}
	}
	study := f.again().YAML()
	return output.InOrder(ctx, []func() error{
		func() error { return dir.WriteBytes("fleet.yaml", study) },
		func() error { return dir.WriteFile("report.html", f.Page(study).Write) },
		func() error { return dir.WriteJSON("fleet.json", f) }, dir.Keep})
}

// again is the study of the fleet in the directory of its results, where each member has a folder.
func (f *Fleet) again() *configs.FleetStudy {
	s := *f.study
	s.Fleet = nil
	for i := range f.Members {
		s.Fleet = append(s.Fleet, f.Members[i].Study+"/study.yaml")
	}
	return &s
}
