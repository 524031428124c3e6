package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/decodesim/decodesim/cmd/internal/calibrate"
	"github.com/decodesim/decodesim/cmd/internal/measured"
	"github.com/decodesim/decodesim/cmd/internal/report"
	"github.com/decodesim/decodesim/configs"
)

// fit fits to the user's own runs. A file that cannot take the result is refused before that.
func (f *calibrateFlags) fit(ctx context.Context, out, errOut io.Writer, files []*measured.File, above configs.Options) error {
	var file *calibrationFile
	if f.out != "" {
		var err error
		if file, err = openCalibration(f.out); err != nil {
			return err
		}
		defer file.abandon()
	}
	c, err := calibrate.Own(ctx, files, above, toldOfRounds(progressTo(errOut)))
	clearProgress(errOut)
	if err != nil {
		return interruptedOr(err)
	}
	c.Version, c.Data, c.Scenario, c.Set = programVersion(), f.data, f.scenario, f.set
	if file != nil {
		if err := file.write(c); err != nil {
			return failure{err}
		}
	}
	return f.print(out, errOut, c)
}

// print writes the result to out, and where the file is: to errOut if out is for a program.
func (f *calibrateFlags) print(out, errOut io.Writer, c *calibrate.Calibration) error {
	var text bytes.Buffer
	list := io.Writer(&text)
	if f.json {
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(c); err != nil {
			return failure{err}
		}
		list = errOut
	} else if err := report.Calibration(&text, c, report.Options{Colour: colour(out)}); err != nil {
		return failure{err}
	}
	if f.out != "" {
		if !f.json {
			text.WriteByte('\n')
		}
		fmt.Fprintln(list, f.out)
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return failure{err}
	}
	return nil
}

// clearProgress clears the line that progress was printed to.
func clearProgress(errOut io.Writer) {
	if w := progressTo(errOut); w != nil {
		fmt.Fprint(w, "\r\x1b[K")
	}
}
