package published

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/configs/build"
	"github.com/decodesim/decodesim/configs/catalog"
	"github.com/decodesim/decodesim/internal/results"
	"github.com/decodesim/decodesim/internal/run"
	"github.com/decodesim/decodesim/internal/text"
	"github.com/decodesim/decodesim/sim/metrics"
)

// galleryLeast is how many scenarios are to be built in, and gallerySample that every so many are run in make test.
const galleryLeast, gallerySample = 24, 4

// gallery are the built-in scenarios by what they are about: a reader's order, which the catalog does not have.
var gallery = []struct {
	about string
	names []string
}{
	{"Chat and completion", []string{"chat-8b", "chat-70b", "mi300x-70b", "gpt-oss-120b", "code-completion",
		"textbook-8b"}},
	{"Conversations, documents and reasoning", []string{"multi-turn-8b", "multi-turn-routed-8b", "kv-tiers-8b", "rag-70b",
		"million-v4", "reasoning-32b"}},
	{"Agents", []string{"agent-diff", "agent-diff-fast", "coding-agents-480b", "agents-v4-pro"}},
	{"Speculation", []string{"drafter-8b-70b", "eagle3-70b", "mtp-coding-397b"}},
	{"Prefill and decode in separate pools", []string{"pd-70b", "pd-r1", "agentic-1t-colocated", "agentic-1t-pd",
		"wide-ep-r1"}},
	{"Load, batches and failures", []string{"overload-8b", "day-8b", "two-classes-8b", "lora-8b", "batch-70b",
		"failure-70b", "day-mix-8b", "clients-8b"}},
	{"Other machines", []string{"consumer-8b", "consumer-gpt-oss-20b", "lpu-70b", "wafer-70b"}},
}

const galleryHead = `# Gallery

The scenarios that are built in, each with the question it answers and what its run says. ` + "`decodesim run NAME`" + `
prints all of it, ` + "`decodesim show NAME`" + ` the scenario with what is measured and what is assumed in it, and --set
changes any of it. Written by ` + "`go test ./internal/published -run Gallery -update`" + `; a test compares it with runs.
`

// TestTheGalleryShowsEveryScenarioWithItsHeadline: docs/gallery.md has every built-in scenario with its question, and
// what a run says today. All of them are run where that is asked for, every fourth otherwise.
func TestTheGalleryShowsEveryScenarioWithItsHeadline(t *testing.T) {
	var names []string
	for _, group := range gallery {
		names = append(names, group.names...)
	}
	require.ElementsMatch(t, configs.ScenarioNames(), names, "the gallery has every built-in scenario once")
	require.GreaterOrEqual(t, len(names), galleryLeast)

	written := galleryWritten(t)
	var page strings.Builder
	page.WriteString(galleryHead)
	for _, group := range gallery {
		fmt.Fprintf(&page, "\n## %s\n", group.about)
		for _, name := range group.names {
			opening := galleryOpening(t, name)
			said := written[name]
			if whole() || slices.Index(names, name)%gallerySample == 0 || !strings.HasPrefix(said, opening) {
				said = opening + filled(galleryHeadline(t, name)) + "\n"
			}
			page.WriteString(said)
		}
	}
	checkPage(t, "gallery.md", page.String())
}

// galleryWritten are the sections of the page by scenario.
func galleryWritten(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "gallery.md"))
	if os.IsNotExist(err) && *update {
		return nil
	}
	require.NoError(t, err)
	sections := map[string]string{}
	for _, section := range strings.Split(string(page), "\n### [")[1:] {
		name, _, _ := strings.Cut(section, "]")
		section, _, _ = strings.Cut(section, "\n## ")
		sections[name] = "\n### [" + strings.TrimSuffix(section, "\n") + "\n"
	}
	return sections
}

// galleryOpening is the beginning of a section: the name and the question.
func galleryOpening(t *testing.T, name string) string {
	t.Helper()
	file, err := catalog.File("scenarios/" + name)
	require.NoError(t, err)
	question, _, _ := strings.Cut(strings.TrimPrefix(string(file), "# "), "\n")
	require.True(t, strings.HasSuffix(question, "?"), "%s opens with its question: %s", name, question)
	return fmt.Sprintf("\n### [%s](../configs/catalog/scenarios/%s.yaml)\n\n%s\n\n", name, name,
		filled("*"+question+"*"))
}

// galleryHeadline runs a scenario and takes from what is printed its latencies, what the ITL is made of, whether its
// SLO is met, and its cost.
func galleryHeadline(t *testing.T, name string) string {
	t.Helper()
	printed, s, r := galleryRun(t, name)
	moving := len(s.Failures)+len(s.Autoscale) > 0
	said := galleryAbridged(t, printed, moving)
	if tail, found := galleryAfter(strings.Split(printed, "\n"), "p99 ITL "); found && name == "code-completion" {
		said += " p99 ITL " + tail // which is what its question is about
	}
	if s.Speculation.Method != configs.NoSpeculation {
		_, _, without := galleryRun(t, name, "speculation.method=none")
		tpot := without.Summary.Latency.TPOT.P50
		said += fmt.Sprintf(" Without speculation: TPOT p50 %s, %s as long.", text.Duration(tpot),
			text.Times(tpot/r.Summary.Latency.TPOT.P50))
	}
	return said
}

// galleryRun runs a scenario with settings and returns what is printed of it.
func galleryRun(t *testing.T, name string, set ...string) (string, *configs.Scenario, *run.Result) {
	t.Helper()
	s, err := configs.Load(name, configs.Options{Set: set})
	require.NoError(t, err)
	b, err := build.New(s)
	require.NoError(t, err)
	defer b.Close()
	r, err := run.Simulate(context.Background(), b, run.Options{})
	require.NoError(t, err)
	var printed bytes.Buffer
	require.NoError(t, results.Print(&printed, b, &results.Result{Result: r}, false, false))
	return printed.String(), s, r
}

// TestWideEPSaysTheSameUnderEverySeed: its longest answers take a minute and a half, and a run that is not many times
// as long says what its length made of them.
func TestWideEPSaysTheSameUnderEverySeed(t *testing.T) {
	var first *metrics.Summary
	for seed := 1; seed <= 5; seed++ {
		_, _, r := galleryRun(t, "wide-ep-r1", fmt.Sprintf("seed=%d", seed), "output.attribution=false")
		s := r.Summary
		require.NotNil(t, s.Steady)
		require.Empty(t, s.Steady.DependsOnLength, "seed %d", seed)
		if first == nil {
			first = s
		}
		assert.InEpsilon(t, first.Latency.TTFT.P50, s.Latency.TTFT.P50, 0.05, "seed %d", seed)
		assert.InEpsilon(t, first.Latency.TTFT.P95, s.Latency.TTFT.P95, 0.15, "seed %d", seed)
		assert.InEpsilon(t, first.Latency.TPOT.P50, s.Latency.TPOT.P50, 0.01, "seed %d", seed)
		assert.InEpsilon(t, first.Latency.TPOT.P95, s.Latency.TPOT.P95, 0.04, "seed %d", seed)
		assert.InEpsilon(t, first.Cost.USDPerMillionOutputTokens, s.Cost.USDPerMillionOutputTokens, 0.06, "seed %d", seed)
		assert.Greater(t, s.SLO.Attainment, 0.99, "seed %d", seed)
	}
}

// galleryAbridged takes the headline from what a run prints; moving: its fleet changes, so that time matters.
func galleryAbridged(t *testing.T, printed string, moving bool) string {
	t.Helper()
	lines := strings.Split(printed, "\n")
	caption := strings.Split(lines[0], " · ")
	require.Len(t, caption, 4, lines[0])
	said := []string{caption[1] + " on " + caption[2] + ": " + galleryLatencies(t, lines) + "."}
	for _, c := range []struct{ prefix, as string }{
		{"p50 ITL ", "p50 ITL "},
		{"p50 chunk gap ", "p50 gap between chunks "},
		{"task time ", "Task time "},
		{"KV transfers ", "KV transfers: "},
		{"KV tiers ", "KV tiers: "},
		{"adapters ", "Adapters: "},
		{"SLO ", ""},
		{"over time ", "Over time: "},
		{"warning: the queue ", "The queue "},
		{"cost ", "Cost: "},
	} {
		line, found := galleryAfter(lines, c.prefix)
		switch {
		case c.prefix == "cost " && !found:
			line, c.as = "No source states a price", ""
		case !found || c.prefix == "over time " && !moving || strings.HasPrefix(line, "met from"):
			continue
		case c.prefix == "SLO " && strings.HasPrefix(line, "value "):
			line = galleryRules(lines)
		case c.prefix == "SLO ":
			line, _, _ = strings.Cut(line, " (95 %")
			line, _, _ = strings.Cut(line, ", goodput")
		}
		said = append(said, c.as+strings.TrimSuffix(line, ".")+".")
	}
	if classes := galleryClasses(lines); classes != "" {
		said = append(said, "SLO of each class: "+classes+".")
	}
	for _, line := range lines {
		if _, hits, found := strings.Cut(line, ", prefix hits "); found && strings.HasPrefix(line, "pool ") {
			said = append(said, "Prefix hits: "+hits+".")
		}
	}
	return strings.Join(said, " ")
}

// galleryClasses are the classes with the share of the requests that met their SLO.
func galleryClasses(lines []string) string {
	head := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "class ") })
	if head < 0 {
		return ""
	}
	var said []string
	for _, line := range lines[head+1:] {
		f := strings.Fields(line) // class requests completed [>] met % goodput
		if len(f) < 6 || f[0][0] == '(' {
			break
		}
		said = append(said, fmt.Sprintf("met by %s of %s", strings.Join(f[3:len(f)-1], " "), f[0]))
	}
	return strings.Join(said, ", ")
}

// galleryLatencies are the medians of what the run's users feel, with p95.
func galleryLatencies(t *testing.T, lines []string) string {
	t.Helper()
	var said []string
	for _, latency := range []string{"TTFT", "TTFO", "TPOT", "task"} {
		row, found := galleryAfter(lines, latency+" ")
		f := strings.Fields(row) // mean p50 p90 p95 p99 max unit n
		if !found || len(f) != 8 {
			assert.NotContains(t, []string{"TTFT", "TPOT"}, latency, "%s: %q", latency, row)
			continue
		}
		said = append(said, fmt.Sprintf("%s p50 %s %s, p95 %s %s", latency, f[1], f[6], f[3], f[6]))
	}
	return strings.Join(said, "; ")
}

// galleryAfter is what the first line with a prefix says after it.
func galleryAfter(lines []string, prefix string) (string, bool) {
	for _, line := range lines {
		if rest, found := strings.CutPrefix(line, prefix); found {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// galleryRules are the rules of an SLO that is printed as a table, each with its value.
func galleryRules(lines []string) string {
	head := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "SLO ") })
	var said []string
	for _, line := range lines[head+1:] {
		if line == "" {
			break
		}
		rule, rest, _ := strings.Cut(line, "  ")
		value, limits, _ := strings.Cut(strings.TrimSpace(rest), "  ")
		met := "met"
		if slices.Contains(strings.Fields(limits), "no") {
			met = "not met"
		}
		said = append(said, fmt.Sprintf("%s: %s, %s", rule, value, met))
	}
	return strings.Join(said, "; ")
}
