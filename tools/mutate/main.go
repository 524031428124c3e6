// Command mutate asks of the tests whether they can fail: it makes small mistakes in the sources, one at a time, and
// runs the tests of the room that each is in. A mistake that no test notices survives, and is listed.
//
//	main.go     flags, the sample and what is printed
//	mistakes.go the mistakes that can be made in a file
//	trial.go    the tests of a mistake; the tree is not touched
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
	n := flags.Int("n", 40, "mistakes to try, spread evenly over the rooms")
	seed := flags.Uint64("seed", 1, "of the sample")
	least := flags.Float64("least", 0.95, "share of the mistakes that the tests have to notice")
	only := flags.String("only", "", "mistakes in files whose path has this in it")
	own := flags.Bool("own", false, "ask the tests of the package alone, and not the others of its room")
	limit := flags.Duration("limit", 10*time.Minute, "of one mistake's tests; one that takes longer is noticed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	all, err := mistakesOf(rooms(), *only)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(*seed, 0))
	t := trials{limit: *limit, own: *own}
	noticed, tried := 0, 0
	for room := 0; tried < *n; room = (room + 1) % len(all) {
		if empty(all) {
			break
		}
		m, ok := draw(r, &all[room])
		if !ok {
			continue
		}
		began := time.Now()
		verdict, err := t.try(ctx, &m)
		if err != nil {
			return err
		}
		if verdict == noCode {
			continue
		}
		tried++
		if verdict != survived {
			noticed++
		}
		_, _ = fmt.Fprintf(w, "%-9s %s (%.0f s)\n", verdict, m, time.Since(began).Seconds())
	}
	if tried == 0 {
		return errors.New("there is nothing to try")
	}
	_, _ = fmt.Fprintf(w, "%d of %d mistakes noticed\n", noticed, tried)
	if share := float64(noticed) / float64(tried); share < *least {
		return fmt.Errorf("the tests notice %.0f %% of the mistakes, want %.0f %%", 100*share, 100**least)
	}
	return nil
}

// draw takes one mistake from a room.
func draw(r *rand.Rand, of *[]mistake) (mistake, bool) {
	if len(*of) == 0 {
		return mistake{}, false
	}
	i := r.IntN(len(*of))
	m := (*of)[i]
	(*of)[i] = (*of)[len(*of)-1]
	*of = (*of)[:len(*of)-1]
	return m, true
}

func empty(all [][]mistake) bool {
	for _, of := range all {
		if len(of) > 0 {
			return false
		}
	}
	return true
}

// room is a directory whose tests are asked, and the packages elsewhere that test it too.
type room struct {
	path  string
	other []string
}

// rooms are those of the model. What routes, schedules or sends is tested in its package and by the naive twins of sim.
func rooms() []room {
	return []room{
		{"sim", []string{"./sim"}},
		{"policies", []string{"./sim", "./configs/build"}},
		{"hardware", []string{"./hardware"}},
		{"workloads", []string{"./workloads", "./configs/build"}},
	}
}

// String is the place of a mistake and the line before and after.
func (m mistake) String() string {
	return fmt.Sprintf("%s:%d: %s -> %s", m.file, m.line, oneLine(m.old), oneLine(m.new))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
