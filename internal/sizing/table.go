package sizing

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// rowTables writes the cheapest deployment of each kind of GPU, what more load needs, and the cheapest of each topology
// and layout.
func rowTables(t *text.Page, s *Sizing) {
	var leaders []*Row
	for i := range s.Rows {
		if r := &s.Rows[i]; r.CheapestOfGPU && !slices.ContainsFunc(leaders, r.sameAs) {
			leaders = append(leaders, r)
		}
	}
	slices.SortStableFunc(leaders, func(a, b *Row) int { return cheaperRow(a, b) })
	printed, left := layoutsPrinted(s.Rows)
	notes := footnotes(slices.Concat(leaders, printed))
	if len(leaders) > 0 {
		t.Line(fmt.Sprintf("the cheapest on each kind of GPU, at %s %s", text.Short(s.AtPerS), s.unit()))
		t.Table(leaderRows(s, leaders, notes))
		t.Blank()
		moreLines(t, s, leaders[0])
		t.Blank()
	}
	if len(printed) > 0 {
		t.Line("the cheapest of each topology and layout")
		t.Table(layoutRows(printed, notes), 0, 1)
		if left > 0 {
			t.Line(fmt.Sprintf("%s of more than %d times the GPUs of the cheapest on the same kind: see rows of --json",
				text.Counted(left, "layout"), layoutsTimesMax))
		}
	}
	whyLines(t, s.Rows)
	t.Blank()
	for i, warning := range notes {
		t.Line(fmt.Sprintf("[%d] %s", i+1, warning))
	}
}

func (s *Sizing) unit() string {
	if s.Unit == "" {
		return "requests/s"
	}
	return s.Unit
}

func (r *Row) sameAs(o *Row) bool { return r.Name == o.Name }

func cheaperRow(a, b *Row) int {
	return cheaper(&deployment{is: a.Deployment}, &deployment{is: b.Deployment})
}

// footnotes returns the warnings of some rows, each once.
func footnotes(rows []*Row) (all []string) {
	for _, r := range rows {
		for _, w := range r.Warnings {
			if !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}

// marks returns the numbers of some warnings.
func marks(warnings, notes []string) string {
	var numbers []string
	for i, note := range notes {
		if slices.Contains(warnings, note) {
			numbers = append(numbers, fmt.Sprintf("[%d]", i+1))
		}
	}
	if numbers == nil {
		return text.Dash
	}
	return strings.Join(numbers, "")
}

// leaderRows are a table of the cheapest deployments by kind of GPU. Their margins are those of the first seed, which
// the table says where the answer above it has a mean over several.
func leaderRows(s *Sizing, leaders []*Row, notes []string) [][]string {
	margin := "margin"
	if len(s.Seeds) > 1 {
		margin = fmt.Sprintf("margin, seed %d", s.Seeds[0])
	}
	rules := rulesOf(leaders)
	head := slices.Concat([]string{""}, limitNames(leaders), costNames(), rules)
	rows := [][]string{append(head, margin, "at 2 ×", "at 3 ×", "warnings")}
	for _, r := range leaders {
		cells := slices.Concat([]string{r.short()}, r.limits(), r.costs(), r.values(rules))
		cells = append(cells, text.SignedPercent(100*float64(r.Margin)))
		for i := range r.More {
			cells = append(cells, r.More[i].needs())
		}
		rows = append(rows, append(cells, marks(r.Warnings, notes)))
	}
	return rows
}

// short is the name of a deployment without its batch limits.
func (d *Deployment) short() string {
	name, _, _ := strings.Cut(d.Name, ", seqs ")
	name, _, _ = strings.Cut(name, ", tokens ")
	return name
}

// limitNames head the cells of limits: where some deployment has separate pools, by the pool that each limit is of.
func limitNames(rows []*Row) []string {
	if slices.ContainsFunc(rows, func(r *Row) bool { return len(r.Pools) > 1 }) {
		return []string{"decode seqs", "prefill tokens"}
	}
	return []string{"seqs", "tokens"}
}

func costNames() []string { return []string{"GPUs", "per hour", "$/M tokens", "J/token"} }

// limits are the cells of max_num_seqs of the pool that decodes and max_num_batched_tokens of the one that prefills.
func (d *Deployment) limits() []string {
	return []string{text.Count(d.Pools[len(d.Pools)-1].MaxNumSeqs), text.Count(d.Pools[0].MaxNumBatchedTokens)}
}

// gpuWords says which GPUs a deployment has, with how many of each where there are several kinds.
func (d *Deployment) gpuWords() string {
	last := d.Pools[len(d.Pools)-1].GPU
	for _, p := range d.Pools {
		if p.GPU != last {
			return d.hardware()
		}
	}
	return last
}

// hardware says which GPUs a deployment takes: 13 × mi300x, or 10 × mi300x + 2 × b200-sxm.
func (d *Deployment) hardware() string {
	var kinds, words []string
	count := map[string]int{}
	for _, p := range d.Pools {
		if count[p.GPU] == 0 {
			kinds = append(kinds, p.GPU)
		}
		count[p.GPU] += p.GPUs
	}
	for _, kind := range kinds {
		words = append(words, fmt.Sprintf("%d × %s", count[kind], kind))
	}
	return strings.Join(words, " + ")
}

// needs says how many GPUs a multiple of the load takes.
func (m *More) needs() string {
	if m.Needs == nil {
		return "none"
	}
	return text.Counted(m.Needs.GPUs, "GPU")
}

// costs are the cells that say what a deployment takes.
func (r *Row) costs() []string {
	perHour, perMillion := text.Dash, text.Dash
	if r.USDPerHour > 0 {
		perHour, perMillion = text.USD(r.USDPerHour), text.USD(r.USDPerMillionTokens)
	}
	return []string{text.Count(r.GPUs), perHour, perMillion, r.Spending.joulesCell()}
}

// speed prints how fast the median user gets tokens; a dash where outputs are of one token.
func (f *Finalist) speed() string {
	if f.UserTokensPerS == 0 {
		return text.Dash
	}
	return text.Significant(f.UserTokensPerS)
}

// rulesOf returns the rules that the rows are judged by, each once.
func rulesOf(rows []*Row) (rules []string) {
	for _, r := range rows {
		for i := range r.SLO {
			if rule := r.SLO[i].Rule; !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// values are the cells of rules.
func (r *Row) values(rules []string) (cells []string) {
	for _, rule := range rules {
		cell := text.Dash
		if i := slices.IndexFunc(r.SLO, func(v metrics.Verdict) bool { return v.Rule == rule }); i >= 0 {
			cell = report.RuleValue(&r.SLO[i])
			if r.SLO[i].Broken() {
				cell = "✗ " + cell
			}
		}
		cells = append(cells, cell)
	}
	return cells
}

// moreLines say what becomes of more load on the best deployment, as it is and with more replicas.
func moreLines(t *text.Page, s *Sizing, r *Row) {
	for i := range r.More {
		m := &r.More[i]
		line := fmt.Sprintf("at %d ×, %s %s: ", m.Times, text.Short(m.RatePerS), s.unit())
		switch at := worst(m.SLO); {
		case m.SLO == nil:
			line += r.short() + " does not keep up"
		case at < 0:
			line += r.short() + " sustains it as it is"
		default:
			line += fmt.Sprintf("%s as it is breaks %q (%s)", r.short(), m.SLO[at].Rule, report.RuleValue(&m.SLO[at]))
		}
		if m.Needs != nil && m.Needs.Name == r.Name {
			t.Line(line)
			continue
		}
		if m.Needs == nil {
			t.Line(line + "; no number of replicas that was tried sustains it")
			continue
		}
		line += fmt.Sprintf("; %s on %s sustains it", m.Needs.short(), text.Counted(m.Needs.GPUs, "GPU"))
		if m.Needs.USDPerHour > 0 {
			line += ", " + text.USD(m.Needs.USDPerHour) + " per hour"
		}
		t.Line(line)
	}
}

// Rows of a table of layouts: all of them, or where these are many those that cost so many times the cheapest of
// their GPU at most.
const (
	layoutsMany     = 16
	layoutsTimesMax = 3
)

// layoutsPrinted returns the rows of a table of layouts, which have a deployment, and how many are left out.
func layoutsPrinted(all []Row) (printed []*Row, left int) {
	cheapest := map[string]*Row{}
	for i := range all {
		r := &all[i]
		if r.Name == "" {
			continue
		}
		printed = append(printed, r)
		if best := cheapest[r.GPU]; best == nil || cheaperRow(r, best) < 0 {
			cheapest[r.GPU] = r
		}
	}
	if n := len(printed); n > layoutsMany {
		printed = slices.DeleteFunc(printed, func(r *Row) bool { return r.GPUs > layoutsTimesMax*cheapest[r.GPU].GPUs })
		left = n - len(printed)
	}
	return printed, left
}

// layoutRows are a table of the cheapest deployments by topology and layout.
func layoutRows(printed []*Row, notes []string) [][]string {
	rules := rulesOf(printed)
	head := slices.Concat([]string{"GPU", "deployment"}, limitNames(printed), costNames(), rules)
	rows := [][]string{append(head, "TTFT p50", "TPOT p50", "warnings")}
	for _, r := range printed {
		cells := slices.Concat([]string{r.GPU, strings.ReplaceAll(r.short(), " "+r.GPU, "")}, r.limits(), r.costs(),
			r.values(rules))
		cells = append(cells, text.Duration(r.TTFTS.P50), r.TPOTS.duration(r.TPOTS.P50))
		rows = append(rows, append(cells, marks(r.Warnings, notes)))
	}
	return rows
}

// whyLines say why some kinds have no row.
func whyLines(t *text.Page, rows []Row) {
	for i := range rows {
		if r := &rows[i]; r.Name == "" {
			t.Line(fmt.Sprintf("no %s %s on %s: %s", r.Topology, r.Layout, r.GPU, r.Why))
		}
	}
}

// failureLines say why nothing sustains the lowest rate.
func failureLines(t *text.Page, s *Sizing) {
	f := s.Failure
	t.Line(fmt.Sprintf("no deployment sustains %s %s%s", text.Significant(f.RatePerS), s.unit(),
		packedOnly(s, f.RatePerS)))
	if f.Broke == "" {
		t.Line(fmt.Sprintf("%s on %s comes nearest: it breaks no rule while a run lasts, but requests pile up in it.",
			f.Nearest.Name, text.Counted(f.Nearest.GPUs, "GPU")))
	} else {
		i := slices.IndexFunc(f.SLO, func(v metrics.Verdict) bool { return v.Rule == f.Broke })
		t.Line(fmt.Sprintf("%q breaks first: %s on %s comes nearest, with %s; "+
			"of the share that is asked for, %s is within the limit", f.Broke, f.Nearest.Name,
			text.Counted(f.Nearest.GPUs, "GPU"), report.RuleValue(&f.SLO[i]), text.Percent(math.Min(1, f.Attainment))))
		t.Blank()
		t.Table(report.RuleRows(f.SLO))
	}
	t.Blank()
	t.Line("not tried: " + strings.Join(f.NotTried, "; "))
}

// replayWords says what a run of all of the workload came to.
func replayWords(s *Sizing) string {
	r := s.Replay
	var values []string
	for i := range r.SLO {
		v := &r.SLO[i]
		switch {
		case v.Unmeasured != "":
			values = append(values, fmt.Sprintf("%s not measured, for %s", v.Rule, v.Unmeasured))
		case !v.Met:
			values = append(values, fmt.Sprintf("%s BROKEN with %s", v.Rule, report.RuleValue(v)))
		case math.IsNaN(v.Value):
			values = append(values, v.Rule+" kept, for no output has a second token")
		default:
			values = append(values, fmt.Sprintf("%s kept with %s", v.Rule, report.RuleValue(v)))
		}
	}
	requests := "all " + text.Counted(r.Arrived, "request")
	if r.Requests < r.Arrived {
		requests = fmt.Sprintf("%s, %s of which did not complete,", text.Counted(r.Arrived, "request"),
			text.Count(r.Arrived-r.Requests))
	}
	return fmt.Sprintf("Replayed before this was printed, %s at %s requests/s: %s.", requests,
		text.Significant(r.RatePerS), strings.Join(values, ", "))
}
