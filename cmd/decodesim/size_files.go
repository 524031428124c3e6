package main

import (
	"context"
	"io"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/report"
	"github.com/decodesim/decodesim/internal/sizing"
	"github.com/decodesim/decodesim/internal/text"
)

// sizeBox is the directory of --out and the files of this search in it: all of them, or none.
type sizeBox struct{ *report.Dir }

func openSizeBox(path string) (*sizeBox, error) {
	dir, err := report.Open(path)
	if err != nil {
		return nil, err
	}
	return &sizeBox{dir}, nil
}

// write writes everything; best may be nil. size.json comes last: where it is, the others are whole.
func (box *sizeBox) write(ctx context.Context, s *configs.Study, answer *sizing.Sizing, best *configs.Scenario) error {
	splits, err := sizing.SplitsFigure(answer)
	if err != nil {
		return failed(err)
	}
	frontier, err := sizing.FrontierFigure(answer)
	if err != nil {
		return failed(err)
	}
	steps := []func() error{
		func() error { return box.WriteFile("study.yaml", writeBytes(s.YAML())) },
		func() error {
			return box.WriteFile("candidates.csv", func(w io.Writer) error { return sizing.WriteCandidates(w, answer) })
		},
		func() error { return splits.Write(box.Dir, "goodput_by_split") },
		func() error { return frontier.Write(box.Dir, "frontier") },
		func() error {
			return box.WriteFile("report.html",
				func(w io.Writer) error { return sizing.WriteHTML(w, answer, splits.SVG, frontier.SVG) })
		},
		func() error {
			return box.WriteFile("size.json", func(w io.Writer) error { return text.WriteJSON(w, answer) })
		},
	}
	if best != nil {
		scenario, err := best.YAMLFor(box.Path())
		if err != nil {
			return err
		}
		steps = append([]func() error{func() error { return box.WriteFile("best.yaml", writeBytes(scenario)) }}, steps...)
	}
	if err := inOrder(ctx, steps); err != nil {
		return err
	}
	box.Keep()
	return nil
}
