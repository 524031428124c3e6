package plot

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

// TestAPictureIsReadBackToThePixel by another reader of PNG, whether it compresses or not.
func TestAPictureIsReadBackToThePixel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range []image.Point{{1, 1}, {3, 2}, {640, 300}} {
		picture := image.NewRGBA(image.Rectangle{Max: size})
		for y := range size.Y {
			for x := range size.X {
				shade := color.RGBA{uint8(x), uint8(y), 9, 255}
				if y%2 == 0 {
					shade.R, shade.B = uint8(r.Uint32()), uint8(r.Uint32())
				}
				picture.SetRGBA(x, y, shade)
			}
		}
		file, err := encodePNG(picture)
		require.NoError(t, err)
		requirePixels(t, picture, file)
	}
}

// requirePixels requires that the file is the picture, whose rows follow each other without gaps.
func requirePixels(t *testing.T, want *image.RGBA, file []byte) {
	t.Helper()
	read, err := png.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, want.Bounds(), read.Bounds())
	got := image.NewRGBA(want.Bounds())
	draw.Draw(got, got.Bounds(), read, image.Point{}, draw.Src)
	require.True(t, bytes.Equal(want.Pix, got.Pix))
}

// TestASheetIsWhite to its edges before anything is drawn, in both formats.
func TestASheetIsWhite(t *testing.T) {
	f, err := Render(10*vg.Millimeter, func(*Sheet) {})
	require.NoError(t, err)
	drawn, err := png.DecodeConfig(bytes.NewReader(f.PNG))
	require.NoError(t, err)
	white := image.NewRGBA(image.Rect(0, 0, drawn.Width, drawn.Height))
	for i := range white.Pix {
		white.Pix[i] = 255
	}
	requirePixels(t, white, f.PNG)
	assert.Contains(t, string(f.SVG), "fill:#FFFFFF")
}
