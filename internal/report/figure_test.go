package report

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"

	"github.com/decodesim/decodesim/sim"
)

var look = flag.String("look", "", "directory in which to leave the figures, for eyes")

type drawing struct {
	name string
	draw func() (Figure, error)
}

func drawings() []drawing {
	cdf := func(name string, slo float64, curves ...Curve) drawing {
		return drawing{name, func() (Figure, error) {
			return CDF(caption(), Distribution{Title: "Inter-token latency", Noun: "token gaps", Curves: curves, SLOS: slo, SLOOf: "TPOT"})
		}}
	}
	pair := func(name string, itl, ttft []Curve) drawing {
		return drawing{name, func() (Figure, error) {
			return CDFPair(caption(), "Inter-token latency and time to first token",
				Distribution{Title: "Inter-token latency", Short: "ITL", Noun: "token gaps", Curves: itl, SLOS: 0.04, SLOOf: "TPOT"},
				Distribution{Title: "Time to first token", Short: "TTFT", Noun: "requests", Curves: ttft, SLOS: 0.5})
		}}
	}
	line := func(name string, n int, every sim.Duration) drawing {
		return drawing{name, func() (Figure, error) { return Timeline(caption(), timeline(n, every)) }}
	}
	roof := func(name string, n int) drawing {
		return drawing{name, func() (Figure, error) { r, _ := batches(n); return DrawRoofline(caption(), r) }}
	}
	itl := func(name string, n int) drawing {
		return drawing{name, func() (Figure, error) { _, b := batches(n); return ITLVsBatch(caption(), b) }}
	}
	speedUps := func(name string, batches int, ridge float64) drawing {
		return drawing{name, func() (Figure, error) { return DrawSpeedUps(caption(), gains(batches, ridge)) }}
	}
	return []drawing{
		cdf("cdf", 0.05, lognormal("serve", 0.0142, 0.25, 5000)),
		cdf("cdf-limit-far-below", 1e-4, lognormal("serve", 0.18, 1.1, 5000)),
		cdf("cdf-limit-far-above", 3600, lognormal("serve", 0.18, 0.1, 5000)),
		cdf("cdf-one-sample", 0, curveOf("serve", []float64{0.0142})),
		cdf("cdf-equal-samples", 0, curveOf("serve", []float64{0.05, 0.05, 0.05})),
		cdf("cdf-huge-span", 0, lognormal("serve", 0.01, 4, 5000)),
		cdf("cdf-bursts", 0, bursts(3000)),
		cdf("cdf-all-zero", 0, curveOf("serve", []float64{0, 0})),
		cdf("cdf-none", 1, Curve{Name: "serve"}),
		cdf("cdf-several", 1, lognormal("1 × tp8", 0.18, 0.8, 3000), lognormal("2 × tp4", 0.28, 0.6, 2000), Curve{Name: "8 × tp1"}),
		cdf("cdf-many", 0.04, many(1)...),
		pair("pair", many(1), many(8)),
		pair("pair-two", many(1)[:2], []Curve{bursts(3000), {Name: "1 × tp4"}}),
		pair("pair-none", []Curve{{Name: "a"}, {Name: "b"}}, []Curve{{Name: "a"}, {Name: "b"}}),
		line("timeline", 900, 700*sim.Millisecond),
		line("timeline-days", 50, 9000*sim.Second),
		line("timeline-two", 2, sim.Millisecond),
		line("timeline-none", 1, 0),
		{"timeline-pools", func() (Figure, error) { return Timeline(caption(), fleetTimeline(900)) }},
		roof("roofline", 12),
		roof("roofline-alone", 0),
		{"roofline-none", func() (Figure, error) { return DrawRoofline(caption(), Roofline{GPU: "toy"}) }},
		itl("batch", 12),
		itl("batch-one", 1),
		itl("batch-none", 0),
		speedUps("speculation", 8, 74),
		speedUps("speculation-many", 14, 0),
		speedUps("speculation-one", 1, 1),
		speedUps("speculation-none", 0, 0),
	}
}

func TestFiguresKeepTheHouseRules(t *testing.T) {
	for _, d := range drawings() {
		t.Run(d.name, func(t *testing.T) {
			f, err := d.draw()
			require.NoError(t, err)
			again, err := d.draw()
			require.NoError(t, err)
			assert.True(t, bytes.Equal(f.SVG, again.SVG) && bytes.Equal(f.PNG, again.PNG), "the same input, the same bytes")
			assert.True(t, bytes.Contains(f.SVG, []byte(caption().String())), "the run is named")
			assert.Equal(t, strings.HasSuffix(d.name, "-none"), bytes.Contains(f.SVG, []byte("nothing to show")))
			picture, err := png.DecodeConfig(bytes.NewReader(f.PNG))
			require.NoError(t, err)
			assert.Equal(t, 1280, picture.Width)
			noTextIsCutOrCovered(t, string(f.SVG))
			if *look != "" {
				require.NoError(t, os.WriteFile(filepath.Join(*look, d.name+".png"), f.PNG, 0o644))
			}
		})
	}
}

// noTextIsCutOrCovered measures every text: all stand on the sheet and none on another.
func noTextIsCutOrCovered(t *testing.T, svg string) {
	texts := textsOf(t, svg)
	for i, a := range texts {
		onSheet := a.box.Min.X >= 4 && a.box.Max.X <= figureWidth-4 && a.box.Min.Y >= 4
		assert.True(t, onSheet, "%q leaves the sheet", a.text)
		for _, b := range texts[:i] {
			assert.False(t, overlap(a.box, b.box), "%q covers %q", a.text, b.text)
		}
	}
}

type placed struct {
	text string
	box  vg.Rectangle
}

// textsOf finds the texts of a drawing that stand level, and the room they take.
func textsOf(t *testing.T, svg string) []placed {
	svg = regexp.MustCompile(`(?s)<g transform="rotate.*?</g>`).ReplaceAllString(svg, "")
	pattern := regexp.MustCompile(`(?s)<text x="([^"]*)" y="-([^"]*)"[^>]*font-weight:(\w+);[^>]*font-size:([0-9.]+)px[^>]*>([^<]*)<`)
	var out []placed
	for _, m := range pattern.FindAllStringSubmatch(svg, -1) {
		number := func(i int) vg.Length {
			v, err := strconv.ParseFloat(m[i], 64)
			require.NoError(t, err)
			return vg.Length(v)
		}
		x, y, size := number(1), number(2), number(4)
		w := ink{size, inkDark, m[3] == "bold"}.width(m[5])
		out = append(out, placed{m[5], vg.Rectangle{Min: vg.Point{X: x, Y: y - 1}, Max: vg.Point{X: x + w, Y: y + 0.75*size}}})
	}
	require.NotEmpty(t, out)
	return out
}

func TestScalesEndAtRoundNumbers(t *testing.T) {
	assert.Equal(t, scale{lo: 0.005, hi: 0.05, log: true}, logarithmic(0.0083, 0.031))
	assert.Equal(t, scale{lo: 0.005, hi: 0.05, log: true}, logarithmic(0.0142, 0.0142))
	assert.Equal(t, scale{lo: 10, hi: 100, log: true}, logarithmic(10, 100))
	assert.Equal(t, scale{lo: 0, hi: 15}, linear(12.1, 3))
	assert.Equal(t, scale{lo: 0, hi: 1}, linear(0, 3))
	for g := -40; g < 40; g++ {
		assert.Equal(t, g, grade(round125(g)))
	}
}
