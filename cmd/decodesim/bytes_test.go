package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/decodesim/decodesim/internal/soak"
)

// processor is one that the program is built for, and how its programs are started here.
type processor struct {
	name    string
	env     []string
	emulate string // empty: as they are
}

// builtFor builds the program; a processor whose programs do not start here is left out.
func (p *processor) builtFor(t *testing.T, dir string) (path string, ok bool) {
	path = filepath.Join(dir, p.name)
	build := exec.Command("go", "build", "-pgo=off", "-trimpath", "-buildvcs=false", "-o", path, ".")
	build.Env = append(os.Environ(), append(p.env, "CGO_ENABLED=0")...)
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	return path, p.start(path, "version").Run() == nil
}

func (p *processor) start(path string, args ...string) *exec.Cmd {
	if p.emulate != "" {
		path, args = p.emulate, append([]string{path}, args...)
	}
	c := exec.Command(path, args...)
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "DECODESIM_") })
	return c // without the variable that asks for this test, which is no key of a scenario
}

// everyOutput is command lines that leave a file of each kind.
var everyOutput = []string{
	"run chat.yaml --view vllm,aiperf --trace trace.json --headroom off --out run",
	"run handed.yaml --headroom off --out handed",
	"compare handed.yaml --with pools.decode.replicas=3 --seeds 3 --out compare",
	"sweep chat.yaml --over rate=5,10 --seeds 2 --out sweep",
	"explain chat.yaml --json",
	"explain chat-70b",
	"size study.yaml --out size",
	"sensitivity chat.yaml --out sensitivity",
	"validate --data data.csv --out validate",
	"workload describe trace.csv --json",
	"workload fit trace.csv",
}

// TestTheBytesAreTheSameOnEveryProcessor builds the program for processors that multiply and add in one instruction
// and for one that does not, and compares every byte of what they print and leave, but for figures: the libraries
// that draw do not round their products. Emulated ones take minutes, and are tried where there is an emulator.
func TestTheBytesAreTheSameOnEveryProcessor(t *testing.T) {
	if !soak.Asked() {
		t.Skip("make bytes builds the program three times")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("the plain processor is an amd64")
	}
	programs, first := t.TempDir(), filepath.Join(t.TempDir(), "first")
	plain := processor{name: "v1", env: []string{"GOAMD64=v1"}}
	path, ok := plain.builtFor(t, programs)
	require.True(t, ok)
	runEverything(t, &plain, path, first)
	others := []processor{{name: "v3", env: []string{"GOAMD64=v3"}}}
	emulator, err := exec.LookPath("qemu-aarch64-static")
	if errors.Is(err, exec.ErrNotFound) {
		emulator, err = exec.LookPath("qemu-aarch64")
	}
	if err == nil {
		others = append(others, processor{name: "arm64", env: []string{"GOARCH=arm64"}, emulate: emulator})
	}
	for _, p := range others {
		t.Run(p.name, func(t *testing.T) {
			path, ok := p.builtFor(t, programs)
			if !ok {
				t.Skip("its programs do not start here")
			}
			dir := filepath.Join(t.TempDir(), p.name)
			runEverything(t, &p, path, dir)
			assertSameTree(t, first, dir)
		})
	}
}

// runEverything runs the command lines in a directory of the same path each time, since outputs name files by it, keeps
// what they print there, and moves it to dir.
func runEverything(t *testing.T, p *processor, path, dir string) {
	to := dir
	dir = filepath.Join(filepath.Dir(path), "here")
	require.NoError(t, os.Mkdir(dir, 0o755))
	defer func() { require.NoError(t, os.Rename(dir, to)) }()
	var requests strings.Builder
	requests.WriteString("arrival_s,input_tokens,output_tokens\n")
	for i := range 300 {
		fmt.Fprintf(&requests, "%d,%d,%d\n", i/3, 20+i*7%900, 20+i*13%100)
	}
	for name, text := range map[string]string{"chat.yaml": small, "handed.yaml": handed, "study.yaml": searched,
		"data.csv": points, "trace.csv": requests.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for i, line := range everyOutput {
		c := p.start(path, strings.Fields(line)...)
		c.Dir = dir
		var talk strings.Builder // which may say how long it took
		c.Stderr = &talk
		said, err := c.Output()
		require.NoError(t, err, "%s: %s", line, talk.String())
		require.NoError(t, os.WriteFile(filepath.Join(dir, "said."+strconv.Itoa(i)), said, 0o600))
	}
}

// assertSameTree compares the files of two directories, but for figures.
func assertSameTree(t *testing.T, a, b string) {
	files := 0
	require.NoError(t, filepath.WalkDir(a, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) == ".png" || filepath.Ext(path) == ".svg" {
			return err
		}
		name, err := filepath.Rel(a, path)
		require.NoError(t, err)
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(b, name))
		if assert.NoError(t, err) {
			assert.True(t, bytes.Equal(want, got), "%s differs", name)
		}
		files++
		return nil
	}))
	t.Logf("%d files are the same", files)
	assert.Greater(t, files, 50)
}
