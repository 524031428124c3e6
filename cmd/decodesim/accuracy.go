package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/calibration"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/validation"
)

// accuracyOf finds all that the page on accuracy says of a fit. Whatever it simulates, it does under that fit and not under
// what was built into the program before it, so that the page does not depend on the latter.
func accuracyOf(ctx context.Context, c *calibration.Catalog, sets calibration.Sets, files, unfitted []*measured.File) (*report.Accuracy, error) {
	a := &report.Accuracy{Method: c.Method(), Excluded: excluded(files, c.Skipped), Apart: skippedApart(files)}
	var err error
	if a.Holds, err = c.Holds(ctx); err != nil {
		return nil, err
	}
	if a.Unfitted, err = sets.Predict(ctx, notFittedTo(files, unfitted)); err != nil {
		return nil, err
	}
	if a.Replays, err = replays(ctx, a.Holds, sets, files); err != nil {
		return nil, err
	}
	if a.Occupied, err = occupied(ctx, sets, files); err != nil {
		return nil, err
	}
	if a.Prompts, err = coldPrompts(ctx, sets); err != nil {
		return nil, err
	}
	if a.Seventy, err = seventy(sets); err != nil {
		return nil, err
	}
	a.Targets, err = targets(sets, a.Holds[0].Predictions)
	return a, err
}

// excluded counts the runs of the data that are not fitted to, by reason.
func excluded(files []*measured.File, skipped []string) []report.Excluded {
	var all []report.Excluded
	next := 0
	for _, f := range files {
		for i := range f.Runs {
			reason := skipped[next]
			if next++; reason == "" {
				continue
			}
			all = countExcluded(all, report.DataSet(&f.Runs[i].Labels), reason)
		}
	}
	return sortedExcluded(all)
}

// skippedApart counts the disaggregated runs of the data that are not simulated, by reason.
func skippedApart(files []*measured.File) []report.Excluded {
	var all []report.Excluded
	for _, f := range files {
		for i := range f.Runs {
			if run := &f.Runs[i]; run.Labels.Mode == "disagg" && run.Skip != "" {
				all = countExcluded(all, report.DataSet(&run.Labels), run.Skip)
			}
		}
	}
	return sortedExcluded(all)
}

func countExcluded(all []report.Excluded, set, reason string) []report.Excluded {
	at := slices.IndexFunc(all, func(x report.Excluded) bool { return x.Data == set && x.Reason == reason })
	if at < 0 {
		at = len(all)
		all = append(all, report.Excluded{Data: set, Reason: reason})
	}
	all[at].Runs++
	return all
}

// sortedExcluded puts the most frequent reason of each data set first.
func sortedExcluded(all []report.Excluded) []report.Excluded {
	slices.SortStableFunc(all, func(x, y report.Excluded) int {
		return cmp.Or(strings.Compare(x.Data, y.Data), cmp.Compare(y.Runs, x.Runs), strings.Compare(x.Reason, y.Reason))
	})
	return all
}

// notFittedTo returns the runs that can be simulated and are kept from every fit: those of files given for that, and those
// whose labels are too poor.
func notFittedTo(files, unfitted []*measured.File) []measured.Run {
	var runs []measured.Run
	for _, f := range unfitted {
		runs = append(runs, f.Runs...)
	}
	for _, f := range files {
		for i := range f.Runs {
			if run := &f.Runs[i]; run.Skip == "" && calibration.Unfittable(&run.Labels) != "" {
				runs = append(runs, *run)
			}
		}
	}
	return runs
}

// replays predicts the runs whose every request was measured: from the catalogue entry of their GPU alone, under what is
// built in, and after a calibration on the run itself.
func replays(ctx context.Context, holds []calibration.Hold, sets calibration.Sets, files []*measured.File) ([]report.Replay, error) {
	var out []report.Replay
	for _, f := range files {
		for i := range f.Runs {
			run := &f.Runs[i]
			if report.DataSet(&run.Labels) != "D" || run.Skip != "" {
				continue
			}
			for _, h := range holds {
				if h.Name == calibration.GPUOut || h.Name == calibration.InSample {
					out = append(out, report.Replay{Run: run.ID, Under: h.Name, Predictions: ofRun(h.Predictions, run.ID)})
				}
			}
			after, err := sets.PredictAfter(ctx, *run)
			if err != nil {
				return nil, err
			}
			out = append(out, report.Replay{Run: run.ID, Under: "calibrated on this run", Predictions: after})
		}
	}
	return out, nil
}

func ofRun(predictions []validation.Prediction, id string) []validation.Prediction {
	return slices.DeleteFunc(slices.Clone(predictions), func(p validation.Prediction) bool { return p.Run.ID != id })
}

// writeAccuracy writes the page and, beside it, its figures.
func writeAccuracy(path string, a *report.Accuracy) (written []string, err error) {
	figures, err := report.AccuracyFigures(a)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	for _, f := range figures {
		name := filepath.Join(filepath.Dir(path), base+"_"+f.Name+".svg")
		if err := replaceFile(name, func(w io.Writer) error { _, err := w.Write(f.SVG); return err }); err != nil {
			return nil, err
		}
		written = append(written, name)
	}
	err = replaceFile(path, func(w io.Writer) error { return report.AccuracyPage(w, a, base) })
	return append(written, path), err
}

// replaceFile writes a file by a temporary name and then renames it.
func replaceFile(path string, write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("%q cannot be written: %w", path, err)
	}
	defer os.Remove(temp.Name())
	for _, step := range []func() error{func() error { return write(temp) }, func() error { return temp.Chmod(0o644) }, temp.Close} {
		if err := step(); err != nil {
			_ = temp.Close()
			return fmt.Errorf("%q cannot be written: %w", path, err)
		}
	}
	return os.Rename(temp.Name(), path)
}
