package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/page"
	"github.com/decodesim/decodesim/internal/page/pagetest"
)

// harmful is a text that does harm wherever it is not escaped.
const harmful = `</script><script>window.harm="done"</script><img src=x onerror="window.harm='done'">"'` + "`${harm=1}`"

// everything is a page with every kind of block, in which every text is t.
func everything(t string) *page.Page {
	table := &page.Table{Head: []string{t, t}, Note: t, Rows: []page.Row{{Strong: true,
		Cells: []page.Cell{page.Words(t), {Text: t, Field: t, Value: 1.5, Heat: 3, Mood: page.Good}}}}}
	stacked := page.Bar{Label: t, Value: page.Words(t),
		Segments: []page.Segment{{From: 0, To: .4, Words: t}, {From: .4, To: 1, Part: 1}}}
	return &page.Page{
		Kind: t, Caption: t, Question: t, Answer: t, Mood: page.Bad, Foot: t,
		Facts: []page.Fact{{Name: t, Value: page.Number(t, "a."+t, 0.0142), Note: t, Mood: page.Good}},
		Sections: []page.Section{{Title: t, Lead: t, Blocks: []page.Block{
			{Text: t}, {List: []string{t, t}}, {Alerts: []string{t}}, {Table: table}, {Plots: plots(t)},
			{Bars: &page.Bars{Title: t, Parts: []string{t, t}, Note: t, Rows: []page.Bar{stacked}}},
			{Code: &page.Code{Name: t, Text: t}},
			{Fold: &page.Fold{Title: t, Blocks: []page.Block{{Text: t}, {Plots: plots(t)[:1]}}}},
		}}},
	}
}

// plots are three plots with every kind of curve and axis.
func plots(t string) []page.Plot {
	many := page.Numbers{}
	for i := range 40 {
		many = append(many, float64(i+1)/1000)
	}
	curves := []page.Curve{{Name: t, X: many, Y: many, Step: true, Tint: true},
		{Name: t, X: page.Numbers{.001, .0305}, Y: page.Numbers{.03, .01}, Labels: []string{t, t}, Dots: true, Mark: 2}}
	limits := []page.Limit{{On: "x", At: .02, Label: t}, {On: "y", At: .9, Label: t}}
	return []page.Plot{
		{Title: t, Note: t, X: page.Axis{Name: t, Kind: page.Seconds, Log: true},
			Y: page.Axis{Name: t, Kind: page.Share}, Curves: curves, Limits: limits, Sync: t},
		{Title: t, X: page.Axis{Name: t, Kind: page.Clock}, Y: page.Axis{Name: t, Kind: page.USD, Log: true},
			Low: true, Curves: curves, Bands: []page.Band{{From: .01, To: .02}}, Sync: t},
		{Title: t, X: page.Axis{Name: t}, Y: page.Axis{Name: t}},
	}
}

func written(t *testing.T, p *page.Page) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	return b.Bytes()
}

func TestTheVendoredLibraryIsTheOneThatWasPublished(t *testing.T) {
	for name, digest := range map[string]string{ // of uplot 1.6.32 in the npm registry
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		content, err := os.ReadFile("uplot/" + name)
		require.NoError(t, err)
		sum := sha256.Sum256(content)
		assert.Equal(t, digest, hex.EncodeToString(sum[:]), name)
	}
	page := string(written(t, everything("text")))
	assert.Contains(t, page, "Copyright (c) 2022 Leon Sorokin")
	assert.Contains(t, page, "THE SOFTWARE IS PROVIDED \"AS IS\"")
}

func TestAPageNeedsNothingElse(t *testing.T) {
	p := string(written(t, everything("text")))
	own := strings.NewReplacer("https://github.com/leeoniya/uPlot", "", "http://www.w3.org/2000/svg", "").Replace(p)
	for _, link := range []string{"http://", "https://", "src=", "@import", "url(", "<link"} {
		assert.NotContains(t, own, link)
	}
	assert.Contains(t, p, "default-src &#39;none&#39;")
	assert.Less(t, len(p), 100_000)
	assert.Equal(t, p, string(written(t, everything("text"))), "the same input has the same bytes")
}

func TestTextsThatAreProgramsAreInert(t *testing.T) {
	p := written(t, everything(harmful))
	assert.NotContains(t, string(p), "<script>window")
	assert.NotContains(t, string(p), "<img")
	seen := pagetest.Open(t, p, 1000)
	assert.Equal(t, "none", seen.Harm)
	assert.Empty(t, seen.Errors)
	assert.Equal(t, 4, seen.Canvas)
}

func TestAPageFitsAPhone(t *testing.T) {
	for _, words := range []string{"text", strings.Repeat("averylongword", 12), strings.Repeat("many words ", 30)} {
		seen := pagetest.Open(t, written(t, everything(words)), pagetest.Phone)
		assert.Empty(t, seen.Errors)
		assert.Zero(t, seen.Beyond, "pixels beyond the screen, of %.20q", words)
		assert.Equal(t, 4, seen.Canvas)
	}
}

func TestACellHasItsNumberInFull(t *testing.T) {
	fact := page.Fact{Value: page.Number("14.2 ms", "latency.itl_s.p50", 0.0142337)}
	p := string(written(t, &page.Page{Facts: []page.Fact{fact}}))
	assert.Contains(t, p, `<data value="0.0142337" data-field="latency.itl_s.p50">14.2 ms</data>`)
}
