// Package plottest checks figures: plottest.go holds the rules that every one of them keeps.
package plottest

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

	"github.com/decodesim/decodesim/internal/plot"
	"github.com/decodesim/decodesim/internal/soak"
)

var figureDir = flag.String("look", "", "directory in which to leave the figures, for eyes")

// Drawing is a figure that a test draws. The name of one that has nothing to show ends in -none.
type Drawing struct {
	Name    string
	Caption string
	Draw    func() (plot.Figure, error)
}

// Check draws every figure and sees that it keeps the rules of the house: the run named, every text on the sheet and
// none on another, and, in make test-long, the same bytes every time.
func Check(t *testing.T, drawings []Drawing) {
	for _, d := range drawings {
		t.Run(d.Name, func(t *testing.T) {
			f, err := d.Draw()
			require.NoError(t, err)
			if !soak.Brief() {
				again, err := d.Draw()
				require.NoError(t, err)
				assert.True(t, bytes.Equal(f.SVG, again.SVG) && bytes.Equal(f.PNG, again.PNG), "the same input, the same bytes")
			}
			assert.True(t, bytes.Contains(f.SVG, []byte(d.Caption)), "the run is named")
			assert.Equal(t, strings.HasSuffix(d.Name, "-none"), bytes.Contains(f.SVG, []byte("nothing to show")))
			picture, err := png.DecodeConfig(bytes.NewReader(f.PNG))
			require.NoError(t, err)
			assert.Equal(t, 1280, picture.Width)
			noTextIsCutOrCovered(t, string(f.SVG))
			if *figureDir != "" {
				require.NoError(t, os.WriteFile(filepath.Join(*figureDir, d.Name+".png"), f.PNG, 0o644))
			}
		})
	}
}

// noTextIsCutOrCovered measures every text: all stand on the sheet and none on another.
func noTextIsCutOrCovered(t *testing.T, svg string) {
	t.Helper()
	texts := TextsOf(t, svg)
	for i, a := range texts {
		onSheet := a.Box.Min.X >= 4 && a.Box.Max.X <= plot.Width-4 && a.Box.Min.Y >= 4
		assert.True(t, onSheet, "%q leaves the sheet", a.Text)
		for _, b := range texts[:i] {
			assert.False(t, plot.Overlap(a.Box, b.Box), "%q covers %q", a.Text, b.Text)
		}
	}
}

// Placed is a text of a drawing, and the room that it takes.
type Placed struct {
	Text string
	Box  vg.Rectangle
}

// TextsOf finds the texts of a drawing that stand level, and the room they take.
func TextsOf(t *testing.T, svg string) []Placed {
	svg = regexp.MustCompile(`(?s)<g transform="rotate.*?</g>`).ReplaceAllString(svg, "")
	pattern := regexp.MustCompile(
		`(?s)<text x="([^"]*)" y="-([^"]*)"[^>]*font-weight:(\w+);[^>]*font-size:([0-9.]+)px[^>]*>([^<]*)<`)
	var out []Placed
	for _, m := range pattern.FindAllStringSubmatch(svg, -1) {
		number := func(i int) vg.Length {
			v, err := strconv.ParseFloat(m[i], 64)
			require.NoError(t, err)
			return vg.Length(v)
		}
		x, y, size := number(1), number(2), number(4)
		w := plot.Ink{Size: size, Bold: m[3] == "bold"}.Width(m[5])
		out = append(out, Placed{m[5],
			vg.Rectangle{Min: vg.Point{X: x, Y: y - 1}, Max: vg.Point{X: x + w, Y: y + 0.75*size}}})
	}
	require.NotEmpty(t, out)
	return out
}
