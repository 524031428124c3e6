package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumentationShowsRealOutput runs every command that a ```console block of the documentation shows after "$ " and
// compares what it prints. A line "…" stands for lines left out; make targets and the like are not run.
func TestDocumentationShowsRealOutput(t *testing.T) {
	for _, page := range []string{"README.md"} {
		path, err := filepath.Abs(filepath.Join("..", "..", page))
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		parts := strings.Split(string(text), "```")
		ran := 0
		for i, part := range parts {
			if body, ok := strings.CutPrefix(part, "console\n"); ok {
				n, shown := rerun(t, page, body)
				ran, parts[i] = ran+n, "console\n"+shown
			}
		}
		require.NotZero(t, ran, "%s shows no command", page)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(strings.Join(parts, "```")), 0o644))
		}
	}
}

// TestFigureOfTheReadme: the figure is the one that its command draws.
func TestFigureOfTheReadme(t *testing.T) {
	figure, err := filepath.Abs(filepath.Join("..", "..", "docs", "itl_cdf.svg"))
	require.NoError(t, err)
	output(t, []string{"run", "chat-70b", "--out", "out"})
	drawn, err := os.ReadFile(filepath.Join("out", "itl_cdf.svg"))
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(figure, drawn, 0o644))
	}
	shown, err := os.ReadFile(figure)
	require.NoError(t, err)
	require.True(t, bytes.Equal(drawn, shown), "docs/itl_cdf.svg is not what decodesim run chat-70b draws; run go test ./cmd/decodesim -run Readme -update")
}

// rerun runs the commands of a block and returns the block with their true outputs.
func rerun(t *testing.T, page, block string) (ran int, shown string) {
	var out strings.Builder
	for _, section := range strings.Split("\n"+strings.TrimSuffix(block, "\n"), "\n$ ")[1:] {
		command, want, _ := strings.Cut(section, "\n")
		out.WriteString("$ " + command + "\n")
		args := strings.Fields(command)
		if filepath.Base(args[0]) != "decodesim" {
			if want != "" {
				out.WriteString(want + "\n")
			}
			continue
		}
		got := output(t, args[1:])
		if *update {
			got = abridge(want, got)
		} else {
			require.True(t, matches(want, got), "%s: %s prints\n%s\ninstead of\n%s\nrun go test ./cmd/decodesim -run Documentation -update", page, command, got, want)
			got = want
		}
		out.WriteString(got + "\n")
		ran++
	}
	return ran, out.String()
}

// output runs a command line in an empty directory.
func output(t *testing.T, args []string) string {
	t.Chdir(t.TempDir())
	var out, errOut bytes.Buffer
	status := execute(context.Background(), &out, &errOut, args)
	require.Contains(t, []int{exitOK, exitBadInput}, status, errOut.String())
	return strings.TrimRight(out.String()+errOut.String(), "\n")
}

const leftOut = "…"

// matches reports whether got is want, in which a line "…" stands for any lines.
func matches(want, got string) bool {
	pieces := strings.Split("\n"+want+"\n", "\n"+leftOut+"\n")
	rest, ok := strings.CutPrefix("\n"+got+"\n", pieces[0]+"\n")
	if len(pieces) == 1 {
		return "\n"+got+"\n" == pieces[0]
	}
	if !ok {
		return false
	}
	for _, piece := range pieces[1 : len(pieces)-1] {
		_, after, found := strings.Cut("\n"+rest, "\n"+piece+"\n")
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix("\n"+rest, "\n"+pieces[len(pieces)-1])
}

// abridge is got, with the lines left out that want leaves out: those between the lines it keeps before and after.
func abridge(want, got string) string {
	if !strings.Contains("\n"+want+"\n", "\n"+leftOut+"\n") {
		return got
	}
	lines, kept := strings.Split(got, "\n"), strings.Split(want, "\n")
	at := 0
	for kept[at] != leftOut {
		at++
	}
	tail := len(kept) - at - 1
	return strings.Join(append(append(lines[:at:at], leftOut), lines[max(at, len(lines)-tail):]...), "\n")
}
