package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/page/pagetest"
)

// contrast is the least contrast of any text of the page with the ground behind it, as WCAG 2.2 defines it, with the
// text. Grounds that are tinted lie over those behind them.
const contrast = `(() => {
  const parts = (colour) => { const c = colour.match(/[\d.]+/g).map(Number); return c.length > 3 ? c : [...c, 1]; };
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    if (!e) return [255, 255, 255];
    const [r, g, b, a] = parts(getComputedStyle(e).backgroundColor);
    return a === 1 ? [r, g, b] : ground(e.parentElement).map((v, i) => v * (1 - a) + [r, g, b][i] * a);
  };
  let least = [99, "no text"];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walker.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || !e.getClientRects().length || e.closest("script, style, noscript")) continue;
    const of = [light(parts(getComputedStyle(e).color)), light(ground(e))].sort((a, b) => b - a);
    const ratio = (of[0] + 0.05) / (of[1] + 0.05);
    if (ratio < least[0]) least = [ratio, e.tagName + "." + e.className + ": " + n.data];
  }
  return least;
})()`

// TestAPageIsReadInTheDarkAndOnPaper: its text stands out from the ground, and on paper nothing is left that has to be
// pressed, all of it is open, and plots and tables are within the page.
func TestAPageIsReadInTheDarkAndOnPaper(t *testing.T) {
	p := everything("many words")
	heats := page.Row{}
	for heat := range 9 {
		heats.Cells = append(heats.Cells, page.Cell{Text: "1.23", Heat: heat + 1, Mood: page.Bad})
	}
	p.Sections[0].Blocks = append(p.Sections[0].Blocks, page.Block{Table: &page.Table{Rows: []page.Row{heats}}})
	path := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(path, written(t, p), 0o600))
	const paper = 688 // pixels between the margins of A4
	b := pagetest.Drive(t, "file://"+path, paper, 1200)
	b.Wait(`document.querySelectorAll(".uplot canvas").length >= 3`)
	grounds := map[string]any{}
	for _, scheme := range []string{"light", "dark"} {
		b.Emulate("screen", scheme)
		least := b.Evaluate(contrast).([]any)
		assert.GreaterOrEqual(t, least[0], 4.5, "%s: %s", scheme, least[1])
		grounds[scheme] = b.Evaluate(`getComputedStyle(document.body).backgroundColor`)
	}
	assert.NotEqual(t, grounds["light"], grounds["dark"])
	pressable := `[...document.querySelectorAll("button")].filter((e) => e.getClientRects().length).length`
	assert.NotZero(t, b.Evaluate(pressable), "switches of a log axis on a screen")
	b.Evaluate(`dispatchEvent(new Event("beforeprint"))`)
	b.Emulate("print", "dark")
	assert.Zero(t, b.Evaluate(pressable), "switches on paper")
	assert.Equal(t, grounds["light"], b.Evaluate(`getComputedStyle(document.body).backgroundColor`), "paper is light")
	least := b.Evaluate(contrast).([]any)
	assert.GreaterOrEqual(t, least[0], 4.5, "paper: %s", least[1])
	assert.Zero(t, b.Evaluate(`document.querySelectorAll("details:not([open])").length`))
	assert.EqualValues(t, 4, b.Evaluate(`[...document.querySelectorAll(".uplot canvas")].filter((e) =>
		e.clientWidth > 200).length`), "plots on paper")
	assert.Empty(t, b.Evaluate(`[...document.querySelectorAll("figure, table, canvas, pre")].filter((e) =>
		e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.tagName + "." + e.className)`))
	assert.Empty(t, b.Errors)
}

// TestATableOfManyColumnsIsWholeOnADesk: no column has to be scrolled to where the screen has room for it, and the page
// itself never scrolls sideways.
func TestATableOfManyColumnsIsWholeOnADesk(t *testing.T) {
	texts := [][]string{{"h100-sxm + h200-sxm", "2P1D tp2 h100-sxm/tp2 h200-sxm"}}
	p := everything("some words")
	head := []string{"GPU", "deployment"}
	for range 11 {
		head, texts[0] = append(head, "ttft p95 <= 1s"), append(texts[0], "1,024 ms")
	}
	p.Sections[0].Blocks = append(p.Sections[0].Blocks, page.Block{Table: &page.Table{Head: head, Left: 2,
		Rows: page.Rows(texts)}})
	path := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(path, written(t, p), 0o600))
	for _, width := range []int{1300, 1600} {
		b := pagetest.Drive(t, "file://"+path, width, 1000)
		b.Wait(`document.readyState === "complete"`)
		assert.Zero(t, b.Evaluate(`(() => { const e = document.querySelector(".wide > div");
			return e.scrollWidth - e.clientWidth; })()`), "pixels hidden at %d", width)
		assert.Zero(t, b.Evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`))
	}
}

// TestAScreenReaderHearsWhatAPageShows: each picture by what it is of and where its curves begin and end, each bar by
// its parts, and each switch by its plot.
func TestAScreenReaderHearsWhatAPageShows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, os.WriteFile(path, written(t, everything("some words")), 0o600))
	b := pagetest.Drive(t, "file://"+path, 1000, 1000)
	b.Wait(`document.querySelectorAll(".uplot canvas").length >= 3`)
	heard := map[string][]string{}
	for _, s := range b.Heard() {
		heard[s.Role] = append(heard[s.Role], s.Name)
	}
	const seconds = "some words; some words; some words from 1.00 ms, 0.100 % to 40.0 ms, 4.00 %; " +
		"some words from 1.00 ms, 3.00 % to 30.5 ms, 1.00 %, marked at 30.5 ms, 1.00 %."
	assert.Contains(t, heard["image"], seconds)
	assert.Contains(t, heard["image"], "some words; ", "a bar, one part of which has no words")
	assert.Contains(t, heard["image"], "some words.", "a plot of nothing")
	assert.NotContains(t, heard["image"], "")
	assert.Contains(t, heard["button"], "x: log, some words")
	assert.Contains(t, heard["button"], "y: log, some words")
}
