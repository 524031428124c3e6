package published

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
)

// caseSeeds are how often the published change is simulated.
const caseSeeds = 5

// publishedCase is the published change, and what was found around it.
type publishedCase struct {
	t        *testing.T
	page     io.Writer
	co, pd   fleet
	scenario *configs.Scenario // the state after
	rate     float64           // requests/s of the scenarios
	share    float64           // of what the co-located replicas complete when flooded
	now      pair              // at the scenarios' rate
	splits   []felt
	loads    []pair
	byLength [][]pair // of prompts, and share of what is completed
	cached   []pair
	links    []linked
	budgets  []budgeted
	models   []pair
	assumed  []pair // under other assumptions

	finerLengths, finerCached, finerModels []pair // with twice the replicas and the rate

	picture string
}

// headline simulates the change itself.
func (c *publishedCase) headline() {
	t := c.t
	var err error
	c.scenario, err = configs.Load(disaggregated, configs.Options{})
	require.NoError(t, err)
	c.rate = c.scenario.Workload.Arrivals.Rate
	co := c.co.run(t, caseSeeds)
	split, pd, all := c.pd.split(t, caseSeeds)
	c.now, c.splits = pair{"now", c.rate, co, pd, split}, all
	c.share = c.rate / c.co.capacity(t, c.scenario.Workload.PromptTokens.Mean)

	assert.InDelta(t, saidBeforeMS, co.mean(tpotP90), 2, "the rate is the one of the rule")
	assert.Equal(t, "3P1D", split, "the split of the scenario is the one of the rule")
	for i, f := range all {
		assert.LessOrEqual(t, f.mean(sloShare), pd.mean(sloShare), "%s keeps the limits no more often", splits[i])
	}
	assert.GreaterOrEqual(t, c.now.factor(tpotP90), float64(saidFactor))
	for i := range co {
		one := pair{co: co[i : i+1], pd: pd[i : i+1]}
		assert.GreaterOrEqual(t, one.factor(tpotP90), .9*saidFactor, "seed %d", i+1)
		assert.Less(t, one.factor(ttftP90), 1.0, "seed %d: first tokens come later", i+1)
		assert.Greater(t, one.factor(e2eMean), 1.0, "seed %d: answers end earlier", i+1)
	}
	assert.Less(t, pd.mean(tpotP99)/pd.mean(tpotP50), .5*co.mean(tpotP99)/co.mean(tpotP50), "and they differ less")
	assert.Greater(t, c.now.factor(itlP99), 10.0)
	c.table()
}

// table prints the change.
func (c *publishedCase) table() {
	fmt.Fprint(
		c.page, "\n| | TPOT p50, ms | p90 | p99 | p99 over p50 | ITL p90, ms | p99 | TTFT p50, s | p90 | E2E mean, s | p90 "+
			"| in both limits |\n"+
			"|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	row := func(name string, f felt) {
		fmt.Fprintf(c.page, "| %s |", name)
		for _, m := range []measure{tpotP50, tpotP90, tpotP99} {
			fmt.Fprintf(c.page, " %s |", spread(f.of(m)))
		}
		fmt.Fprintf(c.page, " %.2f |", f.mean(tpotP99)/f.mean(tpotP50))
		for _, m := range []measure{itlP90, itlP99, ttftP50, ttftP90, e2eMean, e2eP90} {
			fmt.Fprintf(c.page, " %s |", spread(f.of(m)))
		}
		fmt.Fprintf(c.page, " %.0f %% |\n", f.mean(sloShare))
	}
	row("co-located", c.now.co)
	for i, split := range splits {
		row(split, c.splits[i])
	}
	fmt.Fprint(c.page, "\n", filled(c.verdict()), "\n")
}

// verdict says what became of the published figures.
func (c *publishedCase) verdict() string {
	d := &c.now
	within := "within"
	if p90 := d.pd.mean(tpotP90); p90 > saidUntilMS {
		within = "just above"
	} else if p90 < saidAfterMS {
		within = "below"
	}
	overloaded := c.splits[slices.Index(splits, "2P2D")]
	text := fmt.Sprintf(
		"With %s, p90 of TPOT falls from %.0f to %.1f ms, by a factor of %.2f: %s the %g to %g ms that were published. "+
			"Its spread falls too: p99 is %.1f times the median co-located, and %.1f times with PD. ",
		d.split, d.co.mean(tpotP90), d.pd.mean(tpotP90), d.factor(tpotP90), within, saidAfterMS, saidUntilMS,
		d.co.mean(tpotP99)/d.co.mean(tpotP50), d.pd.mean(tpotP99)/d.pd.mean(tpotP50))
	text += fmt.Sprintf(
		"A first token is the price: p90 of TTFT rises from %.1f to %.1f s, for three quarters of the GPUs read the "+
			"prompts. "+
			"All in all an answer ends earlier, after %.1f s in the mean instead of %.1f. ",
		d.co.mean(ttftP90), d.pd.mean(ttftP90), d.pd.mean(e2eMean), d.co.mean(e2eMean))
	text += fmt.Sprintf(
		"With 2P2D tokens would be faster still, %.1f ms, and first tokens come after minutes, later with every request: "+
			"two replicas cannot read what arrives. ", overloaded.mean(tpotP90))
	text += fmt.Sprintf(
		"The rate, %g requests/s, is %.0f %% of what the co-located replicas complete when they are flooded.", c.rate,
		100*c.share)
	return text
}

// spread writes a mean, and the range over the seeds where it shows.
func spread(mean, least, most float64) string {
	a, b, c := three(mean), three(least), three(most)
	if b == c {
		return a
	}
	return a + " (" + b + "–" + c + ")"
}

// three writes three significant digits, without an exponent.
func three(x float64) string {
	if x >= 100 || x == 0 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(x)))), x)
}

// pairs prints a table of them.
func pairs(page io.Writer, what string, rows []pair) {
	fmt.Fprintf(
		page, "\n| %s | requests/s | split | TPOT p90, ms | with PD | factor | ITL p99, ms | with PD | TTFT p90, s | with "+
			"PD | E2E mean, s | with PD |\n", what)
	fmt.Fprint(page, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i := range rows {
		d := &rows[i]
		fmt.Fprintf(page, "| %s | %s | %s |", d.name, three(d.rate), d.split)
		for i, m := range []measure{tpotP90, itlP99, ttftP90, e2eMean} {
			fmt.Fprintf(page, " %s | %s |", three(d.co.mean(m)), three(d.pd.mean(m)))
			if i == 0 {
				fmt.Fprintf(page, " %.2f |", d.factor(m))
			}
		}
		fmt.Fprintln(page)
	}
}

// named lists the pairs for which something holds; none: "nowhere".
func named(rows []pair, applies func(d *pair) bool) string {
	var names []string
	for i := range rows {
		if applies(&rows[i]) {
			names = append(names, rows[i].name)
		}
	}
	if len(names) == 0 {
		return "nowhere"
	}
	return strings.Join(names, ", ")
}
