package plot

import (
	"bytes"
	"fmt"
	"image/png"
	"io"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is one plot, in both formats. The same input gives the same bytes.
type Figure struct{ SVG, PNG []byte }

// Directory receives files, each of them whole or not at all.
type Directory interface {
	WriteFile(name string, write func(io.Writer) error) error
}

const dotsPerInch = 160

// Write writes the figure to name.svg and name.png.
func (f Figure) Write(d Directory, name string) error {
	for _, file := range []struct {
		extension string
		content   []byte
	}{{".svg", f.SVG}, {".png", f.PNG}} {
		err := d.WriteFile(name+file.extension, func(w io.Writer) error {
			_, err := w.Write(file.content)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Render paints the same sheet once as SVG and once as PNG.
func Render(height vg.Length, paint func(*Sheet)) (Figure, error) {
	vector := vgsvg.New(Width, height)
	pixels := vgimg.NewWith(vgimg.UseWH(Width, height), vgimg.UseDPI(dotsPerInch))
	on := func(canvas vg.Canvas) *Sheet { return &Sheet{draw.NewCanvas(canvas, Width, height), height} }
	on(vector).Rectangle(0, 0, Width, height, White) // pixels are white from the start
	for _, canvas := range []vg.Canvas{vector, pixels} {
		paint(on(canvas))
	}
	var svg, bitmap bytes.Buffer
	if _, err := vector.WriteTo(&svg); err != nil {
		return Figure{}, fmt.Errorf("plot as SVG: %w", err)
	}
	// Trying less hard makes a file 3 % larger in half the time, and pictures are most of what a short run waits for.
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&bitmap, pixels.Image()); err != nil {
		return Figure{}, fmt.Errorf("plot as PNG: %w", err)
	}
	return Figure{fallbackFonts(svg.Bytes()), bitmap.Bytes()}, nil
}

// fallbackFonts names fonts of the same widths for viewers that lack Liberation Sans; embedding it would cost 400 kB.
func fallbackFonts(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
}
