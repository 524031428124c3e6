package main

import (
	"context"
	"io"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/text"
)

// fit fits to the user's own runs. A file that cannot take the result is refused before that.
func (f *calibrateFlags) fit(ctx context.Context, out, errOut io.Writer, files []*measured.File,
	above configs.Options) error {
	var file *calibrationFile
	if f.out != "" {
		var err error
		file, err = openCalibration(f.out)
		if err != nil {
			return err
		}
		defer file.abandon()
	}
	line := progressOn(errOut)
	runs := 0
	for _, f := range files {
		runs += len(f.Runs)
	}
	say := runsDone(line, runs*calibration.OwnRounds)
	c, err := calibration.Own(ctx, files, above, func(round, done int) {
		if say != nil {
			say(float64(round*runs + done))
		}
	})
	line.Clear()
	if err != nil {
		return err
	}
	c.Version, c.Data = programVersion(), f.data
	c.Scenario, c.Set = f.scenario, f.set
	if file != nil {
		if err := file.write(c); err != nil {
			return failed(err)
		}
	}
	return f.print(out, errOut, c)
}

// print writes the result to out, and where the file is: to errOut if out is for a program.
func (f *calibrateFlags) print(out, errOut io.Writer, c *calibration.Calibration) error {
	var files []string
	if f.out != "" {
		files = []string{f.out}
	}
	return printed{json: f.json, files: files}.print(out, errOut, func(w io.Writer) error {
		if f.json {
			return text.WriteJSON(w, c)
		}
		return calibration.WriteTable(w, c, colour(out))
	})
}
