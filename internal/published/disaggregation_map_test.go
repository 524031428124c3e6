package published

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The cells of the picture, in its units, and the colours of what PD loses, leaves alone and gains: those of the map of
// what drafting gains.
const (
	cellWidth, cellHeight, mapLeft = 82, 40, 70
	mapHeight                      = 46 + 40*5 + 64 // one map with its heading and its axis
)

var losesEvenGains = [3][3]float64{{0xc0, 0x66, 0x1a}, {0xf7, 0xf7, 0xf7}, {0x2c, 0x6a, 0xa8}}

// drawn returns two maps as SVG: what PD gains in time per token, and in time to the last token.
func (c *publishedCase) drawn() string {
	var b strings.Builder
	width, height := mapLeft+cellWidth*len(promptMeans)+20, 66+2*mapHeight
	fmt.Fprintf(
		&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="#24292f">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	svgText(&b, 12, 24, "start", 16, "What PD disaggregation gains: a co-located fleet over one with PD")
	svgText(&b, 12, 44, "start", 12,
		fmt.Sprintf("%s over %s · %s · %s · seed 1", colocated, disaggregated, c.scenario.Model, c.gpus()))
	svgText(&b, 12, 62, "start", 12,
		"above 1, in blue, PD is the faster; below each factor stands the split, the one of the lowest mean E2E")
	c.panel(&b, 66, "p90 of TPOT", tpotP90)
	c.panel(&b, 66+mapHeight, "mean E2E", e2eMean)
	b.WriteString("</svg>\n")
	return b.String()
}

// panel draws one map.
func (c *publishedCase) panel(b *strings.Builder, top int, name string, m measure) {
	svgText(b, mapLeft, top+24, "start", 14, name)
	bottom := top + 34 + cellHeight*len(floodShares)
	for i, row := range c.byLength {
		x := mapLeft + cellWidth*i
		svgText(b, x+cellWidth/2, bottom+18, "middle", 12, tokens(promptMeans[i]))
		for k := range row {
			y := bottom - cellHeight*(k+1)
			fill, ink := cellColour(row[k].factor(m))
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n", x+1, y+1, cellWidth-2, cellHeight-2,
				fill)
			fmt.Fprintf(
				b, `<text x="%d" y="%d" text-anchor="middle" fill="%s">%.2f<tspan x="%d" dy="13" font-size="10">%s</tspan></text>`+
					"\n",
				x+cellWidth/2, y+18, ink, row[k].factor(m), x+cellWidth/2, row[k].split)
			if i == 0 {
				svgText(b, mapLeft-8, y+cellHeight/2+4, "end", 12, fmt.Sprintf("%.0f %%", 100*floodShares[k]))
			}
		}
	}
	svgText(b, mapLeft, bottom+38, "start", 12,
		"prompt tokens in the mean; upwards, load as a share of what the co-located replicas complete")
}

func svgText(b *strings.Builder, x, y int, anchor string, size int, words string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="%s" font-size="%d">%s</text>`+"\n", x, y, anchor, size, words)
}

// cellColour returns the fill of a factor, by its logarithm up to 4, and an ink that can be read on it.
func cellColour(factor float64) (fill, ink string) {
	end, even := losesEvenGains[2], losesEvenGains[1]
	if factor < 1 {
		end = losesEvenGains[0]
	}
	w := min(1, math.Abs(math.Log(factor))/math.Log(4))
	var rgb [3]int
	for i := range rgb {
		rgb[i] = int(math.Round(even[i] + float64((end[i]-even[i])*w)))
	}
	ink = "#24292f"
	if w > .6 {
		ink = "#ffffff"
	}
	return fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2]), ink
}

// gpus says what the scenarios run on.
func (c *publishedCase) gpus() string {
	n := 0
	for i := range c.scenario.Pools {
		n += c.scenario.Pools[i].GPUs() * c.scenario.Pools[i].Replicas
	}
	return fmt.Sprintf("%d × %s", n, c.scenario.Pools[0].GPU)
}

// firstTokens counts the comparisons of the page, and those in which first tokens come later with PD.
func (c *publishedCase) firstTokens() (later, all int) {
	rows := append([][]pair{{c.now}, c.loads, c.cached, c.models, c.assumed, c.finerLengths, c.finerCached, c.finerModels},
		c.byLength...)
	for _, row := range rows {
		for i := range row {
			all++
			if slower(ttftP90)(&row[i]) {
				later++
			}
		}
	}
	return later, all
}

// head says what was published, what is assumed and what was found.
func (c *publishedCase) head() string {
	load, slo, pool := &c.scenario.Workload, &c.scenario.SLO, &c.scenario.Pools[0]
	later, all := c.firstTokens()
	var text strings.Builder
	text.WriteString("# What PD disaggregation gains, simulated\n\n")
	for _, paragraph := range []string{
		fmt.Sprintf(
			"Cloudflare reported in April 2026 (“Building the foundation for running extra-large language models”, on Workers "+
				"AI) that reading prompts and making "+
				"tokens on separate GPUs, no more of them than before, at a growing volume of requests, took p90 of the time per "+
				"token "+
				"from about %g ms, with high variance, to %g to %g ms. "+
				"The figures are quoted from memory and unverified. They come without the model, the lengths, and how the GPUs "+
				"are divided.",
			saidBeforeMS, saidAfterMS, saidUntilMS),
		fmt.Sprintf(
			"What follows was chosen before anything was simulated, for a very large mixture of experts and long agentic "+
				"contexts: %s on %s in replicas of %d, tensor "+
				"parallel; prompts of %s tokens in the mean and answers of %.0f, lognormal with a coefficient of variation of "+
				"%g; Poisson arrivals; vLLM V1 with its defaults; "+
				"the least loaded replica takes a request; caches are pulled over %s of each GPU. Time per token is taken to be "+
				"TPOT, a request's mean after its first "+
				"token. Two things follow from rules. The rate is the one at which the co-located fleet has the published %g ms, "+
				"so that only the state after is predicted. The "+
				"split of the GPUs is the one with the lowest mean E2E, here and in all tables; here it also keeps the limits "+
				"most often.",
			c.scenario.Model, c.gpus(), pool.GPUs(), tokens(int(load.PromptTokens.Mean)), load.OutputTokens.Mean,
			load.PromptTokens.CV, pool.KVLink, saidBeforeMS),
		c.found(later, all),
		fmt.Sprintf(
			"`decodesim run %s` is the state before, `decodesim run %s` the state after. The next table has the mean over %d "+
				"seeds of %s requests each, and in "+
				"brackets the least and the most. In both limits is the share of requests with a TTFT of at most %g s and a TPOT "+
				"of at most %g ms, which are assumed. Further "+
				"down, load has two seeds and the rest one, of %s requests or some more; p90 of TPOT then varies by about a "+
				"tenth. A factor is co-located over PD; it counts as "+
				"kept where answers end no later.",
			colocated, disaggregated, caseSeeds, tokens(int(load.Requests)), slo.TTFTMS/1e3, slo.TPOTMS, tokens(sweepRequests)),
	} {
		text.WriteString(filled(paragraph) + "\n\n")
	}
	return text.String() + "## The change\n"
}

// found is the page in a paragraph.
func (c *publishedCase) found(later, all int) string {
	some, shortest := &c.loads[slices.Index(rateShares, .6)], 0.0
	for i := range c.byLength[0] {
		shortest = max(shortest, c.byLength[0][i].factor(tpotP90))
	}
	return fmt.Sprintf(
		"Found: the published gain comes out, a factor of %.2f, where co-located replicas are close to what they can "+
			"complete and prompts are long. It is no property "+
			"of PD as such: at %s of the rate it is %.2f, with prompts of %s tokens at most %.2f. PD loses over slow links, "+
			"at low loads, and where a small "+
			"fleet has no split that fits the work: at the same loads eight replicas lose less often than four. Smaller "+
			"chunks shorten the longest gaps by less, "+
			"and leave TPOT much as it is or make it longer. First tokens come later with PD in %d of the %d comparisons "+
			"below. How large the factor is hangs on how slowly software reads prompts "+
			"(the last table). A test asserts these directions and prints this page.",
		c.now.factor(tpotP90), some.name, some.factor(tpotP90), tokens(promptMeans[0]), shortest, later, all)
}
