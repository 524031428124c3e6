package published

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
)

// sweepRequests are the requests of a run beside the change itself, at least.
const sweepRequests = 2000

// requestsAt returns how many requests to send at a rate: of fast ones more, so that few of them are the first or the
// last.
func requestsAt(rate float64) int { return max(sweepRequests, int(100*rate)) }

// capacity returns how many requests/s the fleet completes while more wait than it can serve, for prompts of so many
// tokens in the mean: between two instants of a flood, after the first answers.
func (f fleet) capacity(t *testing.T, prompt float64) float64 {
	t.Helper()
	from, span := 200.0, 300+prompt/20 // s: longer where there are few
	for rate := max(.5, 16000/prompt); ; rate *= 2 {
		flood := f.with("workload.requests=null", fmt.Sprintf("workload.arrivals.rate=%g", rate))
		until := flood.with(fmt.Sprintf("workload.duration_s=%g", from+span)).run(t, 1)[0].Requests
		if float64(until.Completed) > .6*float64(until.Arrived) {
			continue
		}
		before := flood.with(fmt.Sprintf("workload.duration_s=%g", from)).run(t, 1)[0].Requests
		return float64(until.Completed-before.Completed) / span
	}
}

// loads are shares of the scenarios' rate, and of what is completed in a flood.
var (
	rateShares  = []float64{.2, .4, .6, .8, .9, 1, 1.1}
	floodShares = []float64{.2, .4, .6, .8, .9}
	promptMeans = []int{500, 1000, 2000, 4000, 8000, 16000, 32000, 64000}
	cachedParts = []float64{0, .25, .5, .75, .9}
	tokenLimits = []int{512, 1024, 2048, 4096, 8192, 16384}
)

// linked is the disaggregated fleet over a link.
type linked struct {
	name, transfer string
	bps            float64 // of a GPU
	felt
}

// budgeted is the co-located fleet with a limit on the tokens of a step.
type budgeted struct {
	tokens int
	felt
}

// linkSpeeds are bytes/s of a GPU.
var linkSpeeds = []struct {
	name string
	bps  float64
}{{"NVLink, 450 GB/s", 450e9}, {"400 Gb/s", 50e9}, {"100 Gb/s", 12.5e9}, {"50 Gb/s", 6.25e9}, {"25 Gb/s", 3.125e9},
	{"10 Gb/s", 1.25e9}}

// sweeps varies one thing after the other.
func (c *publishedCase) sweeps() {
	t := c.t
	for _, share := range rateShares {
		c.loads = append(c.loads, meet(t, fmt.Sprintf("%g", share), share*c.rate, 2*sweepRequests, 2, c.co, c.pd))
	}
	for _, length := range promptMeans {
		c.byLength = append(c.byLength, c.lengthened(float64(length)))
	}
	for _, part := range cachedParts {
		c.sharing(part)
	}
	for _, l := range linkSpeeds {
		for _, transfer := range []string{"pull", "push"} {
			f := c.pd.with("pools.prefill.kv_link=null", fmt.Sprintf("pools.prefill.kv_link_bps=%g", l.bps),
				"pools.prefill.kv_transfer="+transfer,
				fmt.Sprintf("workload.requests=%d", 2*sweepRequests))
			c.links = append(c.links, linked{l.name, transfer, l.bps, f.run(t, 1)})
		}
	}
	for _, tokens := range tokenLimits {
		f := c.co.with(fmt.Sprintf("pools.serve.max_num_batched_tokens=%d", tokens),
			fmt.Sprintf("workload.requests=%d", 2*sweepRequests))
		c.budgets = append(c.budgets, budgeted{tokens, f.run(t, 1)})
	}
	for i := range deployments {
		deployments[i].pairs(c)
	}
	c.assumptions()
	c.picture = c.drawn()
	c.sections()
	c.assert()
}

// finer compares twice the replicas at twice the rate.
func finer(t *testing.T, name string, rate float64, co, pd fleet) pair {
	t.Helper()
	return meet(t, name, 2*rate, requestsAt(2*rate), 1, co.doubled(), pd.doubled())
}

// fullShare is the load at which lengths are shown in full.
const fullShare = .8

// lengthened compares prompts of so many tokens in the mean, by share of what is completed.
func (c *publishedCase) lengthened(mean float64) (row []pair) {
	set := fmt.Sprintf("workload.prompt_tokens.mean=%g", mean)
	co, pd := c.co.with(set), c.pd.with(set)
	capacity := co.capacity(c.t, mean)
	for _, share := range floodShares {
		row = append(row, meet(c.t, fmt.Sprintf("%g", share), share*capacity, requestsAt(share*capacity), 1, co, pd))
		if share == fullShare {
			c.finerLengths = append(c.finerLengths, finer(c.t, tokens(int(mean)), share*capacity, co, pd))
		}
	}
	return row
}

// sharing compares prompts of which a part is the same in all, at the share of what is completed that the change has.
func (c *publishedCase) sharing(part float64) {
	load := &c.scenario.Workload
	mean := load.PromptTokens.Mean
	co, pd := c.co, c.pd
	if part > 0 {
		set := []string{
			"workload.prefix.groups=1", fmt.Sprintf("workload.prefix.tokens=%.0f", part*mean),
			fmt.Sprintf("workload.prompt_tokens.mean=%g", (1-part)*mean),
			fmt.Sprintf("workload.prompt_tokens.max=%.0f", float64(load.PromptTokens.Max)-part*mean),
		}
		co, pd = co.with(set...), pd.with(set...)
	}
	rate := c.share * co.capacity(c.t, mean)
	name := fmt.Sprintf("%.0f %%", 100*part)
	c.cached = append(c.cached, meet(c.t, name, rate, requestsAt(rate), 1, co, pd))
	c.finerCached = append(c.finerCached, finer(c.t, name, rate, co, pd))
}

// A deployment is another model on other GPUs.
type deployment struct {
	name, model, gpu  string
	tp                int
	prompt, output    int
	promptMax, maxLen int
}

// The lengths of chat, in the mean.
const chatPrompt, chatOutput = 1000, 250

// deployments are of four replicas each.
var deployments = []deployment{
	{"Llama 3.1 70B in fp8, 4 × 4 H100, lengths as above", "llama-3.1-70b", "h100-sxm", 4, 16000, 400, 120000, 131072},
	{"Llama 3.1 70B in fp8, 4 × 4 H100, chat", "llama-3.1-70b", "h100-sxm", 4, chatPrompt, chatOutput, 8000, 16384},
	{"Llama 3.1 8B, 4 H100, chat", "llama-3.1-8b", "h100-sxm", 1, chatPrompt, chatOutput, 8000, 16384},
	{"Llama 3.1 8B, 4 L4, chat", "llama-3.1-8b", "l4", 1, chatPrompt, chatOutput, 8000, 16384},
}

// pairs compares at half of what is completed, and at the share that the change has.
func (d *deployment) pairs(c *publishedCase) {
	load := []string{
		"model=" + d.model, fmt.Sprintf("workload.prompt_tokens.mean=%d", d.prompt),
		fmt.Sprintf("workload.prompt_tokens.max=%d", d.promptMax),
		fmt.Sprintf("workload.output_tokens.mean=%d", d.output),
	}
	if d.model == "llama-3.1-70b" {
		load = append(load, "weights=fp8", "kv_cache=fp8")
	}
	on := func(f fleet, pools ...string) fleet {
		f = f.with(load...)
		for _, pool := range pools {
			at := "pools." + pool + "."
			f = f.with(at+"gpu="+d.gpu, fmt.Sprintf("%stensor_parallel=%d", at, d.tp),
				fmt.Sprintf("%smax_model_len=%d", at, d.maxLen))
		}
		return f
	}
	co, pd := on(c.co, "serve"), on(c.pd, "prefill", "decode")
	capacity := co.capacity(c.t, float64(d.prompt))
	for _, share := range []float64{.5, c.share} {
		name := fmt.Sprintf("%s, %.0f %%", d.name, 100*share)
		c.models = append(c.models, meet(c.t, name, share*capacity, requestsAt(share*capacity), 1, co, pd))
		if share == c.share {
			c.finerModels = append(c.finerModels, finer(c.t, name, share*capacity, co, pd))
		}
	}
}

// storedBytes returns what a GPU of the decode pool holds of a token.
func (c *publishedCase) storedBytes() float64 {
	s, err := configs.Load(disaggregated, configs.Options{})
	require.NoError(c.t, err)
	b, err := build.New(s)
	require.NoError(c.t, err)
	defer b.Close()
	_, stored := b.Replicas[1].Deployment.KVBytesPerToken()
	return stored / float64(s.Pools[1].GPUs())
}

// assumptions compares under others than the page's: prices of the products of experts, which the reading of prompts
// hangs on, and a fleet of twice the size, which can be split more finely. The rate follows from its rule each time.
func (c *publishedCase) assumptions() {
	all, err := catalog.EfficienciesOf("vllm")
	require.NoError(c.t, err)
	for _, times := range []float64{.5, 1, 2} {
		e, _ := all.For("h200-sxm", "", "")
		e.MoECompute *= times
		co, pd := c.co, c.pd
		co.efficiency, pd.efficiency = &e, &e
		name := fmt.Sprintf("expert products %g × as fast", times)
		c.assumed = append(c.assumed, c.ruled(name, co, pd))
		rate := 2 * c.assumed[len(c.assumed)-1].rate
		c.assumed = append(c.assumed, meet(c.t, name+", 8 replicas", rate, 2*sweepRequests, 1, co.doubled(), pd.doubled()))
	}
}

// ruled compares at the rate of the rule, at which the co-located fleet has the time per token that was published.
func (c *publishedCase) ruled(name string, co, pd fleet) pair {
	low, high := .2*c.rate, 3*c.rate
	for high/low > 1.01 {
		mid := (low + high) / 2
		at := co.with(fmt.Sprintf("workload.arrivals.rate=%.4g", mid), fmt.Sprintf("workload.requests=%d", 2*sweepRequests))
		if at.run(c.t, 1).mean(tpotP90) < saidBeforeMS {
			low = mid
		} else {
			high = mid
		}
	}
	return meet(c.t, name, low, 2*sweepRequests, 1, co, pd)
}

// assert holds the page to what it says.
func (c *publishedCase) assert() {
	t := c.t
	first, last := c.loads[0], c.loads[len(c.loads)-1]
	assert.Less(t, first.factor(tpotP90), 1.2, "at a low load there is little to gain")
	assert.Greater(t, last.factor(tpotP90), float64(saidFactor))
	for i, share := range rateShares {
		if share <= .8 {
			assert.Less(t, c.loads[i].factor(tpotP90), float64(saidFactor), "load %g", share)
		}
	}
	for _, d := range c.byLength[0] {
		assert.False(t, d.gains(), "prompts of %d tokens, load %s", promptMeans[0], d.name)
	}
	for i := range c.links {
		l := &c.links[i]
		slow := l.bps < 2.5e9 || l.bps < 5e9 && l.transfer == "pull"
		assert.Equal(t, slow, c.linkFactor(l) < .9*saidFactor, "%s, %s", l.name, l.transfer)
		assert.Equal(t, l.bps < 2.5e9, l.mean(e2eMean) > c.now.co.mean(e2eMean), "%s, %s: PD loses", l.name, l.transfer)
	}
	for _, b := range c.budgets {
		if b.mean(ttftP90) < 2*c.now.pd.mean(ttftP90) {
			assert.Greater(t, b.mean(tpotP90), 2*c.now.pd.mean(tpotP90), "chunks of %d are no remedy for TPOT", b.tokens)
		}
	}
	assert.Less(t, c.best().mean(itlP99), .7*c.now.co.mean(itlP99), "but one for the longest gaps")
	assert.GreaterOrEqual(t, c.models[1].factor(tpotP90), float64(saidFactor), "%s", c.models[1].name)
	lost, eightLost := 0, 0
	for i := 3; i < len(c.models); i += 2 {
		name, four, eight := c.models[i].name, c.models[i].factor(e2eMean), c.finerModels[i/2].factor(e2eMean)
		if four < worthwhile {
			lost++
		}
		if eight < worthwhile {
			eightLost++
		}
		if strings.HasPrefix(name, "Llama 3.1 8B, 4 H100") {
			assert.InDelta(t, four, eight, .05, "%s: halves suit it, and so a finer split gains nothing", name)
			continue
		}
		assert.Greater(t, eight, max(1, four), "%s: for want of a split", name)
	}
	assert.Less(t, eightLost, lost, "with chat, four replicas gain nothing for want of a split")
	assert.Greater(t, c.assumed[0].factor(tpotP90), c.assumed[2].factor(tpotP90),
		"the slower prompts are read, the more PD gains")
	assert.Greater(t, c.assumed[2].factor(tpotP90), c.assumed[4].factor(tpotP90))
	most := len(c.cached) - 1
	assert.Less(t, c.finerCached[most].factor(tpotP90), .6*c.finerCached[0].factor(tpotP90),
		"what is cached is no longer in the way")
	assert.Less(t, c.cached[most].factor(e2eMean), 1.0, "and four replicas lose")
	for i := range c.finerLengths {
		assert.Greater(t, c.finerLengths[i].factor(e2eMean), 1.0, "eight replicas, prompts of %s tokens",
			c.finerLengths[i].name)
	}
	assert.Greater(t, c.finerLengths[len(promptMeans)-1].factor(tpotP90), float64(saidFactor))
}
