// Command mutate asks of the tests whether they can fail: it makes small mistakes in the sources, one at a time, and
// runs the tests of the room that each is in, and then those elsewhere that run its code too. A mistake that no test
// notices survives, and is listed.
//
//	main.go       flags, the sample and what is printed
//	mistakes.go   the mistakes that can be made in a file
//	equivalent.go those that change nothing, as equivalent.yaml names them
//	variants.go   sources in which each of many mistakes can be made, so that one build is enough
//	trial.go      the tests of a mistake; the tree is not touched
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run tries a sample of mistakes and fails if the tests notice too few of them.
func run(ctx context.Context, w io.Writer, args []string) error {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	n := flags.Int("n", 30, "mistakes to try in each room")
	skip := flags.Int("skip", 0, "mistakes at the beginning of each sample that are not tried, as an earlier run has")
	seed := flags.Uint64("seed", 1, "of the sample")
	least := flags.Float64("least", 0.95, "share of the mistakes that the tests have to notice")
	only := flags.String("only", "",
		"mistakes in places that begin with one of these, such as policies/routers,sim/heap/heap.go:41:")
	own := flags.Bool("own", false, "ask the tests of the package alone, and not those of its room or elsewhere")
	smalls := flags.Bool("small", false, "ask the tests of the package and the small scenarios of sim alone")
	near := flags.Bool("near", false, "ask the tests of the room alone: faster, and at most as many are noticed")
	few := flags.Bool("few", false, "run random tests for a few draws only: faster, and at most as many are noticed")
	limit := flags.Duration("limit", 20*time.Minute,
		"of the tests of a package by the clock, which they must be far below without a mistake; with one, they also have "+
			"four times the processor time that they take without")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	of := rooms()
	all, err := mistakesOf(of)
	if err != nil {
		return err
	}
	for i := range all {
		r := rand.New(rand.NewPCG(*seed, uint64(i)))
		r.Shuffle(len(all[i]), func(j, k int) { all[i][j], all[i][k] = all[i][k], all[i][j] })
	}
	known, err := equivalents()
	if err != nil {
		return err
	}
	if err := known.apply(all); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(w, "%d mistakes that change nothing are left out: tools/mutate/equivalent.yaml says why\n",
		len(known))
	for i := range all {
		all[i] = slices.DeleteFunc(all[i], func(m mistake) bool { return !m.within(strings.Split(*only, ",")) })
	}
	var sum tally
	for i := range all {
		if len(all[i]) == 0 {
			continue
		}
		t := trials{limit: *limit, own: *own, small: *smalls, near: *near || *own || *smalls, few: *few}
		one, err := t.sample(ctx, w, all[i], *skip, *n)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(w, "%s: %d of %d mistakes noticed\n", of[i].path, one.noticed, one.tried)
		sum.tried, sum.noticed = sum.tried+one.tried, sum.noticed+one.noticed
	}
	if sum.tried == 0 {
		return errors.New("there is nothing to try")
	}
	_, _ = fmt.Fprintf(w, "%d of %d mistakes noticed\n", sum.noticed, sum.tried)
	if share := float64(sum.noticed) / float64(sum.tried); share < *least {
		return fmt.Errorf("the tests notice %.0f %% of the mistakes, want %.0f %%", 100*share, 100**least)
	}
	return nil
}

// tally counts mistakes that were tried, without those that do not compile.
type tally struct{ noticed, tried int }

// sample tries n mistakes of a room that compile, after so many others, and prints what became of each. A third more
// are built, since some do not compile.
func (t *trials) sample(ctx context.Context, w io.Writer, of []mistake, skip, n int) (tally, error) {
	var sum tally
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return sum, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t.dir, t.mistakes = dir, map[int]*mistake{}
	t.tests, t.binaries = map[string][]testRun{}, map[string]string{}
	all := skip + n
	for i := range of[:min(len(of), all+all/3+1)] {
		t.mistakes[i+1] = &of[i]
	}
	if err := t.build(ctx); err != nil {
		return sum, err
	}
	ids := sortedKeys(t.mistakes)
	for _, id := range ids[min(skip, len(ids)):] {
		if sum.tried == n {
			break
		}
		began := time.Now()
		verdict, by, err := t.try(ctx, id)
		if err != nil {
			return sum, err
		}
		sum.tried++
		if verdict != survived {
			sum.noticed++
		}
		_, _ = fmt.Fprintf(w, "%-9s %s (%s %.0f s)\n", verdict, t.mistakes[id], by, time.Since(began).Seconds())
	}
	return sum, nil
}

// room is a directory whose tests are asked, and the packages elsewhere that test what is in it.
type room struct {
	path  string
	other []string
}

// elsewhere are packages whose tests run what is in all rooms, and take seconds: those of scenarios, of what is found
// by running many, and of what the documentation prints. They are asked of the few mistakes that a room lets through.
func elsewhere() []string {
	return []string{"./configs", "./configs/build", "./internal/run", "./internal/explain", "./internal/headroom",
		"./internal/steady", "./internal/published", "./internal/sizing", "./internal/validation", program}
}

// program is the package of the command, of whose tests those are asked that compare what it prints to its pages: the
// others start programs that make no mistake, or are about signals, files and flags.
const program, printed = "./cmd/decodesim", "Documentation"

// rooms are those of the model. What routes, schedules or sends is tested in its package and by the naive twins of sim;
// the shapes of models, by what the catalog and the files of publishers say of them.
func rooms() []room {
	return []room{
		{"sim", []string{"./sim"}},
		{"policies", []string{"./sim", "./configs/build"}},
		{"hardware", []string{"./hardware", "./configs/huggingface", "./configs/catalog"}},
		{"workloads", []string{"./workloads", "./configs/build"}},
	}
}

// String is the place of a mistake and the line before and after.
func (m mistake) String() string {
	return fmt.Sprintf("%s %s -> %s", m.place(), oneLine(m.old), oneLine(m.new))
}

// within says whether a mistake is in one of some places.
func (m mistake) within(places []string) bool {
	return slices.ContainsFunc(places, func(p string) bool { return strings.HasPrefix(m.place(), p) })
}

func (m mistake) place() string { return fmt.Sprintf("%s:%d:", m.file, m.line) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
