package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// verdict is what became of a mistake.
type verdict string

const (
	noticed  verdict = "noticed"
	overdue  verdict = "too long" // the tests did not end in time
	survived verdict = "SURVIVED"
	noCode   verdict = "no code" // it does not compile
)

type trials struct {
	limit time.Duration        // of one package's tests
	own   bool                 // the tests of a mistake's package alone
	few   bool                 // draws of random tests, and no more
	runs  map[string][]testRun // by package
}

// testRun is one way to run the tests of a package.
type testRun struct {
	args  []string
	limit time.Duration // with a mistake
}

// try runs the tests of a mistake's own package, and of the other packages of its room if those notice nothing.
func (t *trials) try(ctx context.Context, m *mistake) (verdict, error) {
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	own := "./" + filepath.Dir(m.file)
	packages := []string{own}
	if !t.own {
		packages = append(packages, slices.DeleteFunc(slices.Clone(m.room.other), func(p string) bool { return p == own })...)
	}
	for _, of := range packages {
		if v, err := t.test(ctx, dir, overlay, of); err != nil || v != survived {
			return v, err
		}
	}
	return survived, nil
}

// overlay writes the file with its mistake, and what has the go command read it in place of the right one.
func (m *mistake) overlay(dir string) (string, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	wrong := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(wrong, slices.Concat(text[:m.start], []byte(m.new), text[m.end:]), 0o600); err != nil {
		return "", err
	}
	right, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {right: wrong}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// test builds the tests of a package and runs them.
func (t *trials) test(ctx context.Context, dir, overlay, of string) (verdict, error) {
	runs, err := t.runsOf(ctx, dir, of)
	if err != nil || len(runs) == 0 {
		return survived, err
	}
	binary := filepath.Join(dir, "package.test")
	defer func() { _ = os.Remove(binary) }()
	build := buildArgs(binary, of, "-overlay", overlay)
	if _, v, err := command(ctx, t.limit, ".", "go", build...); err != nil || v != survived {
		return noCode, err
	}
	for _, run := range runs {
		_, v, err := command(ctx, run.limit, of, binary, append(run.args, "-test.failfast")...)
		if err != nil || v != survived {
			return v, err
		}
	}
	return survived, nil
}

func buildArgs(binary, of string, more ...string) []string {
	args := []string{"test", "-c", "-o", binary, "-pgo=off", "-vet=off", "-ldflags=-s -w"}
	return slices.Concat(args, more, []string{of})
}

// runsOf returns the runs of a package's tests: none if it has no tests. Random tests are first run for a few draws,
// which are enough for most mistakes; those that want more to pass, as right code shows, are left out then.
func (t *trials) runsOf(ctx context.Context, dir, of string) ([]testRun, error) {
	if runs, ok := t.runs[of]; ok {
		return runs, nil
	}
	binary := filepath.Join(dir, "right.test")
	defer func() { _ = os.Remove(binary) }()
	said, v, err := command(ctx, t.limit, ".", "go", buildArgs(binary, of)...)
	if err != nil || v != survived {
		return nil, errors.Join(fmt.Errorf("%s does not build: %s", of, said), err)
	}
	var runs []testRun
	if _, err := os.Stat(binary); err == nil {
		random, err := drawsAtRandom(of)
		if err != nil {
			return nil, err
		}
		ways := [][]string{nil}
		if random {
			few, err := t.fewDraws(ctx, binary, of)
			if err != nil {
				return nil, err
			}
			ways = [][]string{few, nil}
			if t.few {
				ways = ways[:1]
			}
		}
		for _, args := range ways {
			began := time.Now()
			said, v, err := command(ctx, t.limit, of, binary, args...)
			if err != nil || v != survived {
				return nil, errors.Join(fmt.Errorf("the tests of %s without a mistake: %s: %s", of, v, said), err)
			}
			runs = append(runs, testRun{args: args, limit: 20*time.Second + 10*time.Since(began)})
		}
	}
	t.runs[of] = runs
	return runs, nil
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// fewDraws returns the arguments that run random tests for a few draws, without those that then fail on right code.
func (t *trials) fewDraws(ctx context.Context, binary, of string) ([]string, error) {
	args := []string{"-rapid.checks=5"}
	said, v, err := command(ctx, t.limit, of, binary, args...)
	if err != nil || v == survived {
		return args, err
	}
	var names []string
	for _, match := range failedTest.FindAllSubmatch(said, -1) {
		names = append(names, string(match[1]))
	}
	return append(args, "-test.skip", "^("+strings.Join(names, "|")+")$"), nil
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

// command runs a command in a directory, up to a limit, and returns what it said: one that fails has noticed the
// mistake.
func command(ctx context.Context, limit time.Duration, dir, name string, args ...string) ([]byte, verdict, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(limited, name, args...)
	c.Dir, c.WaitDelay = dir, 5*time.Second
	said, err := c.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case limited.Err() != nil:
		return said, overdue, nil
	case err == nil:
		return said, survived, nil
	case errors.As(err, &exit):
		return said, noticed, nil
	}
	return nil, "", err
}
