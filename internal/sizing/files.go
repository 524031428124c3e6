package sizing

import (
	"context"
	"io"

	"github.com/decodesim/decodesim/configs"
	"github.com/decodesim/decodesim/internal/output"
)

// WriteFiles writes everything, or nothing; best may be nil. size.json comes last: where it is, the others are whole.
func WriteFiles(ctx context.Context, dir *output.Dir, s *configs.Study, answer *Sizing, best *configs.Scenario) error {
	if err := writeFiles(ctx, dir, s, answer, best); err != nil {
		return err
	}
	return dir.Keep()
}

func writeFiles(ctx context.Context, dir *output.Dir, s *configs.Study, answer *Sizing, best *configs.Scenario) error {
	splits, err := SplitsFigure(answer)
	if err != nil {
		return err
	}
	frontier, err := FrontierFigure(answer)
	if err != nil {
		return err
	}
	study, err := s.YAMLFor(dir.Path())
	if err != nil {
		return err
	}
	steps := []func() error{
		func() error { return dir.WriteBytes("study.yaml", study) },
		func() error {
			return dir.WriteFile("candidates.csv", func(w io.Writer) error { return WriteCandidates(w, answer) })
		},
		func() error { return splits.Write(dir, "goodput_by_split") },
		func() error { return frontier.Write(dir, "frontier") },
		func() error { return dir.WriteFile("report.html", answer.Page(study).Write) },
		func() error { return dir.WriteJSON("size.json", answer) },
	}
	if best != nil {
		scenario, err := best.YAMLFor(dir.Path())
		if err != nil {
			return err
		}
		steps = append([]func() error{func() error { return dir.WriteBytes("best.yaml", scenario) }}, steps...)
	}
	return output.InOrder(ctx, steps)
}
