package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/decodesim/decodesim/internal/text"
)

// Elsewhere returns the plan of s as another machine has to read it, and the files it needs for that. Paths are
// relative to the working directory, where they can be.
func (s *Sweep) Elsewhere() (Plan, []string, error) {
	p := s.plan
	p.Env = slices.DeleteFunc(slices.Clone(p.Env), func(v string) bool { return !strings.HasPrefix(v, "DECODESIM_") })
	names := s.files()
	if at, err := os.Stat(p.Source); err == nil && at.Mode().IsRegular() {
		here, err := os.Getwd()
		if err != nil {
			return p, nil, err
		}
		names = append(names, p.Source)
		if relative, err := filepath.Rel(here, p.Source); err == nil && filepath.IsAbs(p.Source) {
			p.Source = "." + string(filepath.Separator) + relative
		}
	}
	return p, names, nil
}

// Same returns an error unless s is the sweep of this print: another version, or files that are not the same here.
func (s *Sweep) Same(ctx context.Context, print string) error {
	here, err := s.Print(ctx)
	if err == nil && here != print {
		err = fmt.Errorf("it is not the same sweep here: a file that it names by an absolute path is another one, or " +
			"lacking; expected paths relative to the scenario or to the working directory")
	}
	return err
}

// Make makes a run, and returns its row as Take reads it.
func (s *Sweep) Make(ctx context.Context, run int, _ json.RawMessage) (json.RawMessage, error) {
	r, err := s.row(ctx, run, nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(r)
}

// Has reports whether a run has its row.
func (w *Work) Has(run int) bool { return w.journal.has(run) }

// Take takes the row of a run that Make has made elsewhere.
func (w *Work) Take(run int, made json.RawMessage) error {
	var r Row
	if err := json.Unmarshal(made, &r); err != nil {
		return fmt.Errorf("sweep: run %d was not made by this program: %w", run, err)
	}
	if r.Run != run || r.Error == "" && len(r.Values) != len(columns()) {
		return fmt.Errorf("sweep: run %d was not made by this program: it has %d numbers, want %d", run, len(r.Values),
			len(columns()))
	}
	return w.journal.add(run, r)
}

// GiveUp makes a run a row without numbers: it was given to so many workers, and none came to its end.
func (w *Work) GiveUp(run, given int) error {
	return w.journal.add(run, Row{Run: run, Given: given,
		Error: fmt.Sprintf("given to %d workers, each of which ended or was not heard of any more over it", given)})
}

// command is the command line that makes the sweep again, where the file of its scenario is.
func (p *Plan) command() string {
	words := text.Command{"decodesim", "sweep", text.FileName(p.Source)}
	if p.Ladder {
		words = append(words, "--ladder")
	}
	words = words.Flag("--over", p.Over...).Flag("--set", p.Set...)
	if p.Seed != nil {
		words = words.Flag("--seed", strconv.FormatUint(*p.Seed, 10))
	}
	if p.Seeds > 1 {
		words = words.Flag("--seeds", strconv.Itoa(p.Seeds))
	}
	return words.Flag("--plot", p.Plots...).String()
}
