package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// verdict is what became of a mistake.
type verdict string

const (
	noticed  verdict = "noticed"
	overdue  verdict = "too long" // the tests did not end in time
	survived verdict = "SURVIVED"
)

// trials are those of one room: its mistakes are built into the tests together, and made one at a time.
type trials struct {
	limit    time.Duration // of one package's tests, by the clock
	own      bool          // the tests of a mistake's package alone
	small    bool          // those, and the small scenarios
	near     bool          // the tests of its room alone
	few      bool          // draws of random tests, and no more
	dir      string        // of what is written
	overlay  string
	mistakes map[int]*mistake     // by number, from 1
	binaries map[string]string    // of tests, by package; "": it has none
	tests    map[string][]testRun // by package
}

// testRun is one way to run the tests of a package.
type testRun struct {
	binary string
	way
	limit time.Duration // of processor time, with a mistake; 0: not measured yet
}

// way is arguments of a package's tests, and when they are run.
type way struct {
	args  []string
	stage stage
}

// stage orders the ways to run the tests of a package, those first that notice most mistakes in the least time.
type stage int

const (
	quick stage = iota // most tests, with a few draws, in a small part of the time of all
	small              // scenarios in which each token of a budget decides something
	slow               // the others, with a few draws
	full               // all draws
)

// memoryKB is what tests may address: a mistake is not to take the memory of the machine.
const memoryKB = 8 << 20

var inCopy = regexp.MustCompile(`mistake(\d+)\.go:`)

// build writes the mistakes aside and leaves out those that do not compile.
func (t *trials) build(ctx context.Context) error {
	for {
		path, err := overlay(t.dir, t.mistakes)
		if err != nil {
			return err
		}
		t.overlay = path
		packages := map[string]bool{}
		for _, m := range t.mistakes {
			packages["./"+filepath.Dir(m.file)] = true
		}
		args := append([]string{"build", "-pgo=off", "-overlay", t.overlay}, slices.Sorted(maps.Keys(packages))...)
		said, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		wrong := inCopy.FindAllSubmatch(said, -1)
		if len(wrong) == 0 {
			return fmt.Errorf("the sources do not build: %s", said)
		}
		for _, match := range wrong {
			id, _ := strconv.Atoi(string(match[1]))
			delete(t.mistakes, id)
		}
	}
}

// smallScenarios are tests of sim that run thousands of scenarios in seconds, and notice more of what schedulers and
// steps do than its random ones in as much time.
const scenarios, smallScenarios = "./sim", "TestSmall"

// try asks the tests that are most likely to notice a mistake, and fastest, before the others: those of its own package
// with a few draws, the slow ones last, then the small scenarios and the other tests of its room, then those elsewhere,
// and in the end all draws of the first. It returns the package that noticed it. What the others take without a mistake
// is measured only if they do not pass with it, since they mostly do.
func (t *trials) try(ctx context.Context, id int) (v verdict, by string, err error) {
	m := t.mistakes[id]
	own := []string{"./" + filepath.Dir(m.file)}
	room, far := []string(nil), []string(nil)
	if !t.own {
		room = distinct(append(slices.Clone(own), m.room.other...))[1:]
	}
	near := append(slices.Clone(own), room...)
	if !t.near {
		far = distinct(append(slices.Clone(near), elsewhere()...))[len(near):]
	}
	asks := []ask{{own, quick, true}, {own, small, true}, {own, slow, true}, {room, small, true}, {room, quick, true},
		{room, slow, true}, {far, quick, false}, {far, slow, false}, {near, full, false}, {far, full, false}}
	if t.small {
		asks = append(asks[:4], ask{own, full, false})
	}
	for _, ask := range asks {
		for _, of := range ask.packages {
			runs, err := t.runsOf(ctx, of, ask.stage)
			if err != nil {
				return "", "", err
			}
			for i := range runs {
				if runs[i].stage != ask.stage {
					continue
				}
				v, err := t.ask(ctx, of, id, &runs[i], ask.measured)
				if err != nil || v != survived {
					return v, of, err
				}
			}
		}
	}
	return survived, "", nil
}

// ask is tests of packages that are asked together.
type ask struct {
	packages []string
	stage    stage
	measured bool // these are asked of most mistakes
}

// ask runs tests of a package with a mistake. Those that do not pass have to pass without it.
func (t *trials) ask(ctx context.Context, of string, id int, run *testRun, measured bool) (verdict, error) {
	if measured {
		if err := t.measure(ctx, of, run); err != nil {
			return "", err
		}
	}
	with, err := t.run(ctx, of, id, *run, "-test.failfast")
	if err != nil || with.verdict == survived {
		return with.verdict, err
	}
	return with.verdict, t.measure(ctx, of, run)
}

// distinct returns what is in all, in order, without what came before.
func distinct(all []string) (once []string) {
	for _, s := range all {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

// runsOf returns the runs of a package's tests in which those of a stage are: none if it has no tests. Random tests are
// first run for a few draws, which are enough for most mistakes; those that want more to pass, as right code shows, are
// left out then.
func (t *trials) runsOf(ctx context.Context, of string, s stage) ([]testRun, error) {
	if s == small && of != scenarios {
		return nil, nil
	}
	key := of
	if s == small {
		key += " " + smallScenarios // which can be asked without finding out how long the others take
	}
	if runs, ok := t.tests[key]; ok {
		return runs, nil
	}
	binary, err := t.testsOf(ctx, of)
	if err != nil {
		return nil, err
	}
	ways := []way{{[]string{"-test.run", smallScenarios}, small}}
	if s != small && binary != "" {
		ways, err = t.ways(ctx, binary, of)
		if err != nil {
			return nil, err
		}
	}
	var runs []testRun
	for _, w := range ways {
		if binary != "" {
			runs = append(runs, testRun{binary: binary, way: w})
		}
	}
	t.tests[key] = runs
	return runs, nil
}

// testsOf builds the tests of a package; "": it has none.
func (t *trials) testsOf(ctx context.Context, of string) (string, error) {
	if binary, ok := t.binaries[of]; ok {
		return binary, nil
	}
	binary, err := filepath.Abs(filepath.Join(t.dir, fmt.Sprintf("%d.test", len(t.binaries))))
	if err != nil {
		return "", err
	}
	args := []string{"test", "-c", "-o", binary, "-pgo=off", "-vet=off", "-ldflags=-s -w", "-overlay", t.overlay, of}
	if said, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("the tests of %s do not build: %s", of, said), err)
	}
	if _, err := os.Stat(binary); err != nil {
		binary = ""
	}
	t.binaries[of] = binary
	return binary, nil
}

// measure limits a run by several times what it takes without a mistake, which the tests have to pass: a machine that
// is busy with other work is no mistake.
func (t *trials) measure(ctx context.Context, of string, run *testRun) error {
	if run.limit > 0 {
		return nil
	}
	right, err := t.run(ctx, of, 0, *run)
	if err != nil || right.verdict != survived {
		return errors.Join(fmt.Errorf("the tests of %s without a mistake: %s: %s", of, right.verdict, right.said), err)
	}
	if right.lasted > t.limit/4 {
		return fmt.Errorf("the tests of %s take %v without a mistake, too near to the limit of %v", of,
			right.lasted.Round(time.Second), t.limit)
	}
	run.limit = 4*time.Second + 4*right.took
	return nil
}

// ways returns those in which a package's tests are run. A draw that fails is neither made smaller nor kept, and the
// draws are the same each time.
func (t *trials) ways(ctx context.Context, binary, of string) ([]way, error) {
	if of == program {
		return []way{{args: []string{"-test.run", printed}}}, nil
	}
	random, err := drawsAtRandom(of)
	if err != nil || !random {
		return []way{{}}, err
	}
	all := []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=1ms"}
	few := append(slices.Clone(all), "-rapid.checks=5")
	right, err := t.run(ctx, of, 0, testRun{binary: binary, way: way{args: append(slices.Clone(few), "-test.v")}})
	if err != nil {
		return nil, err
	}
	lasted := durations(right.said)
	failed := lasted["FAIL"] // they want more draws
	if of == scenarios {
		for name := range lasted["PASS"] {
			if strings.HasPrefix(name, smallScenarios) { // asked by now
				delete(lasted["PASS"], name)
				failed[name] = 0
			}
		}
	}
	ways := []way{{append(slices.Clone(few), skipping(append(slowest(lasted["PASS"]), sortedNames(failed)...))...), quick}}
	if long := slowest(lasted["PASS"]); len(long) > 0 {
		ways = append(ways, way{append(few, "-test.run", exactly(long)), slow})
	}
	if !t.few {
		ways = append(ways, way{all, full})
	}
	return ways, nil
}

var endOfTest = regexp.MustCompile(`(?m)^--- (PASS|FAIL): (\w+) \(([0-9.]+)s\)`)

// durations returns how many seconds each test lasted, by what became of it.
func durations(said []byte) map[string]map[string]float64 {
	of := map[string]map[string]float64{"PASS": {}, "FAIL": {}}
	for _, match := range endOfTest.FindAllSubmatch(said, -1) {
		seconds, _ := strconv.ParseFloat(string(match[3]), 64)
		of[string(match[1])][string(match[2])] = seconds
	}
	return of
}

// slowest returns the fewest tests without which the others last a tenth of the time that all do, and a second at
// least.
func slowest(lasted map[string]float64) []string {
	names := sortedNames(lasted)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(lasted[a], lasted[b]) })
	sum := 0.0
	for _, seconds := range lasted {
		sum += seconds
	}
	quick := 0.0
	for i, name := range names {
		quick += lasted[name]
		if quick > max(1, sum/10) {
			return names[i:]
		}
	}
	return nil
}

func sortedNames(of map[string]float64) []string { return slices.Sorted(maps.Keys(of)) }

// exactly is a pattern of tests with these names.
func exactly(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

// skipping returns the arguments that leave tests out.
func skipping(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return []string{"-test.skip", exactly(names)}
}

// drawsAtRandom says whether tests of a package use rapid, whose flag the others do not know.
func drawsAtRandom(of string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(of, "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		if bytes.Contains(text, []byte(`"pgregory.net/rapid"`)) {
			return true, nil
		}
	}
	return false, nil
}

// outcome is what tests said and came to, how much processor time they took, and how long they lasted.
type outcome struct {
	said         []byte
	verdict      verdict
	took, lasted time.Duration
}

// run runs tests with a mistake, 0 for none. Tests that fail have noticed the mistake; limits of the shell end those
// that take too much.
func (t *trials) run(ctx context.Context, of string, id int, run testRun, more ...string) (outcome, error) {
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	seconds := "unlimited"
	if run.limit > 0 {
		seconds = strconv.Itoa(int(run.limit.Seconds()))
	}
	args := slices.Concat([]string{"-c", `ulimit -t "$1"; ulimit -v "$2"; shift 2; exec "$@"`, "sh", seconds,
		strconv.Itoa(memoryKB), run.binary}, run.args, more)
	c := exec.CommandContext(limited, "sh", args...)
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%d", madeVariable, id))
	c.Dir, c.WaitDelay = of, 5*time.Second
	began := time.Now()
	said, err := c.CombinedOutput()
	var exit *exec.ExitError
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if err != nil && !errors.As(err, &exit) && limited.Err() == nil {
		return outcome{}, err
	}
	o := outcome{said: said, verdict: noticed, lasted: time.Since(began)}
	o.took = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	switch {
	case err == nil:
		o.verdict = survived
	case limited.Err() != nil, run.limit > 0 && o.took >= run.limit-time.Second:
		o.verdict = overdue
	}
	return o, nil
}
