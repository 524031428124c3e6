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
// compares what it prints. A line "…" stands for lines left out; what cat shows is a file that later commands of the block
// find; make targets and the like are not run.
func TestDocumentationShowsRealOutput(t *testing.T) {
	top, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	for _, page := range []string{"README.md", filepath.Join("docs", "fleets.md")} {
		path := filepath.Join(top, page) // commands run elsewhere
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
	t.Chdir(t.TempDir())
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

// TestTheReadmeSaysTheAccuracy: what it says of errors is what the page on accuracy says.
func TestTheReadmeSaysTheAccuracy(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		require.NoError(t, err)
		return string(text)
	}
	page, readme := read(filepath.Join("docs", "accuracy.md")), read("README.md")
	const from, to = "<!-- from docs/accuracy.md -->\n", "<!-- end -->"
	head, rest, found := strings.Cut(readme, from)
	_, tail, ended := strings.Cut(rest, to)
	require.True(t, found && ended, "README.md: no lines between %s and %s", from, to)
	want := head + from + headlines(t, page) + to + tail
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root(t), "README.md"), []byte(want), 0o644))
		return
	}
	require.Equal(t, want, readme, "run go test ./cmd/decodesim -run Readme -update")
}

// headlines are the first paragraph of the page and the leading lines of its first table.
func headlines(t *testing.T, page string) string {
	_, body, found := strings.Cut(page, "\n\n")
	require.True(t, found)
	claim, _, _ := strings.Cut(body, "\n\n")
	var table strings.Builder
	for line := range strings.Lines(page[:strings.Index(page, "![")]) {
		for _, lead := range []string{"| data", "|---", "| A, all", "| A, vLLM", "| C, open", "| D,"} {
			if strings.HasPrefix(line, lead) {
				table.WriteString(line)
			}
		}
	}
	return claim + "\n\n" + table.String()
}

// rerun runs the commands of a block and returns the block with their true outputs.
func rerun(t *testing.T, page, block string) (ran int, shown string) {
	var out strings.Builder
	t.Chdir(t.TempDir())
	for _, section := range strings.Split("\n"+strings.TrimSuffix(block, "\n"), "\n$ ")[1:] {
		command, want, _ := strings.Cut(section, "\n")
		out.WriteString("$ " + command + "\n")
		args := strings.Fields(command)
		if args[0] == "cat" {
			require.NoError(t, os.WriteFile(args[1], []byte(want+"\n"), 0o600))
		}
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

// output runs a command line.
func output(t *testing.T, args []string) string {
	t.Setenv("DECODESIM_SHARED", "")
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
