package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/internal/validation"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

// accuracyOf finds all that the page on accuracy says of a fit. Whatever it simulates, it does under that fit and not
// under what was built into the program before it, so that the page does not depend on the latter.
func accuracyOf(ctx context.Context, c *catalog.Catalog, sets catalog.Sets, files, unfitted []*measured.File,
	scored scoredFiles) (*page.Accuracy, error) {
	a := &page.Accuracy{Method: c.Method(), Excluded: excluded(files, c.Skipped),
		ExcludedDisaggregated: skippedDisaggregated(files)}
	var err error
	a.HeldOut, err = c.HeldOut(ctx)
	if err != nil {
		return nil, err
	}
	a.Unfitted, err = sets.Predict(ctx, notFittedTo(files, unfitted))
	if err != nil {
		return nil, err
	}
	if err := scored.predict(ctx, c, sets, a); err != nil {
		return nil, err
	}
	a.Servers, err = servers(ctx, sets, scored.published)
	if err != nil {
		return nil, err
	}
	a.Replays, err = replays(ctx, a.HeldOut, sets, files)
	if err != nil {
		return nil, err
	}
	a.Occupied, err = occupied(ctx, sets, files)
	if err != nil {
		return nil, err
	}
	a.Prompts, err = coldPrompts(ctx, sets)
	if err != nil {
		return nil, err
	}
	a.Seventy, err = seventy(sets)
	if err != nil {
		return nil, err
	}
	a.Targets, err = targets(sets, a.HeldOut[0].Predictions)
	return a, err
}

// excluded counts the runs of the data that are not fitted to, by reason.
func excluded(files []*measured.File, skipped []string) []page.Excluded {
	var all []page.Excluded
	next := 0
	for _, f := range files {
		for i := range f.Runs {
			reason := skipped[next]
			next++
			if reason == "" {
				continue
			}
			if catalog.Published(&f.Runs[i].Labels) {
				reason = "published figures of other kinds, of quality B and C, or not modelled: listed above"
			}
			all = countExcluded(all, page.DataSet(&f.Runs[i].Labels), reason)
		}
	}
	return sortedExcluded(all)
}

// skippedDisaggregated counts the disaggregated runs of the data that are not simulated, by reason.
func skippedDisaggregated(files []*measured.File) []page.Excluded {
	var all []page.Excluded
	for _, f := range files {
		for i := range f.Runs {
			if run := &f.Runs[i]; run.Labels.Mode == "disagg" && run.Skip != "" {
				all = countExcluded(all, page.DataSet(&run.Labels), run.Skip)
			}
		}
	}
	return sortedExcluded(all)
}

func countExcluded(all []page.Excluded, set, reason string) []page.Excluded {
	at := slices.IndexFunc(all, func(x page.Excluded) bool { return x.Data == set && x.Reason == reason })
	if at < 0 {
		at = len(all)
		all = append(all, page.Excluded{Data: set, Reason: reason})
	}
	all[at].Runs++
	return all
}

// sortedExcluded puts the most frequent reason of each data set first.
func sortedExcluded(all []page.Excluded) []page.Excluded {
	slices.SortStableFunc(all, func(x, y page.Excluded) int {
		return cmp.Or(strings.Compare(x.Data, y.Data), cmp.Compare(y.Runs, x.Runs), strings.Compare(x.Reason, y.Reason))
	})
	return all
}

// notFittedTo returns the runs that can be simulated and are kept from every fit: those of files given for that, and
// those whose labels are too poor, apart from published figures, which are scored by themselves.
func notFittedTo(files, unfitted []*measured.File) []measured.Run {
	var runs []measured.Run
	for _, f := range unfitted {
		runs = append(runs, f.Runs...)
	}
	for _, f := range files {
		for i := range f.Runs {
			run := &f.Runs[i]
			if run.Skip == "" && catalog.Unfittable(&run.Labels) != "" && !catalog.Published(&run.Labels) {
				runs = append(runs, *run)
			}
		}
	}
	return runs
}

// replays predicts the runs whose every request was measured: from the catalogue entry of their GPU alone, under what
// is built in, and after a calibration on the run itself.
func replays(ctx context.Context, heldOut []catalog.HeldOut, sets catalog.Sets, files []*measured.File) ([]page.Replay,
	error) {
	var out []page.Replay
	for _, f := range files {
		for i := range f.Runs {
			run := &f.Runs[i]
			if page.DataSet(&run.Labels) != "D" || run.Skip != "" {
				continue
			}
			for _, h := range heldOut {
				if h.Name == catalog.GPUOut || h.Name == catalog.InSample {
					out = append(out, page.Replay{Run: run.ID, Under: h.Name, Predictions: ofRun(h.Predictions, run.ID)})
				}
			}
			after, err := sets.PredictAfter(ctx, *run)
			if err != nil {
				return nil, err
			}
			out = append(out, page.Replay{Run: run.ID, Under: "calibrated on this run", Predictions: after})
		}
	}
	return out, nil
}

func ofRun(predictions []validation.Prediction, id string) []validation.Prediction {
	return slices.DeleteFunc(slices.Clone(predictions), func(p validation.Prediction) bool { return p.Run.ID != id })
}
