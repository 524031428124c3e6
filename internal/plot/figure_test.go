package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

// TestASheetIsWhite to its edges before anything is drawn, in both formats.
func TestASheetIsWhite(t *testing.T) {
	f, err := Render(10*vg.Millimeter, func(*Sheet) {})
	require.NoError(t, err)
	assert.Contains(t, string(f.SVG), "fill:#FFFFFF")
	picture, err := png.Decode(bytes.NewReader(f.PNG))
	require.NoError(t, err)
	size := picture.Bounds().Size()
	require.Positive(t, size.X*size.Y)
	for y := range size.Y {
		for x := range size.X {
			at := picture.At(x, y)
			require.Equal(t, color.RGBA{255, 255, 255, 255}, color.RGBAModel.Convert(at), image.Pt(x, y))
		}
	}
}
