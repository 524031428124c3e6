package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	limit time.Duration // of one mistake
	own   bool          // the tests of its package alone
}

// try runs the tests of a mistake's own package, and of the other packages of its room if those notice nothing.
func (t trials) try(ctx context.Context, m *mistake) (verdict, error) {
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
	for _, packages := range [][]string{{own}, slices.DeleteFunc(slices.Clone(m.room.other),
		func(p string) bool { return p == own })} {
		if len(packages) == 0 || t.own && packages[0] != own {
			continue
		}
		if v, err := t.test(ctx, overlay, packages); err != nil || v != survived {
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

func (t trials) test(ctx context.Context, overlay string, packages []string) (verdict, error) {
	limited, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	args := []string{"test", "-overlay", overlay, "-pgo=off", "-vet=off", "-failfast", "-timeout", t.limit.String()}
	command := exec.CommandContext(limited, "go", append(args, packages...)...)
	command.WaitDelay = 5 * time.Second
	said, err := command.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil, bytes.Contains(said, []byte("panic: test timed out")):
		return overdue, nil
	case err == nil:
		return survived, nil
	case !errors.As(err, &exit):
		return "", err
	case bytes.Contains(said, []byte("[build failed]")), bytes.Contains(said, []byte("[setup failed]")):
		return noCode, nil
	}
	return noticed, nil
}
