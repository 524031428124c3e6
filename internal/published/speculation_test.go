package published

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/internal/explain"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/sim"
	"github.com/decodesim/decodesim/sim/metrics"
)

// A gain is what is said of drafting, with the scenario under which it is looked for.
type gain struct {
	said, scenario string
	means          string    // what holding means here
	least          float64   // it holds while TPOT falls by at least this factor
	own            string    // how the scenario has drafts accepted
	rates          []float64 // beside its own, each draft with the same chance
	setup          string    // what is simulated
	ends           sim.Part  // what most of the verification's cost is with the most clients
	why            string    // what ends it, in words; the numbers are in the tables
	joined         bool      // with the most clients, prompts that join take its verifications beyond the largest graph
}

// clients are the closed loops in which gains are looked for.
var clients = []int{1, 4, 16, 64, 256}

var gains = []gain{
	{
		said: "A 3:1 acceptance ratio (EAGLE-3) divides ITL by about three", scenario: "eagle3-70b", least: 2.5, own: "0.75",
		rates: []float64{.5, .6, .9},
		means: "three of four drafts are accepted, each after accepted ones, and TPOT, the mean ITL per token, falls by a " +
			"factor of 2.5 at least",
		setup: "Llama 3.1 70B in bf16 on four H100, tensor parallel; a head of one layer drafts four tokens",
		ends:  sim.Compute,
		why: "Drafts cost little here, at every batch: the head is small. Verification ends the gain. With some clients " +
			"its five rows per sequence cost " +
			"little but the exchange of five times as much between the GPUs, which is enough to end the claim; with more of " +
			"them arithmetic " +
			"binds, at a fifth of the batch at which it would without drafts, and each row is paid for. " +
			"An ITL that is measured per chunk never falls: a step with drafts is longer than one without, and brings its " +
			"tokens at once.",
	},
	{
		said: "An 8B drafter roughly halves the TPOT of a 70B model", scenario: "drafter-8b-70b", least: 1 / .6, own: "0.8",
		rates: []float64{.6, .7, .9},
		means: "TPOT is at most 0.6 of what it is without drafts",
		setup: "Llama 3.1 70B and 8B in bf16 on two H200, tensor parallel; the small model drafts four tokens, one after " +
			"the other",
		ends: sim.Compute,
		why: "Drafts cost much here, from one client on: a pass of the 8B model reads a ninth of the weights and launches " +
			"32 layers, and there are four of them. " +
			"So more than three tokens a step are only about half the TPOT, and rates up to 0.7 do not suffice for that. " +
			"Verification ends the rest, as above.",
	},
	{
		said: "Speculation gives 2–3× for compatible workloads", scenario: "mtp-coding-397b", least: 2,
		own: "measured lengths", rates: []float64{.3, .5, .7},
		means: "TPOT falls by a factor of 2 at least; compatible is a workload whose drafts are accepted, such as coding",
		setup: "Qwen3.5-397B-A17B in nvfp4 on four B300, tensor parallel; its own MTP module drafts three tokens, accepted " +
			"on coding as measured there " +
			"(curve qwen3.5-397b-a17b-mtp: 3.39 tokens a step)",
		ends: sim.Overhead,
		why: "Whether the workload is compatible decides: at the rate 0.5 the factor is below 2 even for one client. And a " +
			"mixture of experts has no simple limit: " +
			"more rows touch more experts, so the verification of a few sequences already reads more weights than a plain " +
			"step, long before arithmetic " +
			"binds. Once most experts are read anyway this costs no more, and what is left is what each row costs. With the " +
			"most clients nearly every step has a prompt beside 1,024 rows of drafts, more than the largest CUDA graph has, " +
			"and the host launches it kernel by kernel: the run gains less than the step of the second table says.",
		joined: true,
	},
}

// gained is a closed loop with drafts beside the same requests without.
type gained struct{ with, plain *metrics.Summary }

func (g gained) tpot() float64 { return g.plain.Latency.TPOT.Mean / g.with.Latency.TPOT.Mean }

func (g gained) throughput() float64 {
	return g.with.Throughput.OutputTokensPerS / g.plain.Throughput.OutputTokensPerS
}

// run simulates so many clients; of many, more requests than the scenario's, for the first and the last find the others
// away.
func (c *gain) run(t *testing.T, clients int, set ...string) *metrics.Summary {
	t.Helper()
	s, err := configs.Load(c.scenario,
		configs.Options{Set: append(set, fmt.Sprintf("workload.closed_loop.concurrency=%d", clients),
			fmt.Sprintf("workload.requests=%d", max(1500, 16*clients)))})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	defer b.Close()
	r, err := run.Simulate(context.Background(), b, run.Options{})
	require.NoError(t, err)
	require.Equal(t, r.Summary.Requests.Arrived, r.Summary.Requests.Completed)
	require.Zero(t, r.Summary.Requests.Preemptions)
	return r.Summary
}

func (c *gain) plain(t *testing.T, clients int) *metrics.Summary {
	return c.run(t, clients, "speculation.method=none")
}

func (c *gain) asAccepted(t *testing.T, clients int) gained {
	g := gained{c.run(t, clients), c.plain(t, clients)}
	require.Equal(t, g.plain.Tokens, g.with.Tokens, "the same requests")
	return g
}

// atRates returns the closed loop at each of the rates.
func (c *gain) atRates(t *testing.T, clients int, plain *metrics.Summary) (all []gained) {
	for _, rate := range c.rates {
		all = append(all, gained{c.run(t, clients, "speculation.acceptance.process=iid", "speculation.acceptance.name=null",
			fmt.Sprintf("speculation.acceptance.rate=%g", rate)), plain})
	}
	return all
}

// from returns about how many clients it takes for TPOT to fall by less than the factor, between two of the tables'
// rows; 0: more than those.
func (c *gain) from(t *testing.T, rows []gained, factor float64) int {
	for i, g := range rows {
		if g.tpot() >= factor {
			continue
		}
		require.NotZero(t, i)
		claimed, refuted := clients[i-1], clients[i]
		for refuted-claimed > max(1, claimed/16) {
			if mid := (claimed + refuted) / 2; c.asAccepted(t, mid).tpot() >= factor {
				claimed = mid
			} else {
				refuted = mid
			}
		}
		return refuted
	}
	return 0
}

// priced is a step of a batch with drafts, over one without.
type priced struct {
	verifying, drafting float64               // the step with drafts over the one without is their sum
	longer              [sim.NumParts]float64 // shares of what verifying takes longer than a plain step
	tokens, breakEven   float64               // a step's expected tokens; the rate from which drafting pays, NaN: none
	needed              float64               // the rate at which the claim holds, steps alone, NaN: none
	x                   *explain.SpeculationX
}

// step returns the decode step of a batch of the scenario under changes.
func (c *gain) step(t *testing.T, batch int, set ...string) *explain.Step {
	s, err := explain.New(t.Context(),
		explain.Question{Scenario: c.scenario, Options: configs.Options{Set: set}, Batch: &batch})
	require.NoError(t, err)
	return s
}

func (c *gain) priced(t *testing.T, batch int) (p priced) {
	x, err := c.step(t, batch).ExplainSpeculation()
	require.NoError(t, err)
	verify := c.step(t, batch, "speculation.method=ngram", "speculation.draft_model=null", "speculation.draft_vocab=null")
	g, _ := verify.Model.StepWithDrafts(batch, verify.Context, x.Drafts)
	plain := verify.Price(batch)
	p = priced{drafting: x.DraftingS / x.PlainS, verifying: (x.StepS - x.DraftingS) / x.PlainS, tokens: x.TokensPerStep,
		breakEven: math.NaN(), x: x}
	require.InEpsilon(t, g.First.Seconds(), x.StepS-x.DraftingS, 1e-6,
		"a step whose drafts are found without a GPU is the verification")
	for k := range g.Part {
		p.longer[k] = float64(g.Part[k].A-plain.Part[k].A) / float64(g.First-plain.First)
	}
	if x.BreakEven != nil {
		p.breakEven = *x.BreakEven
	}
	p.needed = math.NaN()
	for rate := 1.0; rate >= 0 && explain.Expected(rate, x.Drafts)*x.PlainS/x.StepS >= c.least; rate -= .01 {
		p.needed = rate
	}
	return p
}

// TestDraftsGainAsIsSaidAndNoFurther asserts the directions: with one client a claim holds, and with the most of them
// it does not.
func TestDraftsGainAsIsSaidAndNoFurther(t *testing.T) {
	for i := range gains {
		c := &gains[i]
		assert.GreaterOrEqual(t, c.asAccepted(t, clients[0]).tpot(), c.least, "%s: holds with one client", c.said)
		most := clients[len(clients)-1]
		assert.Less(t, c.asAccepted(t, most).tpot(), c.least, "%s: no longer with %d", c.said, most)
	}
}

// TestWhereDraftsPay asserts more of each claim: where it ends, why, and that a higher rate gains more.
// docs/speculation.md is what it prints.
func TestWhereDraftsPay(t *testing.T) {
	if !whole() {
		t.Skip("make published asks for it")
	}
	var page bytes.Buffer
	page.WriteString(speculationHead)
	for i := range gains {
		c := &gains[i]
		var own []gained
		var others [][]gained
		var steps []priced
		for _, n := range clients {
			g := c.asAccepted(t, n)
			own, others, steps = append(own, g), append(others, c.atRates(t, n, g.plain)), append(steps, c.priced(t, n))
		}
		c.assert(t, own, others, steps)
		means := fmt.Sprintf("`decodesim run %s`: %s. Here the claim holds while %s.", c.scenario, c.setup, c.means)
		fmt.Fprintf(&page, "\n## “%s”\n\n%s\n\n%s\n", c.said, filled(means), filled(c.verdict(t, own, steps)))
		c.tables(&page, own, others, steps)
	}
	checkPage(t, "speculation.md", page.String())
}

func (c *gain) assert(t *testing.T, own []gained, others [][]gained, steps []priced) {
	last := len(clients) - 1
	assert.GreaterOrEqual(t, own[0].tpot(), c.least, "%s: holds with one client", c.said)
	assert.Less(t, own[last].tpot(), c.least, "%s: no longer with %d", c.said, clients[last])
	assert.Less(t, own[last].throughput(), own[0].throughput())
	assert.Greater(t, steps[last].verifying-steps[0].verifying, steps[last].drafting-steps[0].drafting,
		"%s: what ends it is the verification", c.said)
	assert.Equal(t, slices.Max(steps[last].longer[:]), steps[last].longer[c.ends], "%s: of which most is %s", c.said,
		c.ends)
	for i, g := range own {
		assert.InEpsilon(t, g.with.Latency.TPOT.Mean, g.with.Latency.ITL.Mean, .03,
			"per token, ITL and TPOT are about the same mean")
		assert.Greater(t, g.with.Latency.ITLChunk.Mean, g.plain.Latency.ITLChunk.Mean,
			"per chunk, clients wait longer than without drafts")
		assert.Zero(t, g.with.Latency.ITL.P50, "most tokens come with another")
		explained := steps[i].tokens / (steps[i].verifying + steps[i].drafting)
		if c.joined && i == last {
			assert.Less(t, g.tpot(), .9*explained, "%s: the host launches steps with prompts", c.said)
		} else {
			assert.InEpsilon(t, explained, g.tpot(), .1, "%s: steps explain the run of %d", c.said, clients[i])
		}
		for k := range others[i][1:] {
			assert.Greater(t, others[i][k+1].tpot(), others[i][k].tpot(), "%s: rate %g", c.said, c.rates[k+1])
		}
	}
}

// verdict says from where on the claim no longer holds, and why.
func (c *gain) verdict(t *testing.T, own []gained, steps []priced) string {
	text := fmt.Sprintf("It holds with one client, where TPOT falls by a factor of %.2f, and stops at about %d clients.",
		own[0].tpot(), c.from(t, own, c.least))
	if even := c.from(t, own, 1); even > 0 {
		text += fmt.Sprintf(" From about %d, drafting makes tokens slower.", even)
	}
	text += fmt.Sprintf(
		" By the data sheet, the linear layers of a verification turn compute-bound at batch %d, those of a plain step "+
			"at %d.",
		steps[0].x.LinearFrom, c.step(t, 1).LinearFrom())
	return text + " " + c.why
}

func (c *gain) tables(page io.Writer, own []gained, others [][]gained, steps []priced) {
	number := func(x float64) string {
		if math.IsNaN(x) {
			return "none"
		}
		return fmt.Sprintf("%.2f", x)
	}
	head, rule := "\n| clients | TPOT without, ms | tokens/s |", "\n|--:|--:|--:|"
	for _, rate := range append([]string{c.own}, strings.Fields(strings.Trim(fmt.Sprint(c.rates), "[]"))...) {
		head, rule = head+" at "+rate+" | tokens/s |", rule+"--:|--:|"
	}
	fmt.Fprint(page, head, rule, "\n")
	for i, n := range clients {
		fmt.Fprintf(page, "| %d | %.3g | %.0f |", n, 1e3*own[i].plain.Latency.TPOT.Mean,
			own[i].plain.Throughput.OutputTokensPerS)
		for _, g := range append([]gained{own[i]}, others[i]...) {
			fmt.Fprintf(page, " %.3g (÷ %.2f) | %.0f (× %.2f) |", 1e3*g.with.Latency.TPOT.Mean, g.tpot(),
				g.with.Throughput.OutputTokensPerS, g.throughput())
		}
		fmt.Fprintln(page)
	}
	fmt.Fprintf(page, "\nThe column of %s, which yields %.2f tokens a step:\n", c.own, steps[0].tokens)
	fmt.Fprint(
		page, "\n| clients | ITL per token, ms | its p50 | ITL per chunk, ms | without drafts | verify | draft | more "+
			"weights | cache | arithmetic "+
			"| communication | rows | rate that pays | for the claim "+
			"|\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for i, n := range clients {
		l, p := &own[i].with.Latency, &steps[i]
		fmt.Fprintf(page, "| %d | %.3g | %.3g | %.3g | %.3g | %.2f | %.2f |", n, 1e3*l.ITL.Mean, 1e3*l.ITL.P50,
			1e3*l.ITLChunk.Mean,
			1e3*own[i].plain.Latency.ITLChunk.Mean, p.verifying, p.drafting)
		for _, share := range p.longer {
			fmt.Fprintf(page, " %.0f %% |", 100*share)
		}
		fmt.Fprintf(page, " %s | %s |\n", number(p.breakEven), number(p.needed))
	}
}

// filled breaks text into lines of at most 120 characters.
func filled(text string) string {
	var out strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
		case column+1+n > 120:
			out.WriteByte('\n')
			column = 0
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}

const speculationHead = `# When speculation pays, simulated

Three claims that go around, each as a scenario that is built in, run with drafts and without on the same requests, in
closed loops of 1 to 256 clients. A test asserts that each claim holds with one client and no longer with the most; the
sizes are what the model says. The claims are quoted from memory and unverified, and so is the rate behind the second.

TPOT and ITL per token count tokens, and have the same mean; most ITLs per token are zero, for accepted drafts arrive
with another token. ITL per chunk counts what arrives at once, and has fewer and longer gaps: the step with drafts. The
first table of a claim has TPOT and throughput by how often each draft is accepted, in brackets against the run without
drafts; throughput is that of the whole run, from the first client's start to the last one's end. The second table says
why, for steps of as many sequences: how many plain steps it takes to verify and to draft (the tokens of a step over the
sum of both are about the factor), what makes verifying longer than a plain step (rows are what software takes for each
row, taken to be what it takes for a sequence of a plain step), and from which rate on drafting pays and the claim
holds.

What drafts cost was compared with one published deployment, gpt-oss-120b with an EAGLE-3 head on an H200, 1 to 64
clients: the ratio of TPOT with drafts to TPOT without is within 10 % in the median. It is far too high for seven drafts
of four sequences: rows of one sequence share experts, which the model does not know. So a mixture of experts and few
clients may gain more than is said here.
`
