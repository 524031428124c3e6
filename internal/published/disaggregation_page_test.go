package published

import (
	"fmt"
	"math"
)

// sections prints what was varied.
func (c *publishedCase) sections() {
	say := func(title, text string) { fmt.Fprintf(c.page, "\n## %s\n\n%s\n", title, filled(text)) }
	say("Load", c.sayLoad())
	pairs(c.page, "of the rate", c.loads)
	say("Length of prompts, and load", c.sayLengths())
	fmt.Fprintf(
		c.page, "\n![p90 of TPOT and mean E2E, co-located over disaggregated, by length of prompts and "+
			"load](disaggregation.svg)\n")
	c.lengthTable()
	fmt.Fprintf(
		c.page, "\nAt %g of what the co-located replicas complete, and below that with twice the replicas and the rate:\n",
		fullShare)
	pairs(c.page, "prompt tokens", c.row(fullShare))
	pairs(c.page, "prompt tokens", c.finerLengths)
	say("Prompts that are cached in part", c.sayCached())
	pairs(c.page, "cached", c.cached)
	pairs(c.page, "cached, 8 replicas", c.finerCached)
	say("Links", c.sayLinks())
	c.linkTable()
	say("Smaller chunks instead", c.sayChunks())
	c.chunkTable()
	say("Other models and GPUs", c.sayModels())
	pairs(c.page, "deployment, load", c.models)
	pairs(c.page, "twice the replicas", c.finerModels)
	say("What the answer hangs on", c.sayAssumed())
	pairs(c.page, "assumption", c.assumed)
}

func (c *publishedCase) sayLoad() string {
	first, last := &c.loads[0], &c.loads[len(c.loads)-1]
	return fmt.Sprintf(
		"Rates are shares of the scenarios' %g requests/s; everything else is as above. At %s of it the factor is %.2f: "+
			"prompts seldom come while tokens are made, and there is nothing to gain. Co-located, a token waits for whatever "+
			"prompts the same replica reads, "+
			"so TPOT rises faster than the load; a decode replica has more sequences to serve and no prompts. At %s of it the "+
			"factor is %.2f. "+
			"It is at least %d at these shares: %s. The split that ends answers first moves towards prefill as the load grows.",
		c.rate, first.name, first.factor(tpotP90), last.name, last.factor(tpotP90), saidFactor, named(c.loads, (*pair).gains))
}

// row returns the pairs of all lengths at a load, named by length.
func (c *publishedCase) row(share float64) (rows []pair) {
	for i := range c.byLength {
		for k, d := range c.byLength[i] {
			if floodShares[k] == share {
				d.name = tokens(promptMeans[i])
				rows = append(rows, d)
			}
		}
	}
	return rows
}

// tokens writes a count with a comma at thousands.
func tokens(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

func (c *publishedCase) sayLengths() string {
	long := &c.byLength[len(promptMeans)-1][len(floodShares)-1]
	return fmt.Sprintf(
		"Loads are shares of what the co-located replicas complete when they are flooded with such prompts, which one run "+
			"measures within "+
			"a few percent; answers stay as they are. The longer prompts are, the more tokens wait for them. Prompts of %s "+
			"tokens at a load of %s have a factor of %.2f, "+
			"but first tokens come after %.0f s at p90 instead of %.0f, and answers end %s in the mean. Four replicas have "+
			"three splits, and between them the work often "+
			"falls: where the map goes from 2P2D to 3P1D, one is too slow in reading and the other in making tokens. Twice "+
			"the replicas at twice the rate (the last of these tables) can be "+
			"split more finely; there the factor at a load of %g rises with the length from %.2f to %.2f. At the lowest load "+
			"PD makes tokens slower at %s prompt tokens: "+
			"fewer replicas share all sequences, and few prompts were in their way.",
		tokens(promptMeans[len(promptMeans)-1]), long.name, long.factor(tpotP90),
		long.pd.mean(ttftP90), long.co.mean(ttftP90),
		map[bool]string{true: "earlier", false: "later"}[long.factor(e2eMean) >= 1],
		fullShare, c.finerLengths[0].factor(tpotP90), c.finerLengths[len(promptMeans)-1].factor(tpotP90),
		named(c.row(floodShares[0]), slower(tpotP90)))
}

// lengthTable says for each length at which loads what holds.
func (c *publishedCase) lengthTable() {
	fmt.Fprintf(
		c.page, "\n| prompt tokens | factor ≥ %d, answers no later, at loads of | tokens slower with PD | answers later "+
			"with PD | first tokens later with PD |\n"+
			"|--:|---|---|---|---|\n", saidFactor)
	for i, row := range c.byLength {
		fmt.Fprintf(c.page, "| %s | %s | %s | %s | %s |\n", tokens(promptMeans[i]), named(row, (*pair).gains),
			named(row, slower(tpotP90)),
			named(row, slower(e2eMean)), named(row, slower(ttftP90)))
	}
}

// slower reports of a pair whether a measure is the longer with PD.
func slower(m measure) func(d *pair) bool { return func(d *pair) bool { return d.factor(m) < 1 } }

func (c *publishedCase) sayCached() string {
	first, last := &c.finerCached[0], &c.finerCached[len(c.finerCached)-1]
	return fmt.Sprintf(
		"Prompts are as long as above, and their first part is the same in all and in every cache. The load is the share "+
			"of what the co-located "+
			"replicas then complete that it is above, %.0f %%. What is cached need not be read, and tokens wait for it "+
			"nowhere, so PD has less to gain: with eight replicas, "+
			"the second table, the factor goes from %.2f with nothing cached to %.2f with %s. Four replicas have no split "+
			"between 2P2D and 3P1D; with them tokens are "+
			"slower with PD at %s cached, answers later at %s.",
		100*c.share, first.factor(tpotP90), last.factor(tpotP90), last.name, named(c.cached, slower(tpotP90)),
		named(c.cached, slower(e2eMean)))
}

func (c *publishedCase) sayLinks() string {
	least := map[string]float64{"pull": math.Inf(1), "push": math.Inf(1)}
	for i := range c.links {
		if l := &c.links[i]; c.linkFactor(l) >= saidFactor {
			least[l.transfer] = min(least[l.transfer], l.bps)
		}
	}
	return fmt.Sprintf(
		"%s, as above, over links of so many bit/s of each GPU each way; NVLink as if it joined all of the GPUs, which it "+
			"does not. "+
			"A layer's latent is not divided among GPUs, so each of the decode replica's receives the whole cache, %.1f kB "+
			"per token. In use is the share of the link "+
			"that this takes on the average; a transfer is counted from the end of the prompt. Pulled when the prompt has "+
			"been read, a cache delays the second token, and with it TPOT; pushed layer by layer, it is there "+
			"by then unless the link is the slower. A factor of %d is kept by %s where the cache is "+
			"pulled, and by %s where it is pushed. "+
			"A link that the load needs more of than there is has requests wait longer and longer, and PD loses.",
		c.now.split, c.storedBytes()/1e3, saidFactor, bitRate(least["pull"]), bitRate(least["push"]))
}

// bitRate writes the bytes/s of the slowest link that does as what it is called by; of none they are infinite.
func bitRate(bps float64) string {
	if math.IsInf(bps, 1) {
		return "no link"
	}
	return fmt.Sprintf("%.0f Gb/s at the slowest", 8*bps/1e9)
}

// linkFactor compares with the co-located fleet of the change.
func (c *publishedCase) linkFactor(l *linked) float64 {
	return c.now.co.mean(tpotP90) / l.mean(tpotP90)
}

func (c *publishedCase) linkTable() {
	fmt.Fprint(
		c.page, "\n| link | in use | transfer | mean, ms | TPOT p50, ms | p90 | factor | ITL p99, ms | TTFT p90, s | E2E "+
			"mean, s |\n"+
			"|---|--:|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for i := range c.links {
		l := &c.links[i]
		fmt.Fprintf(c.page, "| %s | %.0f %% | %s |", l.name,
			100*c.rate*c.scenario.Workload.PromptTokens.Mean*c.storedBytes()/l.bps, l.transfer)
		fmt.Fprintf(c.page, " %s | %s | %s | %.2f |", three(1e3*l.felt[0].Transfers.Time.Mean), three(l.mean(tpotP50)),
			three(l.mean(tpotP90)), c.linkFactor(l))
		fmt.Fprintf(c.page, " %s | %s | %s |\n", three(l.mean(itlP99)), three(l.mean(ttftP90)), three(l.mean(e2eMean)))
	}
}

// defaultBudget is max_num_batched_tokens of the co-located replicas.
const defaultBudget = 8192

// best returns the budget of the lowest p90 of TPOT among those below the default under which first tokens come about
// as soon as with PD.
func (c *publishedCase) best() *budgeted {
	var best *budgeted
	for i := range c.budgets {
		if b := &c.budgets[i]; b.tokens < defaultBudget && b.mean(ttftP90) <= 1.2*c.now.pd.mean(ttftP90) &&
			(best == nil || b.mean(tpotP90) < best.mean(tpotP90)) {
			best = b
		}
	}
	return best
}

func (c *publishedCase) sayChunks() string {
	b := c.best()
	smallest := &c.budgets[0]
	return fmt.Sprintf(
		"What co-located engines do instead is to read prompts in smaller parts, with max_num_batched_tokens. Here that "+
			"shortens the longest gaps, and "+
			"TPOT little or not at all: a request's tokens wait for as many prompt tokens, only in more and shorter gaps. %s "+
			"tokens a step bring p99 of ITL to %.0f ms and p90 of TPOT to %.1f: "+
			"a factor of %.2f, where PD has %.2f, and first tokens come about as late as with PD. %s tokens read prompts too "+
			"slowly for the load: "+
			"first tokens come after %.0f s at p90, and later with every request. Of single gaps, which “time per token” "+
			"might also mean, p90 is %.1f ms by default and %.1f with PD: "+
			"more than nine gaps in ten are without a prompt, and the rest are long. Under %s tokens a step it is %.0f ms.",
		tokens(b.tokens), b.mean(itlP99), b.mean(tpotP90), c.now.co.mean(tpotP90)/b.mean(tpotP90), c.now.factor(tpotP90),
		tokens(smallest.tokens), smallest.mean(ttftP90),
		c.now.co.mean(itlP90), c.now.pd.mean(itlP90), tokens(c.budgets[2].tokens), c.budgets[2].mean(itlP90))
}

func (c *publishedCase) chunkTable() {
	fmt.Fprint(
		c.page, "\n| tokens a step | TPOT p50, ms | p90 | p99 | ITL p90, ms | p99 | TTFT p50, s | p90 | E2E mean, s | in "+
			"both limits |\n"+
			"|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	row := func(name string, f felt) {
		fmt.Fprintf(c.page, "| %s |", name)
		for _, m := range []measure{tpotP50, tpotP90, tpotP99, itlP90, itlP99, ttftP50, ttftP90, e2eMean} {
			fmt.Fprintf(c.page, " %s |", three(f.mean(m)))
		}
		fmt.Fprintf(c.page, " %.0f %% |\n", f.mean(sloShare))
	}
	for _, b := range c.budgets {
		row(tokens(b.tokens), b.felt)
	}
	row(c.now.split, c.now.pd)
}

func (c *publishedCase) sayModels() string {
	four, eight, chats := 0, 0, len(c.finerModels)-1
	for i := 1; i <= chats; i++ {
		if c.models[2*i+1].factor(e2eMean) < worthwhile {
			four++
		}
		if c.finerModels[i].factor(e2eMean) < worthwhile {
			eight++
		}
	}
	small := &c.finerModels[chats]
	return fmt.Sprintf(
		"Four replicas each, and eight in the second table; chat has prompts of %s tokens and answers of %d in the mean; "+
			"links as above, faster than small "+
			"GPUs have. Loads are shares of what the co-located replicas complete. With the lengths of the change a dense "+
			"model gains more than the mixture of experts, "+
			"a factor of %.2f. With chat and as high a load, four replicas with PD end answers no sooner, or "+
			"by less than 3 %%, in %d of %d deployments, for no split of them fits; eight in %d. On the "+
			"smallest GPU, where the weights leave little room for a cache and the prefill replicas' room is lost to "+
			"decoding, even eight have a factor of %.2f only. At half of the load PD "+
			"gains a little everywhere, more where prompts are long.",
		tokens(chatPrompt), chatOutput, c.models[1].factor(tpotP90), four, chats, eight, small.factor(tpotP90))
}

func (c *publishedCase) sayAssumed() string {
	slow, fast, finer := &c.assumed[0], &c.assumed[4], &c.assumed[5]
	return fmt.Sprintf(
		"Each at the rate at which its co-located fleet of four replicas has a p90 of %g ms per token, and at twice that "+
			"with eight. Most of a prompt's time goes to "+
			"products of experts, and what software achieves there is one constant, fitted to other models; "+
			"[accuracy.md](accuracy.md) has first tokens of mixtures of "+
			"experts with latent attention off by more than their times per token. Were these products half as fast, PD would "+
			"have %.1f ms per token at p90, inside what was "+
			"published; were they twice as fast, %.1f, and %.1f with eight replicas, for a cache is full sooner when prompts "+
			"come faster. So the factor says as much about how slowly prompts are read as about PD.",
		saidBeforeMS, slow.pd.mean(tpotP90), fast.pd.mean(tpotP90), finer.pd.mean(tpotP90))
}
