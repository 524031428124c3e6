// Command accuracy fits the efficiencies that the program carries to measured runs of many deployments, and writes the
// page that says how accurate the fit is. Only the authors of decodesim run it, through make calibrate and make
// accuracy.
//
//	main.go      flags; files.go: what it reads and writes
//	collect.go   everything that the page says of a fit; expected.go: what the program says of it
//	score.go     published figures and logs, a value a row; servers.go: servers by their requests in flight, crowds.go:
//	             what rate so many are answered at
//	anchors.go   published speeds; prompts.go: single prompts on idle servers; occupied.go: how full servers are
//	catalog/     one fit for all engines and GPUs, and its errors on data kept away from it; trial.go: those of a form
//	             of step prices that is tried, on batches that a file keeps
//	page/        the page as Markdown, and its figures
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"golang.org/x/term"

	"github.com/decodesim/decodesim/internal/freeze"
	"github.com/decodesim/decodesim/internal/measured"
	"github.com/decodesim/decodesim/tools/accuracy/catalog"
	"github.com/decodesim/decodesim/tools/accuracy/page"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var progress io.Writer
	if term.IsTerminal(int(os.Stderr.Fd())) {
		progress = os.Stderr
	}
	if err := run(ctx, os.Stdout, progress, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	data     []string // files that are fitted to
	unfitted []string // files that are predicted for the page alone
	catalog  string   // directory of efficiency files to rewrite; empty: none
	report   string   // the page; empty: none
	figures  []string // published figures that the page compares with predictions, in one file
	logs     []string // tables of steps, kernels, collectives and servers, the same
	trial    string   // a file that keeps batches: only the errors of the form of prices are written; empty: none
	prior    []string // constants of the prior that a trial changes
	expected string   // the file of errors that the program says are to be expected; empty: none
}

func (s *settings) parse(args []string) error {
	flags := flag.NewFlagSet("accuracy", flag.ContinueOnError)
	repeatable := func(to *[]string) func(string) error {
		return func(path string) error {
			if path == "" || slices.Contains(*to, path) {
				return errors.New("expected each file of measurements once")
			}
			*to = append(*to, path)
			return nil
		}
	}
	flags.Func("data", "fit to the measurements of this `FILE`; repeatable", repeatable(&s.data))
	flags.Func("unfitted", "predict the measurements of this `FILE` for the page, but fit nothing to them; repeatable",
		repeatable(&s.unfitted))
	flags.StringVar(&s.catalog, "catalog", "", "rewrite the efficiency files of this `DIR`")
	flags.StringVar(&s.report, "report", "", "write the page to this Markdown `FILE`, with figures beside it")
	flags.Func("published", "compare the published figures of this `FILE` with predictions on the page",
		func(path string) error {
			if len(s.figures) > 0 {
				return errors.New("expected one file of published figures")
			}
			return repeatable(&s.figures)(path)
		})
	flags.Func("logs", "compare the logs of this `FILE` with predictions on the page; repeatable", repeatable(&s.logs))
	flags.StringVar(&s.expected, "expected", "", "write the errors to expect to this JSON `FILE`, beside the page")
	flags.Func("prior", "with --trial, `KEY=VALUE` in place of a constant of the prior; repeatable",
		func(text string) error {
			s.prior = append(s.prior, text)
			return nil
		})
	flags.StringVar(&s.trial, "trial", "",
		"print the errors of the form of prices, on batches that this `FILE` keeps, and write nothing else")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return s.check(flags.Args())
}

// check refuses flags that are missing or at odds and, before a fit that takes its time, places where nothing can be
// written.
func (s *settings) check(more []string) error {
	isDirectory := func(path string) bool {
		at, err := os.Stat(path)
		return err == nil && at.IsDir()
	}
	switch dir := filepath.Dir(s.report); {
	case len(more) > 0:
		return fmt.Errorf("%q is one argument too many; expected only flags", more[0])
	case len(s.data) == 0:
		return errors.New("missing --data: a file of measurements")
	case s.trial != "":
		return nil
	case s.catalog == "" && s.report == "":
		return errors.New("expected --catalog DIR, --report FILE, or both")
	case len(s.unfitted) > 0 && s.report == "":
		return errors.New("--unfitted is for the page that --report names; expected --report FILE beside it")
	case len(s.figures)+len(s.logs) > 0 && s.report == "":
		return errors.New("--published and --logs are for the page that --report names; expected --report FILE beside them")
	case s.expected != "" && s.report == "":
		return errors.New("--expected is of the page that --report names; expected --report FILE beside it")
	case s.catalog != "" && !isDirectory(s.catalog):
		return fmt.Errorf("--catalog %q: no such directory; expected the one of the efficiencies to rewrite", s.catalog)
	case s.report != "" && !isDirectory(dir):
		return fmt.Errorf("--report %q: no such directory as %q; expected a file in one that exists", s.report, dir)
	}
	return nil
}

// run fits the catalog and writes its files and the page about it, whose paths it prints to out.
func run(ctx context.Context, out, progress io.Writer, args []string) error {
	var s settings
	if err := s.parse(args); err != nil {
		return err
	}
	files, err := read(s.data)
	if err != nil {
		return err
	}
	unfitted, err := read(s.unfitted)
	if err != nil {
		return err
	}
	if s.trial != "" {
		return tryForm(ctx, out, &s, files, unfitted)
	}
	scored, err := readScored(s.figures, s.logs)
	if err != nil {
		return err
	}
	c, err := catalog.FitCatalog(ctx, files, rounds(progress))
	if err != nil {
		return err
	}
	sets := catalog.Sets(c.Efficiencies())
	var a *page.Accuracy
	if s.report != "" {
		a, err = accuracyOf(ctx, c, sets, files, unfitted, scored)
		if err != nil {
			return err
		}
	}
	return write(out, &s, sets, a)
}

// tryForm writes the errors of the form of prices that the program has.
func tryForm(ctx context.Context, out io.Writer, s *settings, files, unfitted []*measured.File) error {
	store, err := freeze.OpenStore(s.trial)
	if err != nil {
		return err
	}
	if err := catalog.Trial(ctx, out, files, notFittedTo(files, unfitted), store, s.prior); err != nil {
		return err
	}
	return store.Close()
}

// write replaces the efficiency files and the page, once everything that goes into them is known.
func write(out io.Writer, s *settings, sets catalog.Sets, a *page.Accuracy) error {
	var written []string
	if s.catalog != "" {
		paths, err := replaceCatalog(s.catalog, sets)
		if err != nil {
			return err
		}
		written = paths
	}
	if a != nil {
		paths, err := writeAccuracy(s.report, a)
		if err != nil {
			return err
		}
		written = append(written, paths...)
	}
	if s.expected != "" {
		if err := writeExpected(s.expected, a); err != nil {
			return err
		}
		written = append(written, s.expected)
	}
	for _, path := range written {
		fmt.Fprintln(out, path)
	}
	return nil
}
